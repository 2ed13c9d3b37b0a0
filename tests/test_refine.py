"""Solutions made better, and operators that answer within a tolerance."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import edgewise as ew
from edgewise.base.result import Code
from edgewise.evaluation import measure
from edgewise.learn.tolerance import within
from edgewise.potentials import Strengths
from edgewise.solving.systems import assemble
from edgewise.special import resample
from edgewise.testing import damaged
from tests.spoiled import spoiled
from tests.test_estimate import PROBLEMS, harmonic

QUICK = ("direct", "neumann", "plate", "soft")

LEARNED = ("laplace-star", *(pytest.param(n, marks=pytest.mark.slow) for n in ("laplace-quadratic", "biharmonic-star")))


@pytest.mark.parametrize("name", LEARNED)
def test_what_a_learned_start_and_a_neighbour_save(name, measured):
    operator = damaged(ew.pretrained(name), 1e-4)
    solution = operator(t=1.35)
    refined = solution.refine(1e-10)
    both = solution.refine(1e-10, neighbour=operator(t=1.45).factorise())
    for better in (refined, both):
        assert better.result.ok and better.stats["residual"] <= 1e-10
        assert better.stats["num_nodes"] == 2 * solution.stats["num_nodes"]
        measured(f"{name}, refined to 1e-10: field", measure(better, resolution=60).max_error[0], 1e-9)
    cold, warm = int(refined.stats["cold_applications"]), int(refined.stats["applications"])
    preconditioned, together = int(both.stats["cold_applications"]), int(both.stats["applications"])
    measured(f"{name}: applications, warm over cold ({warm}, {cold})", warm / cold, 0.75)
    measured(f"{name}: preconditioned over cold ({preconditioned}, {cold})", preconditioned / cold, 0.5)
    measured(f"{name}: both over cold ({together}, {cold})", together / cold, 0.5)
    # The operator that ships is there already, but for the total of its density, which no field inside shows.
    shipped = ew.pretrained(name)(t=1.35).refine(1e-10)
    measured(f"{name}: applications, as it ships, over cold", int(shipped.stats["applications"]) / cold, 0.25)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PROBLEMS if n != "corners"])
def test_every_equation_can_be_refined(name):
    problem = PROBLEMS[name]
    solution = ew.solve(problem, t=0.7)
    better = spoiled(solution, 1e-2).refine(1e-11)
    assert better.result.ok, str(better.result)
    # A start wrong by a hundredth, in waves of every kind, saves little, and costs one application itself.
    assert better.stats["applications"] <= better.stats["cold_applications"] + 1
    assert measure(better, truth=solution, resolution=30).max_error[0] < 1e-8


@pytest.mark.slow
def test_corners_can_be_refined():
    solution = ew.solve(PROBLEMS["corners"], quadrature=ew.Graded(256))
    better = solution.refine(1e-10)
    assert better.stats["applications"] < better.stats["cold_applications"]
    point = jnp.array([0.7, 0.4])
    assert abs(better(point) - solution(point)) < 1e-8


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PROBLEMS])
def test_unknowns_come_back_from_strengths(name):
    """What `unknown` makes of the strengths of a solution satisfies the equation, but for the defect of Neumann data."""
    problem = PROBLEMS[name]
    values = {} if name == "corners" else {"t": jnp.array(0.3)}
    rule = ew.Graded(256) if name == "corners" else ew.Kress(64)
    member = problem.member(rule, values, jnp.float64)
    (matrix,), (rhs,) = assemble(jax.tree_util.tree_map(lambda leaf: jnp.asarray(leaf)[None], member))
    unknown = jnp.linalg.solve(matrix, rhs)
    n = member.boundary.s.shape[0] * member.condition.channels
    density = member.representation.density(member.boundary, member.condition, unknown[:n])
    strengths = member.representation.strengths(member, density, unknown[n:])
    again = member.representation.unknown(member, strengths)
    size = jnp.max(jnp.abs(unknown))
    assert jnp.max(jnp.abs(again[:n] - unknown[:n])) < 1e-12 * size
    if name == "neumann":
        assert jnp.all(again[n:] == 0)
    else:
        assert jnp.max(jnp.abs(again[n:] - unknown[n:]), initial=0) < 1e-12 * size


def test_a_solution_with_another_density():
    batch = ew.solve(PROBLEMS["double layer"], t=[0.3, 0.5], quadrature=ew.Kress(64))
    points = jnp.array([[0.2, 0.1], [-0.3, 0.2]])
    assert jnp.allclose(batch.with_density(batch.density.values)(points), batch(points), atol=1e-13)
    # Fields are linear in the density, but for the constant beside it, which stays.
    twice = batch[1].with_density(2 * batch[1].density.values)
    constant = batch[1].strengths[0].polynomial[0]
    assert jnp.allclose(twice(points) - constant, 2 * (batch[1](points) - constant), atol=1e-12)
    assert twice.error_estimate().value > 0.1
    assert "not resolved" in str(twice.result) and repr(twice.result).startswith("Result('not resolved")
    with pytest.raises(ValueError, match=r"shape \(3,\); expected .*density\.values`, \(64,\)"):
        batch[0].with_density(jnp.zeros(3))
    with pytest.raises(ValueError, match=r"not finite; expected finite numbers"):
        batch[0].with_density(jnp.full(64, jnp.nan))
    with pytest.raises(TypeError, match=r"`values` is 'none'; expected finite numbers"):
        batch[0].with_density("none")
    with pytest.raises(TypeError, match=r"is a density; .* `solution.with_density\(other.density.values\)`"):
        batch[0].with_density(batch[0].density)
    with pytest.raises(TypeError, match="is complex, and this density is real"):
        batch[0].with_density(1j * batch[0].density.values)
    assert batch[0].with_density(np.zeros(len(batch[0].density.values), int))(points[0]).dtype == np.float64


@pytest.mark.parametrize("representation", [ew.SingleLayer, ew.Direct])
def test_learned_unknowns_get_the_charge_that_is_prescribed(representation):
    problem = dataclasses.replace(PROBLEMS["outside"], representation=representation(ew.Laplace(2)), at_infinity=0.7)
    member = problem.member(ew.Kress(32), {"t": jnp.array(0.3)}, jnp.float64)
    unknown = member.representation.charged(member, jnp.arange(33.0))
    n = member.boundary.s.shape[0]
    density = member.representation.density(member.boundary, member.condition, unknown[:n])
    (strengths,) = member.representation.strengths(member, density, unknown[n:])
    assert isinstance(strengths, Strengths) and strengths.single is not None
    assert jnp.sum(member.step * strengths.single) == pytest.approx(0.7, rel=1e-12)
    assert unknown[-1] == 32


def test_resampling_from_another_start():
    wave = lambda s: np.cos(3 * s) + np.sin(2 * s) + 0.2
    coarse, fine = (2 * np.pi * (np.arange(n) + 0.5) / n for n in (8, 16))
    assert np.allclose(resample(jnp.asarray(wave(coarse)), 16, float(fine[0] - coarse[0])), wave(fine), atol=1e-14)


@pytest.mark.slow
def test_refining_is_differentiable_and_works_in_batches():
    problem = dataclasses.replace(PROBLEMS["double layer"], data=lambda x, t: t * harmonic(x))
    point = jnp.array([0.2, 0.1])

    def value(t):
        return ew.solve(problem, t=t, quadrature=ew.Kress(64)).refine(1e-12)(point)

    # The field is t times a fixed one.
    assert jax.grad(value)(0.5) == pytest.approx(float(harmonic(point)), abs=1e-9)
    batch = ew.solve(problem, t=[0.4, 0.5], quadrature=ew.Kress(64)).refine(1e-12)
    assert len(batch) == 2 and batch(point) == pytest.approx(np.array([0.4, 0.5]) * float(harmonic(point)), abs=1e-9)


def test_a_tolerance_where_nodes_are_too_few_to_tell():
    gear = ew.StarCurve(lambda s, h: 1 + h * jnp.tanh(2 * jnp.cos(7 * s)))
    problem = ew.Problem(gear, ew.Box(h=(0.0, 0.2)), ew.SingleLayer(ew.Laplace(dim=2)), harmonic, "interior")
    coarse, fine = (ew.solve(problem, quadrature=ew.Kress(n), tol=0.5, h=jnp.array([0.0, 0.2])) for n in (32, 64))
    found = within(coarse, 1e-6, lambda rule: fine)
    assert found.stats["refined"].tolist() == [False, True] and np.isinf(found.stats["error"][1])
    assert found.result.code.tolist() == [Code.CONVERGED, Code.UNRESOLVED]


def test_an_operator_answers_within_a_tolerance(measured):
    operator = damaged(ew.pretrained("laplace-star"), 1e-6)
    plain = operator(t=1.35)
    error = float(plain.error_estimate())
    kept = operator(t=1.35, tol=2 * error)
    assert not kept.stats["refined"] and kept.stats["applications"] == 0
    assert kept.stats["error"] == pytest.approx(error, rel=1e-3)
    refined = operator(t=1.35, tol=error / 2)
    assert refined.stats["refined"] and refined.stats["applications"] > 0 and refined.result.ok
    # Where one member of a batch is refined, the others stay what they are.
    shipped = ew.pretrained("laplace-star")
    batch = shipped(t=[0.6, 1.35], tol=1e-6, extrapolate=True)
    assert batch.result.ok and batch.stats["refined"].tolist() == [True, False]
    assert batch.stats["applications"].tolist()[1] == 0
    point = jnp.array([0.1, 0.2])
    assert batch(point)[1] == pytest.approx(float(shipped(t=1.35)(point)), abs=1e-11)
    measured("operator with tol=1e-6", measure(batch, resolution=60).max_error.max(), 1e-6)
    assert jnp.all(batch.stats["error"] <= 1e-6) and batch[0].stats["refined"]


def test_outside_the_box_the_result_says_so():
    operator = ew.pretrained("laplace-star")
    solution = operator(t=[1.5, 2.2], extrapolate=True)
    assert not solution.result.ok and solution[0].result.ok
    assert "1 of 2 members: outside the box" in str(solution.result)
    # The box cannot be checked while JAX traces, the code can.
    assert jax.jit(lambda t: operator(t=t).result.code)(2.2) == solution[1].result.code
    with pytest.raises(ValueError, match="crosses itself at t=12"):
        operator(t=12.0, extrapolate=True)


def test_messages():
    operator = ew.pretrained("laplace-star")
    solution = operator(t=1.5)
    for tol in (0, -1.0, 2.0, float("nan"), "fine", True):
        with pytest.raises(ValueError, match=r"relative residual between 1\.4e-14 and 1, got .*refine\(1e-10\)"):
            solution.refine(tol)
    with pytest.raises(ValueError, match=r"below what float64 can tell, 1\.4e-14"):
        solution.refine(1e-17)
    for tol in (0, -1.0, float("inf"), float("nan"), "fine"):
        with pytest.raises(ValueError, match=r"positive number, the error that is allowed .* `tol=1e-6`"):
            operator(t=1.5, tol=tol)
    with pytest.raises(ValueError, match=r"traced values.*outside of `jax\.jit`"):
        jax.jit(lambda t: operator(t=t, tol=1e-6).stats["error"])(1.5)
    with pytest.raises(ValueError, match=r"batch of 2 members.*solution\[0\]\.factorise\(\)"):
        operator(t=[1.2, 1.5]).factorise()
    with pytest.raises(TypeError, match=r"must be a factorisation, got Solution"):
        solution.refine(1e-10, neighbour=solution)  # pyright: ignore
    small = ew.solve(operator.problem, t=1.5, quadrature=ew.Kress(64)).factorise()
    with pytest.raises(ValueError, match=r"129 unknowns, this solution on finer nodes 853"):
        solution.refine(1e-10, neighbour=small)
    single = ew.pretrained("laplace-star", dtype="float32")(t=1.5)
    with pytest.raises(ValueError, match=r"below what float32 can tell, 7\.6e-06.*enable_x64"):
        single.refine(1e-9)
