"""Bessel functions of order 0 and 1, and what of them is smooth in the square q of the argument.

Near 0 their power series, farther out K_m(z) = sqrt(π/2z) e^{-z} N_m(4/z)/D(4/z), whose table holds to 6e-16 wherever
|z| + Re z >= 4 (>= 6 if Re z < 0), so on the imaginary axis too, where it is J and Y. That parabola is where the series
has lost the same number of digits, e^{|z| + Re z}, in every direction.

Functions of q know their own derivatives, of any order: f = J0, Y0 (σ = -1), I0, K0 (σ = 1) of sqrt q solve
q f'' + f' = σ f/4, so all derivatives follow from the first, and reverse mode keeps one number for each argument.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

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


def _polynomial(coefficients, x: Array) -> Array:
    """From the constant term up."""
    total = jnp.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


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
    """The n-th derivative of I0(sqrt q) = Σ (q/4)^k / k!², or with `harmonic` of `k0_regular`: term k times
    log 2 - γ + 1 + 1/2 + ... + 1/k."""
    return _polynomial(_coefficients(n, harmonic, bound, float(jnp.finfo(q.dtype).eps)), q / bound)


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
    top, left = _polynomial(_N[m][::2], -t * t), _polynomial(_N[m][1::2], -t * t) * t
    real, imag = _polynomial(_D[::2], -t * t), _polynomial(_D[1::2], -t * t) * t
    scale = 1 / ((real * real + imag * imag) * jnp.sqrt(jnp.pi * z))
    p, q = (top * real + left * imag) * scale, (left * real - top * imag) * scale
    # cos and sin of z - π/4, whose difference would round.
    cosine, sine = jnp.cos(z) + jnp.sin(z), jnp.sin(z) - jnp.cos(z)
    j, y = cosine * p - sine * q, sine * p + cosine * q
    return (j, y) if m == 0 else (y, -j)


def _ratio(m: int, z: Array) -> Array:
    return _polynomial(_N[m], _CUT / z) / _polynomial(_D, _CUT / z)


def _j(m: int, x: Array) -> Array:
    small = jnp.abs(x) < _CUT
    near = jnp.where(small, x, 0.0)
    far = _hankel(m, jnp.where(small, _CUT, jnp.abs(x)))[0]
    return jnp.where(small, _series(-near * near, m) * (2 * near) ** m, far if m == 0 else far * jnp.sign(x))


def _y(m: int, z: Array) -> Array:
    small = z < _CUT
    near = -2 / jnp.pi * _singular(m, jnp.where(small, z, 1.0), -1)
    return jnp.where(small, near, _hankel(m, jnp.where(small, _CUT, z))[1])


def _k(m: int, z: Array) -> Array:
    small = jnp.abs(z) + z.real < _CUT
    far = jnp.where(small, _CUT, z)
    far = jnp.sqrt(jnp.pi / 2 / far) * jnp.exp(-far) * _ratio(m, far)
    return jnp.where(small, _singular(m, jnp.where(small, z, 1.0), 1), far)


def _i_far(m: int, z: Array) -> Array:
    """I_m, |z| >= 25; if complex, also where |z| - Re z >= 6: (e^z N_m/D(-4/z) ± i (-1)^m e^{-z} N_m/D(4/z)) / sqrt 2πz."""
    # Its two factors e^{z/2} overflow only when I_m does.
    root, half = jnp.sqrt(2 * jnp.pi * z), jnp.exp(z / 2)
    terms = [1.0]
    for k in range(1, 17):
        terms.append(terms[-1] * ((2 * k - 1) ** 2 - 4 * m * m) / (8 * k * _FAR))
    growing = _polynomial(terms, _FAR / z)
    if not jnp.iscomplexobj(z):
        return half * (growing / root) * half
    along = jnp.abs(z) - z.real < 6
    aside = jnp.where(along, 6j, z)
    growing = jnp.where(along, growing, _ratio(m, -aside))
    decaying = jnp.where(along, 0.0, (-1) ** m * jnp.where(z.imag < 0, -1j, 1j) * _ratio(m, aside) * jnp.exp(-aside))
    return half * (growing / root) * half + decaying / root


def _derivative(n: int, q: Array, sign: int, f: Callable[[int], Array]) -> Array:
    """The n-th derivative from f(0), the function, and f(1), its first: the equation, differentiated n - 2 times."""
    if n < 2:
        return f(n)
    low, high = f(0), f(1)
    for k in range(1, n):
        low, high = high, (sign / 4 * low - k * high) / q
    return high


def _of_square(n: int, q: Array, sign: int, f: Callable[[int, Array], Array], slope: int = -1) -> Array:
    """The n-th derivative in q of f(0, sqrt q), where f(0, z)' = slope f(1, z)."""
    z = jnp.sqrt(q)
    return _derivative(n, q, sign, lambda m: f(m, z) * (slope / (2 * z)) ** m)


