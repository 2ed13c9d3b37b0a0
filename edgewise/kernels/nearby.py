"""Layers in the plane at targets as close to a curve as one likes, by weights for log |d|² and 1/d."""

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from edgewise.kernels.layers import dot, slopes


class Weights(NamedTuple):
    """Node weights for the factors log |d|² and 1/d of an integrand; d = target - source as complex numbers."""

    log: Float[Array, " k"]
    pole: Complex[Array, " k"]


class Source(Protocol):
    """Nodes of a closed curve: positions, dx/dσ, and the weights of the plain rule in σ."""

    @property
    def x(self) -> Float[Array, "k 2"]: ...
    @property
    def velocity(self) -> Float[Array, "k 2"]: ...
    @property
    def step(self) -> Float[Array, " k"]: ...


class Nearby(Protocol):
    """A single and a double layer at the nodes of a source; of vector fields each component along a first axis.

    `single` is a density times jacobian, `double` a density and `double_slope` its derivative in σ.
    """

    @property
    def source(self) -> Source: ...
    @property
    def single(self) -> Inexact[Array, "... k"] | None: ...
    @property
    def double(self) -> Inexact[Array, "... k"] | None: ...
    @property
    def double_slope(self) -> Inexact[Array, "... k"] | None: ...


class Radial(Protocol):
    """A kernel that is a function of q = |d|² in two parts: log_part · log q + smooth_part."""

    def log_part(self, q: Array) -> Array: ...
    def smooth_part(self, q: Array) -> Array: ...


def radial_potential(
    kernel: Radial, layers: Nearby, target: Float[Array, " 2"], weights: Weights
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


def radial_gradient(
    kernel: Radial, layers: Nearby, target: Float[Array, " 2"], weights: Weights
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


def scaled_normal(source: Source) -> Float[Array, "k 2"]:
    """Outward normal times jacobian: dx/dσ turned clockwise."""
    return jnp.stack([source.velocity[:, 1], -source.velocity[:, 0]], axis=-1)


def as_complex(vector: Float[Array, "... 2"]) -> Complex[Array, "..."]:
    return jax.lax.complex(vector[..., 0], vector[..., 1])


def _vector(z: Array) -> Array:
    return jnp.stack([z.real, z.imag], axis=-1)
