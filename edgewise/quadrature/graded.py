"""Kress's rule on nodes graded to corners."""

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import AbstractCurve, Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.kernels.kernel import log_square
from edgewise.precision import is_concrete
from edgewise.quadrature.periodic import (
    circulant_rows,
    coincidence,
    hypersingular_log,
    kernel_values,
    log_correction,
    log_factors,
    off_diagonal,
)
from edgewise.quadrature.rule import AbstractQuadrature, check_num_nodes

DEFAULT_ORDER = 12.0


class Graded(AbstractQuadrature):
    """Kress's rule for curves with corners, on nodes that crowd towards each like u^order."""

    num_nodes: int = eqx.field(static=True)
    order: float = eqx.field(static=True)
    resolves = Singularity.HYPERSINGULAR

    def __init__(self, num_nodes: int, order: float = DEFAULT_ORDER):
        self.num_nodes = check_num_nodes("Graded", num_nodes, even=True)
        if isinstance(order, bool) or not isinstance(order, int | float) or not 2 <= order <= 30:
            raise ValueError(f"`order` must lie in [2, 30], got {order!r}. Write `Graded({num_nodes}, order=12)`.")
        self.order = float(order)

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        n = self.num_nodes
        return (np.arange(n) + 0.5) * (2 * np.pi / n), np.full(n, 2 * np.pi / n)

    def place(self, family, parameters, dtype) -> Boundary:
        corners = max(1, len(family.corners))
        unit = math.lcm(2, corners)
        if self.num_nodes % unit:
            raise ValueError(
                f"`Graded({self.num_nodes})` cannot share its nodes evenly among the {corners} sides of this curve; expected "
                f"an even multiple of {corners}. Write `Graded({-(-self.num_nodes // unit) * unit})`."
            )
        return self.position(self.grid()[0], family, parameters, dtype)

    def position(
        self, sigma: Float[Array, " n"] | np.ndarray, family: AbstractCurve, parameters: Mapping[str, Any], dtype: Any
    ) -> Boundary:
        """The nodes at any coordinates σ of this rule; weights are those of as many equispaced σ."""
        weight = 2 * np.pi / sigma.shape[0]
        orientation = jax.lax.stop_gradient(family.orientation(parameters)).astype(dtype)
        if not family.corners:
            s = jnp.asarray(sigma, dtype)
            s = jnp.where(orientation < 0, 2 * np.pi - s, s)
            return family.boundary_at(s, jnp.broadcast_to(orientation, s.shape), weight, parameters)
        # Both ways round, to choose from: with numpy where σ is known, so that float32 does not round it first.
        sigma = np.asarray(sigma, float) if is_concrete(sigma) else sigma
        floor = FLOOR[np.dtype(dtype)]
        forward, backward = (grade(way, family.corners, self.order, floor) for way in (sigma, 2 * np.pi - sigma))
        corner, delta, stretch = (
            jnp.where(orientation < 0, jnp.asarray(b, dtype), jnp.asarray(f, dtype))
            for f, b in zip(forward, backward, strict=True)
        )
        return family.boundary_from_corners(corner, delta, orientation * stretch, weight, parameters)

    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 1
    ) -> Inexact[Array, "n n"]:
        if layer == "adjoint_double":
            weight = boundary.weight
            return self.matrix(kernel, "double", boundary).T * (weight / weight[:, None])
        n = self.num_nodes
        factor = log_factors(kernel, layer, boundary, boundary)
        correction = jnp.asarray(circulant_rows(log_correction(n), n), boundary.x.dtype)
        values = kernel_values(kernel, layer, boundary, boundary) + factor * correction
        values = values * boundary.weight
        principal = kernel.log_part(jnp.zeros(2, boundary.x.dtype))
        if layer == "double":
            values = values + jnp.diag(principal * gauss_defect(boundary))
        if layer == "hypersingular":
            values = values + principal * hypersingular_log(boundary, boundary)
        return values


def gauss_defect(boundary: Boundary) -> Float[Array, " n"]:
    """By how much the double layer of log |d|², density one, falls short of 2π at the nodes."""
    kernel = off_diagonal(log_square, "double", boundary, boundary)
    values = jnp.where(coincidence(*kernel.shape), boundary.curvature, kernel)
    return 2 * np.pi - jnp.sum(values * boundary.weight, axis=1)


FLOOR = {np.dtype("float64"): 1e-36, np.dtype("float32"): 1e-12}


def grade(sigma: Any, corners: tuple[float, ...], order: float, floor: float) -> tuple[Any, Any, Any]:
    """The nearest corner of each σ, the way δ from it, and dδ/dσ."""
    xp = np if isinstance(sigma, np.ndarray) else jnp
    count = len(corners)
    share = xp.mod(sigma / (2 * np.pi), 1) * count
    segment = xp.minimum(xp.floor(share), count - 1).astype(int)
    u = share - segment
    late = u > 0.5
    way, slope = sigmoid(xp.where(late, 1 - u, u), order, xp)
    # A little of the plain coordinate keeps the nodes apart where the power would underflow.
    way, slope = way + floor * (xp.where(late, 1 - u, u) - way), slope + floor * (1 - slope)
    length = xp.asarray(np.diff(corners, append=corners[0] + 2 * np.pi))[segment]
    corner = xp.asarray(corners)[(segment + late) % count]
    return corner, xp.where(late, -1, 1) * length * way, length * slope * count / (2 * np.pi)


def sigmoid(u: Any, order: float, xp: Any) -> tuple[Any, Any]:
    """Kress's w(u) = v^p / (v^p + (1 - v)^p) for u <= 1/2 and its derivative; no digit is lost as u -> 0."""
    c = 0.5 - 1 / order
    # v = (1/p - 1/2)(1 - 2u)³ + (2u - 1)/p + 1/2, written as a multiple of u.
    v = u * (6 * c + 2 / order + u * (8 * c * u - 12 * c))
    dv = 6 * c + 2 / order + u * (24 * c * u - 24 * c)
    ratio = v / (1 - v)
    power = ratio**order
    return power / (1 + power), order * ratio ** (order - 1) * dv / ((1 + power) * (1 - v)) ** 2
