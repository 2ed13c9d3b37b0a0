"""Whatever says "converged" is right: aliased data, spikes, resonances, decay within a few nodes, absorption, surfaces.

Every case is solved with default settings (on surfaces, where those take minutes, with a rule) and compared with its
exact field. Those that are `reached` must be converged too, so that none of this is met by never converging. Problems
are shared: shape, data and wavenumber are parameters, so that few are compiled.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import jn_zeros, jnp_zeros

import edgewise as ew
from edgewise.solving.validation import check_settings

CURVE = ew.Curve(
    lambda s, a, b, bend: jnp.stack([a * jnp.cos(s) + bend * (jnp.cos(2 * s) - 1), b * jnp.sin(s)]),
)
CIRCLE, ELLIPSE, KITE = dict(a=1.0, b=1.0, bend=0.0), dict(a=1.5, b=0.7, bend=0.0), dict(a=1.0, b=1.5, bend=0.65)
SHAPE = dict(a=(0.5, 2.0), b=(0.5, 2.0), bend=(0.0, 1.0))
UNIT = ew.Ellipse(1.0, 1.0)
# Resonances of the unit disc for single and double layers outside, and of the ball for single layers.
SOFT, HARD, BALL = float(jn_zeros(0, 1)[0]), float(jnp_zeros(1, 1)[0]), np.pi
ANGLES = np.linspace(0.1, 6.2, 9)
OFF = {"interior": (0.0, 0.5, 0.9, 0.98), "exterior": (1.02, 1.1, 2.0, 5.0)}


def power(x, m, size):
    """Re (z / size)^m."""
    return (jnp.hypot(x[0], x[1]) / size) ** m * jnp.cos(m * jnp.arctan2(x[1], x[0]))


def spike(x, width):
    """The harmonic function that is e^{-(s/width)²} round s = 1 on the unit circle, by its Fourier series."""
    m = jnp.arange(1, 2000)
    sizes = width / jnp.sqrt(jnp.pi) * jnp.exp(-((m * width) ** 2) / 4)
    waves = jnp.hypot(x[0], x[1]) ** m * jnp.cos(m * (jnp.arctan2(x[1], x[0]) - 1))
    return width / (2 * jnp.sqrt(jnp.pi)) + jnp.sum(sizes * waves)


def two_fields(x, m, size):
    return power(x / (x @ x), m, 1.0) + power((x - 3 * EAST) / ((x - 3 * EAST) @ (x - 3 * EAST)), m, 1.0)


EAST = jnp.array([1.0, 0.0])


def on_a_side(x, m, size):
    """Waves on the side y = 1 of the square that decay below it."""
    return jnp.cos(m * x[0]) * jnp.exp(m * (x[1] - 1))


def source(kind):
    """A point source at (east, 0.3), scaled by e^{k · near}, where `near` is how close it comes to the curve."""
    return lambda x, k, east, near: kind(2, k).fundamental(x - jnp.stack([east, 0.3 + 0 * east])) * jnp.exp(k * near)


def outgoing(k):
    return lambda x: ew.Helmholtz(2, k).fundamental(x - jnp.array([0.3, 0.2]))


def absorbed(k):
    return lambda x: ew.Helmholtz(2, k).fundamental(x - jnp.array([1.5, 0.2])) * jnp.exp(jnp.imag(k) * 0.5)


def slope_of(u):
    return lambda x, normal, k, east, near: jax.jvp(lambda x: u(x, k, east, near), (x,), (normal,))[1]


def in_space(x, degree, near):
    """Re (x + iy)^m / r^(2m + 1), of degree m; where m is 0 a charge so near to the sphere, of size one there."""
    pole = near / jnp.linalg.norm(x - jnp.array([0.0, 0.0, 1.0]) * (1 - near))
    return jnp.where(degree > 0, power(x[:2], degree, 1.0) / jnp.linalg.norm(x) ** (2 * degree + 1), pole)


def waves_in_space(x, k):
    return ew.Helmholtz(3, k).fundamental(x - jnp.array([0.2, 0.1, 0.3]))


@functools.cache
def problem(name):
    """With its exact field."""
    waves = ew.Box(m=(1.0, 5000.0), size=(0.5, 3.0))
    single = ew.SingleLayer(ew.Laplace(2))
    screened, waving = ew.ModifiedHelmholtz(2, "k"), ew.Helmholtz(2, "k")
    decay = ew.Box(**SHAPE, k=(0.1, 300.0), east=(-3.0, 3.0), near=(0.0, 3.0))
    potential = source(ew.ModifiedHelmholtz)
    if name == "power":
        return ew.Problem(CURVE, ew.Box(**SHAPE, m=(1.0, 5e3), size=(0.5, 3.0)), single, power, "interior", exact=power)
    if name == "spike":
        # On the unit circle itself, where the series would take long.
        data = lambda x, width: jnp.exp(-((jnp.arctan2(x[1], x[0]) - 1) ** 2) / width**2)
        return ew.Problem(UNIT, ew.Box(width=(1e-4, 1.0)), single, data, "interior", exact=spike)
    if name == "bodies":
        bodies = ew.Union(UNIT, ew.Translate(UNIT, (3.0, 0.0)))
        return ew.Problem(bodies, waves, single, two_fields, "exterior", exact=two_fields)
    if name == "square":
        square = ew.Polygon([(1, -1), (1, 1), (-1, 1), (-1, -1)])
        return ew.Problem(square, waves, single, on_a_side, "interior", exact=on_a_side)
    if name in ("soft", "hard"):
        layer = (ew.SingleLayer if name == "soft" else ew.DoubleLayer)(waving)
        exact = lambda x, k: outgoing(k)(x)
        return ew.Problem(UNIT, ew.Box(k=(0.1, 9.0)), layer, exact, "exterior", exact=exact)
    if name == "inside":
        return ew.Problem(CURVE, decay, ew.SingleLayer(screened), potential, "interior", exact=potential)
    if name == "outside":
        return ew.Problem(CURVE, decay, ew.DoubleLayer(screened), potential, "exterior", exact=potential)
    if name == "flux":
        layer, data = ew.SingleLayer(screened), slope_of(potential)
        return ew.Problem(CURVE, decay, layer, data, "interior", ew.Neumann(), exact=potential)
    if name == "sphere":
        layer = ew.SingleLayer(ew.Laplace(3))
        box = ew.Box(degree=(0.0, 99.0), near=(0.0, 1.0))
        return ew.Problem(ew.Sphere(), box, layer, in_space, "exterior", exact=in_space)
    if name == "ball":
        layer = ew.SingleLayer(ew.Helmholtz(3, "k"))
        return ew.Problem(ew.Sphere(), ew.Box(k=(0.1, 9.0)), layer, waves_in_space, "exterior", exact=waves_in_space)
    exact = absorbed(complex(name))
    return ew.Problem(UNIT, None, ew.SingleLayer(ew.Helmholtz(2, complex(name))), exact, "interior", exact=exact)


def points_of(case, side, values):
    """Beside the boundary and away from it; scaled with the curve, which is star-shaped about the point (-bend, 0)."""
    if case in ("sphere", "ball"):
        return jnp.asarray(np.random.default_rng(0).normal(size=(9, 3)) * 2 + np.array([0, 0, 4.0]))
    unit = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)
    shares = np.array(OFF[side])[:, None, None]
    if "a" not in values:
        return jnp.asarray((shares * unit).reshape(-1, 2))
    on_it = jax.vmap(lambda s: CURVE.point(s, **{name: values[name] for name in SHAPE}))(ANGLES)
    centre = jnp.array([-values["bend"], 0.0])
    return (centre + shares * (on_it - centre)).reshape(-1, 2)


def decays(k, east, near, shape=CIRCLE):
    return dict(k=k, east=east, near=near, **shape)


DUFFY = dict(quadrature=ew.Duffy(8), tol=1e-3)
REACHED = True
CASES = {
    "circle, 64 waves": ("power", dict(m=64.0, size=1.0, **CIRCLE), REACHED),
    "circle, 128 waves": ("power", dict(m=128.0, size=1.0, **CIRCLE), REACHED),
    "circle, 160 waves": ("power", dict(m=160.0, size=1.0, **CIRCLE), REACHED),
    "circle, 256 waves": ("power", dict(m=256.0, size=1.0, **CIRCLE), REACHED),
    "circle, 384 waves": ("power", dict(m=384.0, size=1.0, **CIRCLE), REACHED),
    "circle, 1000 waves": ("power", dict(m=1000.0, size=1.0, **CIRCLE)),
    "circle, 4096 waves": ("power", dict(m=4096.0, size=1.0, **CIRCLE)),
    "ellipse, 192 waves": ("power", dict(m=192.0, size=1.5, **ELLIPSE)),
    "kite, 130 waves": ("power", dict(m=130.0, size=2.43, **KITE)),
    "bodies, 128 waves": ("bodies", dict(m=128.0, size=1.0), REACHED),
    "bodies, 130 waves": ("bodies", dict(m=130.0, size=1.0)),
    "square, 128 waves": ("square", dict(m=128.0, size=1.0)),
    "spike of 0.03": ("spike", dict(width=0.03), REACHED),
    "spike of 0.002": ("spike", dict(width=0.002)),
    "soft resonance": ("soft", dict(k=SOFT)),
    "soft resonance, 1e-9": ("soft", dict(k=SOFT * (1 + 1e-9))),
    "soft resonance, 1e-6": ("soft", dict(k=SOFT * (1 + 1e-6))),
    "soft resonance, 1e-3": ("soft", dict(k=SOFT * (1 + 1e-3)), REACHED),
    "hard resonance": ("hard", dict(k=HARD)),
    "hard resonance, 1e-6": ("hard", dict(k=HARD * (1 + 1e-6))),
    "hard resonance, 1e-1": ("hard", dict(k=HARD * 1.1), REACHED),
    "screened, k = 1": ("inside", decays(1.0, 2.2, 1.2), REACHED),
    "screened, k = 20": ("inside", decays(20.0, 2.2, 1.2), REACHED),
    "screened, k = 200": ("inside", decays(200.0, 2.2, 1.2)),
    "screened kite, k = 10, outside": ("outside", decays(10.0, -0.5, 0.6, KITE), REACHED),
    "screened, k = 20, Neumann": ("flux", decays(20.0, 2.2, 1.2), REACHED),
    "absorbing, 5 + 5i": ("5+5j", {}, REACHED),
    "absorbing, 20 + 2i": ("20+2j", {}, REACHED),
    "sphere, degree 20": ("sphere", dict(degree=20.0, near=0.5, **DUFFY)),
    "sphere, a spike": ("sphere", dict(degree=0.0, near=0.02, **DUFFY)),
    "sphere, a charge": ("sphere", dict(degree=0.0, near=0.9, **DUFFY), REACHED),
    "sphere, resonance": ("ball", dict(k=BALL, **DUFFY)),
}


@pytest.mark.parametrize("case", CASES)
def test_converged_is_right(case):
    name, given, *reached = CASES[case]
    posed = problem(name)
    values = {key: jnp.asarray(value) for key, value in given.items() if key in posed.parameters.names}
    solution = ew.solve(posed, **given)
    tol = check_settings(posed, None, "direct", given.get("tol"), None, np.dtype(float)).tol
    points = points_of(name, posed.side, values)
    error = np.abs(np.asarray(solution(points) - posed.exact_at(points, values)))
    assert np.isfinite(error).mean() > 0.5
    error = np.nanmax(error) / np.abs(np.asarray(posed.data_on(solution.boundary, values))).max()
    assert not (solution.result.ok and error > 10 * tol), f"says converged, and errs by {error:.1e}"
    assert solution.result.ok or not reached, f"{solution.result}: resolution {float(solution.stats['resolution']):.1e}"