def _times_log(n: int, q: Array, f: Callable[[int, Array], Array]) -> Array:
    """The n-th derivative of f(q) log q, by Leibniz."""
    total = f(n, q) * 2 * jnp.log(jnp.sqrt(q))
    for k in range(1, n + 1):
        total += math.comb(n, k) * f(n - k, q) * -math.factorial(k - 1) / (-q) ** k
    return total


def _family(derivative: Callable[[int, Array], Array]) -> Callable[[int, Array], Array]:
    """(n, q) ↦ the n-th derivative of a function, which differentiates to the (n + 1)-st."""
    function = partial(jax.custom_jvp, nondiff_argnums=(0,))(derivative)

    @function.defjvp
    def _(n, primals, tangents):
        return function(n, *primals), function(n + 1, *primals) * tangents[0]

    return function


@_family
def _j0(n: int, q: Array) -> Array:
    small = q < _CUT**2
    far = _of_square(n, jnp.where(small, _CUT**2, q), -1, lambda m, z: _hankel(m, z)[0])
    return jnp.where(small, (-1) ** n * _series(jnp.where(small, -q, 0.0), n), far)


@_family
def _y0(n: int, q: Array) -> Array:
    return _of_square(n, q, -1, _y)


@_family
def _y0_regular(n: int, q: Array) -> Array:
    small = q < _CUT**2
    near = -2 / jnp.pi * (-1) ** n * _series(jnp.where(small, -q, 0.0), n, True)
    far = jnp.where(small, _CUT**2, q)
    return jnp.where(small, near, _y0(n, far) - _times_log(n, far, _j0) / jnp.pi)


@_family
def _i0(n: int, q: Array) -> Array:
    z = jnp.sqrt(q)
    small = (jnp.abs(z) < _FAR) & (jnp.abs(z) - z.real < 6) if jnp.iscomplexobj(q) else q < _FAR**2
    far = _of_square(n, jnp.where(small, _FAR**2, q), 1, _i_far, 1)
    return jnp.where(small, _series(jnp.where(small, q, 0.0), n, bound=_FAR**2), far)


@_family
def _k0(n: int, q: Array) -> Array:
    return _of_square(n, q, 1, _k)


@_family
def _k0_regular(n: int, q: Array) -> Array:
    small = jnp.abs(q) < _CUT**2
    far = jnp.where(small, _CUT**2, q)
    return jnp.where(small, _series(jnp.where(small, q, 0.0), n, True), _k0(n, far) + _times_log(n, far, _i0) / 2)


def j0_of_square(q: Float[Array, "..."]) -> Float[Array, "..."]:
    """J0(sqrt q), q >= 0."""
    return _j0(0, jnp.asarray(q))


def y0_of_square(q: Float[Array, "..."]) -> Float[Array, "..."]:
    """Y0(sqrt q), q > 0."""
    return _y0(0, jnp.asarray(q))


def y0_regular(q: Float[Array, "..."]) -> Float[Array, "..."]:
    """Y0(sqrt q) - J0(sqrt q) log(q) / π, q >= 0, analytic: at 0 it is (2/π)(γ - log 2)."""
    return _y0_regular(0, jnp.asarray(q))


def i0_of_square(q: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    """I0(sqrt q), q >= 0 or complex; the error is relative to e^{Re sqrt q}, and it overflows only when I0 does."""
    return _i0(0, jnp.asarray(q))


def k0_of_square(q: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    """K0(sqrt q), q > 0 or complex, Re sqrt q >= 0. On the negative axis the sign of the zero Im q picks the side."""
    return _k0(0, jnp.asarray(q))


def k0_regular(q: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    """K0(sqrt q) + log(q) I0(sqrt q) / 2, q >= 0 or complex, entire: at 0 it is log 2 - γ.

    To get K0 back from it cancels: beyond |q| = 36 nothing of K0 is left to rely on.
    """
    return _k0_regular(0, jnp.asarray(q))


@jax.custom_jvp
def j0(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """J0, any real x. Absolute error 1e-15 (1e-6 in single precision), as for J1, Y0 and Y1 where they are below 1."""
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
    """K0, x > 0. Relative error 1e-14, as for K1."""
    return _k(0, jnp.asarray(x))


@jax.custom_jvp
def k1(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """K1 = -K0', x > 0."""
    return _k(1, jnp.asarray(x))


j0.defjvps(lambda dx, value, x: -j1(x) * dx)
# J1(x)/x is smooth at 0 as a function of x².
j1.defjvps(lambda dx, value, x: (j0(x) + 2 * _j0(1, x * x)) * dx)
y0.defjvps(lambda dx, value, x: -y1(x) * dx)
y1.defjvps(lambda dx, value, x: (y0(x) - value / x) * dx)
k0.defjvps(lambda dx, value, x: -k1(x) * dx)
k1.defjvps(lambda dx, value, x: -(k0(x) + value / x) * dx)
