"""Densities: functions on the boundary of one member."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from edgewise.geometry.family import turn_of
from edgewise.special import interpolate, lagrange

BETWEEN_NODES = (
    "The density of a curve with corners is given at the nodes, not between them: expected no call. Read "
    "`solution.density.values` at `solution.boundary.s`."
)


class AbstractDensity(eqx.Module):
    """A function of the boundary coordinate."""

    @abc.abstractmethod
    def __call__(self, s: Float[Array, ""]) -> Inexact[Array, ""]:
        """The density at one boundary coordinate."""

    @abc.abstractmethod
    def member(self, index: int) -> "AbstractDensity":
        """One of a batch."""


class NodalDensity(AbstractDensity):
    """Values at the nodes of a rule; in between, their trigonometric interpolant on each curve."""

    s: Float[Array, " n"]
    values: Inexact[Array, "... n"]
    """A pair of densities has two rows."""
    components: int = eqx.field(static=True, default=1)
    graded: bool = eqx.field(static=True, default=False)
    """Whether nodes crowd towards corners; then the density is given at the nodes alone, since it is infinite there."""

    def __call__(self, s: Float[Array, ""]) -> Inexact[Array, "..."]:
        if self.graded:
            raise ValueError(BETWEEN_NODES)
        nodes = self.s.reshape(self.components, -1)
        values = self.values.reshape(*self.values.shape[:-1], self.components, -1)
        turn = turn_of(s, self.components) if self.components > 1 else 0
        # Nodes are at s = ±2πj/n modulo 2π, minus where a clockwise curve was turned round.
        sigma = jnp.sign(nodes[turn, 2] - nodes[turn, 1]) * s
        return jnp.vectorize(lambda v: interpolate(v, sigma), signature="(n)->()")(values[..., turn, :])

    def member(self, index: int) -> "NodalDensity":
        return jax.tree_util.tree_map(lambda leaf: leaf[index], self)


class PanelDensity(AbstractDensity):
    """Values at the nodes of a surface's panels; in between, their polynomial interpolant on each panel."""

    values: Inexact[Array, " n"]
    num_nodes: int = eqx.field(static=True)
    panels: int = eqx.field(static=True)
    """Panels along a side of a patch."""

    def __call__(self, s: Float[Array, " 2"]) -> Inexact[Array, ""]:
        n, m = self.num_nodes, self.panels
        squares = self.values.reshape(-1, m, m, n, n)
        s = jnp.asarray(s, self.values.real.dtype)
        patch = jnp.clip(jnp.ceil(s[0]).astype(int) - 1, 0, len(squares) - 1)
        place = m * jnp.stack([s[0] - patch, s[1]])
        panel = jnp.clip(jnp.floor(place).astype(int), 0, m - 1)
        first, second = lagrange(n, 2 * (place - panel) - 1)
        return first @ squares[patch, panel[0], panel[1]] @ second

    def member(self, index: int) -> "PanelDensity":
        return jax.tree_util.tree_map(lambda leaf: leaf[index], self)
