"""Bessel functions of order 0 and 1, and what of them is smooth in the square q of the argument.

Near 0 their power series, farther out K_m(z) = sqrt(π/2z) e^{-z} N_m(4/z)/D(4/z), whose table holds to 6e-16 wherever
|z| + Re z >= 4 (>= 6 if Re z < 0), so on the imaginary axis too, where it is J and Y. That parabola is where the series
has lost the same number of digits, e^{|z| + Re z}, in every direction.

Functions of q know their own derivatives, of any order: f = J0, Y0 (σ = -1), I0, K0 (σ = 1) of sqrt q solve
q f'' + f' = σ f/4, so all derivatives follow from the first, and reverse mode keeps one number for each argument.
"""

import math
from collections.abc import Callable
from functools import lru_cache, update_wrapper

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.special.elementary import exp, polynomial, sincos, sqrt

# fmt: off
# The coefficients of N_0 and N_1 and their common D, from tools/bessel_table.py.
_N = (
    (1.0, 8.004904822026454, 26.27229891372836, 46.21522128840853, 47.84093048753221, 30.144971024398163,
     11.570261226243073, 2.634924227508101, 0.33615455362336844, 0.021627094636317144, 0.0005752601778831517,
     4.027225217044942e-06, 7.624181357360689e-10),
    (1.0, 8.129904822026454, 27.26509951648167, 49.43867345870246, 53.4274524535974, 35.80963347364684,
     15.03776521645263, 3.9124507835324804, 0.6105160684123357, 0.05375548822897666, 0.0023923007067217948,
     4.3422261844006505e-05, 1.92126829572065e-07),
)
_D = (
    1.0, 8.036154822026454, 26.519034220666686, 47.0097703834888, 49.202205642622424, 31.503003864751918,
    12.382332575061826, 2.9240076965016093, 0.3950866039604248, 0.027979485824662247, 0.0008868041082559391,
    9.111867991108962e-06, 1.1556012922394233e-08,
)
# fmt: on
_CUT = 4.0
# From here on I0's divergent series has terms below rounding, and e^{-2z} beside them is none either.
_FAR = 25.0


@lru_cache
def _coefficients(n: int, harmonic: bool, bound: float, eps: float) -> tuple[float, ...]:
    """The power series of `_series` in q / bound, up to the term that rounding hides for |q| <= bound."""
    made, k = [], 0
    while k < 3 or made[-1] > eps / 16 * made[0]:
        c = math.log(2) - np.euler_gamma + sum(1 / j for j in range(1, k + n + 1)) if harmonic else 1.0
        made.append(float(c * bound**k / (4.0 ** (k + n) * math.factorial(k) * math.factorial(k + n))))
        k += 1
    return tuple(made)


def _series(q: Array, n: int, harmonic: bool = False, bound: float = _CUT**2) -> Array:
    """The n-th derivative of I0(sqrt q) = Σ (q/4)^k / k!².

    With `harmonic`, of `k0_regular`: term k times log 2 - γ + 1 + 1/2 + ... + 1/k.
    """
    return polynomial(_coefficients(n, harmonic, bound, float(jnp.finfo(q.dtype).eps)), q / bound)


def _singular(m: int, z: Array, sign: int) -> Array:
    """Near 0: K_m(z) for sign 1, -π/2 Y_m(z) for sign -1."""
    q = sign * z * z
    if m == 0:
        return _series(q, 0, True) - jnp.log(z) * _series(q, 0)
    # z log z at 0 is 0.
    log = jnp.log(jnp.where(z == 0, 1.0, z))
    return _series(q, 0) / z - 2 * sign * z * (_series(q, 1, True) - log * _series(q, 1))


def _hankel(m: int, z: Array) -> tuple[Array, Array]:
    """J_m and Y_m for z >= 4, as real and imaginary part of sqrt(2/πz) e^{i(z - mπ/2 - π/4)} N_m(4i/z)/D(4i/z)."""
    t = _CUT / z
    top, left = polynomial(_N[m][::2], -t * t), polynomial(_N[m][1::2], -t * t) * t
    real, imag = polynomial(_D[::2], -t * t), polynomial(_D[1::2], -t * t) * t
    scale = 1 / ((real * real + imag * imag) * jnp.sqrt(jnp.pi * z))
    p, q = (top * real + left * imag) * scale, (left * real - top * imag) * scale
    # cos and sin of z - π/4, whose difference would round.
    sine, cosine = sincos(z)
    sine, cosine = sine - cosine, sine + cosine
    j, y = cosine * p - sine * q, sine * p + cosine * q
    return (j, y) if m == 0 else (y, -j)


