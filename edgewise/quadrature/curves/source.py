"""A closed curve as the source of a field: fine nodes, weights for targets anywhere, and the layers they integrate."""

import abc
from collections.abc import Callable
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.kernels.nearby import Weights, as_complex, scaled_normal


class AbstractSource(eqx.Module):
    """Nodes of one closed curve, finer than those of a density, and rules on them for targets anywhere.

    The curve has the domain on its left: it runs counterclockwise, and clockwise round a hole.
    """

    x: eqx.AbstractVar[Float[Array, "k 2"]]
    velocity: eqx.AbstractVar[Float[Array, "k 2"]]
    """dx/dσ."""
    step: eqx.AbstractVar[Float[Array, " k"]]
    """Weights of the plain rule in σ."""

    @abc.abstractmethod
    def spread(self, values: Inexact[Array, " n"]) -> Inexact[Array, " k"]:
        """Values at a rule's nodes, interpolated to these."""

    @abc.abstractmethod
    def thinned(self, values: Array) -> Array:
        """Nodes or nodal values of which the plain rule needs fewer, for targets away from the curve."""

    @abc.abstractmethod
    def weights(self, target: Float[Array, " 2"], left: bool) -> tuple[Weights, Float[Array, ""], Bool[Array, ""]]:
        """For any target: weights, how often the curve winds round it, and whether it lies on the curve.

        There the limit from the left or from the right is taken.
        """

    @abc.abstractmethod
    def may_be_close(self, target: Float[Array, " 2"]) -> Bool[Array, ""]:
        """Whether the plain rule may not be enough."""

    def plain(self) -> Self:
        """The nodes that suffice for targets away from the curve."""
        parts = (self.x, self.velocity, self.step)
        scale = self.step.shape[0] / self.thinned(self.step).shape[0]
        x, velocity, step = (self.thinned(part) for part in parts)
        return eqx.tree_at(lambda s: (s.x, s.velocity, s.step), self, (x, velocity, step * scale))


class Layers(eqx.Module):
    """A single and a double layer at the nodes of a source, ready to be evaluated.

    What is kept is smooth wherever the curve is: a density times its jacobian, but never the jacobian itself, whose
    square root has branch points close to the real axis.
    """

    source: AbstractSource
    single: Inexact[Array, "... k"] | None
    """Density of the single layer times jacobian."""
    double: Inexact[Array, "... k"] | None
    """Density of the double layer."""
    double_slope: Inexact[Array, "... k"] | None
    """Its derivative in σ."""

    def plain(self) -> "Layers":
        parts = (self.single, self.double, self.double_slope)
        return Layers(
            self.source.plain(), *(None if part is None else by_rows(self.source.thinned, part) for part in parts)
        )


def by_rows(function: Callable[[Array], Array], values: Inexact[Array, "... n"]) -> Inexact[Array, "... m"]:
    """A function of the values at all nodes, of each component of a vector."""
    return function(values) if values.ndim == 1 else jax.vmap(function)(values)


def spread_rows(source: AbstractSource, values: Inexact[Array, "... n"]) -> Inexact[Array, "... k"]:
    return by_rows(source.spread, values)


def plain_weights(source: AbstractSource, target: Float[Array, " 2"]) -> Weights:
    """Those of the source's own rule, for targets away from the curve."""
    d = as_complex(target) - as_complex(source.x)
    return Weights(source.step * jnp.log(d.real**2 + d.imag**2), source.step / d)


def winding_number(source: AbstractSource, target: Float[Array, " 2"]) -> Float[Array, ""]:
    """How often the curve runs counterclockwise round a target away from the curve, by the plain rule."""
    d = as_complex(target) - as_complex(source.x)
    return -jnp.sum(source.step * (as_complex(scaled_normal(source)) / d).real) / (2 * jnp.pi)
