"""Derivatives in parameters and points, and `jit`, `vmap`, `grad` over everything."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, PAPER, entire, near_points

import edgewise as ew


def square(x):
    """Not the trace of an entire harmonic function: its field depends on the shape."""
    return x[0] ** 2


def problem(representation=ew.SingleLayer, data=square, side="interior"):
    return ew.Problem(PAPER, ew.Box(t=(1.0, 2.0)), representation(LAPLACE), data, side)


@pytest.mark.parametrize(
    "representation", [ew.SingleLayer, *(pytest.param(r, marks=pytest.mark.slow) for r in (ew.DoubleLayer, ew.Direct))]
)
def test_derivative_in_a_shape_parameter(representation, measured):
    points = jnp.array([[0.2, 0.1], [0.05, 0.3], [-0.1, -0.2]])

    def field(t):
        return ew.solve(problem(representation), t=t, quadrature=ew.Kress(320))(points)

    step = 1e-4
    exact = jax.jacfwd(field)(1.4)
    # Fourth order: the differences' own error is 1e-12 here, rounding 1e-10.
    f = [field(1.4 + k * step) for k in (-2, -1, 1, 2)]
    differences = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)
    assert float(jnp.min(jnp.abs(exact))) > 1e-3
    error = float(jnp.max(jnp.abs(exact - differences)) / jnp.max(jnp.abs(differences)))
    measured(f"derivative in t, {representation.__name__}", error, 1e-6)
    backwards = jax.grad(lambda t: field(t).sum())(1.4)
    assert abs(backwards - exact.sum()) < 1e-9 * abs(exact.sum())


@pytest.mark.slow
def test_derivative_close_to_a_moving_boundary(measured):
    """The target stays put while the curve moves towards it; nodes are chosen by the library."""
    point = near_points(PAPER, {"t": 1.4}, "interior", 1, 1e-3, 2e-3)[0]
    slope = jax.grad(lambda t: ew.solve(problem(), t=t)(point))(1.4)
    step = 1e-4
    f = [ew.solve(problem(), t=1.4 + k * step)(point) for k in (-1, 1)]
    measured("derivative in t, near the curve", float(abs(slope / ((f[1] - f[0]) / (2 * step)) - 1)), 1e-6)


@pytest.mark.slow
def test_gmres_and_its_derivatives_agree_with_direct():
    def field(t, method):
        return ew.solve(problem(), t=t, method=method, quadrature=ew.Kress(256), tol=1e-13)(jnp.array([0.2, 0.1]))

    direct, slope = jax.value_and_grad(field)(1.4, "direct")
    iterative, slope_gmres = jax.value_and_grad(field)(1.4, "gmres")
    assert abs(direct - iterative) < 1e-11 and abs(slope - slope_gmres) < 1e-9
    tangent = jax.jvp(lambda t: field(t, "gmres"), (1.4,), (1.0,))[1]
    assert abs(tangent - slope) < 1e-9


def test_gradient_is_the_derivative_of_the_field():
    solution = ew.solve(problem(data=entire), t=1.15)
    points = jnp.concatenate([jnp.array([[0.1, 0.2]]), near_points(PAPER, {"t": 1.15}, "interior", 5, 1e-6, 1e-2)])
    by_autodiff = jax.vmap(jax.grad(solution))(points)
    assert jnp.max(jnp.abs(by_autodiff - solution.gradient(points))) < 1e-9


def test_jit_and_vmap_give_what_plain_calls_give():
    points = jnp.concatenate([jnp.array([[0.1, 0.2], [3.0, 0.0]]), near_points(PAPER, {"t": 1.5}, "interior", 4)])
    members = jnp.array([1.2, 1.5])
    rule = ew.Kress(192)
    plain = np.stack([ew.solve(problem(), t=t, quadrature=rule)(points) for t in members])
    batch = ew.solve(problem(), t=members, quadrature=rule)(points)
    mapped = jax.vmap(lambda t: ew.solve(problem(), t=t, quadrature=rule)(points))(members)
    jitted = jax.jit(lambda t: ew.solve(problem(), t=t, quadrature=rule, chunk=1)(points))(members)
    for other in (batch, mapped, jitted):
        np.testing.assert_allclose(other, plain, rtol=1e-10, atol=1e-12)


def test_a_solution_is_a_pytree_that_leaves_jit():
    solution = jax.jit(lambda t: ew.solve(problem(), t=t, quadrature=ew.Kress(128)))(1.5)
    direct = ew.solve(problem(), t=1.5, quadrature=ew.Kress(128))
    point = jnp.array([0.1, 0.2])
    assert abs(solution(point) - direct(point)) < 1e-12
    assert abs(jax.jit(direct)(point) - direct(point)) < 1e-13
    doubled = jax.tree_util.tree_map(lambda leaf: leaf, direct)
    assert abs(doubled(point) - direct(point)) == 0


@pytest.mark.slow
def test_nodes_are_chosen_under_jit_too():
    point = jnp.array([0.1, 0.2])
    value = jax.jit(lambda t: ew.solve(problem(data=entire), t=t)(point))(1.5)
    assert abs(value - entire(point)) < 1e-11


@pytest.mark.slow
def test_derivatives_on_the_curve_itself():
    solution = ew.solve(ew.Problem(ew.Ellipse(2.0, 1.0), None, ew.SingleLayer(LAPLACE), entire, "interior"))
    points = solution.boundary.x[::16]
    slopes = jax.vmap(jax.grad(entire))(points)
    assert jnp.max(jnp.abs(jax.vmap(jax.grad(solution))(points) - slopes)) < 1e-9
    assert jnp.max(jnp.abs(solution.gradient(points) - slopes)) < 1e-10


@pytest.mark.slow
def test_numbers_inside_a_problem_may_be_traced():
    """Parameters are the better way, but a closure works: in the family, in the data, and with no parameter at all."""
    point = jnp.array([0.3, 0.2])

    def of_axis(a):
        return ew.solve(ew.Problem(ew.Ellipse(a, 1.0), None, ew.SingleLayer(LAPLACE), square, "interior"))(point)

    def of_data(c):
        data = lambda x: c * x[0]
        return ew.solve(ew.Problem(ew.Ellipse(2.0, 1.0), None, ew.SingleLayer(LAPLACE), data, "interior"))(point)

    step = 1e-5
    slope = (of_axis(2.0 + step) - of_axis(2.0 - step)) / (2 * step)
    assert abs(jax.grad(of_axis)(2.0) / slope - 1) < 1e-6
    np.testing.assert_allclose(jax.vmap(of_data)(jnp.array([2.0, 3.0])), [0.6, 0.9], atol=1e-11)
    assert abs(jax.jit(lambda: of_data(2.0))() - 0.6) < 1e-11