def _ratio(m: int, z: Array) -> Array:
    return polynomial(_N[m], _CUT / z) / polynomial(_D, _CUT / z)


def _j(m: int, x: Array) -> Array:
    small = jnp.abs(x) < _CUT
    near = jnp.where(small, x, 0.0)
    far = _hankel(m, jnp.maximum(jnp.abs(x), _CUT))[0]
    return jnp.where(small, _series(-near * near, m) * (2 * near) ** m, far if m == 0 else far * jnp.sign(x))


def _y(m: int, z: Array) -> Array:
    small = z < _CUT
    near = -2 / jnp.pi * _singular(m, jnp.where(small, z, 1.0), -1)
    return jnp.where(small, near, _hankel(m, jnp.maximum(z, _CUT))[1])


def _k_far(m: int, z: Array) -> Array:
    return sqrt(jnp.pi / 2 / z) * exp(-z) * _ratio(m, z)


def _k(m: int, z: Array) -> Array:
    small = jnp.abs(z) + z.real < _CUT
    return jnp.where(small, _singular(m, jnp.where(small, z, 1.0), 1), _k_far(m, jnp.where(small, _CUT, z)))


def _i_far(m: int, z: Array) -> Array:
    """I_m by its divergent series for |z| >= 25; if z is complex, also where |z| - Re z >= 6, by K_m(z) and K_m(-z)."""
    # Two factors e^{z/2} overflow only when I_m does.
    root, half = sqrt(2 * jnp.pi * z), exp(z / 2)
    terms = [1.0]
    for k in range(1, 17):
        terms.append(terms[-1] * ((2 * k - 1) ** 2 - 4 * m * m) / (8 * k * _FAR))
    growing = polynomial(terms, _FAR / z)
    if not jnp.iscomplexobj(z):
        return half * (growing / root) * half
    along = jnp.abs(z) - z.real < 6
    aside = jnp.where(along, 6j, z)
    growing = jnp.where(along, growing, _ratio(m, -aside))
    decaying = jnp.where(along, 0.0, (-1) ** m * jnp.where(z.imag < 0, -1j, 1j) * _ratio(m, aside) * exp(-aside))
    return half * (growing / root) * half + decaying / root


def _of_square(n: int, z: Array, sign: int, f: Callable[[int, Array], Array], slope: int = -1) -> Array:
    """The n-th derivative in q of f(0, z), z = sqrt q, where f(0, z)' = slope f(1, z), by the equation of f."""
    if n == 0:
        return f(0, z)
    low, high = f(0, z), f(1, z) * (slope / 2) / z
    for k in range(1, n):
        low, high = high, (sign / 4 * low - k * high) / (z * z)
    return high


def _times_log(n: int, z: Array, f: Callable[[int], Array]) -> Array:
    """The n-th derivative of f(0) log q, where f(k) is the k-th of f(0), by Leibniz."""
    total = f(n) * 2 * jnp.log(z)
    for k in range(1, n + 1):
        total -= math.comb(n, k) * math.factorial(k - 1) * f(n - k) / (-z * z) ** k
    return total


def _knows_derivatives(function: Callable[[Array, int], Array]) -> Callable[..., Array]:
    """A function of q and n, its n-th derivative in q: it differentiates to n + 1."""
    # Traced once for each shape: equations of two media have hundreds of these in them.
    traced = jax.jit(function, static_argnums=1)
    ruled = jax.custom_jvp(lambda q, n=0: traced(jnp.asarray(q), n), nondiff_argnums=(1,))
    ruled.defjvp(lambda n, at, along: (ruled(*at, n), ruled(*at, n + 1) * along[0]))
    update_wrapper(ruled, function)
    return ruled


def _far_j0(q: Array, n: int) -> Array:
    # The same expressions of q wherever J and Y are needed: XLA then computes them once.
    return _of_square(n, jnp.maximum(sqrt(q), _CUT), -1, lambda m, z: _hankel(m, z)[0])


