"""Penetrable bodies in the plane: against series, images and exact polarisabilities, on both sides and up to the boundary."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from spoiled import spoiled
from support import discs, media

import edgewise as ew
from edgewise.kernels import Helmholtz

ANGLES = np.linspace(0.1, 6.2, 40)
DIRECTIONS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)
DISTANCES = (1e-8, 1e-4, 1e-2, 0.3)
WAVES = ew.TwoMedia(outside=ew.Helmholtz(2, "k"), inside=ew.Helmholtz(2, "inner"))
STATIC = ew.TwoMedia(ew.Laplace(2), ew.Laplace(2))
BOX = {"k": (0.5, 25.0), "inner": (0.2, 70.0), "ratio": (0.001, 1000.0)}


def in_waves(family=None, data=None):
    family = ew.Ellipse(1.0, 1.0) if family is None else family
    data = ew.PlaneWave(0.3) if data is None else data
    return ew.Problem(family, ew.Box(**BOX), WAVES, data, "both", condition=ew.Transmission("ratio"))


def dielectric(family, direction=(1.0, 0.5)):
    box = ew.Box(ratio=(1e-3, 1e12))
    return ew.Problem(family, box, STATIC, ew.UniformField(direction), "both", condition=ew.Transmission("ratio"))


def test_a_circle_against_its_series(measured):
    cases = [(k, q * k, r) for k, q, r in itertools.product((1.0, 5.0, 20.0), (0.5, 1.5, 3.0), (0.1, 1.0, 10.0))]
    k, inner, ratio = (jnp.array(part) for part in zip(*cases, strict=True))
    batch = ew.solve(in_waves(), quadrature=ew.Kress(256), k=k, inner=inner, ratio=ratio)
    assert batch.result.ok
    points = np.concatenate([(1 + sign * d) * DIRECTIONS for d in DISTANCES for sign in (1, -1)])
    values, totals, far = np.asarray(batch(points)), np.asarray(batch.total(points)), batch.far_field(DIRECTIONS)
    outside = np.linalg.norm(points, axis=1) > 1
    worst = worst_far = 0.0
    for i, case in enumerate(cases):
        truth = media.circle_in_two_media(*case, angle=0.3)
        worst = max(worst, np.max(np.abs(values[i][outside] - truth.scattered(points[outside]))))
        worst = max(worst, np.max(np.abs(values[i][~outside] - truth.inside(points[~outside]))))
        worst_far = max(worst_far, np.max(np.abs(far[i] - truth.far_field(DIRECTIONS))))
        assert np.allclose(totals[i][~outside], values[i][~outside], atol=1e-12)
        assert np.allclose(totals[i][outside] - values[i][outside], truth.incident(points[outside]), atol=1e-12)
    measured("two media, 27 circles, fields on both sides to 1e-8", worst, 1e-10)
    measured("two media, 27 circles, far fields", worst_far, 1e-10)


def test_a_medium_that_absorbs(measured):
    kernel = ew.TwoMedia(ew.Helmholtz(2, 3.0), ew.Helmholtz(2, 4.0 + 0.7j))
    problem = ew.Problem(ew.Ellipse(1.0, 1.0), None, kernel, ew.PlaneWave(0.3), "both", condition=ew.Transmission(0.5))
    solution, truth = ew.solve(problem), media.circle_in_two_media(3.0, 4.0 + 0.7j, 0.5, angle=0.3)
    assert solution.result.ok
    errors = [
        np.abs(solution(1.001 * DIRECTIONS) - truth.scattered(1.001 * DIRECTIONS)),
        np.abs(solution(0.999 * DIRECTIONS) - truth.inside(0.999 * DIRECTIONS)),
    ]
    measured("absorbing circle", np.max(errors), 1e-10)


PAIR = ew.Union(ew.Kite(), ew.Translate(ew.Ellipse(0.6, 0.4), (2.5, 0.0)))


@pytest.mark.parametrize(
    "family",
    [pytest.param(ew.Kite(), id="kite"), pytest.param(PAIR, id="two bodies", marks=pytest.mark.slow)],
)
def test_fields_of_sources_on_the_other_side(family, measured):
    """Outside the field of a source in a body, inside that of one outside: both are known, and so are their jumps."""
    within, without = jnp.array([0.1, 0.2]), jnp.array([-2.5, 1.5])

    def outer(x, k):
        return Helmholtz(2, k).fundamental(x - within)

    def inner(x, inner):
        return Helmholtz(2, inner).fundamental(x - without)

    def data(x, normal, k, inner, ratio):
        u, v = (
            (lambda x: Helmholtz(2, k).fundamental(x - within)),
            (lambda x: Helmholtz(2, inner).fundamental(x - without)),
        )
        return u(x) - v(x), jax.jacfwd(u)(x) @ normal - ratio * (jax.jacfwd(v)(x) @ normal)

    solution = ew.solve(in_waves(family, data), quadrature=ew.Kress(320), k=3.0, inner=4.5, ratio=2.0)
    assert solution.result.ok
    x, normal = np.asarray(solution.boundary.x)[::5], np.asarray(solution.boundary.normal)[::5]
    errors = []
    for distance in (1e-8, 1e-3, 0.05):
        above, below = x + distance * normal, x - distance * normal
        errors.append(np.abs(solution(above) - jax.vmap(lambda x: outer(x, 3.0))(above)).max())
        errors.append(np.abs(solution(below) - jax.vmap(lambda x: inner(x, 4.5))(below)).max())
    measured("sources on the other side", max(errors), 1e-9)
    assert np.max(np.abs(solution.residual())) < 1e-8
    for noise in (1e-6, 1e-1):
        wrong = spoiled(solution, noise)
        points = np.concatenate([x + 0.05 * normal, x - 0.05 * normal])
        error = np.max(np.abs(wrong(points) - solution(points)))
        assert 0.5 < float(wrong.error_estimate()) / error < 30


def test_dielectric_ellipses(measured):
    problem = dielectric(ew.Ellipse(2.0, 1.0))
    points = DIRECTIONS * np.array([2.0, 1.0])
    ratios = (1e-3, 0.1, 3.0, 1e3)
    batch = ew.solve(problem, ratio=jnp.array(ratios))
    errors, moments = [], []
    for i, ratio in enumerate(ratios):
        truth = media.ellipse_in_uniform_field(2.0, 1.0, ratio, (1.0, 0.5))
        errors.append(np.abs(batch[i](1.0001 * points) - truth.scattered(1.0001 * points)).max())
        errors.append(np.abs(batch[i](0.9999 * points) - truth.inside(0.9999 * points)).max())
        moments.append(batch[i].dipole() - media.ellipse_polarisability(2.0, 1.0, ratio) @ np.array([1.0, 0.5]))
    measured("dielectric ellipse, fields", max(errors), 1e-10)
    measured("dielectric ellipse, polarisability", np.abs(moments).max(), 1e-10)


def test_two_dielectric_discs(measured):
    pair = ew.Union(ew.Ellipse(1.0, 1.0), ew.Translate(ew.Ellipse(0.5, 0.5), (1.8, 0.0)))
    ratios = (1e-3, 5.0, 1e3)
    batch = ew.solve(dielectric(pair), ratio=jnp.array(ratios))
    for i, ratio in enumerate(ratios):
        truth = discs.two_discs_in_uniform_field((1.0, 0.5), [(0.0, 0.0), (1.8, 0.0)], ratio, (1.0, 0.5))
        error = max(
            np.abs(batch[i](1.01 * DIRECTIONS) - truth.scattered(1.01 * DIRECTIONS)).max(),
            np.abs(batch[i](0.99 * DIRECTIONS) - truth.inside(0.99 * DIRECTIONS, 0)).max(),
            np.abs(batch[i].dipole() - truth.dipole).max(),
        )
        measured(f"two dielectric discs, ratio {ratio:g}", error, 1e-10)


def test_a_dielectric_square_and_its_limit(measured):
    """At high contrast a square is a conductor, whose polarisability is known; at others its own refinement tells."""
    square = ew.Polygon([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
    problem = dielectric(square, (1.0, 0.0))
    ratios = jnp.array([0.1, 10.0])
    coarse, fine = (ew.solve(problem, quadrature=ew.Graded(n), ratio=ratios, tol=1e-6).dipole() for n in (256, 512))
    measured("dielectric square, polarisability by its own refinement", np.abs(coarse - fine).max(), 1e-6)
    limit = -ew.solve(problem, quadrature=ew.Graded(512), ratio=1e8, tol=1e-6).dipole()[0]
    measured(
        "square of contrast 1e8 against the conductor", abs(limit - media.conductor_polygon_polarisability(4)), 1e-6
    )


def test_a_source_inside_a_body():
    """Its field goes out through the boundary; seen from far away a body with the contrast 1 is not there."""
    problem = in_waves(data=ew.PointSource((0.2, 0.1)))
    solution = ew.solve(problem, k=2.0, inner=2.0 + 1e-9, ratio=1.0 + 1e-9)
    points = np.array([[0.5, 0.3], [-0.4, 0.2], [2.0, 1.0]])
    truth = jax.vmap(lambda x: Helmholtz(2, 2.0).fundamental(x - jnp.array([0.2, 0.1])))(points)
    assert np.allclose(solution(points), truth, atol=1e-8)
    assert np.allclose(solution.total(points), truth, atol=1e-8)
    # The wave itself is inside, and is part of the field there.
    assert np.allclose(solution.incident(points), np.where([True, True, False], truth, 0), atol=1e-8)
    assert np.all(solution.incident_outside(points) == 0)


def test_derivatives_in_every_number():
    problem = in_waves()

    def far(k, inner, ratio):
        batch = ew.solve(problem, quadrature=ew.Kress(64), k=k, inner=inner, ratio=ratio)
        return jnp.abs(batch.far_field(jnp.array([0.6, 0.8])))

    at = (2.0, 3.0, 1.5)
    slopes = jax.grad(far, argnums=(0, 1, 2))(*at)
    for i, slope in enumerate(slopes):
        step = np.zeros(3)
        step[i] = 1e-5
        measured_slope = (far(*(np.array(at) + step)) - far(*(np.array(at) - step))) / 2e-5
        assert abs(float(slope) - float(measured_slope)) < 1e-7


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ew.Transmission(0.0), "plasmon.*must be positive, got 0"),
        (lambda: ew.Transmission(-2.0), "plasmon.*must be positive, got -2"),
        (lambda: ew.TwoMedia(ew.Laplace(2), ew.Laplace(3)), "`inside` dimension 3.*same"),
        (lambda: ew.TwoMedia(ew.Laplace(2), ew.Biharmonic(2)), "`inside` is `Biharmonic`.*second order"),
        (lambda: ew.TwoMedia(ew.Laplace(2), 3.0), "`inside` must be a kernel, got 3.0"),
        (
            lambda: ew.Problem(
                ew.Kite(), None, STATIC, ew.UniformField((1, 0)), "both", condition=ew.Transmission(1.0)
            ),
            "the two media are one",
        ),
        (
            lambda: ew.Problem(
                ew.Kite(), None, STATIC, ew.UniformField((1, 0)), "exterior", condition=ew.Transmission(2.0)
            ),
            '`side="both"`',
        ),
        (
            lambda: ew.Problem(ew.Kite(), None, STATIC, ew.UniformField((1, 0)), "both"),
            r"`condition=Transmission\(ratio\)`",
        ),
        (
            lambda: ew.Problem(
                ew.Kite(), None, ew.SingleLayer(ew.Laplace(2)), lambda x: x[0], "both", condition=ew.Transmission(2.0)
            ),
            "TwoMedia",
        ),
        (
            lambda: ew.Problem(
                ew.Kite(), None, STATIC, ew.UniformField((1, 0, 0)), "both", condition=ew.Transmission(2.0)
            ),
            "expected 2 components",
        ),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


SPHERE_BOX = ew.Box(k=(0.5, 12.0), inner=(0.2, 30.0), ratio=(0.05, 20.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "inner", "ratio", "nodes"), [(1.0, 1.5, 10.0, 12), (3.0, 1.5, 0.1, 14), (5.0, 7.5, 2.0, 16)]
)
def test_a_sphere_against_its_series(k, inner, ratio, nodes, measured):
    kernels = ew.TwoMedia(ew.Helmholtz(3, "k"), ew.Helmholtz(3, "inner"))
    wave, condition = ew.PlaneWave((0.0, 0.0, 1.0)), ew.Transmission("ratio")
    problem = ew.Problem(ew.Sphere(), SPHERE_BOX, kernels, wave, "both", condition=condition)
    solution = ew.solve(problem, quadrature=ew.Duffy(nodes), tol=1e-3, k=k, inner=inner, ratio=ratio)
    truth = media.sphere_in_two_media(k, inner, ratio)
    directions = np.random.default_rng(0).normal(size=(30, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    far = np.abs(solution.far_field(directions) - truth.far_field(directions)).max()
    measured(f"sphere in two media, k = {k:g}: far field", far, 1e-6)
    for distance in (1e-6, 0.1):
        above = np.abs(solution((1 + distance) * directions) - truth.scattered((1 + distance) * directions))
        below = np.abs(solution((1 - distance) * directions) - truth.inside((1 - distance) * directions))
        measured(f"sphere in two media, k = {k:g}: {distance:g} away", max(above.max(), below.max()), 1e-5)


@pytest.mark.slow
def test_a_dielectric_ellipsoid(measured):
    axes, ratio, direction = (3.0, 1.5, 1.0), 4.0, (0.3, 0.5, 1.0)
    media_in_space = ew.TwoMedia(ew.Laplace(3), ew.Laplace(3))
    problem = ew.Problem(
        ew.Ellipsoid(*axes), None, media_in_space, ew.UniformField(direction), "both", condition=ew.Transmission(ratio)
    )
    solution = ew.solve(problem, quadrature=ew.Duffy(16), tol=1e-3)
    truth = media.ellipsoid_polarisability(axes, ratio) @ np.array(direction)
    error = np.abs(solution.dipole() - truth).max() / np.abs(truth).max()
    measured("dielectric ellipsoid, polarisability, relative", error, 1e-6)


@pytest.mark.slow
def test_a_cube_of_high_contrast(measured):
    """It has the polarisability of the conducting cube, for each of its unit volumes."""
    media_in_space = ew.TwoMedia(ew.Laplace(3), ew.Laplace(3))
    wave, condition = ew.UniformField((1.0, 0.0, 0.0)), ew.Transmission(1e8)
    problem = ew.Problem(ew.Cuboid(1.0, 1.0, 1.0), None, media_in_space, wave, "both", condition=condition)
    solution = ew.solve(problem, quadrature=ew.Duffy(12), tol=1e-2)
    error = abs(-solution.dipole()[0] / media.CUBE_CONDUCTOR_POLARISABILITY - 1)
    measured("cube of contrast 1e8 against the conductor", error, 1e-4)
