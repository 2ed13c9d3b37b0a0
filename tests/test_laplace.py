"""2D Laplace to machine precision anywhere: the figures that the project stands on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, PAPER, charges, entire, near_points, paper_radius, star_points, worst, worst_gradient

import edgewise as ew

SIZES = [
    pytest.param(((1.15, 2.0), 2_000, 200), id="small"),
    pytest.param(((1.0, 1.15, 1.35, 1.45, 2.0), 20_000, 500), id="full", marks=pytest.mark.slow),
]

REPRESENTATIONS = [ew.SingleLayer, *(pytest.param(r, marks=pytest.mark.slow) for r in (ew.DoubleLayer, ew.Direct))]


def paper_problem(representation, data=entire, side="interior", **options):
    return ew.Problem(PAPER, ew.Box(t=(1.0, 2.0)), representation(LAPLACE), data, side, exact=entire, **options)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_paper_family_inside(representation, size, measured):
    members, inside, near = size
    problem = paper_problem(representation)
    for t in members:
        solution = ew.solve(problem, t=t)
        points = star_points(lambda s, t=t: paper_radius(s, t), inside)
        close = near_points(PAPER, {"t": t}, "interior", near)
        name = f"paper's family, {representation.__name__}"
        bound = 1e-10 if representation is ew.SingleLayer else 1e-8
        assert solution.stats["num_nodes"] <= 512 and solution.result.ok
        measured(f"{name}, field", max(worst(solution, entire, points), worst(solution, entire, close)), bound)
        slope = max(worst_gradient(solution, entire, points), worst_gradient(solution, entire, close))
        measured(f"{name}, gradient", slope, 1e-8)


@pytest.mark.parametrize("total", [1.0, pytest.param(0.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_paper_family_outside(representation, total, measured):
    # All at least 0.3 from the curve at t = 1.15.
    places = np.array([[-0.02, 0.03], [0.03, -0.02], [0.0, 0.0]]) + np.array([0.05, 0.1])
    nodes = PAPER.boundary(jnp.linspace(0, 2 * np.pi, 4000), jnp.ones(4000), {"t": 1.15})
    assert np.min(np.linalg.norm(np.asarray(nodes.x)[:, None] - places, axis=-1)) >= 0.3
    field = charges(places, [1.0, -0.6, total - 0.4])
    problem = paper_problem(representation, field, "exterior", at_infinity=total if total else "bounded")
    solution = ew.solve(problem, t=1.15)
    angle = np.linspace(0, 6, 50)
    far = 1e3 * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    points = jnp.concatenate([near_points(PAPER, {"t": 1.15}, "exterior", 300), 2.5e-3 * far, far])
    measured(f"outside, total charge {total:.0f}, {representation.__name__}", worst(solution, field, points), 1e-10)
    assert abs(solution.at_infinity) < 1e-10


def test_bounded_solution_has_its_constant_at_infinity(measured):
    field = charges([[0.0, 0.1], [0.1, 0.0]], [1.0, -1.0])
    problem = paper_problem(ew.SingleLayer, lambda x: field(x) + 0.7, "exterior")
    measured("constant at infinity", abs(float(ew.solve(problem, t=1.5).at_infinity) - 0.7), 1e-10)


@pytest.mark.slow
def test_one_density_serves_both_sides(measured):
    solution = ew.solve(paper_problem(ew.SingleLayer, side="both"), t=1.15)
    inside = near_points(PAPER, {"t": 1.15}, "interior", 100)
    measured("both sides, inside", worst(solution, entire, inside), 1e-10)
    # Outside the field is the bounded harmonic function with the same boundary values, not the entire one.
    outside = ew.solve(paper_problem(ew.DoubleLayer, side="exterior"), t=1.15)
    points = near_points(PAPER, {"t": 1.15}, "exterior", 100)
    difference = float(jnp.max(jnp.abs(solution(points) - outside(points))))
    measured("both sides, outside", difference, 1e-9)


SHAPES = {
    "ellipse": (ew.Ellipse(5.0, 1.0), [[1.0, 0.0], [-1.0, 0.2], [0.0, -0.3]]),
    "kite": (ew.Kite(), [[0.0, 0.3], [0.2, -0.3], [-0.2, 0.1]]),
}


@pytest.mark.parametrize("shape", ["kite", pytest.param("ellipse", marks=pytest.mark.slow)])
@pytest.mark.parametrize("side", ["interior", pytest.param("exterior", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["Neumann", "Robin"])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_neumann_and_robin(representation, kind, side, shape, measured):
    family, places = SHAPES[shape]
    interior = side == "interior"
    # Outside, the total charge is 1: Neumann data decide it themselves.
    field = (lambda x: entire(x / 2) + x[0] * x[1]) if interior else charges(places, [1.0, -0.6, 0.6])
    slope = jax.grad(field)

    def coefficient(x, k):
        return (k if interior else -k) * (1 + 0.1 * x[0])

    if kind == "Neumann":
        condition, options = ew.Neumann(), {}
        data = lambda x, normal: slope(x) @ normal
    else:
        condition, options = ew.Robin(coefficient), {} if interior else {"at_infinity": 1.0}
        data = lambda x, normal, k: slope(x) @ normal + coefficient(x, k) * field(x)
    box = ew.Box(k=(0.5, 1.0)) if kind == "Robin" else ew.Box()
    problem = ew.Problem(family, box, representation(LAPLACE), data, side, condition, **options)
    parameters = {"k": 0.7} if kind == "Robin" else {}
    solution = ew.solve(problem, **parameters)
    points = near_points(family, {}, side, 200, farthest=0.1)
    free = 0.0
    if kind == "Neumann" and interior:
        # Determined up to a constant: the mean over the boundary is zero.
        free = float(solution(points[0]) - field(points[0]))
        nodes = ew.Kress(512).place(family, {}, np.float64)
        mean = jnp.sum(nodes.weight * solution(nodes.x)) / nodes.measure
        assert abs(mean) < 1e-10
    error = float(jnp.max(jnp.abs(solution(points) - jax.vmap(field)(points) - free)))
    measured(f"{kind} {side}, {shape}, {representation.__name__}", error, 1e-9)


@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0])
def test_circles_at_every_scale(radius, measured):
    """The bare single layer is singular on the unit circle; the cured one does not notice."""
    circle = ew.Scale(ew.Ellipse(1.0, 1.0), "r")
    problem = ew.Problem(circle, ew.Box(r=(0.1, 9)), ew.SingleLayer(LAPLACE), lambda x: entire(x) + 1, "interior")
    solution = ew.solve(problem, r=radius)
    points = jnp.concatenate(
        [0.999 * radius * star_points(lambda s: 1.0, 500), near_points(circle, {"r": radius}, "interior", 50)]
    )
    measured(f"circle of radius {radius}", worst(solution, lambda x: entire(x) + 1, points), 1e-12)


def test_field_is_harmonic(measured):
    solution = ew.solve(paper_problem(ew.SingleLayer), t=1.15)
    points = jnp.concatenate(
        [star_points(lambda s: 0.2, 3), near_points(PAPER, {"t": 1.15}, "interior", 3, 1e-3, 1e-2)]
    )
    hessian = jax.jit(jax.vmap(jax.hessian(lambda x: solution(x))))(points)
    assert np.all(np.isfinite(hessian))
    measured("Laplacian of the field", float(jnp.max(jnp.abs(jnp.trace(hessian, axis1=1, axis2=2)))), 1e-5)
    measured("Hessian of the field", float(jnp.max(jnp.abs(hessian - jax.vmap(jax.hessian(entire))(points)))), 1e-5)


@pytest.mark.parametrize(
    "representation", [ew.DoubleLayer, *(pytest.param(r, marks=pytest.mark.slow) for r in (ew.SingleLayer, ew.Direct))]
)
def test_residual_sees_the_misfit(representation):
    problem = paper_problem(representation)
    assert float(jnp.max(jnp.abs(ew.solve(problem, t=1.5).residual()))) < 1e-10
    coarse = ew.solve(problem, t=1.5, quadrature=ew.Kress(64))
    assert float(jnp.max(jnp.abs(coarse.residual()))) > 1e-6 and not coarse.result.ok
