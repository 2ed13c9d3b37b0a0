"""Targets anywhere in the plane: as close to a smooth closed curve as one likes, and on it.

The curve is ζ(σ) = x + iy, the target w, d = w - ζ(σ). Every layer of a kernel A log |d|² + B, and its gradient, is a sum
of smooth functions of σ times 1, log |d|² and 1/d; the 1/d² in the gradient of a double layer becomes 1/d by parts. Close to
the curve these have a singularity at the complex τ with ζ(τ) = w, near the real axis, which the plain rule does not see.
With v = e^{iσ}, v₀ = e^{iτ} and the smooth, non-zero quotient

    E(σ) = (ζ(σ) - w) / (v - v₀),       d = -E · (v - v₀),

the singular factors become log |v - v₀|² and 1/(v - v₀), whose Fourier coefficients are known in closed form: weights exact
for trigonometric polynomials follow for every τ. For real τ they are Kress's, the limit from the inside being Im τ = +0,
from the outside -0; jumps come out by themselves. Nothing is subtracted, so no digit is lost as the target approaches.

The idea of moving the singularity to the parameter plane is that of L. af Klinteberg and A. H. Barnett, "Accurate
quadrature of nearly singular line integrals in two and three dimensions by singularity swapping", BIT 61 (2021).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Inexact

from edgewise.kernels import AbstractKernel
from edgewise.special import wave_numbers

# Beyond |Im τ| = REACH / n the plain rule on n nodes errs by less than e^{-REACH}.
REACH = 38.0
# A root within reach is looked for where a node is nearer than this many times the reach: the curve may bend in between.
SUSPECT = 1.5


class Layers(eqx.Module):
    """A single and a double layer at equispaced nodes of one closed curve, ready to be evaluated.

    What is kept is smooth wherever the curve is: a density times its jacobian, never the jacobian, whose square root has
    branch points close to the real axis.
    """

    x: Float[Array, "n 2"]
    velocity: Float[Array, "n 2"]
    """dx/dσ."""
    single: Inexact[Array, " n"] | None
    """Density of the single layer times jacobian."""
    double: Inexact[Array, " n"] | None
    """Density of the double layer."""
    double_slope: Inexact[Array, " n"] | None
    """Its derivative in σ."""
    modes: Complex[Array, " k"]
    """Fourier coefficients of ζ = x + iy for the wave numbers of `wave_numbers(k)`."""

    def thinned(self, step: int) -> "Layers":
        """Every `step`-th node."""
        nodal = (self.x, self.velocity, self.single, self.double, self.double_slope)
        return Layers(*(None if part is None else part[::step] for part in nodal), self.modes)  # pyright: ignore


class Weights(NamedTuple):
    """Node weights for the factors log |d|² and 1/d of an integrand."""

    log: Float[Array, " n"]
    pole: Complex[Array, " n"]


def curve_modes(x: Float[Array, "n 2"]) -> Complex[Array, " n"]:
    """Fourier coefficients of the curve; what is below rounding is dropped, since it grows off the real axis."""
    modes = jnp.fft.fft(_complex(x)) / x.shape[0]
    size = jnp.abs(modes)
    return jnp.where(size > 8 * jnp.finfo(size.dtype).eps * size.max(), modes, 0)


def significant_modes(modes: Complex[np.ndarray, "... k"]) -> int:
    """How many of the lowest modes hold all that are not zero; a power of two, so that few sizes are compiled."""
    highest = int(np.max(np.abs(wave_numbers(modes.shape[-1])) * (modes != 0), initial=1))
    return min(1 << (2 * highest + 1).bit_length(), modes.shape[-1])


def plain_weights(layers: Layers, target: Float[Array, " 2"]) -> Weights:
    """The trapezoid rule, for targets away from the curve."""
    step = 2 * np.pi / layers.x.shape[0]
    d = _complex(target) - _complex(layers.x)
    return Weights(step * jnp.log(d.real**2 + d.imag**2), step / d)


def parameter_distance(layers: Layers, target: Float[Array, " 2"]) -> Float[Array, " n"]:
    """Distance to every node, in units of the coordinate σ there."""
    squares = jnp.sum((layers.x - target) ** 2, axis=-1) / jnp.sum(layers.velocity**2, axis=-1)
    return jnp.sqrt(squares)


def preimage(layers: Layers, target: Float[Array, " 2"], reach: float) -> tuple[Complex[Array, ""], Bool[Array, ""]]:
    """The complex τ with ζ(τ) = target that lies closest to the real axis, and whether it is within `reach` of it."""
    n = layers.x.shape[0]
    distance = parameter_distance(layers, target)
    nearest = jnp.argmin(distance)
    w = _complex(target)
    limit = SUSPECT * reach

    def newton(tau, modes, w):
        value, slope = _series(modes, tau, 1)
        step = (w - value) / jnp.where(slope == 0, 1, slope)
        size = jnp.abs(step)
        tau = tau + step * jnp.where(size > limit, limit / jnp.where(size > limit, size, 1), 1)
        # Away from the real axis the series overflows; a root there is out of reach anyway.
        return jax.lax.complex(tau.real, jnp.clip(tau.imag, -limit, limit))

    start = (2 * np.pi / n * nearest).astype(layers.modes.dtype)
    fixed = jax.lax.stop_gradient((layers.modes, w))
    tau = jax.lax.fori_loop(0, 8, lambda _, tau: newton(tau, *fixed), start)
    converged = jnp.abs(_series(layers.modes, tau, 0)[0] - w) < 1e-3 * jnp.abs(_series(layers.modes, tau, 1)[1]) / n
    close = converged & (jnp.abs(tau.imag) < reach) & (distance[nearest] < limit)
    # At the root these steps change nothing but carry the first and second derivatives in curve and target.
    tau = jax.lax.stop_gradient(jnp.where(close, tau, start))
    for _ in range(2):
        tau = jnp.where(close, newton(tau, layers.modes, w), tau)
    return tau, close


def close_weights(
    layers: Layers, target: Float[Array, " 2"], tau: Complex[Array, ""], inside: Bool[Array, ""]
) -> Weights:
    """The rule for targets close to the curve or on it; `inside` chooses the limit where Im τ = 0."""
    n = layers.x.shape[0]
    dtype = layers.x.dtype
    sigma = jnp.asarray(2 * np.pi * np.arange(n) / n, dtype)
    v, v0 = jnp.exp(1j * sigma), jnp.exp(1j * tau)
    quotient = _quotient(layers, target, v, v0, tau)

    # Im τ > 0: 1/(v - v₀) = v̄ Σ_k (v₀ v̄)^k; Im τ < 0: -Σ_k v^k / v₀^(k+1); k = 0, 1, ... up to what the nodes resolve.
    # Both sums run over r^k e^{∓ikσ}, |r| <= 1, so one transform serves both sides.
    k = jnp.arange(n // 2, dtype=dtype)
    signed = jnp.where(inside, tau, -tau)
    # On the curve rounding may leave the wrong sign: the value is mended, the derivative is not touched.
    signed = jax.lax.complex(signed.real, signed.imag + jax.lax.stop_gradient(jnp.maximum(-signed.imag, 0)))
    powers = jnp.exp(1j * k * signed)

    def transform(coefficients):
        padded = jnp.zeros(n, powers.dtype).at[: n // 2].set(jnp.where(inside, coefficients, coefficients.conj()))
        values = jnp.fft.fft(padded)
        return jnp.where(inside, values, values.conj())

    step = 2 * np.pi / n
    prefactor = jnp.where(inside, jnp.conj(v), -1 / v0)
    log_disc = -2 * transform(powers * jnp.where(k > 0, 1 / jnp.maximum(k, 1), 0)).real + jnp.where(
        inside, 0, -2 * tau.imag
    )
    log = step * (log_disc + jnp.log(quotient.real**2 + quotient.imag**2))
    pole = -step * prefactor * transform(powers) / quotient
    return Weights(log, pole)


def potential(
    kernel: AbstractKernel, layers: Layers, target: Float[Array, " 2"], weights: Weights
) -> Inexact[Array, ""]:
    """Single plus double layer at one target."""
    d = target - layers.x
    plain = 2 * np.pi / d.shape[0]
    a, b = jax.vmap(kernel.log_part)(d), jax.vmap(kernel.smooth_part)(d)
    total = jnp.zeros((), d.dtype)
    if layers.single is not None:
        total += jnp.sum(layers.single * (a * weights.log + b * plain))
    if layers.double is not None:
        normal = _scaled_normal(layers)
        grad_a, grad_b = jax.vmap(jax.jacfwd(kernel.log_part))(d), jax.vmap(jax.jacfwd(kernel.smooth_part))(d)
        # n·∇ log |d|² = 2 n·d / |d|² = 2 Re(n/d).
        along = (
            _dot(normal, grad_a) * weights.log
            + _dot(normal, grad_b) * plain
            + 2 * a * (_complex(normal) * weights.pole).real
        )
        total -= jnp.sum(layers.double * along)
    return total


def gradient(
    kernel: AbstractKernel, layers: Layers, target: Float[Array, " 2"], weights: Weights
) -> Inexact[Array, " 2"]:
    """Gradient of single plus double layer at one target."""
    d = target - layers.x
    plain = 2 * np.pi / d.shape[0]
    a = jax.vmap(kernel.log_part)(d)
    grad_a, grad_b = jax.vmap(jax.jacfwd(kernel.log_part))(d), jax.vmap(jax.jacfwd(kernel.smooth_part))(d)
    # ∇ log |d|² = 2 d / |d|², and d / |d|² is the conjugate of 1/d.
    log_gradient = 2 * _vector(jnp.conj(weights.pole))
    log = weights.log[:, None]
    total = jnp.zeros(2, d.dtype)
    if layers.single is not None:
        total += jnp.sum(layers.single[:, None] * (grad_a * log + grad_b * plain + a[:, None] * log_gradient), axis=0)
    if layers.double is not None and layers.double_slope is not None:
        normal = _scaled_normal(layers)
        second_a, second_b = (
            jax.vmap(lambda d, n, part=part: jax.jvp(jax.jacfwd(part), (d,), (n,))[1])(d, normal)
            for part in (kernel.log_part, kernel.smooth_part)
        )
        along_a, normal_log = _dot(normal, grad_a)[:, None], 2 * (_complex(normal) * weights.pole).real[:, None]
        inner = second_a * log + second_b * plain + along_a * log_gradient + grad_a * normal_log
        # ∇ 2 Re(n/d) is the conjugate of -2n/d² = 2i (1/d)': by parts, the derivative moves to A times the density.
        moved = layers.double_slope * a - layers.double * _dot(grad_a, layers.velocity)
        total -= jnp.sum(
            layers.double[:, None] * inner + moved[:, None] * 2 * _vector(jnp.conj(-1j * weights.pole)), axis=0
        )
    return total


def winding_number(layers: Layers, target: Float[Array, " 2"]) -> Float[Array, ""]:
    """1 inside, 0 outside, by Gauss's identity with the plain rule: for targets away from the curve."""
    d = _complex(target) - _complex(layers.x)
    return -jnp.mean((_complex(_scaled_normal(layers)) / d).real)


