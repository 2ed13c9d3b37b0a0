"""Sound-soft scattering by a kite at many wavenumbers in one call, against the loop that one would write with SciPy."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.special import hankel1, j0, j1

import edgewise as ew
from benchmarks.batch_solve import kress_weights
from benchmarks.harness import compete, medians, relative_difference

ANGLES = 2 * np.pi * np.arange(64) / 64


def run(quick: bool) -> dict[str, Any]:
    members, nodes, repeats = (3, 64, 1) if quick else (200, 128, 3)
    k = np.linspace(1, 2 if quick else 8, members)
    problem = ew.Problem(
        family=ew.Kite(),
        parameters=ew.Box(k=(0.5, 20.0)),
        representation=ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k"), coupling="k"),
        data=ew.PlaneWave((1.0, 0.0)),
        side="exterior",
    )
    directions = jnp.stack([jnp.cos(ANGLES), jnp.sin(ANGLES)], axis=-1)

    def edgewise():
        return ew.solve(problem, k=jnp.asarray(k), quadrature=ew.Kress(nodes), tol=1e-3).far_field(directions)

    seconds, values = compete({"edgewise": edgewise, "scipy": lambda: scipy_loop(k, nodes)}, repeats)
    median = medians(seconds)
    return {
        "members": members,
        "nodes": nodes,
        "seconds": seconds,
        "median": median,
        "ratio": median["scipy"] / median["edgewise"],
        "difference": relative_difference(values["edgewise"], values["scipy"]),
    }


def describe(result: dict[str, Any]) -> list[str]:
    each = [f"{name} {1e3 * seconds / result['members']:.2f} ms" for name, seconds in result["median"].items()]
    return [
        f"{result['members']} wavenumbers, {result['nodes']} nodes, {len(ANGLES)} directions, each: {'; '.join(each)}",
        f"ratio {result['ratio']:.2f}; far fields agree to {result['difference']:.0e} of the largest",
    ]


def scipy_loop(wavenumbers: np.ndarray, nodes: int) -> np.ndarray:
    """Far fields by Kress's rule for (1/2 + D - ikS) φ = -incident, one sample of the kernels a node."""
    s = 2 * np.pi * np.arange(nodes) / nodes
    step = 2 * np.pi / nodes
    x = np.stack([np.cos(s) + 0.65 * (np.cos(2 * s) - 1), 1.5 * np.sin(s)], axis=-1)
    first = np.stack([-np.sin(s) - 1.3 * np.sin(2 * s), 1.5 * np.cos(s)], axis=-1)
    second = np.stack([-np.cos(s) - 2.6 * np.cos(2 * s), -1.5 * np.sin(s)], axis=-1)
    jacobian = np.hypot(*first.T)
    # Normal times jacobian; curvature times jacobian.
    normal = np.stack([first[:, 1], -first[:, 0]], axis=-1)
    bend = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / jacobian**2
    d = x[:, None] - x
    r = np.hypot(d[..., 0], d[..., 1])
    np.fill_diagonal(r, 1)
    across = np.einsum("ijk,jk->ij", d, normal) / r
    weights = kress_weights(nodes)
    toward = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)
    far = np.empty((len(wavenumbers), len(ANGLES)), complex)
    for i, k in enumerate(wavenumbers):
        bessel0, bessel1 = j0(k * r), j1(k * r)
        np.fill_diagonal(bessel0, 1)
        single = 0.25j * hankel1(0, k * r)
        # Target and source meet: the limit less log 4 sin²(σ/2).
        np.fill_diagonal(single, 0.25j - (np.log(k / 2 * jacobian) + np.euler_gamma) / (2 * np.pi))
        double = 0.25j * k * hankel1(1, k * r) * across
        np.fill_diagonal(double, -bend / (4 * np.pi))
        single = (step * single - weights * bessel0 / (4 * np.pi)) * jacobian
        double = step * double - weights * k * bessel1 * across / (4 * np.pi)
        matrix = 0.5 * np.eye(nodes) + double - 1j * k * single
        density = np.linalg.solve(matrix, -np.exp(1j * k * x[:, 0]))
        waves = np.exp(-1j * k * toward @ x.T) * (-1j * k * (toward @ normal.T) - 1j * k * jacobian)
        far[i] = np.exp(0.25j * np.pi) / np.sqrt(8 * np.pi * k) * step * (waves @ density)
    return far
