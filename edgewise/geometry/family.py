"""What every family is: parameters in, boundary out. All derivatives come from autodiff, here and only here."""

import abc
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.geometry.boundary import Boundary
from edgewise.geometry.parameters import bind, names_in


class AbstractFamily(eqx.Module):
    """Boundaries indexed by named parameters."""

    dim: eqx.AbstractClassVar[int]

    @abc.abstractmethod
    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        """Position of boundary coordinate `s`. Numbers of this family are bound already; call `point` instead."""

    @property
    @abc.abstractmethod
    def curves(self) -> "tuple[AbstractCurve, ...]":
        """The closed curves that a member consists of."""

    @abc.abstractmethod
    def boundary(self, grid: Float[Array, " n"], weight: Float[Array, " n"], parameters: Mapping[str, Any]) -> Boundary:
        """The nodes at a rule's coordinates, with the rule's weights."""

    def point(self, s: Any, **parameters: Any) -> Float[Array, " d"]:
        """Position of boundary coordinate `s` on the member with these parameters."""
        s = jnp.asarray(s, jnp.result_type(s, float) if jnp.result_type(s).kind != "f" else None)
        # A number that is an array keeps its own precision; the point has that of its coordinate.
        return bind(self, parameters).locate(s, parameters).astype(s.dtype)

    @property
    def names(self) -> frozenset[str]:
        """The parameters this family reads."""
        return names_in(self)


class AbstractCurve(AbstractFamily):
    """Smooth closed plane curves: `point` has period 2π in `s`."""

    dim = 2

    @property
    def curves(self) -> "tuple[AbstractCurve, ...]":
        return (self,)

    def boundary(
        self,
        grid: Float[Array, " n"],
        weight: Float[Array, " n"],
        parameters: Mapping[str, Any],
        direction: Any = 1.0,
    ) -> Boundary:
        """The nodes at `grid`, a rule's coordinates in [0, 2π), with the rule's weights.

        They run counterclockwise, or clockwise where `direction` is -1. Where the curve itself runs the other way its nodes
        come in reverse order, the first still first, which on an equispaced grid are those of `-grid`.
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

    def orientation(self, parameters: Mapping[str, Any]) -> Array:
        """+1 if `s` runs counterclockwise, -1 if clockwise: the sign of the enclosed area."""
        s = jnp.linspace(0, 2 * jnp.pi, 64, endpoint=False)
        x, y = jax.vmap(lambda s: self.point(s, **parameters))(s).T
        return jnp.where(jnp.sum(x * jnp.roll(y, -1) - y * jnp.roll(x, -1)) < 0, -1.0, 1.0)

    def _derivatives(self, s: Array, parameters: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        def position(s):
            return self.point(s, **parameters)

        def velocity(s):
            return jax.jvp(position, (s,), (jnp.ones_like(s),))[1]

        first, second = jax.jvp(velocity, (s,), (jnp.ones_like(s),))
        return position(s), first, second
