"""Batches, statistics, precision, densities: what a `Solution` promises beside its accuracy."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, PAPER, entire, near_points

import edgewise as ew
from edgewise.solving import linear


def paper_problem(**options):
    return ew.Problem(PAPER, ew.Box(t=(1.0, 2.0)), ew.SingleLayer(LAPLACE), entire, "interior", **options)


def test_a_batch_is_one_call():
    members = jnp.linspace(1, 2, 7)
    many = ew.solve(paper_problem(), t=members, chunk=3, quadrature=ew.Kress(256))
    points = near_points(PAPER, {"t": 1.0}, "interior", 10, farthest=1e-3).reshape(5, 2, 2)
    assert len(many) == 7 and many(points).shape == (7, 5, 2) and many.gradient(points).shape == (7, 5, 2, 2)
    one = ew.solve(paper_problem(), t=members[4], quadrature=ew.Kress(256))
    np.testing.assert_allclose(many[4](points), one(points), atol=1e-12)
    np.testing.assert_allclose(many[-3].density.values, one.density.values, atol=1e-10)
    assert len(list(many)) == 7 and many.residual().shape == (7, 512) and many.stats["num_nodes"].shape == (7,)
    with pytest.raises(IndexError, match="Member 7 of a batch of 7: expected -7 to 6"):
        many[7]
    with pytest.raises(TypeError, match="no length"):
        len(one)


def test_parameters_without_a_batch_axis_are_shared():
    problem = ew.Problem(ew.Ellipse(), ew.Box(a=(1, 3), b=(1, 3)), ew.SingleLayer(LAPLACE), entire, "interior")
    many = ew.solve(problem, a=jnp.array([1.0, 2.0, 3.0]), b=1.5)
    assert many.parameters["b"].shape == (3,)
    assert np.all(np.isnan(many(jnp.array([2.5, 0.0]))) == [True, True, False])


def test_wrong_side_is_nan_and_on_the_curve_is_the_limit():
    solution = ew.solve(paper_problem(), t=1.5)
    nodes = PAPER.boundary(jnp.linspace(0, 6, 40), jnp.ones(40), {"t": 1.5})
    assert jnp.max(jnp.abs(solution(nodes.x) - jax.vmap(entire)(nodes.x))) < 1e-10
    assert np.all(np.isnan(solution(nodes.x + 1e-8 * nodes.normal)))
    assert np.all(np.isnan(solution.gradient(nodes.x + 1e-3 * nodes.normal)))
    assert not np.any(np.isnan(solution(nodes.x - 1e-8 * nodes.normal)))
    with pytest.raises(ValueError, match=r"40 of 40 points lie on the wrong side.*the first at \[.*interior"):
        solution(nodes.x + 1e-8 * nodes.normal, outside="error")


def test_density_between_nodes():
    solution = ew.solve(ew.Problem(ew.Ellipse(2.0, 1.0), None, ew.DoubleLayer(LAPLACE), entire, "interior"))
    fine = ew.solve(solution.problem, quadrature=ew.Kress(512))
    values = jax.vmap(solution.density)(fine.boundary.s)
    assert jnp.max(jnp.abs(values - fine.density.values)) < 1e-11


def test_result_and_stats_say_what_happened(caplog):
    problem = paper_problem()
    good = ew.solve(problem, t=1.5)
    assert good.result.ok and str(good.result) == "converged" and good.stats["resolution"] < 1e-11
    with caplog.at_level(logging.WARNING, "edgewise"):
        coarse = ew.solve(problem, t=jnp.array([1.2, 1.5]), quadrature=ew.Kress(64))
    assert not coarse.result.ok and "2 of 2 members: not resolved" in str(coarse.result)
    assert "not resolved" in caplog.text
    loose = ew.solve(problem, t=1.5, tol=1e-4)
    assert loose.stats["num_nodes"] < good.stats["num_nodes"]


def test_gmres_counts_its_applications():
    direct = ew.solve(paper_problem(), t=1.5, quadrature=ew.Kress(256))
    krylov = ew.solve(paper_problem(), t=1.5, quadrature=ew.Kress(256), method="gmres", tol=1e-12)
    assert 5 < krylov.stats["applications"] < 40 and direct.stats["applications"] == 0
    assert jnp.max(jnp.abs(direct.density.values - krylov.density.values)) < 1e-8
    point = jnp.array([0.2, 0.1])
    assert abs(krylov(point) - entire(point)) < 1e-11


@pytest.mark.parametrize("dtype", [pytest.param(np.float64, marks=pytest.mark.slow), np.complex128])
def test_gmres_on_any_system(dtype):
    rng = np.random.default_rng(0)
    matrix = jnp.asarray(
        np.eye(30) + 0.1 * rng.normal(size=(30, 30)) + (0.1j * np.eye(30) if dtype == np.complex128 else 0)
    )
    rhs = jnp.asarray(rng.normal(size=30).astype(dtype))
    truth = jnp.linalg.solve(matrix, rhs)
    counted = []

    def apply(x):
        jax.debug.callback(lambda x: counted.append(1), x)
        return matrix @ x

    cold, applications, residual = linear.gmres(apply, rhs, tol=1e-12)
    jax.effects_barrier()
    assert len(counted) == applications and residual < 1e-12 and jnp.max(jnp.abs(cold - truth)) < 1e-10
    warm, fewer, _ = linear.gmres(lambda x: matrix @ x, rhs, tol=1e-12, guess=truth + 1e-6)
    assert fewer < applications and jnp.max(jnp.abs(warm - truth)) < 1e-10
    _, one, _ = linear.gmres(lambda x: matrix @ x, rhs, tol=1e-12, guess=truth)
    assert one == 1
    _, capped, far = linear.gmres(lambda x: matrix @ x, rhs, tol=1e-12, max_applications=3)
    assert capped == 3 and far > 1e-12


def test_float32_in_float32_out():
    solution = ew.solve(paper_problem(), t=1.15, dtype="float32")
    point = jnp.array([0.2, 0.1])
    assert solution.density.values.dtype == np.float32 and solution(point).dtype == np.float32
    assert abs(solution(point) - entire(point)) < 1e-4
    moved = ew.Problem(
        ew.Translate(ew.Ellipse(2.0, 1.0), (1.0, 0.0)), None, ew.SingleLayer(LAPLACE), entire, "interior"
    )
    assert ew.solve(moved, dtype="float32", quadrature=ew.Kress(64)).boundary.x.dtype == np.float32


@pytest.mark.parametrize(
    "representation", [ew.SingleLayer, *(pytest.param(r, marks=pytest.mark.slow) for r in (ew.DoubleLayer, ew.Direct))]
)
def test_complex_data(representation):
    field = lambda x: jnp.exp(x[0] + 1j * x[1])
    problem = ew.Problem(ew.Ellipse(2.0, 1.0), None, representation(LAPLACE), field, "interior")
    points = near_points(problem.family, {}, "interior", 20)
    assert jnp.max(jnp.abs(ew.solve(problem)(points) - jax.vmap(field)(points))) < 1e-11


def test_a_parameter_beats_a_default_of_its_name():
    circle = ew.StarCurve(lambda s, t=0.7, size=2.0: size * t + 0 * s)
    problem = ew.Problem(circle, ew.Box(t=(0.5, 1.5)), ew.SingleLayer(LAPLACE), entire, "interior")
    assert abs(ew.solve(problem, t=1.3).boundary.measure - 2 * np.pi * 2.6) < 1e-12


def test_far_from_the_origin():
    """Nodes are rounded there; the answer is as good as they are, and more of them are not asked for."""
    family = ew.Translate(ew.Ellipse(2.0, 1.0), (1e4, 0.0))
    field = lambda x: (x[0] - 1e4) * (1 + x[1])
    solution = ew.solve(ew.Problem(family, None, ew.SingleLayer(LAPLACE), field, "interior"))
    points = jnp.array([[1e4, 0.3], [1e4 + 1.9, 0.0]])
    assert solution.result.ok and solution.stats["num_nodes"] <= 192
    assert jnp.max(jnp.abs(solution(points) - jax.vmap(field)(points))) < 1e-10


def test_same_call_same_bits():
    a, b = (ew.solve(paper_problem(), t=1.3, quadrature=ew.Kress(128)).density.values for _ in range(2))
    assert np.array_equal(a, b)


def test_thin_and_large_and_tiny_curves():
    """The library chooses the nodes; scale changes nothing."""
    for a, b in ((20.0, 1.0), (1e-4, 2e-4), (3e5, 1e5)):
        size = max(a, b)
        field = lambda x, size=size: entire(x / size)
        problem = ew.Problem(ew.Ellipse(a, b), None, ew.SingleLayer(LAPLACE), field, "interior")
        solution = ew.solve(problem)
        points = jnp.array([[0.5 * a, 0.1 * b], [0.0, b * (1 - 1e-7)], [a * (1 - 1e-7), 0.0]])
        assert solution.result.ok
        assert jnp.max(jnp.abs(solution(points) - jax.vmap(field)(points))) < 1e-9


def test_a_singular_problem_says_so(caplog):
    """Outside the unit circle cos θ / r meets ∂u/∂n + u = 0: no unique solution."""
    problem = ew.Problem(
        ew.Ellipse(1.0, 1.0), None, ew.SingleLayer(LAPLACE), lambda x: x[0] + 1, "exterior", condition=ew.Robin(1.0)
    )
    with caplog.at_level(logging.WARNING, "edgewise"):
        solution = ew.solve(problem)
    assert not solution.result.ok and "no unique solution" in str(solution.result) and "no unique" in caplog.text


def test_constant_data_need_few_nodes():
    """The density is zero up to rounding: it must not be asked to fall below itself."""
    for representation in (ew.SingleLayer, ew.DoubleLayer, ew.Direct):
        solution = ew.solve(ew.Problem(ew.Kite(), None, representation(LAPLACE), lambda x: 2.0, "interior"))
        assert solution.result.ok and solution.stats["num_nodes"] == 128
        assert abs(solution(jnp.array([0.0, 0.1])) - 2) < 1e-12
