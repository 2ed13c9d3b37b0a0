"""What every family is: parameters in, boundary out. All derivatives come from autodiff, here and only here."""

import abc
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from edgewise.base.named import bind, names_in
from edgewise.geometry.boundary import Boundary


class AbstractFamily(eqx.Module):
    """Boundaries indexed by named parameters."""

    dim: eqx.AbstractClassVar[int]

    @property
    def in_space(self) -> bool:
        """Whether members are surfaces, which consist of patches, and not curves of the plane."""
        return self.dim == 3

    @property
    @abc.abstractmethod
    def components(self) -> int:
        """How many closed curves, or bodies, a member consists of."""

    @property
    def patches(self) -> int:
        """How many patches a member consists of; none in the plane."""
        return 0

    @property
    def has_edges(self) -> bool:
        """Whether patches are graded toward edges of a body, where densities are harder to resolve."""
        return False

    @property
    def meridians(self) -> int:
        """The number of lines that generate a body of revolution about the third axis; 0 for all other families."""
        return 0

    @abc.abstractmethod
    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        """Position of boundary coordinate `s`. Numbers of this family are bound already; call `point` instead."""

    @property
    @abc.abstractmethod
    def curves(self) -> "tuple[AbstractCurve, ...]":
        """The closed plane curves that a member consists of; none of a surface."""

    @abc.abstractmethod
    def coordinates(self, grid: np.ndarray) -> np.ndarray:
        """The boundary coordinates of a rule's grid, of one component or patch after the other."""

    @abc.abstractmethod
    def boundary(self, grid: Array, weight: Float[Array, " n"], parameters: Mapping[str, Any]) -> Boundary:
        """The nodes at a rule's coordinates, with the rule's weights."""

    @abc.abstractmethod
    def body_at(self, s: Array) -> Int[Array, ""]:
        """The number of the curve, or of the body, that a boundary coordinate lies on, counted from 0."""

    @abc.abstractmethod
    def node(self, s: Array, parameters: Mapping[str, Any]) -> Boundary:
        """The node at one boundary coordinate, with weight 1 of the rule."""

    def point(self, s: Any, **parameters: Any) -> Float[Array, " d"]:
        """Position of boundary coordinate `s` on the member with these parameters."""
        s = jnp.asarray(s)
        s = s if s.dtype.kind == "f" else s.astype(jnp.result_type(s, float))
        # A number that is an array keeps its own precision; the point has that of its coordinate.
        return bind(self, parameters).locate(s, parameters).astype(s.dtype)

    @property
    def names(self) -> frozenset[str]:
        """The parameters this family reads."""
        return names_in(self)


class AbstractPlaneFamily(AbstractFamily):
    """Closed plane curves, one or several."""

    dim = 2

    @property
    def components(self) -> int:
        return len(self.curves)

    def coordinates(self, grid: np.ndarray) -> np.ndarray:
        return np.concatenate([grid + 2 * np.pi * turn for turn in range(self.components)])

    @abc.abstractmethod
    def directions(self, parameters: Mapping[str, Any]) -> Array:
        """For every curve +1 if its nodes run counterclockwise, -1 if clockwise, as they do round a hole."""

    def body_at(self, s: Array) -> Int[Array, ""]:
        return turn_of(s, len(self.curves))

    @abc.abstractmethod
    def joined(self, curves: list[Boundary]) -> Boundary:
        """The nodes of all curves as one boundary."""


# Closer to a corner than this share of a segment, positions relative to it come from an integral, not a difference.
CLOSE_TO_CORNER = 0.05
_GAUSS = np.polynomial.legendre.leggauss(10)


