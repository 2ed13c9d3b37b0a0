"""Waves: the circle's series, point sources, energy and reciprocity, derivatives, at every wavenumber."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, entire, near_points
from scipy.special import h1vp, hankel1, jn_zeros, jv, jvp

import edgewise as ew

CIRCLE = ew.Ellipse(1.0, 1.0)
K = ew.Box(k=(0.1, 60.0))
HELMHOLTZ = ew.Helmholtz(dim=2, wavenumber="k")
# Where the inside of the unit circle resonates, for a single layer and for a double layer.
RESONANCES = (float(jn_zeros(0, 1)[0]), float(jn_zeros(1, 2)[1]))
BODIES = {
    "soft": ew.Dirichlet(),
    "hard": ew.Neumann(),
    "impedance": ew.Robin(lambda x, k: 0.7j * k),
}


def circle_series(k, body):
    """Scattered field and far field of e^{ikx} on the unit circle: Σ a_m H_m(kr) e^{imθ}."""
    m = np.arange(-int(k) - 60, int(k) + 61)
    value, slope = 1j**m * jv(m, k), 1j**m * k * jvp(m, k)
    outgoing, outgoing_slope = hankel1(m, k), k * h1vp(m, k)
    z = {"soft": None, "hard": 0.0, "impedance": 0.7j * k}[body]
    a = -value / outgoing if z is None else -(slope + z * value) / (outgoing_slope + z * outgoing)
    a = np.where(np.isfinite(a), a, 0)

    def field(points):
        r, angle = np.hypot(*points.T), np.arctan2(points[:, 1], points[:, 0])
        terms = a * hankel1(m, k * r[:, None]) * np.exp(1j * m * angle[:, None])
        return np.where(np.isfinite(terms), terms, 0).sum(axis=1)

    def far(angle):
        factor = np.sqrt(2 / (np.pi * k)) * np.exp(-0.25j * np.pi)
        return factor * (a * (-1j) ** m * np.exp(1j * m * angle[:, None])).sum(axis=1)

    return field, far


def directions(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


SIZES = [
    pytest.param((20.0, RESONANCES[0]), id="small"),
    pytest.param((1.0, 5.0, 20.0, 50.0, *RESONANCES), id="full", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("wavenumbers", SIZES)
@pytest.mark.parametrize(
    "body", ["soft", *(pytest.param(body, marks=pytest.mark.slow) for body in ("hard", "impedance"))]
)
def test_circle_against_its_series(body, wavenumbers, measured):
    problem = ew.Problem(CIRCLE, K, ew.CombinedField(HELMHOLTZ), ew.PlaneWave(0.0), "exterior", BODIES[body])
    rng = np.random.default_rng(0)
    radius, angle = 1 + 10 ** rng.uniform(-8, 2, 80), rng.uniform(0, 2 * np.pi, 80)
    points = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    for k in wavenumbers:
        solution = ew.solve(problem, k=k)
        field, far = circle_series(k, body)
        assert solution.result.ok
        measured(f"circle, {body}, field", float(np.abs(solution(points) - field(points)).max()), 1e-10)
        error = float(np.abs(solution.far_field(directions(angle)) - far(angle)).max())
        measured(f"circle, {body}, far field", error, 1e-10)


def sources(places, strengths):
    """Point sources inside bodies: a radiating field outside them."""

    def field(x, k):
        kernel = ew.Helmholtz(2, k)
        return sum(q * kernel.fundamental(x - jnp.asarray(p)) for p, q in zip(places, strengths, strict=True))

    return field


SCATTERERS = {
    "kite": (ew.Kite(), [(0.0, 0.3), (-0.1, -0.4)]),
    "two bodies": (
        ew.Union(ew.Kite(), ew.Translate(ew.Ellipse(1.0, 0.5), (2.5, 0.5))),
        [(0.0, 0.3), (2.4, 0.5)],
    ),
}


@pytest.mark.parametrize(
    "wavenumbers", [pytest.param((20.0,), id="small"), pytest.param((1.0, 3.0, 7.0), id="full", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("body", ["soft", pytest.param("hard", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in ("kite", "two bodies")])
def test_point_sources_inside(name, body, wavenumbers, measured):
    family, places = SCATTERERS[name]
    field = sources(places, [1.0, 0.5 - 1j])
    data = field if body == "soft" else lambda x, normal, k: jax.jacfwd(field)(x, k) @ normal
    problem = ew.Problem(family, K, ew.CombinedField(HELMHOLTZ), data, "exterior", BODIES[body])
    nodes = family.boundary(jnp.linspace(0, 6, 40), jnp.ones(40), {})
    distance = jnp.asarray(10 ** np.random.default_rng(0).uniform(-8, 0, len(nodes.x)))[:, None]
    points = jnp.concatenate([nodes.x + distance * nodes.normal, jnp.array([[30.0, -20.0]])])
    for k in wavenumbers:
        solution = ew.solve(problem, k=k)
        values = solution(points)
        # A long step along the normal may end in the other body, or beyond a bay.
        outside = ~np.isnan(values)
        truth = jax.vmap(lambda x, k=k: field(x, k))(points)
        assert solution.result.ok and outside.mean() > 0.8
        error = float(jnp.max(jnp.abs(values - truth)[outside]))
        measured(f"{name}, {body}, point sources", error, 1e-10)


def kite_problem():
    box = ew.Box(k=(0.5, 10.0), bend=(0.3, 0.8), angle=ew.Angle(0.0))
    return ew.Problem(ew.Kite("bend"), box, ew.CombinedField(HELMHOLTZ), ew.PlaneWave("angle"), "exterior")


def test_energy_and_reciprocity(measured):
    """Optical theorem: σ = -√(8π/k) Re(e^{iπ/4} u_inf(d)); reciprocity: u_inf(a; b) = u_inf(-b; -a)."""
    angles = jnp.array([0.4, 2.1, 0.4 + np.pi, 2.1 + np.pi])
    many = ew.solve(kite_problem(), k=3.0, bend=0.65, angle=angles, quadrature=ew.Kress(256))
    far = many.far_field(directions(angles))
    assert far.shape == (4, 4) and many.cross_section().shape == (4,)
    forward = -np.sqrt(8 * np.pi / 3.0) * (np.exp(0.25j * np.pi) * np.diag(far)).real
    measured("optical theorem", float(np.abs(many.cross_section() - forward).max()), 1e-10)
    # From b seen at a, against from -a seen at -b; member j of the batch comes from angle j.
    measured("reciprocity", float(abs(far[1, 0] - far[2, 3])), 1e-10)
    total = many.total(jnp.array([3.0, 1.0]))
    np.testing.assert_allclose(total - many(jnp.array([3.0, 1.0])), many.incident(jnp.array([3.0, 1.0])), atol=1e-14)


@pytest.mark.slow
def test_small_wavenumbers_tend_to_laplace(measured):
    """Inside the difference is of the order k²; outside, zero at infinity, so is that to a decaying field."""
    points = near_points(ew.Kite(), {}, "interior", 30, farthest=0.1)
    laplace = ew.solve(ew.Problem(ew.Kite(), None, ew.SingleLayer(LAPLACE), entire, "interior"))
    for representation in (ew.CombinedField,):
        problem = ew.Problem(ew.Kite(), None, representation(ew.Helmholtz(dim=2, wavenumber=1e-6)), entire, "interior")
        error = float(jnp.max(jnp.abs(ew.solve(problem)(points) - laplace(points))))
        measured(f"k = 1e-6 against Laplace, {representation.__name__}", error, 1e-10)


@pytest.mark.parametrize(
    ("kind", "side"),
    [
        pytest.param("absorbing", "exterior", marks=pytest.mark.slow),
        pytest.param("modified", "interior", marks=pytest.mark.slow),
        pytest.param("absorbing", "interior", marks=pytest.mark.slow),
        pytest.param("modified", "exterior", marks=pytest.mark.slow),
    ],
)
def test_fields_that_decay(kind, side, measured):
    kernel = ew.Helmholtz(2, 4.0 + 3.0j) if kind == "absorbing" else ew.ModifiedHelmholtz(2, 8.0)
    place = jnp.array([0.0, 0.3]) if side == "exterior" else jnp.array([2.0, 0.5])
    field = lambda x: kernel.fundamental(x - place)
    problem = ew.Problem(ew.Kite(), None, ew.SingleLayer(kernel), field, side)
    solution = ew.solve(problem)
    points = near_points(ew.Kite(), {}, side, 50, farthest=1.0 if side == "exterior" else 0.1)
    error = float(jnp.nanmax(jnp.abs(solution(points) - jax.vmap(field)(points))))
    measured(f"{kind} medium, {side}", error, 1e-10)


@pytest.mark.slow
def test_derivatives_in_wavenumber_angle_and_shape(measured):
    """Against differences of fourth order of the same solve."""
    problem = kite_problem()
    rule = ew.Kress(160)
    seen = directions(jnp.array(1.0))
    start = {"k": 4.0, "bend": 0.5, "angle": 0.3}

    @jax.jit
    def loss(parameters):
        solution = ew.solve(problem, quadrature=rule, **parameters)
        return jnp.abs(solution.far_field(seen)) ** 2 + solution(jnp.array([1.5, 0.8])).real

    slopes = jax.jit(jax.grad(loss))(start)
    for name, slope in slopes.items():
        h = 1e-3
        value = [loss({**start, name: start[name] + step * h}) for step in (-2, -1, 1, 2)]
        difference = (value[0] - 8 * value[1] + 8 * value[2] - value[3]) / (12 * h)
        measured(f"derivative in {name}", float(abs(slope - difference)), 1e-6)


@pytest.mark.slow
def test_point_source_as_incident_wave():
    """A source outside and its scattered field cancel on the body."""
    moving = ew.Box(k=(1.0, 10.0), height=(0.0, 2.0))
    problem = ew.Problem(ew.Kite(), moving, ew.CombinedField(HELMHOLTZ), ew.PointSource((2.0, "height")), "exterior")
    solution = ew.solve(problem, k=5.0, height=1.0)
    fixed = ew.Problem(ew.Kite(), K, ew.CombinedField(HELMHOLTZ), ew.PointSource((2.0, 1.0)), "exterior")
    assert jnp.max(jnp.abs(solution.total((1.0, 3.0)) - ew.solve(fixed, k=5.0).total((1.0, 3.0)))) < 1e-14
    assert jnp.max(jnp.abs(solution.total(solution.boundary.x))) < 1e-10
    assert jnp.max(jnp.abs(solution.residual())) < 1e-10


def test_a_single_layer_notices_a_resonance_that_a_combined_field_does_not():
    problem = ew.Problem(CIRCLE, K, ew.SingleLayer(HELMHOLTZ), ew.PlaneWave(0.0), "exterior")
    cured = ew.Problem(CIRCLE, K, ew.CombinedField(HELMHOLTZ), ew.PlaneWave(0.0), "exterior")
    point = jnp.array([1.5, 0.5])
    away, at = ew.solve(problem, k=3.0, quadrature=ew.Kress(64)), ew.solve(cured, k=RESONANCES[0])
    assert abs(away(point) - circle_series(3.0, "soft")[0](np.array([[1.5, 0.5]]))[0]) < 1e-10
    assert abs(at(point) - circle_series(RESONANCES[0], "soft")[0](np.array([[1.5, 0.5]]))[0]) < 1e-10


def test_gmres_on_a_combined_field():
    problem = ew.Problem(CIRCLE, K, ew.CombinedField(HELMHOLTZ), ew.PlaneWave(0.0), "exterior")
    krylov = ew.solve(problem, k=5.0, quadrature=ew.Kress(64), method="gmres", tol=1e-11)
    point = jnp.array([1.5, 0.5])
    assert krylov.stats["applications"] < 40
    assert abs(krylov(point) - circle_series(5.0, "soft")[0](np.array([[1.5, 0.5]]))[0]) < 1e-9
