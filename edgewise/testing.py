"""Checks that a kernel is the fundamental solution it claims, with the right split; operators wrong on purpose."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import names_in
from edgewise.base.precision import working_dtype
from edgewise.kernels import AbstractKernel
from edgewise.kernels.kernel import PointFunction
from edgewise.kernels.kernel import laplacian as laplacian
from edgewise.kernels.layers import dot
from edgewise.learn.operator import Operator
from edgewise.quadrature.trial import NODES, layers_error, on_ellipse, run, worst


@dataclasses.dataclass(frozen=True)
class KernelReport:
    """What `check_kernel` measured: relative errors, and the strength, which is 1."""

    kernel: str
    split: float
    equation: float
    strength: complex
    layers: float
    nearby: float
    jumps: float
    kress: float

    def __str__(self) -> str:
        lines = [f"  {name:<10}{value:.3g}" for name, value in vars(self).items() if name != "kernel"]
        return "\n".join([f"{self.kernel}: every check passed", *lines])


def check_kernel(
    kernel: AbstractKernel,
    operator: Callable[[PointFunction], PointFunction] | None = None,
    *,
    tol: float = 1e-8,
    size: float = 1.0,
) -> KernelReport:
    """Raises `AssertionError`, with the figure and its likely cause, unless the kernel is what the rules take it for.

    In turn: the split is smooth at q = 0 and gives G; L G = 0 away from the source; L G = δ with its sign, that is
    -∮ ∂G/∂n -> 1 (order 4: ∮ ∂ΔG/∂n -> 1) round small circles; the layers are derivatives of G; 0.01 beside an ellipse
    fields are those of a plain rule; across it a double layer jumps by its density, ∂/∂n of a single layer by minus it,
    and at order 4 nothing does; on it Kress's rule gives the limits.

    Arguments:
        operator: L as a map of functions of one point: `lambda u: lambda x: k**2 * u(x) - laplacian(u)(x)`. Its leading
            part must be -Δ or Δ². Shipped kernels know theirs.
        tol: Of relative errors; its square root for the strength.
        size: The ellipse's half axis; where G oscillates or decays many times over it, take a smaller one.
    """
    if not isinstance(kernel, AbstractKernel) or names_in(kernel):
        raise ValueError(f"`check_kernel` takes a kernel with numbers, not parameters' names; got {kernel!r}.")
    operator, fundamental, order = operator or kernel.operator, kernel.fundamental, kernel.order
    # A kernel that does not know its operator says so before anything is computed.
    operator(fundamental)
    working_dtype(None)

    def require(error: float, bound: float, check: str, found: str, cure: str) -> float:
        if not error <= bound:
            raise AssertionError(f"`{kernel.name}`, {check}: {found}. {cure}.")
        return error

    split = [_smoothness(kernel, name, size, require) for name in ("log_part", "smooth_part")]
    d = _rings(size * np.array([1e-3, 0.03, 0.3, 1.0, 1.9]))
    parts = lambda q: (kernel.log_part(q) * jnp.log(q), kernel.smooth_part(q))
    given, (log, smooth) = run(lambda d: (fundamental(d), parts(dot(d, d))), d)
    turned = worst(given - given[:, :1], jnp.abs(given).max())
    require(turned, tol, "the split", "`fundamental(d)` changes with the direction of d", "It must depend on |d| alone")
    error = worst(given - log - smooth, jnp.abs(log).max() + jnp.abs(smooth).max())
    found = f"log_part(q) log q + smooth_part(q) misses `fundamental` by {error:.1e}"
    split.append(require(error, tol, "the split", found, "With q = |d|² the logarithm is log q = 2 log |d|"))

    points = _rings(size * np.array([0.25, 0.6, 1.0, 1.7])).reshape(-1, 2)
    highest = fundamental
    for _ in range(order):
        highest = jax.jacfwd(highest)
    applied = lambda function: run(jax.vmap(operator(function)), points)
    equation = worst(applied(fundamental), jnp.abs(run(jax.vmap(highest), points)).reshape(len(points), -1).sum(axis=1))
    found = f"L G is {equation:.1e} of the derivatives of G of order {order} away from the source, expected 0"
    require(equation, tol, "the equation", found, "" if equation <= tol else _wrong_number(kernel, applied, points))
    basis = (lambda x: 1 + 0 * x[0], lambda x: x[0], lambda x: x[1])
    solved = [float(jnp.max(jnp.abs(applied(p)))) <= tol for p in basis]
    found = f"`polynomials = {kernel.polynomials}`, but whether 1, x, y solve the equation is {solved}"
    wrong = not all(solved[: kernel.polynomials]) or (solved[0] and kernel.polynomials == 0)
    require(wrong, False, "the polynomials", found, "Declare 0 if 1 is no solution, at least 1 if it is")

    strength = _strength(kernel, size)
    cure = f"Divide both parts by {strength:.6g}"
    if abs(strength + 1) <= tol**0.5:
        cure = "The sign is the other one: multiply both parts by -1"
    elif not 1e-3 < abs(strength) < 1e3:
        cure = f"The class says order {order}; write `order = {6 - order}` if the equation is of that order"
    found = (
        f"{'-∮ ∂G/∂n' if order == 2 else '∮ ∂ΔG/∂n'} round a small circle is {strength:.6g}, expected 1 since L G = δ"
    )
    require(abs(strength - 1), tol**0.5, "the strength", found, cure)

    layers = layers_error(kernel, size)
    cure = "Leave `__call__` to the library, which differentiates `radial`"
    require(layers, tol, "the layers", f"double, adjoint_double, ... miss derivatives of G by {layers:.1e}", cure)
    nearby, jumps, kress = on_ellipse(kernel, size)
    cure = (
        f"Are there many wavelengths in {size}? Then pass a smaller "
        "`size`; else a part is not smooth somewhere in q > 0"
    )
    require(nearby, tol, "beside a curve", f"close fields miss those of a plain rule by {nearby:.1e}", cure)
    require(jumps, tol, "the jumps", f"across a curve the layers miss their jumps by {jumps:.1e}", cure)
    require(kress, tol, "Kress's rule", f"on {NODES} nodes it misses the limits from both sides by {kress:.1e}", cure)
    return KernelReport(kernel.name, max(split), equation, strength, layers, nearby, jumps, kress)


def _rings(radii: np.ndarray) -> Array:
    """Points at these distances from 0, in three directions."""
    angle = jnp.array([0.3, 1.9, 4.4])
    return jnp.asarray(radii)[:, None, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def _smoothness(kernel: AbstractKernel, name: str, size: float, require: Callable) -> float:
    q = size**2 * jnp.array([0.0, 1e-12, 1e-8])
    slopes = [getattr(kernel, name)]
    made = jax.eval_shape(slopes[0], q)
    shape, dtype = jnp.shape(made), jnp.result_type(made)
    found = f"`{name}` of 3 numbers in float64 has shape {shape} and {dtype}"
    cure = "Compute with `q` entry by entry and in its precision: `jnp.full_like(q, 2.0)`, not `2.0`"
    require(shape != (3,) or dtype not in (jnp.float64, jnp.complex128), False, "the split", found, cure)
    for _ in range(4):
        slopes.append(lambda q, f=slopes[-1]: jax.jvp(f, (q,), (jnp.full_like(q, size**2),))[1])
    table = np.asarray(run(lambda q: jnp.stack([f(q) for f in slopes]), q))
    with np.errstate(invalid="ignore", over="ignore"):
        change = np.abs(table - table[:, :1]) / max(np.nanmax(np.abs(table)), np.finfo(float).tiny)
    change = np.where(np.isfinite(change), change, np.inf)
    m, at = np.unravel_index(change.argmax(), change.shape)
    found = (
        f"derivative {m} of `{name}` tends to {table[m, max(at, 1)]:.3g} as q -> 0, but at q = 0 is {table[m, 0]:.3g}"
    )
    cure = (
        "It is not smooth there (sqrt(q), q log q), or cancels (G less its logarithm: use a power series), or it takes "
    )
    cure += "`jnp.where` of a value that is undefined at 0: replace the argument instead, f(jnp.where(q > 0, q, 1))"
    return require(float(change.max()), 1e-3, "the split", found, cure)


def _wrong_number(kernel: AbstractKernel, applied: Callable, points: Array) -> str:
    """Whether G solves the equation with another number in it, or with a multiple of log_part."""
    log = applied(lambda x: kernel.log_part(x @ x) * jnp.log(x @ x))
    for ratio, words in (
        (
            applied(kernel.fundamental) / kernel.fundamental(points),
            "L G = {:.6g} G: is k the same in `operator`, its sign too",
        ),
        (
            -applied(lambda x: kernel.smooth_part(x @ x)) / log,
            "It would be 0 with `log_part` times {:.6g}: log q = 2 log |d|",
        ),
    ):
        if jnp.max(jnp.abs(ratio - ratio.mean())) <= 1e-6 * jnp.abs(ratio.mean()):
            return words.format(ratio.mean().item())
    return "Numbers or signs in `operator` are not those of the kernel"


def _strength(kernel: AbstractKernel, size: float) -> complex:
    inner, sign = (kernel.fundamental, -1) if kernel.order == 2 else (laplacian(kernel.fundamental), 1)
    # At order four the derivatives of G may be differences of larger ones: circles not as small.
    x = _rings(size * (1e-4 if kernel.order == 2 else 3e-3) * np.array([1.0, 2.0, 4.0]))
    flux = sign * 2 * np.pi * jnp.sum(run(jax.vmap(jax.vmap(jax.jacfwd(inner))), x) * x, axis=-1).mean(axis=1)
    # Takes away radius² and radius² log radius, which the lower terms of the equation bring in.
    strength = complex((16 * flux[0] - 8 * flux[1] + flux[2]) / 9)
    return strength if abs(strength.imag) > 1e-6 else strength.real


def damaged(operator: Operator, noise: float, seed: int = 0) -> Operator:
    """The operator with every weight changed at random, by `noise` of the spread of its array: wrong by a known amount.

    To see whether what it says of its own error is true.
    """
    draw = np.random.default_rng(seed).standard_normal
    weights, rest = eqx.partition(operator.network, eqx.is_inexact_array)
    weights = jax.tree_util.tree_map(lambda w: w + noise * jnp.std(w) * draw(w.shape), weights)
    return dataclasses.replace(operator, network=eqx.combine(weights, rest))
