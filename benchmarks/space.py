"""Sound-soft scattering by two half-balls, k = 2π, t = 0.1: seconds for one geometry, against what bempp-cl takes.

bempp-cl is not run here: its 64.5 s for 0.12 %, on one thread, are quoted from tests/data/README.md.
"""

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import edgewise as ew
from benchmarks.harness import compete, medians

STORED = Path(__file__).resolve().parent.parent / "tests" / "data" / "helmholtz_halfballs.npz"
T = 0.1
BEMPP_SECONDS, BEMPP_ERROR = 64.5, 1.2e-3


def run(quick: bool) -> dict[str, Any]:
    nodes, repeats = (6, 0) if quick else (8, 1)
    problem = ew.Problem(
        family=ew.HalfBalls(),
        parameters=ew.Box(t=(0.05, 0.5)),
        representation=ew.CombinedField(ew.Helmholtz(dim=3, wavenumber=2 * jnp.pi)),
        data=ew.PlaneWave((0.0, 0.0, 1.0)),
        side="exterior",
    )
    with np.load(STORED) as stored:
        member = int(np.argmin(np.abs(stored["t"] - T)))
        theta, weights, true = stored["theta"], stored["weights"], stored["far_axial"][member]
    directions = np.stack([np.sin(theta), 0 * theta, np.cos(theta)], axis=-1)

    def edgewise():
        # A tolerance that warns of nothing: the error is measured.
        return ew.solve(problem, t=T, quadrature=ew.Duffy(nodes), tol=1e-1).far_field(directions)

    seconds, values = compete({"edgewise": edgewise}, repeats)
    far = np.asarray(values["edgewise"])
    error = float(np.sqrt(weights @ np.abs(far - true) ** 2 / (weights @ np.abs(true) ** 2)))
    result = {"nodes": problem.family.patches * nodes**2, "error": error, "required_error": 1e-3}
    if quick:
        return result
    median = medians(seconds)
    return {
        **result,
        "seconds": seconds,
        "median": median,
        "quoted": {"bempp-cl": BEMPP_SECONDS, "error": BEMPP_ERROR},
        "ratio": BEMPP_SECONDS / median["edgewise"],
        "required_ratio": 5.0,
    }


def describe(result: dict[str, Any]) -> list[str]:
    lines = [f"half-balls, t = {T}, {result['nodes']} nodes: far field to {result['error']:.1e}"]
    if "ratio" in result:
        lines.append(
            f"edgewise {result['median']['edgewise']:.2f} s, compiled before; bempp-cl {BEMPP_SECONDS} s on one thread for "
            f"{BEMPP_ERROR:.1e}, quoted from tests/data/README.md; ratio {result['ratio']:.1f}"
        )
    return lines
