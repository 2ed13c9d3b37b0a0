"""Trigonometric interpolation on n equispaced nodes: only what no dependency has."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact


def wave_numbers(n: int) -> np.ndarray:
    """The integers k of the n Fourier modes, in the order of `fft`: 0, 1, ..., -2, -1."""
    return np.fft.fftfreq(n, 1 / n).astype(int)


def circulant_weights(symbol: np.ndarray) -> np.ndarray:
    """Weights w with ∫ g(σ_i - σ') f(σ') dσ' = Σ_j w[(i - j) mod n] f(σ_j) for every trigonometric polynomial f.

    `symbol[k]` is ∫ g(σ) e^{-ikσ} dσ for the modes of `wave_numbers`.
    """
    return np.fft.ifft(symbol).real


def resample(values: Inexact[Array, " n"], count: int, shift: float = 0.0) -> Inexact[Array, " count"]:
    """The trigonometric interpolant of n equispaced values at `count` >= n equispaced nodes that start `shift` further.

    >>> import jax.numpy as jnp
    >>> resample(jnp.array([1.0, 0.0, -1.0, 0.0]), 8).round(3).tolist()
    [1.0, 0.707, 0.0, -0.707, -1.0, -0.707, 0.0, 0.707]
    """
    n = values.shape[0]
    if count == n and not shift:
        return values
    k = wave_numbers(n)
    turns = np.where(2 * np.abs(k) == n, np.cos(k * shift), np.exp(1j * k * shift))
    modes = jnp.fft.fft(values)
    modes = modes * jnp.asarray(turns, modes.dtype) if shift else modes
    low, high = modes[: (n + 1) // 2], modes[n - (n - 1) // 2 :]
    padding = jnp.zeros(count - low.shape[0] - high.shape[0], modes.dtype)
    if n % 2 == 0:
        # The highest mode of an even grid is a cosine: half of it to either sign.
        middle = modes[n // 2] / 2
        padding = padding.at[0].set(middle).at[-1].add(middle)
    return _like(values, jnp.fft.ifft(jnp.concatenate([low, padding, high])) * (count / n))


def halve(rows: Inexact[Array, "... m 2n"]) -> Inexact[Array, "... m n"]:
    """The transpose of `resample` from n to 2n nodes: functionals of the fine values become functionals of the coarse.

    A product, not a transform: on the CPU, XLA cannot lay out a batched transform whose result enters a factorisation.
    """
    n = rows.shape[-1] // 2
    k = np.arange(n)
    # Interpolation from the nodes to the midpoints between them, a function of their distance alone.
    modes = wave_numbers(n) * np.pi / n
    weights = np.fft.ifft(np.where(2 * np.abs(wave_numbers(n)) == n, np.cos(modes), np.exp(1j * modes))).real
    midpoints = weights[(k[:, None] - k[None, :]) % n]
    return rows[..., ::2] + rows[..., 1::2] @ jnp.asarray(midpoints, rows.real.dtype)


def derivative(values: Inexact[Array, " n"]) -> Inexact[Array, " n"]:
    """The derivative of the trigonometric interpolant, at the same nodes."""
    n = values.shape[0]
    # The highest mode of an even grid, a cosine, has slope zero at every node.
    factor = np.where(2 * np.abs(wave_numbers(n)) == n, 0, wave_numbers(n))
    return _like(values, jnp.fft.ifft(1j * jnp.asarray(factor, values.real.dtype) * jnp.fft.fft(values)))


def interpolate(values: Inexact[Array, " n"], sigma: Float[Array, ""]) -> Inexact[Array, ""]:
    """The trigonometric interpolant of values at 2πj/n, at one coordinate."""
    n = values.shape[0]
    modes = jnp.fft.fft(values) / n
    waves = jnp.exp(1j * wave_numbers(n) * sigma)
    if n % 2 == 0:
        waves = waves.at[n // 2].set(jnp.cos(n // 2 * sigma))
    return _like(values, jnp.sum(waves * modes))


def tail(values: Inexact[Array, " n"]) -> Float[Array, ""]:
    """How well n nodes resolve a function: its largest Fourier coefficient in the highest sixth."""
    n = values.shape[0]
    high = np.abs(wave_numbers(n)) >= n // 2 - n // 12
    return jnp.max(jnp.abs(jnp.fft.fft(values))[high]) / n


def _like(given: Array, made: Array) -> Array:
    """Real where the input was real."""
    return made if jnp.iscomplexobj(given) else made.real
