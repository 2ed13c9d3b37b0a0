"""Several curves: bodies that approach each other, domains with holes, corners among them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, charges, entire

import edgewise as ew

CIRCLE = ew.Ellipse(1.0, 1.0)
SQUARE = ew.Polygon([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
PAIR = ew.Union(CIRCLE, ew.Translate(CIRCLE, "offset"))
OFFSET = ew.Box(offset=((2.0, -1.0), (4.0, 1.0)))


def beside(family, side, count=40, seed=0, parameters=None):
    """Points 1e-8 to 1e-2 from every curve, on one side."""
    nodes = family.boundary(jnp.linspace(0.1, 6.2, count), jnp.ones(count), parameters or {})
    distance = jnp.asarray(10 ** np.random.default_rng(seed).uniform(-8, -2, len(nodes.x)))[:, None]
    return nodes.x + (distance if side == "exterior" else -distance) * nodes.normal


def error(solution, field, points):
    values = np.asarray(solution(points))
    right = ~np.isnan(values)
    # A step of 1e-2 may cross a gap.
    assert right.mean() > 0.9
    return float(np.abs(values - np.asarray(jax.vmap(field)(points)))[right].max())


@pytest.mark.parametrize(
    "gaps", [pytest.param((0.01,), id="small"), pytest.param((1.0, 0.1), id="full", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "data", [pytest.param("charges", marks=pytest.mark.slow), pytest.param("potentials", marks=pytest.mark.slow)]
)
def test_two_circles_approach(data, gaps, measured):
    """Data from charges inside; and potentials ±1, whose field between the circles grows like 1/gap: exact by images."""
    for gap in gaps:
        offset = jnp.array([2 + gap, 0.0])
        if data == "charges":
            field = charges([[0.1, 0.2], [2 + gap, 0.1], [0.0, -0.3]], [1.0, -1.5, 0.5])
        else:
            field = bipolar(gap)
        problem = ew.Problem(PAIR, OFFSET, ew.SingleLayer(LAPLACE), field, "exterior")
        solution = ew.solve(problem, offset=offset)
        points = beside(PAIR, "exterior", parameters={"offset": offset})
        points = jnp.concatenate([points, jnp.array([[1 + gap / 2, 0.0], [1 + gap / 2, 0.3], [5.0, -7.0]])])
        assert solution.result.ok
        measured(f"two circles, gap {gap}, {data}", error(solution, field, points), 1e-8)


def bipolar(gap):
    """The potential that is -1 on one circle and 1 on the other: log of the ratio of distances to two limit points."""
    centre = 1 + gap / 2
    focus = np.sqrt(centre**2 - 1)

    def raw(x):
        right = (x[0] - centre - focus) ** 2 + x[1] ** 2
        left = (x[0] - centre + focus) ** 2 + x[1] ** 2
        return jnp.log(left / right)

    level = raw(jnp.array([2 + gap - 1.0, 0.0]))
    return lambda x: raw(x) / level


@pytest.mark.slow
def test_waves_between_two_circles(measured):
    kernel = ew.Helmholtz(2, 5.0)
    offset = jnp.array([2.01, 0.0])
    field = lambda x: kernel.fundamental(x - jnp.array([0.1, 0.2])) + 1j * kernel.fundamental(x - offset)
    problem = ew.Problem(PAIR, OFFSET, ew.CombinedField(kernel), field, "exterior")
    solution = ew.solve(problem, offset=offset)
    points = beside(PAIR, "exterior", parameters={"offset": offset})
    measured("two circles, gap 0.01, waves", error(solution, field, points), 1e-8)
    assert (
        solution.density.values.shape == (solution.stats["num_nodes"],) and jnp.max(jnp.abs(solution.residual())) < 1e-9
    )


@pytest.mark.parametrize("kind", ["Dirichlet", pytest.param("Neumann", marks=pytest.mark.slow)])
def test_a_domain_with_a_hole(kind, measured):
    """Normals leave the domain, into the hole; the field has a charge in the hole."""
    family = ew.Union(ew.Ellipse(2.0, 1.5), ew.Translate(ew.Ellipse(0.4, 0.3), (0.5, 0.2)))
    field = lambda x: entire(x) + jnp.log((x[0] - 0.5) ** 2 + (x[1] - 0.2) ** 2)
    neumann = kind == "Neumann"
    data = (lambda x, normal: jax.grad(field)(x) @ normal) if neumann else field
    condition = ew.Neumann() if neumann else ew.Dirichlet()
    solution = ew.solve(ew.Problem(family, None, ew.SingleLayer(LAPLACE), data, "interior", condition))
    points = beside(family, "interior")
    free = float(solution(points[0]) - field(points[0])) if neumann else 0.0
    measured(f"domain with a hole, {kind}", error(solution, lambda x: field(x) + free, points), 1e-10)
    assert np.all(np.isnan(solution(beside(family, "exterior"))))
    nodes = solution.boundary.split()
    assert jnp.sum(nodes.weight[1] * nodes.normal[1, :, 0] * nodes.x[1, :, 0]) < 0


@pytest.mark.slow
def test_a_square_and_a_circle(measured):
    """One of the bodies has corners, and the circle comes close to its side."""
    family = ew.Union(SQUARE, ew.Translate(CIRCLE, (2.1, 0.2)))
    field = charges([[0.1, 0.2], [2.0, 0.1]], [1.0, -1.0])
    solution = ew.solve(ew.Problem(family, None, ew.SingleLayer(LAPLACE), field, "exterior"))
    points = jnp.array(
        [[1.02, 0.2], [1 + 1e-7, 0.5], [1.0 + 1e-6, 1.0 + 1e-6], [-1.0 - 1e-8, 0.3], [3.2, 0.2], [9.0, 9.0]]
    )
    measured("square and circle", error(solution, field, points), 1e-8)


def test_boundary_coordinates_follow_each_other():
    solution = ew.solve(
        ew.Problem(PAIR, OFFSET, ew.SingleLayer(LAPLACE), entire, "exterior"),
        offset=jnp.array([3.0, 0.0]),
        quadrature=ew.Kress(128),
    )
    s = solution.boundary.s
    again = jax.vmap(lambda s: PAIR.point(s, offset=jnp.array([3.0, 0.0])))(s)
    assert jnp.max(jnp.abs(again - solution.boundary.x)) < 1e-12
    assert jnp.max(jnp.abs(jax.vmap(solution.density)(s[::17]) - solution.density.values[::17])) < 1e-10


@pytest.mark.slow
def test_a_batch_and_a_derivative_in_the_gap():
    problem = ew.Problem(PAIR, OFFSET, ew.SingleLayer(LAPLACE), lambda x: x[0] ** 2, "exterior")
    rule, point = ew.Kress(96), jnp.array([1.3, 1.5])

    @jax.jit
    def value(x):
        return ew.solve(problem, quadrature=rule, offset=jnp.stack([x, 0.1 * x]))(point)

    h = 1e-3
    difference = (value(3 - 2 * h) - 8 * value(3 - h) + 8 * value(3 + h) - value(3 + 2 * h)) / (12 * h)
    assert abs(jax.jit(jax.grad(value))(3.0) - difference) < 1e-6
    offsets = jnp.array([[3.0, 0.3], [2.8, 0.28]])
    assert abs(ew.solve(problem, quadrature=rule, offset=offsets)(point)[0] - value(3.0)) < 1e-10


@pytest.mark.parametrize(
    ("curves", "side", "words"),
    [
        ((CIRCLE, ew.Translate(CIRCLE, (1.5, 0.0))), "exterior", "Curves 0 and 1 of the `Union` overlap"),
        ((CIRCLE, ew.Translate(CIRCLE, (5.0, 0.0))), "interior", "is not a hole in curve 0: it lies outside"),
        ((ew.Scale(CIRCLE, 3.0), CIRCLE), "exterior", "lies inside curve 0.*domain with holes"),
        ((ew.Scale(CIRCLE, 3.0), ew.Scale(CIRCLE, 2.0), CIRCLE), "interior", "it lies in another hole"),
    ],
)
def test_arrangements_are_checked(curves, side, words):
    with pytest.raises(ValueError, match=words):
        ew.solve(ew.Problem(ew.Union(*curves), None, ew.SingleLayer(LAPLACE), entire, side))


def test_unions_refuse_what_they_are_not_made_of():
    with pytest.raises(ValueError, match="at least two curves"):
        ew.Union(CIRCLE)
    with pytest.raises(TypeError, match="made of curves, got 3"):
        ew.Union(CIRCLE, 3)
    with pytest.raises(ValueError, match=r"may carry a charge.*SingleLayer"):
        ew.Problem(PAIR, OFFSET, ew.DoubleLayer(LAPLACE), entire, "exterior")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (lambda bodies: ew.Translate(bodies, ("gap", -1.0)), lambda x, gap: x + jnp.array([gap, -1.0])),
        (lambda bodies: ew.Rotate(bodies, jnp.pi / 2), lambda x, gap: jnp.array([-x[1], x[0]])),
        (lambda bodies: ew.Scale(bodies, "gap"), lambda x, gap: gap * x),
    ],
)
def test_bodies_move_together(move, expected):
    bodies = ew.Union(CIRCLE, ew.Translate(ew.Scale(SQUARE, 0.5), (3.0, 0.0)))
    moved = move(bodies)
    assert moved.components == 2 and [len(curve.corners) for curve in moved.curves] == [0, 4]
    for s in (0.3, 2 * np.pi + 1.0, 4 * np.pi - 0.1):
        np.testing.assert_allclose(moved.point(s, gap=0.7), expected(bodies.point(s), 0.7), atol=1e-14)
    directions = moved.directions({"gap": jnp.array(0.7)})
    assert directions.tolist() == [1.0, 1.0]


def test_a_field_moves_with_its_bodies():
    pair, box = ew.Union(CIRCLE, ew.Translate(ew.Ellipse(1.0, 0.5), (3.0, 0.0))), ew.Box(turn=ew.Angle())
    wave = ew.PlaneWave("turn")
    still, turned = (
        ew.Problem(family, box, ew.CombinedField(ew.Helmholtz(2, 2.0)), wave, "exterior")
        for family in (pair, ew.Rotate(pair, "turn"))
    )
    x = jnp.array([1.5, 2.0])
    rotated = jnp.array([-x[1], x[0]])
    first, second = (
        float(ew.solve(p, turn=angle)(y).real) for p, angle, y in ((still, 0.0, x), (turned, np.pi / 2, rotated))
    )
    assert abs(first - second) < 1e-10


def test_too_few_nodes_for_a_gap_are_told(caplog):
    problem = ew.Problem(PAIR, OFFSET, ew.SingleLayer(LAPLACE), bipolar(0.05), "exterior")
    near = {"offset": jnp.array([2.05, 0.0])}
    solution = ew.solve(problem, quadrature=ew.Kress(64), **near)
    enough = int(solution.result.needed)
    assert not solution.result.ok and f"{enough} nodes on each curve are enough" in caplog.text
    assert ew.solve(problem, quadrature=ew.Kress(enough), **near).result.ok


@pytest.mark.slow
def test_too_few_nodes_for_a_wavenumber_are_told(caplog):
    waves = ew.Problem(CIRCLE, None, ew.CombinedField(ew.Helmholtz(2, 50.0)), ew.PlaneWave(0.0), "exterior")
    solution = ew.solve(waves, quadrature=ew.Kress(192), tol=1e-13)
    assert not solution.result.ok and "256 nodes on each curve are enough" in str(solution.result)
    assert "256 nodes on each curve are enough" in caplog.text
