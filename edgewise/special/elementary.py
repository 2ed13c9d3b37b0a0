"""Elementary functions where XLA's are slow on the CPU, or careless of a sign."""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array


def polynomial(coefficients: Sequence[float], x: Array) -> Array:
    """By Horner, the coefficients from the constant term up."""
    total = jnp.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def sincos(x: Array) -> tuple[Array, Array]:
    """sin x and cos x to rounding for |x| <= 1e6 (1e4 in single precision), beyond to the rounding of x itself.

    Ten times as fast on the CPU as two calls of the library, which XLA does not vectorise.
    """
    # As a factor of what decays: 0 times a number at infinity.
    x = jnp.where(jnp.isinf(x), 0.0, x)
    turns = jnp.round(x * (2 / math.pi))
    # π/2 in parts so short that their products with `turns` are exact.
    parts = (1.5703125, 4.8375129699707031e-4, 7.54978995489188216e-8)
    if x.dtype == jnp.float64:
        parts = (1.5707963267341256, 6.0771005063039660e-11, 2.0222662487959506e-21)
    for part in parts:
        x = x - turns * part
    # Parts round for huge x, and the polynomials must not follow.
    x = jnp.clip(x, -1.0, 1.0)
    sine = polynomial([(-1) ** k / math.factorial(2 * k + 1) for k in range(8)], x * x) * x
    cosine = polynomial([(-1) ** k / math.factorial(2 * k) for k in range(9)], x * x)
    quarter = turns - 4 * jnp.floor(turns / 4)
    odd = (quarter == 1) | (quarter == 3)
    sine, cosine = jnp.where(odd, cosine, sine), jnp.where(odd, sine, cosine)
    return (
        jnp.where(quarter >= 2, -sine, sine),
        jnp.where((quarter == 1) | (quarter == 2), -cosine, cosine),
    )


def exp(z: Array) -> Array:
    """With `sincos` if complex."""
    if not jnp.iscomplexobj(z):
        return jnp.exp(z)
    sine, cosine = sincos(z.imag)
    return jnp.exp(z.real) * jax.lax.complex(cosine, sine)


def sqrt(q: Array) -> Array:
    """Re sqrt q >= 0; Im sqrt q has the sign of Im q even if that is -0, which XLA's does not keep."""
    if not jnp.iscomplexobj(q):
        return jnp.sqrt(q)
    long = jnp.sqrt((jnp.abs(q) + jnp.abs(q.real)) / 2)
    short = jnp.abs(q.imag) / (2 * jnp.where(long == 0, 1.0, long))
    right = q.real >= 0
    return jax.lax.complex(jnp.where(right, long, short), jnp.copysign(jnp.where(right, short, long), q.imag))