def _quotient(layers: Layers, target: Array, v: Array, v0: Array, tau: Array) -> Array:
    """E = (ζ(σ) - w)/(v - v₀), by Taylor's series in v where both differences round to nothing."""
    delta = v - v0
    tiny = jnp.abs(delta) < 1e-4
    direct = (_complex(layers.x) - _complex(target)) / jnp.where(tiny, 1, delta)
    _, first, second, third = _series(layers.modes, tau, 3)
    # Derivatives in v from those in σ: d/dv = (1/iv) d/dσ.
    d1 = first / (1j * v0)
    d2 = (1j * first - second) / v0**2
    d3 = (-2 * first - 3j * second + third) / (-1j * v0**3)
    return jnp.where(tiny, d1 + delta * (d2 / 2 + delta * d3 / 6), direct)


def _series(modes: Array, tau: Array, order: int) -> list[Array]:
    """ζ(τ) and its derivatives up to `order`, for complex τ."""
    ik = jnp.asarray(1j * wave_numbers(modes.shape[0]), modes.dtype)
    # Modes that were dropped must stay out even where the exponential overflows.
    terms = modes * jnp.where(modes == 0, 0, jnp.exp(jnp.where(modes == 0, 0, ik * tau)))
    return [jnp.sum(terms * ik**p) for p in range(order + 1)]


def _scaled_normal(layers: Layers) -> Array:
    """Outward normal times jacobian: dx/dσ turned clockwise."""
    return jnp.stack([layers.velocity[:, 1], -layers.velocity[:, 0]], axis=-1)


def _complex(vector: Array) -> Array:
    return jax.lax.complex(vector[..., 0], vector[..., 1])


def _vector(z: Array) -> Array:
    return jnp.stack([z.real, z.imag], axis=-1)


def _dot(a: Array, b: Array) -> Array:
    return jnp.sum(a * b, axis=-1)
