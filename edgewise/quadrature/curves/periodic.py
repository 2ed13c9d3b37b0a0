"""Rules on equispaced nodes of a smooth closed curve: the trapezoid rule, and Kress's for singular kernels."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.kernels.kernel import displacement
from edgewise.kernels.layers import layer_of
from edgewise.quadrature.curves.rule import AbstractCurveRule
from edgewise.quadrature.rule import check_num_nodes, equispaced, next_shared, sides
from edgewise.special import circulant_weights, derivative, halve, resample, wave_numbers


class AbstractPeriodic(AbstractCurveRule):
    """Equispaced nodes with equal weights, on smooth closed curves alone."""

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        return equispaced(self.num_nodes)

    def place(self, family, parameters, dtype) -> Boundary:
        shares = sides(family)
        if shares:
            raise ValueError(
                f"`{type(self).__name__}({self.num_nodes})` is for smooth curves; this one has corners. "
                f"Use `Graded({next_shared(self.num_nodes, shares)})`."
            )
        return super().place(family, parameters, dtype)


class Trapezoid(AbstractPeriodic):
    """Equispaced nodes, equal weights, for smooth integrands on smooth closed curves.

    Converges geometrically in `num_nodes` on analytic data: for the double layer of Laplace, whose kernel tends to
    -curvature/4π where target and source meet. For a logarithm use `Kress`.
    """

    num_nodes: int = eqx.field(static=True)
    resolves = Singularity.SMOOTH

    def __init__(self, num_nodes: int):
        self.num_nodes = check_num_nodes("Trapezoid", num_nodes, even=False)

    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 1
    ) -> Inexact[Array, "*value n n"]:
        return kernel_values(kernel, layer, boundary, boundary) * boundary.weight

    def gauss_defect(self, boundary: Boundary, *, sampling: int = 1) -> Float[Array, " m"]:
        # Only where the nodes can be thinned: every fourth of another number of them is no grid.
        return gauss_defect(boundary, sampling=1) if self.num_nodes % 4 == 0 else jnp.zeros_like(boundary.s)


class Kress(AbstractPeriodic):
    """Trapezoid rule with Kress's weights for the logarithm, on smooth closed curves.

    Splits a kernel into A log(4 sin²((σ - σ')/2)) + B with smooth A and B; the first term gets weights that are exact
    for trigonometric polynomials, the second the plain rule. A hypersingular kernel gives up 1/sin²((σ - σ')/2) too,
    whose weights are exact likewise. The weights depend on the number of nodes alone, not on the curve. Converges
    geometrically in `num_nodes` while curve and density are analytic.

    Where a curve bends sharply a kernel is narrower than any density: it is sampled at twice the nodes, between which
    curve and density (of a single layer: density times jacobian) are interpolated. On the paper's Laplace family at
    t = 2 and 320 nodes this takes the error of the single layer from 1e-9 to 4e-15.

    Arguments:
        num_nodes: Even. 320 give 11 digits or more on the paper's Laplace family.

    Reference: R. Kress, Linear Integral Equations, 3rd ed., sections 12.3 and 13.5.
    """

    num_nodes: int = eqx.field(static=True)
    resolves = Singularity.HYPERSINGULAR

    def __init__(self, num_nodes: int):
        self.num_nodes = check_num_nodes("Kress", num_nodes, even=True)

    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 2
    ) -> Inexact[Array, "*value n n"]:
        source = refined(boundary) if sampling == 2 else boundary
        m, n = self.num_nodes, source.s.shape[0]
        factor = log_factors(kernel, layer, boundary, source)
        correction = jnp.asarray(circulant_rows(log_correction(n), m), source.x.dtype)
        fine = (kernel_values(kernel, layer, boundary, source) + factor * correction) * (2 * np.pi / n)
        if layer in ("single", "adjoint_double"):
            return (halve(fine) if sampling == 2 else fine) * boundary.jacobian
        fine = fine * source.jacobian
        if layer == "hypersingular":
            fine = fine + kernel.pole(source.x.dtype) * hypersingular_log(boundary, source)
        return halve(fine) if sampling == 2 else fine

    def gauss_defect(self, boundary: Boundary, *, sampling: int = 2) -> Float[Array, " m"]:
        return gauss_defect(boundary, sampling) if self.num_nodes * sampling % 4 == 0 else jnp.zeros_like(boundary.s)


def refined(boundary: Boundary) -> Boundary:
    """The same curve at twice as many nodes, interpolated."""
    count = 2 * boundary.s.shape[0]
    # As complex numbers: one transform for both coordinates.
    curve = jax.lax.complex(boundary.x[:, 0], boundary.x[:, 1])
    position, velocity = resample(curve, count), resample(derivative(curve), count)
    jacobian = jnp.abs(velocity)
    x = jnp.stack([position.real, position.imag], axis=-1)
    normal = jnp.stack([velocity.imag, -velocity.real], axis=-1) / jacobian[:, None]
    # Every other node is one of the curve's own; only there a target meets a source and curvature is read.
    curvature = jnp.repeat(boundary.curvature, 2)
    s = jnp.stack([boundary.s, boundary.s + (boundary.s[2] - boundary.s[1]) / 2], axis=1).reshape(-1)
    return Boundary(s, x, normal, jacobian, jacobian * (2 * np.pi / count), curvature)


def gauss_defect(boundary: Boundary, sampling: int) -> Float[Array, " m"]:
    """By how much Gauss's identity, D 1 = -1/2 on the curve, would be missed with `sampling` kernel samples a node.

    Found with a quarter of them: an error that falls geometrically is squared when the samples are doubled.
    """
    step = 4 // sampling
    nodes = jax.tree_util.tree_map(lambda leaf: leaf[::step], boundary)
    # Round a hole, clockwise, the sign is the other.
    return (jnp.abs(seen_angles(nodes) * step) / (4 * np.pi) - 0.5) ** 4


def seen_angles(boundary: Boundary) -> Float[Array, " n"]:
    """The double layer of log |d|², density one, by the plain rule: twice the angle at which a node sees the curve.

    That angle is π, on a curve that runs clockwise -π.
    """
    kernel = off_diagonal(layer_of_log("double"), boundary, boundary)
    values = jnp.where(coincidence(*kernel.shape), boundary.curvature, kernel)
    return jnp.sum(values * boundary.weight, axis=1)


def log_correction(num_nodes: int) -> np.ndarray:
    """Kress's weights of log(4 sin²(σ/2)) over the plain rule's weight, less the logarithm itself.

    This times the factor of the logarithm is what turns the plain rule into Kress's. At σ = 0 there is no logarithm
    to take away: the kernel's value there is the limit without it.
    """
    size = np.abs(wave_numbers(num_nodes)).astype(float)
    # The Fourier coefficients of log(4 sin²(σ/2)) are -2π/|k|, and 0 for k = 0.
    weights = circulant_weights(-2 * np.pi * np.divide(1, size, out=np.zeros_like(size), where=size > 0))
    logarithm = 2 * np.log(2 * half_sines(num_nodes))
    logarithm[0] = 0
    return weights * num_nodes / (2 * np.pi) - logarithm


def circulant_rows(values: np.ndarray, rows: int) -> np.ndarray:
    """Entries values[(i n/rows - j) mod n]: functions of σ_i - σ'_j, targets being every (n/rows)-th source."""
    n = len(values)
    return values[(np.arange(rows)[:, None] * (n // rows) - np.arange(n)[None, :]) % n]


def coincidence(m: int, n: int) -> Bool[Array, "m n"]:
    """Which of the m targets is which of the n sources; computed, not stored, since memory is slower."""
    return jnp.arange(m)[:, None] * (n // m) == jnp.arange(n)[None, :]


def half_sines(n: int) -> np.ndarray:
    """sin(σ/2) at the nodes; 1 instead of the 0 at the first."""
    sine = np.sin(np.pi * np.arange(n) / n)
    sine[0] = 1
    return sine


def log_factors(
    kernel: AbstractKernel, layer: Layer, target: Boundary, source: Boundary
) -> Inexact[Array, "*value m n"]:
    """The smooth factor of log |d|² in the layer."""

    def factor(target):
        def entry(source):
            return kernel.log_factor(layer, displacement(target, source), target.normal, source.normal)

        return jax.vmap(entry)(source)

    return values_first(jax.vmap(factor)(target))


def kernel_values(
    kernel: AbstractKernel, layer: Layer, target: Boundary, source: Boundary
) -> Inexact[Array, "*value m n"]:
    """The layer's regular part for every pair of nodes.

    Where the two nodes coincide, it is the limit without log(4 sin²((σ - σ')/2)).
    """
    limits = jax.vmap(lambda *node: kernel.limit(layer, *node))(target.normal, target.jacobian, target.curvature)
    values = off_diagonal(lambda *pair: kernel.regular(layer, *pair), target, source)
    same = coincidence(target.s.shape[0], source.s.shape[0]).reshape(*values.shape[:2], *[1] * (values.ndim - 2))
    return values_first(jnp.where(same, limits[:, None], values))


def values_first(values: Inexact[Array, "m n *value"]) -> Inexact[Array, "*value m n"]:
    return jnp.moveaxis(values, (0, 1), (-2, -1))


def hypersingular_log(target: Boundary, source: Boundary) -> Float[Array, "m n"]:
    """The hypersingular layer of log |d|²: -1/(2 sin²) exactly, plus a smooth rest."""
    m, n = target.s.shape[0], source.s.shape[0]
    dtype = source.x.dtype
    exact = jnp.asarray(circulant_rows(circulant_weights(2 * np.pi * np.abs(wave_numbers(n))), m), dtype)
    pole = jnp.asarray(circulant_rows(0.5 / half_sines(n) ** 2, m), dtype)
    kernel = off_diagonal(layer_of_log("hypersingular"), target, source)
    same = coincidence(m, n)
    rest = jnp.where(same, 0, kernel * target.jacobian[:, None] * source.jacobian + pole) * (2 * np.pi / n)
    # The layer of a constant density is zero: this gives the diagonal without third derivatives of the curve.
    rest = rest - jnp.where(same, rest.sum(axis=1, keepdims=True), 0)
    return (exact + rest) / target.jacobian[:, None]


def off_diagonal(function: Callable, target: Boundary, source: Boundary) -> Array:
    """A function of d and both normals for every pair of nodes; harmless numbers where they coincide."""
    same = coincidence(target.s.shape[0], source.s.shape[0])

    def row(target, same):
        def entry(source, same):
            # Replaced before, not masked after: the gradient of log at 0 is NaN even when masked.
            d = jnp.where(same, jnp.ones_like(target.x), displacement(target, source))
            return function(d, target.normal, source.normal)

        return jax.vmap(entry)(source, same)

    return jax.vmap(row)(target, same)


def layer_of_log(layer: Layer) -> Callable:
    """The layer of log |d|², for `off_diagonal`."""
    return lambda *pair: layer_of(jnp.log, layer, *pair)
