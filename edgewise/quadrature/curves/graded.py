"""Kress's rule on nodes graded to corners."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.base.precision import is_concrete
from edgewise.geometry import AbstractCurve, AbstractFamily, AbstractPlaneFamily, Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.kernels.layers import dot
from edgewise.quadrature.curves.panel_source import PANEL_NODES, PanelSource
from edgewise.quadrature.curves.panels import panel_grid
from edgewise.quadrature.curves.periodic import (
    circulant_rows,
    hypersingular_log,
    kernel_values,
    log_correction,
    log_factors,
    seen_angles,
)
from edgewise.quadrature.curves.rule import AbstractCurveRule, smooth_nodes
from edgewise.quadrature.curves.source import AbstractSource
from edgewise.quadrature.rule import check_num_nodes, next_shared, sides

# Errors at corners fall with this power of the number of nodes, or faster; the number grows by at most this factor at
# once.
CORNER_ORDER, LARGEST_CORNER_STEP = 8, 2.5
# The share of the plain coordinate in the graded one, by which nodes stay apart and squares of their distances do not
# underflow.
FLOOR = {np.dtype("float64"): 1e-28, np.dtype("float32"): 1e-12}


class Graded(AbstractCurveRule):
    """Kress's rule for curves with corners, on nodes that crowd towards each corner.

    The coordinate σ is cut into equal shares, one for each segment between corners. On each share s runs from end to
    end like Kress's w(u) = v^p / (v^p + (1 - v)^p), whose first p - 1 derivatives vanish at both ends. A density that
    grows like r^(α-1) at a corner, α > 1/2, becomes u^(pα-1) once it is multiplied by the jacobian, and the rules for
    smooth periodic functions hold again. Nodes lie between the corners, at σ = 2π (j + 1/2)/n, as close to them as
    1e-31. The distance between two nodes, as a kernel sees it, is computed from their positions relative to a corner.

    The double layer takes its diagonal from Gauss's identity, D 1 = -1/2, which so holds exactly. Its adjoint is the
    transpose. The hypersingular layer is large where the jacobian is small: solve for it with rows times jacobian.

    The error falls like n^(-pα): faster than n^-8.5, measured on a square, an L and a teardrop of 30°, where the single
    layer's potential misses smooth data on the boundary by 5e-13, 4e-11 and 2e-13 at 1,024 nodes. Thin corners need the
    most nodes, which must not be farther apart than the two sides: on a teardrop of 10° the misfit is 2e-9. On a curve
    without corners this is `Kress` on nodes moved by half a step.

    The single layer's matrix is well conditioned (1e6), but elimination with partial pivoting loses up to ten digits on
    it: let one step of iterative refinement follow, or pivot symmetrically.

    Arguments:
        num_nodes: A multiple of sixteen times the number of corners.
        order: p. A higher order resolves corners better, and needs more nodes to do so. Among the orders 6 to 20, on
            angles of 10° to 350°, 16 is within a factor of four of the best from 256 to 1,024 nodes.

    Reference: R. Kress, "A Nyström method for boundary integral equations in domains with corners", Numer. Math. 58
    (1990).
    """

    num_nodes: int = eqx.field(static=True)
    order: float = eqx.field(static=True)
    resolves = Singularity.HYPERSINGULAR
    slows_down = True
    is_sure = False

    def __init__(self, num_nodes: int, order: float = 16.0):
        self.num_nodes = check_num_nodes("Graded", num_nodes, even=True)
        if isinstance(order, bool) or not isinstance(order, int | float | np.number) or not 2 <= order <= 20:
            raise ValueError(
                f"`order` must be a number in [2, 20], got {order!r}. Write `Graded({self.num_nodes}, order=16)`."
            )
        self.order = float(order)

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        n = self.num_nodes
        return (np.arange(n) + 0.5) * (2 * np.pi / n), np.full(n, 2 * np.pi / n)

    def place(self, family, parameters, dtype) -> Boundary:
        shares = max(1, sides(family))
        wanted = next_shared(self.num_nodes, shares)
        if self.num_nodes != wanted:
            raise ValueError(
                f"`Graded({self.num_nodes})` cannot share its nodes evenly among the {shares} sides of this curve; "
                f"expected a multiple of {16 * shares}. Write `Graded({wanted})`."
            )
        return self.at(self.grid()[0], family, parameters, dtype)

    def at(
        self, sigma: Float[Array, " n"] | np.ndarray, family: AbstractFamily, parameters: Mapping[str, Any], dtype: Any
    ) -> Boundary:
        assert isinstance(family, AbstractPlaneFamily), "surfaces have rules of their own"
        directions = zip(family.curves, family.directions(parameters), strict=True)
        return family.joined([self._on(curve, sigma, parameters, dtype, way) for curve, way in directions])

    def seen(self, nodes: Boundary) -> Boundary:
        grid = self.grid()[0] + 2 * np.pi * np.arange(nodes.components)[:, None]
        return dataclasses.replace(nodes, s=jnp.asarray(grid.reshape(-1), nodes.s.dtype))

    def growth(self, reached: float, tol: float) -> float:
        return min((min(reached, 0.5) / tol) ** (1 / CORNER_ORDER), LARGEST_CORNER_STEP)

    def source(self, family, parameters, dtype) -> AbstractSource:
        sigma, step = panel_grid(np.linspace(0, 2 * np.pi, self.num_nodes // PANEL_NODES + 1))
        fine = self.at(sigma, family, parameters, dtype).split()
        return jax.vmap(lambda nodes: PanelSource(nodes, jnp.asarray(step, dtype)))(fine)

    def _on(self, curve: AbstractCurve, sigma: Any, parameters: Mapping[str, Any], dtype: Any, way: Array) -> Boundary:
        if not curve.corners:
            return smooth_nodes(curve, sigma, parameters, dtype, way)
        weight = 2 * np.pi / sigma.shape[0]
        orientation = jax.lax.stop_gradient(curve.orientation(parameters) * way).astype(dtype)
        # By numpy where σ is known: single precision would round it before its power is taken.
        sigma = np.asarray(sigma, float) if is_concrete(sigma) else sigma
        power = curve.corner_power
        order, floor = max(2.0, self.order / power), FLOOR[np.dtype(dtype)] ** (1 / power)
        forward, backward = (grade(way, curve.corners, order, floor) for way in (sigma, 2 * np.pi - sigma))
        corner, delta, stretch = (
            jnp.where(orientation < 0, jnp.asarray(b, dtype), jnp.asarray(f, dtype))
            for f, b in zip(forward, backward, strict=True)
        )
        return curve.boundary_from_corners(corner, delta, orientation * stretch, weight, parameters)

    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 1
    ) -> Inexact[Array, "*value n n"]:
        if layer == "adjoint_double":
            weight = boundary.weight
            return self.matrix(kernel, "double", boundary).T * (weight / weight[:, None])
        correction = jnp.asarray(circulant_rows(log_correction(self.num_nodes), self.num_nodes), boundary.x.dtype)
        factor = log_factors(kernel, layer, boundary, boundary)
        values = (kernel_values(kernel, layer, boundary, boundary) + factor * correction) * boundary.weight
        principal = kernel.pole(boundary.x.dtype)
        if layer == "double":
            values = values + jnp.diag(principal * missing_angle(boundary))
        if layer == "hypersingular":
            values = values + principal * hypersingular_log(boundary, boundary)
        return values

    def gauss_defect(self, boundary: Boundary, *, sampling: int = 1) -> Float[Array, " m"]:
        return jnp.abs(missing_angle(boundary)) / (2 * np.pi)


def missing_angle(boundary: Boundary) -> Float[Array, " n"]:
    """By how much twice the angle at which nodes see the curve falls short of 2π; of -2π round a hole."""
    area = jnp.sum(boundary.weight * dot(boundary.x - boundary.x.mean(axis=0), boundary.normal))
    return 2 * np.pi * jnp.sign(area) - seen_angles(boundary)


def grade(sigma: Any, corners: tuple[float, ...], order: float, floor: float) -> tuple[Any, Any, Any]:
    """The nearest corner of every σ, the way δ to go from it, and dδ/dσ."""
    xp = np if isinstance(sigma, np.ndarray) else jnp
    count = len(corners)
    share = xp.mod(sigma / (2 * np.pi), 1) * count
    segment = xp.minimum(xp.floor(share), count - 1).astype(int)
    u = share - segment
    late = u > 0.5
    u = xp.where(late, 1 - u, u)
    way, slope = sigmoid(u, order)
    way, slope = way + floor * (u - way), slope + floor * (1 - slope)
    length = xp.asarray(np.diff(corners, append=corners[0] + 2 * np.pi))[segment]
    corner = xp.asarray(corners)[(segment + late) % count]
    return corner, xp.where(late, -way, way) * length, length * slope * (count / (2 * np.pi))


def sigmoid(u: Any, order: float) -> tuple[Any, Any]:
    """Kress's w(u) = v^p / (v^p + (1 - v)^p) for u <= 1/2 and its derivative; no digit is lost as u -> 0."""
    c = 0.5 - 1 / order
    # v = (1/p - 1/2)(1 - 2u)³ + (2u - 1)/p + 1/2, written as a multiple of u.
    v = u * (6 * c + 2 / order + u * (8 * c * u - 12 * c))
    dv = 6 * c + 2 / order + u * (24 * c * u - 24 * c)
    ratio = v / (1 - v)
    power = ratio**order
    return power / (1 + power), order * ratio ** (order - 1) * dv / ((1 + power) * (1 - v)) ** 2