class AbstractCurve(AbstractPlaneFamily):
    """Closed plane curves: `point` has period 2π in `s`, and is smooth between `corners`."""

    @property
    def corners(self) -> tuple[float, ...]:
        """Coordinates `s` of the corners, ascending in [0, 2π)."""
        return ()

    @property
    def corner_power(self) -> float:
        """The curve leaves its corners like |s - corner| to this power: 1 where it has a velocity there."""
        return 1.0

    @property
    def curves(self) -> "tuple[AbstractCurve, ...]":
        return (self,)

    def directions(self, parameters: Mapping[str, Any]) -> Array:
        return jnp.ones(1)

    def joined(self, curves: list[Boundary]) -> Boundary:
        return curves[0]

    def boundary(
        self,
        grid: Float[Array, " n"],
        weight: Float[Array, " n"],
        parameters: Mapping[str, Any],
        direction: Any = 1.0,
    ) -> Boundary:
        """The nodes at `grid`, a rule's coordinates in [0, 2π), with the rule's weights.

        They run counterclockwise, or clockwise where `direction` is -1. Where the curve itself runs the other way its
        nodes come in reverse order, the first still first, which on an equispaced grid are those of `-grid`.
        """
        nodes = (grid, weight, *jax.vmap(lambda s: self._derivatives(s, parameters))(grid))
        orientation = jax.lax.stop_gradient(self.orientation(parameters) * direction).astype(grid.dtype)
        backwards = -np.arange(grid.shape[0])
        # Not `orientation * grid`: one grid for all members lets them share whatever does not depend on parameters.
        s, weight, x, first, second = (jnp.where(orientation < 0, part[backwards], part) for part in nodes)
        first = orientation * first
        jacobian = jnp.linalg.norm(first, axis=-1)
        normal = jnp.stack([first[:, 1], -first[:, 0]], axis=-1) / jacobian[:, None]
        curvature = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / jacobian**3
        return Boundary(s, x, normal, jacobian, weight * jacobian, curvature)

    def node(self, s: Array, parameters: Mapping[str, Any]) -> Boundary:
        return self.boundary(s[None], jnp.ones_like(s)[None], parameters)

    def boundary_from_corners(
        self,
        corner: Float[Array, " n"],
        delta: Float[Array, " n"],
        stretch: Float[Array, " n"],
        weight: float,
        parameters: Mapping[str, Any],
    ) -> Boundary:
        """The nodes at s = corner + δ, however small δ; dδ/dσ = `stretch`, negative on a clockwise curve.

        Everything is computed from δ: s itself rounds to the corner.
        """
        bound = bind(self, parameters)

        def derivatives(corner, delta):
            def offset(delta):
                return bound.from_corner(corner, delta, parameters).astype(delta.dtype)

            return _two_derivatives(offset, delta)

        offset, first, second = jax.vmap(derivatives)(corner, delta)
        anchor = jax.vmap(lambda s: self.point(s, **parameters))(corner)
        s = jnp.mod(corner + delta, 2 * np.pi)
        return Boundary(s, anchor + offset, *_frame(first, second, stretch, weight), anchor, offset)

    def boundary_at(
        self, s: Float[Array, " n"], stretch: Float[Array, " n"], weight: float, parameters: Mapping[str, Any]
    ) -> Boundary:
        """The nodes at any `s`, in the order given; ds/dσ = `stretch`, negative on a clockwise curve."""
        x, first, second = jax.vmap(lambda s: self._derivatives(s, parameters))(s)
        return Boundary(s, x, *_frame(first, second, stretch, weight))

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        """x(corner + δ) - x(corner) to relative rounding, also for a δ that corner + δ would lose.

        Numbers are bound already, as for `locate`. Near the corner this is δ ∫₀¹ x'(corner + δt) dt, for curves with a
        one-sided velocity there; a curve without one must override it.
        """

        def velocity(step):
            s = jnp.mod(corner + step, 2 * np.pi)
            return jax.jvp(lambda s: self.locate(s, parameters), (s,), (jnp.ones_like(s),))[1]

        steps = delta * jnp.asarray((_GAUSS[0] + 1) / 2, delta.dtype)
        # A step that rounding would lose must still leave the corner on its own side. Derivatives are not touched.
        least = jnp.copysign(8 * np.pi * jnp.finfo(delta.dtype).eps, delta)
        steps = steps + jax.lax.stop_gradient(jnp.where(jnp.abs(steps) < jnp.abs(least), least - steps, 0))
        near = delta * (jnp.asarray(_GAUSS[1] / 2, delta.dtype) @ jax.vmap(velocity)(steps))
        far = self.locate(jnp.mod(corner + delta, 2 * np.pi), parameters) - self.locate(corner, parameters)
        shortest = np.min(np.diff(self.corners, append=self.corners[0] + 2 * np.pi))
        return jnp.where(jnp.abs(delta) < CLOSE_TO_CORNER * shortest, near, far)

    def orientation(self, parameters: Mapping[str, Any]) -> Array:
        """+1 if `s` runs counterclockwise, -1 if clockwise: the sign of the enclosed area."""
        corners = max(1, len(self.corners))
        # A multiple of the number of corners, so that a polygon's own vertices are among the points.
        s = jnp.linspace(0, 2 * jnp.pi, -(-64 // corners) * corners, endpoint=False)
        x, y = jax.vmap(lambda s: self.point(s, **parameters))(s).T
        return jnp.where(jnp.sum(x * jnp.roll(y, -1) - y * jnp.roll(x, -1)) < 0, -1.0, 1.0)

    def _derivatives(self, s: Array, parameters: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        def position(s):
            return self.point(s, **parameters)

        return _two_derivatives(position, s)


def _two_derivatives(position, s: Array) -> tuple[Array, Array, Array]:
    def velocity(s):
        return jax.jvp(position, (s,), (jnp.ones_like(s),))[1]

    first, second = jax.jvp(velocity, (s,), (jnp.ones_like(s),))
    return position(s), first, second


def _frame(first: Array, second: Array, stretch: Array, weight: float) -> tuple[Array, Array, Array, Array]:
    """Normal, jacobian, weight and curvature from derivatives in a coordinate that moves with dσ by `stretch`."""
    speed = jnp.linalg.norm(first, axis=-1)
    # A unit vector before any product: at a corner the cube of a speed would underflow.
    tangent = first * (jnp.sign(stretch) / speed)[:, None]
    normal = jnp.stack([tangent[:, 1], -tangent[:, 0]], axis=-1)
    curvature = (tangent[:, 0] * second[:, 1] - tangent[:, 1] * second[:, 0]) / speed**2
    jacobian = speed * jnp.abs(stretch)
    return normal, jacobian, weight * jacobian, curvature


def turn_of(s: Any, curves: int) -> Array:
    """Which of several curves a boundary coordinate lies on, counted from 0; beyond the ends, the nearest.

    >>> turn_of(jnp.float32(10 * np.pi), 6).tolist()
    5
    """
    turns = jnp.asarray(s, jnp.result_type(s, jnp.float32)) / (2 * np.pi)
    # In single precision 10π lies below five turns: rounding must not put the first node of a curve on the one before.
    nudge = 8 * curves * jnp.finfo(turns.dtype).eps
    return jnp.clip(jnp.floor(turns + nudge).astype(int), 0, curves - 1)
