"""Waves of one frequency, and their exponentially decaying counterparts."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import Parameter, name_of, number
from edgewise.base.precision import is_concrete
from edgewise.kernels.kernel import AbstractKernel, PointFunction, check_dim, laplacian
from edgewise.special import i0_of_square, j0_of_square, k0_of_square, k0_regular, y0_regular
from edgewise.special.elementary import polynomial, sincos

# The factor of the logarithm grows as e^z, z = Re κ|d|, and is faded out by Q(z²/6), Q(t) = e^{-t} (1 + t + ... +
# t⁷/7!): 1 but for t⁸/8! near zero, half near z = 7, gone at 15. On circles, for κ of 0.5 to 60, nodes 0.3/κ apart
# take the matrix to 1e-13. A lower power shows its kink at zero, a higher one lets e^z round, and a steeper fade is
# narrow itself: e^{-(z/6)^16} takes nodes 0.1/κ apart for 1e-8.
FADE_POWER = 8
# The square of z that is one unit of t: a smaller one is narrower for nodes, a larger one lets e^z round.
FADE_SQUARE = 6.0
# Beyond this t nothing is left of Q, whatever it multiplies.
FADED = 200.0
# Below this square of the argument K0 is computed from its series, above from K0 itself.
SERIES = 9.0


class Helmholtz(AbstractKernel):
    """-(Δ + k²)G = δ with outgoing waves at infinity. In the plane G = (i/4) H₀⁽¹⁾(k |d|), in space e^{ik|d|} / 4π|d|.

    The time factor is e^{-iωt}. A complex wavenumber with a positive imaginary part describes an absorbing medium.

    Arguments:
        wavenumber: k, positive or with positive imaginary part; or a parameter's name.

    >>> import jax.numpy as jnp
    >>> value = Helmholtz(dim=2, wavenumber=3.0).fundamental(jnp.array([1.0, 0.0]))
    >>> [round(float(part), 5) for part in (value.real, value.imag)]
    [-0.09421, -0.06501]
    """

    dim: int = eqx.field(static=True)
    wavenumber: Any
    words = "Δu + k²u = 0"
    oscillates = True

    def __init__(self, dim: int, wavenumber: Any):
        self.dim, self.wavenumber = check_dim("Helmholtz", dim, ", wavenumber=..."), number(wavenumber)
        _raise(self)

    @property
    def radiates(self) -> bool:
        return name_of(self.wavenumber) is not None or not jnp.iscomplexobj(self.wavenumber)

    def operator(self, u: PointFunction) -> PointFunction:
        return lambda x: -(self.wavenumber**2) * u(x) - laplacian(u)(x)

    def radial(self, q: Array) -> Array:
        k = jnp.asarray(self.wavenumber)
        if not self.is_spatial:
            return _decaying(_decay(k), q) if jnp.iscomplexobj(k) else super().radial(q)
        r = jnp.sqrt(q)
        if jnp.iscomplexobj(k):
            return jnp.exp(1j * k * r) / (4 * jnp.pi * r)
        # Part by part: neither the complex exponential nor a complex division is vectorised on the CPU.
        sine, cosine = sincos(k.astype(q.dtype) * r)
        size = 1 / (4 * jnp.pi * r)
        return jax.lax.complex(cosine * size, sine * size)

    def log_part(self, q: Array) -> Array:
        if jnp.iscomplexobj(self.wavenumber):
            return _faded_log_part(_decay(self.wavenumber), q)
        return -j0_of_square(self.wavenumber**2 * q) / (4 * jnp.pi) + 0j

    def smooth_part(self, q: Array) -> Array:
        if jnp.iscomplexobj(self.wavenumber):
            return _faded_smooth_part(_decay(self.wavenumber), q)
        k2 = jnp.asarray(self.wavenumber, q.dtype) ** 2
        # Y0 = y0_regular + J0 log(k² |d|²)/π.
        return (0.25j - jnp.log(k2) / (4 * jnp.pi)) * j0_of_square(k2 * q) - y0_regular(k2 * q) / 4

    def in_words(self) -> str:
        k = self.wavenumber
        if isinstance(k, Parameter):
            return super().in_words() if k.name == "k" else f"{super().in_words()}, k = {k.name}"
        return f"{super().in_words()}, k = {np.asarray(k):.4g}" if is_concrete(k) else super().in_words()

    @property
    def rate(self) -> Any:
        return jnp.imag(self.wavenumber) if jnp.iscomplexobj(self.wavenumber) else 0.0

    def refusal(self) -> str | None:
        k = _known(self.wavenumber)
        if k is None:
            return None
        wrong = (np.imag(k) < 0) | ((np.imag(k) == 0) & (np.real(k) <= 0))
        if np.any(wrong):
            first = k[wrong][0] if k.ndim else k[()]
            cure = (
                f"Use `Laplace(dim={self.dim})`"
                if first == 0
                else "Waves that decay have wavenumber k = a + ib with b > 0"
            )
            return (
                f"The wavenumber of `Helmholtz` is {first}; expected a positive number, or a complex one with positive "
                f"imaginary part. {cure}."
            )
        return None


class ModifiedHelmholtz(AbstractKernel):
    """-(Δ - k²)G = δ, for screened potentials and for diffusion with loss.

    In the plane G = K₀(k |d|) / 2π, in space G = e^{-k|d|} / 4π|d|.

    Arguments:
        wavenumber: k > 0, or a parameter's name; 1/k is the length over which fields decay.

    >>> import jax.numpy as jnp
    >>> round(float(ModifiedHelmholtz(dim=2, wavenumber=2.0).fundamental(jnp.array([1.0, 0.0]))), 5)
    0.01813
    """

    dim: int = eqx.field(static=True)
    wavenumber: Any
    words = "Δu - λ²u = 0"
    obeys_maximum = True

    def __init__(self, dim: int, wavenumber: Any):
        self.dim, self.wavenumber = check_dim("ModifiedHelmholtz", dim, ", wavenumber=..."), number(wavenumber)
        _raise(self)

    def operator(self, u: PointFunction) -> PointFunction:
        return lambda x: self.wavenumber**2 * u(x) - laplacian(u)(x)

    def radial(self, q: Array) -> Array:
        if not self.is_spatial:
            return _decaying(jnp.asarray(self.wavenumber, q.dtype), q)
        r = jnp.sqrt(q)
        return jnp.exp(-jnp.asarray(self.wavenumber, q.dtype) * r) / (4 * jnp.pi * r)

    def log_part(self, q: Array) -> Array:
        return _faded_log_part(jnp.asarray(self.wavenumber, q.dtype), q)

    def smooth_part(self, q: Array) -> Array:
        return _faded_smooth_part(jnp.asarray(self.wavenumber, q.dtype), q)

    @property
    def rate(self) -> Any:
        return self.wavenumber

    def refusal(self) -> str | None:
        k = _known(self.wavenumber)
        if k is None:
            return None
        if np.iscomplexobj(k) or np.any(k <= 0):
            first = k[np.iscomplexobj(k) | (k <= 0)][0] if k.ndim else k[()]
            cure = (
                f"Use `Laplace(dim={self.dim})`"
                if first == 0
                else f"For waves use `Helmholtz(dim={self.dim}, wavenumber=...)`"
            )
            return f"The wavenumber of `ModifiedHelmholtz` is {first}; expected a positive number. {cure}."
        return None


def _known(wavenumber: Any) -> np.ndarray | None:
    """The wavenumber, where it is neither a parameter's name nor traced."""
    return None if isinstance(wavenumber, Parameter) or not is_concrete(wavenumber) else np.asarray(wavenumber)