@_knows_derivatives
def j0_of_square(q: Float[Array, "..."], n: int = 0) -> Float[Array, "..."]:
    """J0(sqrt q), q >= 0, or its n-th derivative in q."""
    small = q < _CUT**2
    return jnp.where(small, (-1) ** n * _series(jnp.where(small, -q, 0.0), n), _far_j0(q, n))


@_knows_derivatives
def y0_of_square(q: Float[Array, "..."], n: int = 0) -> Float[Array, "..."]:
    """Y0(sqrt q), q > 0, or its n-th derivative in q."""
    return _of_square(n, sqrt(q), -1, _y)


@_knows_derivatives
def y0_regular(q: Float[Array, "..."], n: int = 0) -> Float[Array, "..."]:
    """Y0(sqrt q) - J0(sqrt q) log(q) / π, q >= 0, analytic, at 0 (2/π)(γ - log 2); or its n-th derivative in q."""
    small = q < _CUT**2
    near = (-1) ** n * (-2 / jnp.pi) * _series(jnp.where(small, -q, 0.0), n, True)
    z = jnp.maximum(sqrt(q), _CUT)
    far = _of_square(n, z, -1, lambda m, z: _hankel(m, z)[1]) - _times_log(n, z, lambda k: _far_j0(q, k)) / jnp.pi
    return jnp.where(small, near, far)


@_knows_derivatives
def i0_of_square(q: Inexact[Array, "..."], n: int = 0) -> Inexact[Array, "..."]:
    """I0(sqrt q), q >= 0 or complex, or its n-th derivative in q.

    The error is relative to e^{Re sqrt q}; it overflows only when I0 does.
    """
    z = sqrt(q)
    small = (jnp.abs(z) < _FAR) & (jnp.abs(z) - z.real < 6) if jnp.iscomplexobj(q) else q < _FAR**2
    far = _of_square(n, jnp.where(small, _FAR, z), 1, _i_far, 1)
    return jnp.where(small, _series(jnp.where(small, q, 0.0), n, bound=_FAR**2), far)


@_knows_derivatives
def k0_of_square(q: Inexact[Array, "..."], n: int = 0) -> Inexact[Array, "..."]:
    """K0(sqrt q), q > 0 or complex with Re sqrt q >= 0, or its n-th derivative in q.

    On the negative axis the sign of the zero Im q picks the side: H0(kr) = 2/(πi) K0(-ikr) is that of -0.
    """
    return _of_square(n, sqrt(q), 1, _k)


@_knows_derivatives
def k0_regular(q: Inexact[Array, "..."], n: int = 0) -> Inexact[Array, "..."]:
    """K0(sqrt q) + log(q) I0(sqrt q) / 2, entire, at 0 log 2 - γ; or its n-th derivative in q. For |q| <= 16."""
    return _series(q, n, True)


@jax.custom_jvp
def j0(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """J0, any real x. Error 2e-15 max(1, |value|), in single precision 5e-7, as for J1, Y0 and Y1."""
    return _j(0, jnp.asarray(x))


@jax.custom_jvp
def j1(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """J1 = -J0', any real x."""
    return _j(1, jnp.asarray(x))


@jax.custom_jvp
def y0(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Y0, x > 0."""
    return _y(0, jnp.asarray(x))


@jax.custom_jvp
def y1(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Y1 = -Y0', x > 0."""
    return _y(1, jnp.asarray(x))


@jax.custom_jvp
def k0(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """K0, x > 0. Relative error 5e-15, in single precision 2e-6, until it underflows, as for K1."""
    return _k(0, jnp.asarray(x))


@jax.custom_jvp
def k1(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """K1 = -K0', x > 0."""
    return _k(1, jnp.asarray(x))


j0.defjvps(lambda dx, value, x: -j1(x) * dx)
# J1(x)/x is smooth at 0 as a function of x².
j1.defjvps(lambda dx, value, x: (j0(x) + 2 * j0_of_square(x * x, 1)) * dx)
y0.defjvps(lambda dx, value, x: -y1(x) * dx)
y1.defjvps(lambda dx, value, x: (y0(x) - value / x) * dx)
k0.defjvps(lambda dx, value, x: -k1(x) * dx)
k1.defjvps(lambda dx, value, x: -(k0(x) + value / x) * dx)
