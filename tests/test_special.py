"""Bessel functions against scipy's, their equations, and numbers from 30-digit arithmetic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special as sp

from edgewise import special

# Log-spaced, and dense around the arguments 2, 4 and 25 where formulas change.
X = np.concatenate([np.logspace(-8, 4, 1200), np.linspace(1.9, 4.1, 200), np.linspace(24.9, 25.1, 21)])
NAMES = ["j0", "j1", "y0", "y1", "k0", "k1"]

# q, I0(sqrt q), K0(sqrt q) and their derivatives in q.
COMPLEX = np.array(
    [
        (
            0.3 + 0.4j,
            1.0738551112000794 + 0.10376886723962116j,
            0.6180411902683336 - 0.34423719176619966j,
            0.2592806624623056 + 0.012813682094937806j,
            -0.3375797508408587 + 0.7018596798537129j,
        ),
        (
            -3 - 2j,
            0.3312637685567592 - 0.3316601238133671j,
            -0.3777950006957119 + 0.3435015311711487j,
            0.16296585932157248 - 0.048082497934480765j,
            0.11022630502962819 + 0.1019699279033671j,
        ),
        (
            -9 - 0.1j,
            -0.26011946715252254 - 0.005650744168237337j,
            -0.5831134326058091 - 0.4000940942677985j,
            0.05650267221436378 - 0.0013502365219431034j,
            -0.08289819939724992 + 0.0880544963813749j,
        ),
        (
            20j,
            -4.194831833245849 + 1.7417308745351776j,
            -0.02269721121871405 + 0.009496619182549487j,
            -0.21764966126214405 + 0.4169326143452606j,
            0.0009378201068522601 - 0.0028216688238475412j,
        ),
        (
            100 - 80j,
            -4727.463791142712 + 2176.9632511112095j,
            -6.101923678174149e-06 - 5.9113774502803095e-06j,
            -218.87700330356978 + 24.21304379340304j,
            1.701070817401329e-07 + 3.518213767373762e-07j,
        ),
        (
            -400 - 30j,
            0.21385681260839418 - 0.057382696467714094j,
            -0.04588303627971407 + 0.12409530165801487j,
            0.0024171987512083474 + 0.0032387688412630422j,
            0.0031170037162043295 + 0.0011081944467045037j,
        ),
        (
            300 + 350j,
            -20067278.973753337 + 15941495.476610554j,
            -8.827727060549942e-10 - 2.1605412056244442e-10j,
            -268993.53449719475 + 518510.5573800824j,
            2.1177278638988206e-11 - 4.301635210410636e-12j,
        ),
        (
            900 + 200j,
            -926055509100.0902 - 108343002426.81696j,
            -1.7215281689666943e-14 + 3.955168776677496e-15j,
            -15099393386.075844 - 135726160.3385342j,
            2.789768575215902e-16 - 9.771354211634365e-17j,
        ),
    ]
)


def error(made, exact, scale=1.0):
    assert np.all(np.isfinite(made))
    return float(np.max(np.abs(np.asarray(made, exact.dtype) - exact) / np.maximum(scale, np.abs(exact))))


def derivative(f, n):
    """The n-th, elementwise."""
    for _ in range(n):
        f = (lambda g: lambda x: jax.jvp(g, (x,), (jnp.ones_like(x),))[1])(f)
    return f


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype, bound", [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_values(name, dtype, bound, measured):
    x = X.astype(dtype)
    made = jax.jit(getattr(special, name))(x)
    assert made.dtype == dtype
    exact = getattr(sp, name)(x.astype(float))
    measured(f"Bessel functions, {np.dtype(dtype).name}", error(made, exact), bound)
    if name[0] == "k":
        normal = exact > 10 * np.finfo(dtype).tiny
        measured(f"K, relative, {np.dtype(dtype).name}", error(made[normal], exact[normal], 0.0), 4 * bound)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_symmetry_and_limits(dtype):
    x = np.array([0.0, 0.3, 3.999, 4.0, 17.0, 1e7, 1e30, np.finfo(dtype).max], dtype)
    both = np.concatenate([x, -x])
    values, slopes = jax.jit(
        lambda x: jax.jvp(lambda x: [getattr(special, name)(x) for name in NAMES], (x,), (jnp.ones_like(x),))
    )(both)
    (j0, minus_j0), (j1, minus_j1) = (np.split(np.asarray(value), 2) for value in values[:2])
    np.testing.assert_array_equal(minus_j0, j0)
    np.testing.assert_array_equal(minus_j1, -j1)
    assert [float(value[0]) for value in values] == [1, 0, -np.inf, -np.inf, np.inf, np.inf]
    for value, slope in zip(values, slopes, strict=True):
        assert np.all(np.abs(value[5:8]) < 1e-3) and np.all(np.abs(slope[5:8]) < 1e-3)
    assert np.all(np.isnan(np.asarray(values[2:])[:, 9:13]))


@pytest.mark.parametrize("n", [1, 3])
def test_derivatives(n, measured):
    x = X[X > 1e-3]
    made = jax.jit(lambda x: [derivative(getattr(special, name), n)(x) for name in NAMES])(x)
    exact = [f(m, x, n) for f in (sp.jvp, sp.yvp, sp.kvp) for m in (0, 1)]
    measured(f"Bessel functions, derivative {n}", max(map(error, made, exact)), 1e-12)


def test_derivatives_at_zero_are_taylor_coefficients():
    for f, exact in {special.j0: [1, 0, -1 / 2, 0], special.j1: [0, 1 / 2, 0, -3 / 8]}.items():
        np.testing.assert_allclose([derivative(f, n)(0.0) for n in range(4)], exact, atol=1e-15)
    harmonic = np.cumsum([0, 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    taylor = 1 / (4.0 ** np.arange(6) * sp.factorial(np.arange(6)))
    signs = (-1.0) ** np.arange(6)
    regular = taylor * (np.log(2) - np.euler_gamma + harmonic)
    for f, exact in {
        special.j0_of_square: signs * taylor,
        special.i0_of_square: taylor,
        special.k0_regular: regular,
        special.y0_regular: -2 / np.pi * signs * regular,
    }.items():
        for q, rtol in ((np.array([0.0, 1e-300, 1e-18]), 1e-14), (np.zeros(1, np.float32), 1e-6)):
            made = np.stack([f(q, n) for n in range(6)])
            np.testing.assert_allclose(made, exact[:, None] * np.ones(len(q)), rtol=rtol)
        np.testing.assert_allclose(derivative(f, 2)(0.0), exact[2], rtol=1e-14)
    np.testing.assert_allclose(derivative(lambda q: special.j0_of_square(q, 3), 2)(0.0), -taylor[5], rtol=1e-14)


@pytest.mark.parametrize("n", range(6))
def test_functions_of_the_square(n, measured):
    """The n-th derivative of C0(sqrt q) is ±C_n(z) / (2z)^n."""
    z = X[(X > 1e-2) & (X < 600)]
    functions = [special.j0_of_square, special.y0_of_square, special.i0_of_square, special.k0_of_square]
    j, y, i, k = jax.jit(lambda q: [f(q, n) for f in functions])(z * z)
    power, sign = (2 * z) ** -n, (-1) ** n
    # The size of a function that is 1 at 0 and oscillates.
    size = (1 + 2 * z) ** -n / np.sqrt(1 + z)
    worst = max(error(j, sign * sp.jv(n, z) * power, size), error(y, sign * sp.yv(n, z) * power, size))
    measured(f"J0, Y0 of the square, derivative {n}", worst, 1e-13)
    worst = max(error(i, sp.iv(n, z) * power, 0.0), error(k, sign * sp.kv(n, z) * power, 0.0))
    measured(f"I0, K0 of the square, derivative {n}, relative", worst, 1e-13)


@pytest.mark.parametrize("n", [0, 2])
def test_regular_parts(n, measured):
    """With the logarithm put back they are Y0 and K0, by autodiff."""
    z = np.concatenate([np.linspace(0.5, 30, 300), np.linspace(3.99, 4.01, 21)])
    y = derivative(lambda q: special.y0_regular(q) + special.j0_of_square(q) * jnp.log(q) / jnp.pi, n)
    exact = (-1) ** n * sp.yv(n, z) / (2 * z) ** n
    measured(f"Y0's regular part, derivative {n}", error(jax.jit(y)(z * z), exact, (1 + 2 * z) ** -n), 1e-13)
    z = z[z <= 4]
    k = derivative(lambda q: special.k0_regular(q) - special.i0_of_square(q) * jnp.log(q) / 2, n)
    exact = (-1) ** n * sp.kv(n, z) / (2 * z) ** n
    measured(f"K0's regular part, derivative {n}", error(jax.jit(k)(z * z), exact, sp.iv(n, z) / (2 * z) ** n), 1e-13)


@pytest.mark.parametrize("n", [4, 5])
def test_high_derivatives_of_regular_parts(n, measured):
    """They continue each other across the argument 4: 1e-7 of it changes less than that."""
    for f in (special.y0_regular, special.k0_regular):
        below, above = f(16.0 * (1 - 1e-7), n), f(16.0 * (1 + 1e-7), n)
        step = 16.0 * 2e-7 * f(16.0, n + 1)
        measured(
            f"regular parts across the cut, derivative {n}",
            error(above - below - step, np.zeros(()), abs(above)),
            1e-12,
        )


@pytest.mark.parametrize("dtype, bound", [(np.complex128, 5e-14), (np.complex64, 1e-5)])
def test_complex(dtype, bound, measured):
    table = np.concatenate([COMPLEX, COMPLEX.conj()]).T
    q, ones = jnp.asarray(table[0], dtype), jnp.ones(table.shape[1], dtype)
    i, di = jax.jit(lambda q: jax.jvp(special.i0_of_square, (q,), (ones,)))(q)
    k, dk = jax.jit(lambda q: jax.jvp(special.k0_of_square, (q,), (ones,)))(q)
    for made, exact in zip((i, k, di, dk), table[1:], strict=True):
        assert made.dtype == dtype
        measured(f"complex argument, {np.dtype(dtype).name}", error(made, exact, 0.0), bound)


def test_complex_regular_part(measured):
    """Where its series holds, |q| <= 16."""
    table = COMPLEX[np.abs(COMPLEX[:, 0]) <= 16].T
    whole = table[2] + np.log(table[0]) * table[1] / 2
    made = jax.jit(special.k0_regular)(jnp.asarray(table[0]))
    assert table.shape[1] >= 3
    measured("complex argument, K0's regular part", error(made, whole, 0.0), 5e-14)


def test_both_sides_of_the_imaginary_axis(measured):
    """K0(∓ix) = ±πi/2 (J0 ± iY0)(x), the side by the sign of the zero; I0 is J0."""
    x = np.concatenate([np.linspace(0.1, 30, 300), [3.999, 4.001, 5.999, 6.001]])
    for side, sign in ((-0.0, 1), (0.0, -1)):
        q = jax.lax.complex(jnp.asarray(-x * x), jnp.full(x.shape, side))
        hankel = sp.j0(x) + sign * 1j * sp.y0(x)
        measured(
            "K0 on the imaginary axis", error(jax.jit(special.k0_of_square)(q), sign * np.pi / 2j * -hankel), 2e-14
        )
        measured("I0 on the imaginary axis", error(jax.jit(special.i0_of_square)(q), sp.j0(x) + 0j), 2e-14)


def test_i0_overflows_only_where_it_must():
    np.testing.assert_allclose(special.i0_of_square(713.9**2), 1.64815519e308, rtol=1e-8)
    assert np.isfinite(special.i0_of_square(np.float32(91.5**2)))


def test_wronskian(measured):
    x = X[X > 1e-4]
    wronskian = jax.jit(lambda x: (special.j1(x) * special.y0(x) - special.j0(x) * special.y1(x)) * np.pi * x / 2)(x)
    measured("Wronskian, relative", error(wronskian, np.ones_like(x)), 1e-13)
    x = x[x < 100]
    i, k = special.i0_of_square, special.k0_of_square
    wronskian = jax.jit(lambda q: 2 * q * (i(q, 1) * k(q) - k(q, 1) * i(q)))(x * x)
    measured("Wronskian, relative", error(wronskian, np.ones_like(x)), 1e-13)


def test_transformations_agree():
    """jit, vmap, reverse mode, shapes; and complex reverse mode of a real function."""
    q = jnp.asarray([[0.0, 1e-30, 0.5], [15.9, 16.1, 700.0]])
    for f in (special.y0_regular, special.j1):
        slope = jax.jit(derivative(f, 2))(q)
        assert slope.shape == q.shape and np.all(np.isfinite(slope))
        again = jax.jit(jax.vmap(jax.vmap(jax.grad(jax.grad(f)))))(q)
        np.testing.assert_allclose(again, slope, rtol=1e-12, atol=1e-300)

    @jax.jit
    def size(k):
        return jnp.abs(special.k0_of_square(-((k + 0.2j) ** 2) * 7.0)) ** 2

    step = 1e-5
    np.testing.assert_allclose(jax.grad(size)(1.3), (size(1.3 + step) - size(1.3 - step)) / (2 * step), rtol=1e-8)


def test_trigonometric_names_are_here():
    assert special.resample(jnp.array([1.0, 0.0, -1.0, 0.0]), 8).shape == (8,)
