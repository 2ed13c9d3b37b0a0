"""The biharmonic equation with u and ∂u/∂n prescribed: inside, outside, at the scales where a bare pair is singular."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import PAPER, near_points, paper_radius, star_points, worst, worst_gradient

import edgewise as ew

PAIR = ew.LayerPair(ew.Biharmonic(dim=2))


def bending(x):
    """|x|² times a harmonic function, and a cubic: biharmonic everywhere."""
    return (x[0] ** 2 + x[1] ** 2) * jnp.exp(x[0]) * jnp.sin(x[1]) + x[0] ** 3


def dipole(x):
    return x[0] / (x @ x)


def three_lobes(x):
    """cos 3θ / |x|."""
    return (x[0] ** 3 - 3 * x[0] * x[1] ** 2) / (x @ x) ** 2


def clamped(family, field, side, box=None):
    def data(x, normal):
        return field(x), jax.grad(field)(x) @ normal

    return ew.Problem(family, box, PAIR, data, side, condition=ew.Clamped())


BOX = ew.Box(t=(1.0, 2.0))


@pytest.mark.parametrize(
    "members",
    [
        pytest.param((1.15,), id="small"),
        pytest.param((1.0, 1.15, 1.35, 1.45, 2.0), id="full", marks=pytest.mark.slow),
    ],
)
def test_paper_family_inside(members, measured):
    problem = clamped(PAPER, bending, "interior", BOX)
    for t in members:
        solution = ew.solve(problem, t=t)
        points = jnp.concatenate(
            [
                star_points(lambda s, t=t: paper_radius(s, t), 500),
                near_points(PAPER, {"t": t}, "interior", 200),
            ]
        )
        assert solution.result.ok and solution.density.values.shape == (2, solution.stats["num_nodes"])
        measured("biharmonic, paper's family, field", worst(solution, bending, points), 1e-8)
        measured("biharmonic, paper's family, gradient", worst_gradient(solution, bending, points), 1e-8)
        assert solution.residual().shape[0] == 2 and jnp.max(jnp.abs(solution.residual())) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.32, 0.38])
def test_degenerate_scales_of_the_paper_family(scale, measured):
    family = ew.Scale(PAPER, "size")
    solution = ew.solve(clamped(family, bending, "interior", ew.Box(t=(1, 2), size=(0.1, 1))), t=1.15, size=scale)
    points = near_points(family, {"t": 1.15, "size": scale}, "interior", 100)
    measured(f"biharmonic, scaled by {scale}", worst(solution, bending, points), 1e-8)


@pytest.mark.parametrize("field", [bending, three_lobes, pytest.param(dipole, marks=pytest.mark.slow)])
def test_degenerate_circle(field, measured):
    side = "interior" if field is bending else "exterior"
    circle = ew.Ellipse(1 / np.e, 1 / np.e)
    solution = ew.solve(clamped(circle, field, side))
    points = near_points(circle, {}, side, 100)
    if side == "exterior":
        points = jnp.concatenate([points, jnp.array([[0.6, 0.8]]) * 10.0 ** jnp.arange(4)[:, None]])
        assert jnp.max(jnp.abs(solution.at_infinity)) < 1e-10
    measured(f"biharmonic, circle of radius 1/e, {field.__name__}", worst(solution, field, points), 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("field", [dipole, three_lobes])
def test_paper_family_outside(field, measured):
    solution = ew.solve(clamped(PAPER, field, "exterior", BOX), t=1.15)
    points = jnp.concatenate(
        [near_points(PAPER, {"t": 1.15}, "exterior", 100), jnp.array([[0.6, 0.8]]) * 10.0 ** jnp.arange(1, 4)[:, None]]
    )
    measured(f"biharmonic, outside, {field.__name__}", worst(solution, field, points), 1e-8)


def test_a_linear_function_comes_out_at_infinity(measured):
    field = lambda x: dipole(x) + 0.3 - 2 * x[0] + 0.5 * x[1]
    solution = ew.solve(clamped(ew.Ellipse(1.0, 0.7), field, "exterior"))
    error = jnp.max(jnp.abs(solution.at_infinity - jnp.array([0.3, -2.0, 0.5])))
    measured("biharmonic, linear function at infinity", float(error), 1e-9)


@pytest.mark.slow
def test_gmres_and_derivatives():
    """x0² is not biharmonic data's only extension: the field depends on the shape."""
    problem = ew.Problem(
        ew.Ellipse(1.0, "b"), ew.Box(b=(0.5, 1.5)), PAIR, lambda x: (x[0] ** 2, 0.0), "interior", condition=ew.Clamped()
    )
    rule, point = ew.Kress(64), jnp.array([0.2, 0.1])
    krylov = ew.solve(problem, b=0.8, quadrature=rule, method="gmres", tol=1e-11)
    assert krylov.result.ok and krylov.stats["applications"] < 60
    value = jax.jit(lambda b: ew.solve(problem, b=b, quadrature=rule)(point))
    assert abs(krylov(point) - value(0.8)) < 1e-9
    h = 1e-3
    difference = (value(0.8 - 2 * h) - 8 * value(0.8 - h) + 8 * value(0.8 + h) - value(0.8 + 2 * h)) / (12 * h)
    assert abs(jax.grad(value)(0.8) - difference) < 1e-6
