"""Targets anywhere in the plane: as close to a smooth closed curve as one likes, and on it.

The curve is ζ(σ) = x + iy, the target is w, and d = w - ζ(σ). Every layer of a kernel A log |d|² + B, and its gradient,
is a sum of smooth functions of σ times 1, log |d|² and 1/d; integration by parts turns the 1/d² in the gradient of a
double layer into 1/d. Close to the curve these factors have a singularity at the complex τ with ζ(τ) = w, near the real
axis, which the plain rule does not see. With v = e^{iσ}, v₀ = e^{iτ} and the smooth, non-zero quotient

    E(σ) = (ζ(σ) - w) / (v - v₀),       d = -E · (v - v₀),

the singular factors become log |v - v₀|² and 1/(v - v₀), whose Fourier coefficients are known in closed form. They give
weights that are exact for trigonometric polynomials, for every τ. For real τ these are Kress's weights; Im τ = +0 is
the limit from the inside, Im τ = -0 that from the outside, and the jumps come out by themselves. Nothing is subtracted,
so no digit is lost as the target approaches.

The idea of moving the singularity to the parameter plane is that of L. af Klinteberg and A. H. Barnett, "Accurate
quadrature of nearly singular line integrals in two and three dimensions by singularity swapping", BIT 61 (2021).
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float

from edgewise.geometry import Boundary
from edgewise.kernels.nearby import Weights, as_complex
from edgewise.quadrature.curves.source import AbstractSource, plain_weights, winding_number
from edgewise.special import resample, wave_numbers

# Products of density and geometry have more modes than either. The plain rule errs by the first mode that it cannot
# tell from a constant, the rule for close points by the first mode above half of that, so that it needs twice the nodes
# for the same accuracy.
PLAIN_OVERSAMPLING = 2
CLOSE_OVERSAMPLING = 4
# Beyond |Im τ| = REACH / n the plain rule on n nodes errs by less than e^{-REACH}.
REACH = 38.0
# A root within reach is looked for where a node is nearer than this many times the reach, since the curve may bend
# between nodes.
SUSPECT = 1.5


class SmoothSource(AbstractSource):
    """Equispaced nodes of a smooth closed curve."""

    x: Float[Array, "k 2"]
    velocity: Float[Array, "k 2"]
    step: Float[Array, " k"]
    modes: Complex[Array, " n"]
    """Fourier coefficients of ζ = x + iy for the wave numbers of `wave_numbers(n)`."""
    vague: Float[Array, ""]
    """How far that series may be from the curve between its nodes."""
    is_hole: Bool[Array, ""]
    """Whether the curve runs clockwise."""
    density_nodes: int = eqx.field(static=True)

    def __init__(self, boundary: Boundary):
        """From nodes that are `CLOSE_OVERSAMPLING` times as many as those of the densities."""
        self.density_nodes = boundary.s.shape[0] // CLOSE_OVERSAMPLING
        self.x = boundary.x
        self.velocity = boundary.velocity
        self.step = boundary.weight / boundary.jacobian
        self.modes = curve_modes(boundary.x)
        high = np.abs(wave_numbers(len(self.x))) >= 3 * len(self.x) // 8
        self.vague = 2 * jnp.sum(jnp.abs(self.modes[high]))
        arm = self.x - self.x.mean(axis=0)
        self.is_hole = jnp.sum(arm[:, 0] * self.velocity[:, 1] - arm[:, 1] * self.velocity[:, 0]) < 0

    def spread(self, values: Array) -> Array:
        return resample(values, self.x.shape[0])

    def thinned(self, values: Array) -> Array:
        return values[:: CLOSE_OVERSAMPLING // PLAIN_OVERSAMPLING]

    def may_be_close(self, target: Array) -> Array:
        """Also on the nodes of the plain rule alone."""
        return jnp.min(parameter_distance(self, target)) < SUSPECT * self._reach

    def weights(self, target: Array, left: bool) -> tuple[Weights, Array, Array]:
        tau, applies = preimage(self, target, self._reach)
        # A point whose distance to the curve is below the accuracy of the curve belongs to either side, and takes the
        # limit from the side that is asked for.
        size, speed = jnp.max(jnp.abs(self.x)), jnp.min(jnp.linalg.norm(self.velocity, axis=-1))
        unsure = 64 * jnp.finfo(self.x.dtype).eps * size + self.vague
        on_boundary = applies & (jnp.abs(tau.imag) < unsure / speed)
        on_left = jnp.where(on_boundary, left, tau.imag > 0)
        near = close_weights(self, target, tau, on_left)
        # Moved away where it is not used: at a node the plain rule divides by zero, and so would its derivatives.
        elsewhere = jnp.where(applies, target + 1e3 * jnp.max(jnp.abs(self.x)), target)
        far = plain_weights(self, elsewhere)
        winding = jnp.where(applies, on_left - self.is_hole.astype(int), winding_number(self, elsewhere))
        return Weights(*(jnp.where(applies, *pair) for pair in zip(near, far, strict=True))), winding, on_boundary

    @property
    def _reach(self) -> float:
        """Beyond this Im τ the plain rule is exact to rounding."""
        return REACH / (PLAIN_OVERSAMPLING * self.density_nodes)


def curve_modes(x: Float[Array, "n 2"]) -> Complex[Array, " n"]:
    """Fourier coefficients of the curve; what is below rounding is dropped, since it grows off the real axis."""
    modes = jnp.fft.fft(as_complex(x)) / x.shape[0]
    size = jnp.abs(modes)
    return jnp.where(size > 8 * jnp.finfo(size.dtype).eps * size.max(), modes, 0)


def with_few_modes(source: SmoothSource) -> SmoothSource:
    """With those modes alone that are not zero on any curve: its close points are found in a fraction of the time.

    Their number is a power of two, so that few sizes are compiled. Values must be at hand.
    """
    modes = source.modes
    n = modes.shape[-1]
    highest = int(np.max(np.abs(wave_numbers(n)) * (np.asarray(modes) != 0), initial=1))
    return eqx.tree_at(lambda s: s.modes, source, lowest(modes, 1 << (2 * highest + 1).bit_length()))


def lowest(modes: Complex[Array, "... n"], count: int) -> Complex[Array, "... m"]:
    """An even number of modes, those of the lowest frequencies; all where there are no more."""
    n = modes.shape[-1]
    if count >= n:
        return modes
    return jnp.concatenate([modes[..., : count // 2], modes[..., n - count // 2 :]], axis=-1)


def parameter_distance(source: SmoothSource, target: Float[Array, " 2"]) -> Float[Array, " n"]:
    """Distance to every node, in units of the coordinate σ there."""
    squares = jnp.sum((source.x - target) ** 2, axis=-1) / jnp.sum(source.velocity**2, axis=-1)
    return jnp.sqrt(squares)


def preimage(
    source: SmoothSource, target: Float[Array, " 2"], reach: float
) -> tuple[Complex[Array, ""], Bool[Array, ""]]:
    """The complex τ with ζ(τ) = target that lies closest to the real axis, and whether it is within `reach` of it."""
    n = source.x.shape[0]
    distance = parameter_distance(source, target)
    nearest = jnp.argmin(distance)
    w = as_complex(target)
    limit = SUSPECT * reach

    def newton(tau, modes, w):
        value, slope = _series(modes, tau, 1)
        step = (w - value) / jnp.where(slope == 0, 1, slope)
        size = jnp.abs(step)
        tau = tau + step * jnp.where(size > limit, limit / jnp.where(size > limit, size, 1), 1)
        # Away from the real axis the series overflows; a root there is out of reach anyway.
        return jax.lax.complex(tau.real, jnp.clip(tau.imag, -limit, limit))

    start = (2 * np.pi / n * nearest).astype(source.modes.dtype)
    modes, w_fixed = jax.lax.stop_gradient((source.modes, w))
    # The modes that densities have lead near the root, all of them to it.
    few = lowest(modes, source.density_nodes)
    tau = jax.lax.fori_loop(0, 8, lambda _, tau: newton(tau, few, w_fixed), start)
    tau = newton(tau, modes, w_fixed)
    value, slope = _series(modes, tau, 1)
    converged = jnp.abs(value - w_fixed) < 1e-3 * jnp.abs(slope) / n
    close = converged & (jnp.abs(tau.imag) < reach) & (distance[nearest] < limit)
    # At the root these steps change nothing but carry the first and second derivatives in curve and target.
    tau = jax.lax.stop_gradient(jnp.where(close, tau, start))
    for _ in range(2):
        tau = jnp.where(close, newton(tau, source.modes, w), tau)
    return tau, close


def close_weights(
    source: SmoothSource, target: Float[Array, " 2"], tau: Complex[Array, ""], left: Bool[Array, ""]
) -> Weights:
    """The rule for targets close to the curve or on it; `left` chooses the limit where Im τ = 0."""
    n = source.x.shape[0]
    dtype = source.x.dtype
    sigma = jnp.asarray(2 * np.pi * np.arange(n) / n, dtype)
    v, v0 = jnp.exp(1j * sigma), jnp.exp(1j * tau)
    quotient = _quotient(source, target, sigma, v, v0, tau)

    # 1/(v - v₀) is v̄ Σ_k (v₀ v̄)^k for Im τ > 0, and -Σ_k v^k / v₀^(k+1) for Im τ < 0, with k = 0, 1, ... up to what
    # the nodes resolve. Both sums run over r^k e^{∓ikσ}, |r| <= 1, so one transform serves both sides.
    k = jnp.arange(n // 2, dtype=dtype)
    signed = jnp.where(left, tau, -tau)
    # On the curve rounding may leave the wrong sign: the value is mended, the derivative is not touched.
    signed = jax.lax.complex(signed.real, signed.imag + jax.lax.stop_gradient(jnp.maximum(-signed.imag, 0)))
    powers = jnp.exp(1j * k * signed)

    def transform(coefficients):
        padded = jnp.zeros(n, powers.dtype).at[: n // 2].set(jnp.where(left, coefficients, coefficients.conj()))
        values = jnp.fft.fft(padded)
        return jnp.where(left, values, values.conj())

    step = 2 * np.pi / n
    prefactor = jnp.where(left, jnp.conj(v), -1 / v0)
    log_disc = -2 * transform(powers * jnp.where(k > 0, 1 / jnp.maximum(k, 1), 0)).real + jnp.where(
        left, 0, -2 * tau.imag
    )
    log = step * (log_disc + jnp.log(quotient.real**2 + quotient.imag**2))
    pole = -step * prefactor * transform(powers) / quotient
    return Weights(log, pole)


def _quotient(source: SmoothSource, target: Array, sigma: Array, v: Array, v0: Array, tau: Array) -> Array:
    """E = (ζ(σ) - w)/(v - v₀).

    At the nearest node, where both differences may round to nothing, it is computed from the modes of the curve.
    """
    delta = v - v0
    nearest = jnp.argmin(jnp.abs(delta))
    at_nearest = jnp.arange(len(v)) == nearest
    direct = (as_complex(source.x) - as_complex(target)) / jnp.where(at_nearest, 1, delta)
    return jnp.where(at_nearest, _divided_difference(source.modes, sigma[nearest] - tau, tau), direct)


def _divided_difference(modes: Array, step: Array, tau: Array) -> Array:
    """(ζ(τ + step) - ζ(τ)) / (e^{i(τ + step)} - e^{iτ}), computed without a subtraction.

    It uses that e^{ikδ} - 1 = 2i sin(kδ/2) e^{ikδ/2}.
    """
    k = jnp.asarray(wave_numbers(modes.shape[0]), modes.real.dtype)
    # Nodes run from 0 to 2π: the way round may be the shorter one.
    step = step - 2 * np.pi * jax.lax.stop_gradient(jnp.round(step.real / (2 * np.pi)))
    tiny = jnp.abs(step) < 1e-5
    half = jnp.where(tiny, 1, step / 2)
    ratio = jnp.where(tiny, k * (1 - (k**2 - 1) * step**2 / 24), jnp.sin(k * half) / jnp.sin(half))
    # Modes that were dropped must stay out even where the exponential overflows.
    phase = jnp.where(modes == 0, 0, 1j * (k - 1) * (tau + step / 2))
    return jnp.sum(jnp.where(modes == 0, 0, modes * ratio * jnp.exp(phase)))


def _series(modes: Array, tau: Array, order: int) -> list[Array]:
    """ζ(τ) and its derivatives up to `order`, for complex τ.

    τ lies within some reach / n of the real axis, where no term overflows.
    """
    n = modes.shape[0]
    # e^{ikτ} is a product of two factors from short tables, where k = first + row · width + column, since exponentials
    # cost more than all else.
    width = math.isqrt(n - 1) + 1
    rows = -(-n // width)
    shifted = jnp.fft.fftshift(modes)
    ik = jnp.asarray(1j * np.fft.fftshift(wave_numbers(n)), modes.dtype)
    terms = jnp.stack([jnp.pad(shifted * ik**p, (0, rows * width - n)).reshape(rows, width) for p in range(order + 1)])
    along = jnp.exp(1j * tau * jnp.arange(width))
    across = jnp.exp(1j * tau * (width * jnp.arange(rows) - n // 2))
    return list(terms @ along @ across)