def _decay(wavenumber: Array) -> Array:
    """κ with G = K0(κ|d|)/2π: H₀⁽¹⁾(z) = 2 K0(-iz) / πi."""
    return -1j * jnp.asarray(wavenumber)


def _decaying(kappa: Array, q: Array) -> Array:
    """K0(κ|d|)/2π itself, not the sum of its parts: far away those cancel, and it should be right relatively."""
    return k0_of_square(kappa**2 * q) / (2 * jnp.pi)


def _fade(kappa: Array, q: Array) -> Array:
    """t of `_kept`: the square of Re κ|d|, so that it is smooth in d."""
    return kappa.real**2 * q / FADE_SQUARE


@jax.custom_jvp
def _kept(t: Array) -> Array:
    """Q(t) = e^{-t} Σ t^k / k! over k below `FADE_POWER`: what is kept of the logarithm's factor."""
    return jnp.exp(-t) * polynomial([1 / math.factorial(k) for k in range(FADE_POWER)], t)


@jax.custom_jvp
def _lost(t: Array) -> Array:
    """1 - Q(t) = e^{-t} Σ t^k / k! over k from `FADE_POWER` on, relatively right; for t <= SERIES / FADE_SQUARE."""
    terms = [1 / math.factorial(k) for k in range(FADE_POWER, FADE_POWER + 16)]
    return t**FADE_POWER * jnp.exp(-t) * polynomial(terms, t)


def _lost_slope(t: Array) -> Array:
    return t ** (FADE_POWER - 1) * jnp.exp(-t) / math.factorial(FADE_POWER - 1)


# The derivative of the sum is one term: nothing cancels, and it is cheap.
_kept.defjvps(lambda dt, value, t: -_lost_slope(t) * dt)
_lost.defjvps(lambda dt, value, t: _lost_slope(t) * dt)


def _faded_log_part(kappa: Array, q: Array) -> Array:
    fade = _fade(kappa, q)
    left = fade < FADED
    # Where nothing is left, I0 is kept from overflowing.
    growing = i0_of_square(kappa**2 * jnp.where(left, q, 0))
    return -jnp.where(left, _kept(jnp.where(left, fade, 0)), 0) * growing / (4 * jnp.pi)


def _faded_smooth_part(kappa: Array, q: Array) -> Array:
    """K0/2π less log_part · log q; K0 = k0_regular - I0 log(κ² q)/2 by its series, where it has converged."""
    small = jnp.abs(kappa**2) * q < SERIES
    near = jnp.where(small, q, 0)
    # What is lost vanishes to order 2 FADE_POWER in |d| where the logarithm is infinite.
    faded = -_lost(_fade(kappa, near)) * jnp.log(jnp.where(near > 0, near, 1))
    series = k0_regular(kappa**2 * near) / (2 * jnp.pi)
    series = series + i0_of_square(kappa**2 * near) / (4 * jnp.pi) * (faded - jnp.log(kappa**2))
    far = jnp.where(small, SERIES / jnp.abs(kappa**2), q)
    direct = k0_of_square(kappa**2 * far) / (2 * jnp.pi) - _faded_log_part(kappa, far) * jnp.log(far)
    return jnp.where(small, series, direct)


def _raise(kernel: Any) -> None:
    shape = getattr(kernel.wavenumber, "shape", ())
    if shape != ():
        raise ValueError(
            f"The wavenumber of `{kernel.name}` must be one number or a parameter's name, "
            f"got an array of shape {shape}. A range is given as "
            f'`{kernel.name}(dim={kernel.dim}, wavenumber="k")` with `Box(k=(1.0, 2.0))`.'
        )
    refusal = kernel.refusal()
    if refusal:
        raise ValueError(refusal)
