"""`check_kernel`: every shipped kernel passes, and broken ones fail with words that name what is broken."""

import subprocess
import sys

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import edgewise as ew
from edgewise.special import i0_of_square, k0_regular
from edgewise.testing import check_kernel, laplacian

SHIPPED = [
    ew.Laplace(dim=2),
    ew.Biharmonic(dim=2),
    pytest.param(ew.Helmholtz(dim=2, wavenumber=3.0), marks=pytest.mark.slow),
    pytest.param(ew.ModifiedHelmholtz(dim=2, wavenumber=2.0), marks=pytest.mark.slow),
    pytest.param(ew.Helmholtz(dim=2, wavenumber=2.0 + 1.0j), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("kernel", SHIPPED, ids=lambda kernel: kernel.name)
def test_shipped_kernels_pass(kernel, measured):
    report = check_kernel(kernel)
    for name in ("split", "equation", "layers", "nearby", "jumps", "kress"):
        measured(f"check_kernel, {kernel.name}, {name}", getattr(report, name), 1e-7 if name == "split" else 1e-9)
    assert abs(report.strength - 1) < 1e-8
    assert kernel.name in str(report) and "strength" in str(report)


class Own(ew.AbstractKernel):
    """Laplace's kernel, times and plus what a test says."""

    log: object = eqx.field(static=True, default=lambda q: jnp.full_like(q, -1 / (4 * np.pi)))
    smooth: object = eqx.field(static=True, default=jnp.zeros_like)
    whole: object = eqx.field(static=True, default=None)
    dim: int = eqx.field(static=True, default=2)
    polynomials = 1

    def log_part(self, q):
        return self.log(q)

    def smooth_part(self, q):
        return self.smooth(q)

    def radial(self, q):
        return super().radial(q) if self.whole is None else self.whole(q)


class Screened(Own):
    polynomials = 0


class OfOrderFour(Own):
    order = 4
    polynomials = 3


class Stretched(Own):
    def fundamental(self, d):
        return super().fundamental(d * jnp.array([1.0, 2.0]))


class Swapped(Own):
    def __call__(self, target, source, layer="single"):
        return super().__call__(target, source, {"double": "adjoint_double"}.get(layer, layer))


def minus_laplacian(u):
    return lambda x: -laplacian(u)(x)


def bilaplacian(u):
    return laplacian(laplacian(u))


C = 1 / (4 * np.pi)
OK = Own()
BROKEN = {
    "other sign": (Own(lambda q: jnp.full_like(q, C)), r"the strength: .* is -1, .* sign is the other"),
    "twice the strength": (Own(lambda q: jnp.full_like(q, -2 * C)), r"the strength: .* is 2, .*Divide both parts by 2"),
    "half the logarithm": (
        Own(whole=lambda q: -2 * C * jnp.log(q)),
        r"the split: .* misses `fundamental`.*log q = 2 log",
    ),
    "root": (Own(smooth=lambda q: jnp.sqrt(q)), r"the split: derivative \d of `smooth_part`.*not smooth"),
    "guarded root": (
        Own(smooth=lambda q: jnp.where(q > 0, jnp.sqrt(jnp.where(q > 0, q, 1)), 0)),
        r"the split: derivative \d of `smooth_part` tends to .* at q = 0 is 0",
    ),
    "q log q": (Own(smooth=lambda q: q * jnp.log(q)), r"the split: derivative \d of `smooth_part`"),
    "a number": (Own(lambda q: -C), r"the split: `log_part` of 3 numbers .*shape \(\).*full_like"),
    "single precision": (Own(lambda q: jnp.full(q.shape, -C, "float32")), r"the split: `log_part` .*float32"),
    "another equation": (Own(smooth=lambda q: 0.1 * q), r"the equation: L G is"),
    "direction": (Stretched(), r"the split: .*direction"),
    "layer": (Swapped(), r"the layers: .*__call__"),
    "constants": (Screened(), r"the polynomials: `polynomials = 0`"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_kernels_fail_by_name(name):
    kernel, words = BROKEN[name]
    with pytest.raises(AssertionError, match=f"(?s){words}"):
        check_kernel(kernel, minus_laplacian)


def yukawa(factor):
    """-(Δ - 4)G = δ from its series, with another factor of the logarithm."""
    log = lambda q: -C * i0_of_square(4 * q)
    return Screened(lambda q: factor * log(q), lambda q: k0_regular(4 * q) / (2 * np.pi) + np.log(4) * log(q))


@pytest.mark.slow
def test_wrong_numbers_are_named():
    with pytest.raises(AssertionError, match=r"the equation: .* L G = 2.25 G"):
        check_kernel(yukawa(1), lambda u: lambda x: 2.5**2 * u(x) - laplacian(u)(x))
    with pytest.raises(AssertionError, match=r"the equation: .*`log_part` times 0.5"):
        check_kernel(yukawa(2), lambda u: lambda x: 4 * u(x) - laplacian(u)(x))


def test_the_order_is_checked():
    plate = Own(lambda q: q / (16 * np.pi))
    with pytest.raises(AssertionError, match=r"the strength: .*`order = 4`"):
        check_kernel(plate, bilaplacian)
    with pytest.raises(AssertionError, match=r"the strength: .*is -1"):
        check_kernel(OfOrderFour(lambda q: -q / (16 * np.pi)), bilaplacian)


@pytest.mark.slow
def test_a_kink_away_from_zero_is_noticed():
    """A part that is two formulas, glued with a gap of 1e-6 where no point of the equation lies."""
    glue = lambda q: jnp.where(q < 1.7, 0.0, 1e-6) + 0 * q
    with pytest.raises(AssertionError, match=r"not smooth somewhere in q > 0"):
        check_kernel(Own(smooth=glue), minus_laplacian)


def test_misuse():
    with pytest.raises(ValueError, match=r"not parameters' names"):
        check_kernel(ew.Helmholtz(dim=2, wavenumber="k"))
    with pytest.raises(ValueError, match=r"equation of `Own` is not known"):
        check_kernel(OK)


def test_import_is_lazy():
    code = "import sys, edgewise as ew; assert 'jax' not in sys.modules; ew.testing.check_kernel; assert 'jax' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
