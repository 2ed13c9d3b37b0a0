"""Densities: functions on the boundary of one member."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from edgewise.special import interpolate


class AbstractDensity(eqx.Module):
    """A function of the boundary coordinate."""

    @abc.abstractmethod
    def __call__(self, s: Float[Array, ""]) -> Inexact[Array, ""]:
        """The density at one boundary coordinate."""


class NodalDensity(AbstractDensity):
    """Values at the nodes of a rule; in between, their trigonometric interpolant."""

    s: Float[Array, " n"]
    values: Inexact[Array, " n"]

    def __call__(self, s: Float[Array, ""]) -> Inexact[Array, ""]:
        # Nodes are at s = ±2πj/n modulo 2π, minus where a clockwise curve was turned round.
        return interpolate(self.values, jnp.sign(self.s[2] - self.s[1]) * s)
