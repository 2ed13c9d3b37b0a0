"""A closed curve as the source of a field: fine nodes, weights for targets anywhere, and the layers they integrate."""

import abc
from typing import NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float, Inexact

from edgewise.kernels import AbstractKernel
from edgewise.kernels.kernel import dot, slopes


class Weights(NamedTuple):
    """Node weights for the factors log |d|² and 1/d of an integrand; d = target - source as complex numbers."""

    log: Float[Array, " k"]
    pole: Complex[Array, " k"]


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

    What is kept is smooth wherever the curve is: a density times its jacobian, never the jacobian, whose square root has
    branch points close to the real axis.
    """

    source: AbstractSource
    single: Inexact[Array, " k"] | None
    """Density of the single layer times jacobian."""
    double: Inexact[Array, " k"] | None
    """Density of the double layer."""
    double_slope: Inexact[Array, " k"] | None
    """Its derivative in σ."""

    def plain(self) -> "Layers":
        parts = (self.single, self.double, self.double_slope)
        return Layers(self.source.plain(), *(None if part is None else self.source.thinned(part) for part in parts))


def plain_weights(source: AbstractSource, target: Float[Array, " 2"]) -> Weights:
    """Those of the source's own rule, for targets away from the curve."""
    d = as_complex(target) - as_complex(source.x)
    return Weights(source.step * jnp.log(d.real**2 + d.imag**2), source.step / d)


def potential(
    kernel: AbstractKernel, layers: Layers, target: Float[Array, " 2"], weights: Weights
) -> Inexact[Array, ""]:
    """Single plus double layer at one target."""
    source = layers.source
    d = target - source.x
    order = 0 if layers.double is None else 1
    a, b = (slopes(part, dot(d, d), order) for part in (kernel.log_part, kernel.smooth_part))
    total = jnp.zeros((), d.dtype)
    if layers.single is not None:
        total += jnp.sum(layers.single * (a[0] * weights.log + b[0] * source.step))
    if layers.double is not None:
        normal = scaled_normal(source)
        # n·∇ log |d|² = 2 n·d / |d|² = 2 Re(n/d).
        along = 2 * dot(normal, d) * (a[1] * weights.log + b[1] * source.step)
        total -= jnp.sum(layers.double * (along + 2 * a[0] * (as_complex(normal) * weights.pole).real))
    return total


def gradient(
    kernel: AbstractKernel, layers: Layers, target: Float[Array, " 2"], weights: Weights
) -> Inexact[Array, " 2"]:
    """Gradient of single plus double layer at one target."""
    source = layers.source
    d = target - source.x
    order = 1 if layers.double is None else 2
    a, b = (slopes(part, dot(d, d), order) for part in (kernel.log_part, kernel.smooth_part))
    # Of what multiplies them, the parts of log |d|² and of 1 together.
    first = a[1] * weights.log + b[1] * source.step
    # ∇ log |d|² = 2 d / |d|², and d / |d|² is the conjugate of 1/d.
    log_gradient = 2 * _vector(jnp.conj(weights.pole))
    total = jnp.zeros(2, d.dtype)
    if layers.single is not None:
        total += layers.single @ (2 * first[:, None] * d + a[0][:, None] * log_gradient)
    if layers.double is not None and layers.double_slope is not None:
        normal = scaled_normal(source)
        across = dot(normal, d)
        second = a[2] * weights.log + b[2] * source.step
        normal_log = 2 * (as_complex(normal) * weights.pole).real
        inner = (
            2 * first[:, None] * normal
            + (4 * second * across + 2 * a[1] * normal_log)[:, None] * d
            + (2 * a[1] * across)[:, None] * log_gradient
        )
        # ∇ 2 Re(n/d) is the conjugate of -2n/d² = 2i (1/d)': by parts, the derivative moves to A times the density.
        moved = layers.double_slope * a[0] - layers.double * 2 * a[1] * dot(d, source.velocity)
        total -= layers.double @ inner + moved @ (2 * _vector(jnp.conj(-1j * weights.pole)))
    return total


def winding_number(source: AbstractSource, target: Float[Array, " 2"]) -> Float[Array, ""]:
    """How often the curve runs counterclockwise round the target, by the plain rule: for targets away from the curve."""
    d = as_complex(target) - as_complex(source.x)
    return -jnp.sum(source.step * (as_complex(scaled_normal(source)) / d).real) / (2 * jnp.pi)


def scaled_normal(source: AbstractSource) -> Float[Array, "k 2"]:
    """Outward normal times jacobian: dx/dσ turned clockwise."""
    return jnp.stack([source.velocity[:, 1], -source.velocity[:, 0]], axis=-1)


def as_complex(vector: Float[Array, "... 2"]) -> Complex[Array, "..."]:
    return jax.lax.complex(vector[..., 0], vector[..., 1])


def _vector(z: Array) -> Array:
    return jnp.stack([z.real, z.imag], axis=-1)
