"""Training: what an operator answers, how training ends, and what it says."""

import dataclasses
import itertools
import logging

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from members import entire
from training import PROBLEMS, adam, single, times_t, tiny

import edgewise as ew
from edgewise import solver
from edgewise.learn import loop, optimisers
from edgewise.learn.networks import split_trainable
from edgewise.learn.optimisers import gauss_newton_start, gauss_newton_step, stacked
from edgewise.learn.training import Training
from edgewise.solving import linear, systems

INSIDE = jnp.array([[0.3, 0.2], [-0.5, 0.1], [0.0, -0.7]])
QUICK = ("clockwise",)


def points_of(solution, side):
    """Points at distances from 1e-7 to 0.2 of the boundary."""
    nodes = solution.boundary
    distance = jnp.asarray(np.geomspace(1e-7, 0.2, len(nodes.x)))[:, None]
    signs = {"interior": [-1], "exterior": [1], "both": [-1, 1]}[side]
    return jnp.concatenate([nodes.x + sign * distance * nodes.normal for sign in signs])


def relative_l2(values, truth):
    assert np.all(np.isfinite(truth))
    return float(jnp.linalg.norm(values - truth) / jnp.linalg.norm(truth))


def weights_of(operator):
    return np.asarray(jax.flatten_util.ravel_pytree(split_trainable(operator.network)[0])[0])


@pytest.fixture(scope="module")
def guarded():
    """A problem whose data can be forbidden, and its operator, trained where nothing can be solved."""
    allowed = [True]

    def data(x, t):
        # Looked at while functions are traced; what was compiled before does not ask again.
        if not allowed[0]:
            raise AssertionError("the data were looked at")
        return times_t(x, t)

    def forbidden(*args, **kwargs):
        raise AssertionError("something was solved")

    problem = single(data, exact=times_t)
    with pytest.MonkeyPatch.context() as patch:
        for module, names in (
            (solver, ("solve", "solve_system")),
            (systems, ("solve_system", "_iterate")),
            (linear, ("direct", "gmres")),
        ):
            for name in names:
                patch.setattr(module, name, forbidden)
        operator = ew.fit(problem, tiny(problem))
        operator(t=1.1)
    return operator, allowed


@pytest.fixture(scope="module")
def operator(guarded):
    return guarded[0]


def marks_of(name):
    return [] if name in QUICK else [pytest.mark.slow]


@pytest.mark.parametrize("name", [pytest.param(n, marks=marks_of(n)) for n in PROBLEMS if n != "single layer"])
def test_an_operator_agrees_with_solve_up_to_the_boundary(name, measured):
    problem, member, changes = PROBLEMS[name]
    recipe = tiny(problem, **changes)
    operator = ew.fit(problem, recipe)
    assert operator.result.ok and operator.stats["misfit"] <= recipe.validation.tol
    solution = operator(**member)
    # The mean that is taken off an interior Neumann solution is an integral of its layer.
    assert solution.stats["applications"] == (name == "interior Neumann")
    points = points_of(solution, problem.side)
    # On the operator's own nodes, which are more than enough: one piece of code evaluates both.
    truth = ew.solve(problem, quadrature=operator.quadrature, tol=1e-9, **member)
    assert truth.result.ok
    values = solution(points)
    measured(f"tiny operator, {name}", relative_l2(values, truth(points)), 1e-5)
    if problem.exact is not None:
        assert relative_l2(values, problem.exact_at(points, truth.parameters)) < 1e-5


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) for n in ("waves of one wavenumber", "exterior Neumann")]
)
def test_a_density_agrees_with_that_of_solve(name, measured):
    """Complex ones too; quicker than to evaluate the field, which is the work of the same code in either case."""
    problem, member, changes = PROBLEMS[name]
    operator = ew.fit(problem, tiny(problem, **changes))
    solution, truth = operator(**member), ew.solve(problem, quadrature=operator.quadrature, tol=1e-9, **member)
    assert operator.result.ok and solution.stats["applications"] == 0
    measured(f"tiny operator, density, {name}", relative_l2(solution.density.values, truth.density.values), 1e-5)


def test_a_field_and_its_gradient_up_to_the_boundary(operator, measured):
    solution = operator(t=1.23)
    points = points_of(solution, "interior")
    field = lambda x: 1.23 * entire(x)
    measured("tiny operator, single layer", relative_l2(solution(points), jax.vmap(field)(points)), 1e-5)
    # The gradient is one derivative rougher: what the network misses grows by its wave numbers.
    assert relative_l2(solution.gradient(points), jax.vmap(jax.grad(field))(points)) < 1e-4
    assert np.all(np.isnan(solution(solution.boundary.x + 1e-3 * solution.boundary.normal)))


def test_a_call_solves_nothing_and_reads_no_data(guarded):
    operator, allowed = guarded
    allowed[0] = False
    try:
        # Sizes that nothing was compiled for: everything is traced anew.
        many = operator(t=jnp.linspace(0.6, 1.4, 5))
        values = many(INSIDE[:2])
        assert np.all(np.asarray(many.stats["applications"]) == 0) and many.result.ok
        assert relative_l2(values, many.parameters["t"][:, None] * jax.vmap(entire)(INSIDE[:2])) < 1e-5
        # And the guard works: this one has to look.
        with pytest.raises(AssertionError, match="the data were looked at"):
            many.residual()
    finally:
        allowed[0] = True


def test_a_batch_is_one_call(operator):
    members = jnp.linspace(0.6, 1.4, 4)
    many = operator(t=members)
    assert len(many) == 4 and many(INSIDE).shape == (4, 3)
    for index in (0, 2, -1):
        one = operator(t=members[index])
        np.testing.assert_allclose(many[index](INSIDE), one(INSIDE), rtol=1e-12)
        np.testing.assert_allclose(many[index].density.values, one.density.values, rtol=1e-11, atol=1e-12)
    with pytest.raises(ValueError, match=r"`t` must lie in \[0.5, 1.5\], got 1.7. Pass `extrapolate=True`"):
        operator(t=1.7)
    assert relative_l2(operator(t=1.6, extrapolate=True)(INSIDE), 1.6 * jax.vmap(entire)(INSIDE)) < 1e-3


def test_jit_vmap_and_grad(operator):
    """The field is t times a function: its derivative in t is that function."""
    field = lambda t: operator(t=t)(INSIDE[0])
    members = jnp.array([0.7, 1.2])
    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(field)))(members)
    np.testing.assert_allclose(values, [field(t) for t in members], rtol=1e-10)
    np.testing.assert_allclose(slopes, entire(INSIDE[0]), rtol=1e-4)
    differences = [(field(t + 1e-5) - field(t - 1e-5)) / 2e-5 for t in members]
    np.testing.assert_allclose(slopes, differences, rtol=1e-7)


@pytest.mark.parametrize("name", ["single layer", pytest.param("two bodies", marks=pytest.mark.slow)])
def test_the_density_anywhere_agrees_with_its_nodes(name, operator):
    problem, member, changes = PROBLEMS[name]
    if name != "single layer":
        operator = ew.fit(problem, tiny(problem, **changes))
    density = operator(**member).density
    some = slice(0, None, 7)
    np.testing.assert_allclose(jax.vmap(density)(density.s[some]), density.values[some], rtol=1e-10, atol=1e-12)


def test_training_ends_when_nothing_improves(operator):
    errors = [record["misfit"] for record in operator.history]
    assert "neither that nor the loss falls any more" in str(operator.result) and operator.result.ok
    assert operator.stats["steps"] == len(errors) < operator.recipe.optimiser.steps
    assert errors[-1] > 0.9 * errors[-2]
    # No step is taken after one that gained nothing.
    records = operator.history[:-1]
    gains = [
        max(1 - after[key] / before[key] for key in ("loss", "misfit")) for before, after in itertools.pairwise(records)
    ]
    assert all(gain > 1e-3 for gain in gains)
    assert operator.stats["misfit"] == min(errors)
    assert all(set(record["losses"]) == {"value", "moments"} for record in operator.history)


def test_a_density_of_nothing_is_no_misfit():
    """A constant alone answers constant data; the mean of a density that is rounding is rounding too."""
    problem = single(data=lambda x: 1.0 + 0.0 * x[0])
    operator = ew.fit(problem, tiny(problem))
    assert operator.result.ok and operator.stats["misfit"] < 1e-9
    np.testing.assert_allclose(operator(t=1.1)(np.array([0.1, 0.2])), 1.0, rtol=1e-9)


def test_the_best_weights_are_kept():
    """Adam with a large step goes up and down. Ended on its way up, the lowest that was seen comes back."""
    problem = single()
    recipe = adam(problem, steps=60, rate=0.2, check_every=2)
    errors = []

    def rises(record):
        errors.append(record["misfit"])
        return len(errors) > 3 and errors[-1] > 1.2 * min(errors)

    operator = ew.fit(problem, recipe, callback=rises)
    assert errors[-1] > 1.2 * min(errors)
    again = Training(problem, recipe, 0).misfit(jnp.asarray(weights_of(operator)))
    assert again["misfit"] == pytest.approx(min(errors), rel=1e-12) == pytest.approx(operator.stats["misfit"])


def test_what_did_not_converge_says_so(caplog):
    problem = single()
    recipe = tiny(problem, optimiser={"steps": 1}, validation={"tol": 1e-9})
    with caplog.at_level(logging.WARNING, "edgewise"):
        operator = ew.fit(problem, recipe)
    for word in ("not converged", "expected 1e-09", "after 1 step:", "Use more `optimiser.steps`,"):
        assert word in str(operator.result) and word in caplog.text
    assert not operator.result.ok and operator.result.code == "unconverged"
    solution = operator(t=1.0)
    assert not solution.result.ok and "Train it longer" in str(solution.result)


def test_a_callback_sees_every_record_and_may_end_training():
    seen = []
    problem = single()
    operator = ew.fit(problem, tiny(problem), callback=lambda record: seen.append(record) or len(seen) == 3)
    assert seen == operator.history and len(seen) == 3 and "the callback ended it" in str(operator.result)


@pytest.mark.parametrize("optimiser", ["gauss-newton", "adam"])
def test_nomad_learns(optimiser):
    problem = single()
    network = {"kind": "nomad"}
    recipe = (
        tiny(problem, network=network, optimiser={"steps": 10})
        if optimiser == "gauss-newton"
        else adam(problem, steps=100, rate=1e-2, check_every=50, network=network)
    )
    losses = [record["loss"] for record in ew.fit(problem, recipe).history]
    # Of the network at its start the relative loss is about one.
    assert losses[-1] < 1e-2 and losses[-1] < losses[0]


@pytest.mark.parametrize("name", ["single layer", pytest.param("waves of one wavenumber", marks=pytest.mark.slow)])
def test_a_step_of_gauss_and_newton_is_its_formula(name):
    """d = -(JᵀJ + λ)⁻¹ Jᵀ r with J by plain automatic differentiation of the whole residual."""
    problem = PROBLEMS[name][0]
    training = Training(problem, tiny(problem, network={"kind": "nomad", "p": 3, "neurons": 4}), 0)

    def residual(weights):
        network = training.network(weights)
        return stacked(jax.vmap(lambda s: s.residual(network))(training.systems) / training.units)

    state = gauss_newton_start(training.first_weights, training.recipe.optimiser)
    jacobian, r = jax.jit(lambda w: (jax.jacfwd(residual)(w), residual(w)))(state["weights"])
    after = gauss_newton_step(
        state, training.rest, training.unravel, training.systems, training.units, (training.rule, problem.family)
    )
    gram = jacobian.T @ jacobian + float(after["damping"]) * np.eye(jacobian.shape[1])
    np.testing.assert_allclose(after["weights"] - state["weights"], -np.linalg.solve(gram, jacobian.T @ r), atol=1e-7)
    assert after["loss"] == pytest.approx(float(jnp.sum(residual(after["weights"]) ** 2))) and after["loss"] < r @ r


def test_the_first_step_of_a_deeponet_is_least_squares(monkeypatch):
    """Its trunk is zero, so that the residual is linear in it: one step finds what can be found, also by iteration."""
    problem = PROBLEMS["single layer"][0]
    training = Training(problem, tiny(problem), 0)

    def residual(weights):
        network = training.network(weights)
        return stacked(jax.vmap(lambda s: s.residual(network))(training.systems) / training.units)

    weights = training.first_weights
    jacobian, r = jax.jit(lambda w: (jax.jacfwd(residual)(w), residual(w)))(weights)
    least = float(np.sum((jacobian @ np.linalg.lstsq(jacobian, r)[0] - r) ** 2))
    after = training.advance(training.start(), 0, 1)
    assert after["loss"] < 2 * least < 1e-6 * float(r @ r)
    # Steps that follow are not linear, and begin as carefully as if the first had been like them.
    assert after["damping"] == pytest.approx(1e-2 * training.recipe.optimiser.damping)
    jax.clear_caches()
    monkeypatch.setattr(optimisers, "MOST_NUMBERS", 0)
    assert training.advance(training.start(), 0, 1)["loss"] < 1e-5 * float(r @ r)
    jax.clear_caches()


def test_a_run_that_diverges_ends_in_words_with_finite_weights(caplog):
    problem = single()
    with caplog.at_level(logging.WARNING, "edgewise"):
        operator = ew.fit(problem, adam(problem, steps=200, rate=1e3))
    assert operator.result.code == "diverged" and "Lower `optimiser.rate`" in caplog.text
    assert len(operator.history) == loop.RETRIES + 1 and operator.history[-1]["shrink"] < 0.02
    # It came back to where it began: to weights that are as wrong as no field at all, not more.
    assert np.all(np.isfinite(weights_of(operator))) and operator.stats["misfit"] < 1.1


def test_a_run_that_diverges_at_first_goes_on_with_smaller_steps(monkeypatch):
    """A bound so low that the start is taken for a divergence, until the step is small enough."""
    monkeypatch.setattr(loop, "EXPLOSION", 3.0)
    problem = single()
    operator = ew.fit(problem, adam(problem, steps=60, rate=1.0, check_every=5))
    shrinks = [record["shrink"] for record in operator.history]
    assert shrinks == sorted(shrinks, reverse=True) and 2.0**-loop.RETRIES <= shrinks[-1] < 1
    assert operator.result.code == "unconverged" and operator.history[-1]["loss"] < 1


@pytest.mark.slow
def test_members_drawn_with_infinite_data_are_stepped_over():
    """The paper draws members anew each step; some of these have data that are infinite."""
    problem = single(lambda x, t: jnp.where(jnp.abs(t - 1.45) < 0.01, jnp.inf, entire(x)))
    recipe = ew.recipe("paper", problem)
    recipe = dataclasses.replace(
        recipe,
        network=dataclasses.replace(recipe.network, layers=2, neurons=16, p=8),
        collocation=dataclasses.replace(recipe.collocation, members=2, nodes=200, targets=20),
        optimiser=dataclasses.replace(recipe.optimiser, steps=60, check_every=5),
        validation=dataclasses.replace(recipe.validation, members=4, nodes=64),
    )
    operator = ew.fit(problem, recipe, seed=2)
    assert operator.history[-1]["shrink"] < 1 and np.all(np.isfinite(weights_of(operator)))
    assert np.isfinite(operator.stats["misfit"])


def test_seeds_decide_everything():
    problem = single()
    recipe = tiny(problem, optimiser={"steps": 2})
    first, same, other = (ew.fit(problem, recipe, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(weights_of(first), weights_of(same))
    assert not np.array_equal(weights_of(first), weights_of(other))
    drop = lambda history: [{k: v for k, v in record.items() if k != "seconds"} for record in history]
    assert drop(first.history) == drop(same.history) != drop(other.history)


@pytest.mark.parametrize("name", ["gauss-newton", "adam"])
def test_steps_keep_single_precision(name):
    """Beside double precision, which would otherwise creep in. Only traced."""
    problem = single()
    training = Training(problem, tiny(problem, dtype="float32", optimiser={"name": name}), 0)
    state = training.start()
    after = eqx.filter_eval_shape(lambda state: training.advance(state, 0, 1), state)
    assert {k: v.dtype for k, v in after.items()} == {k: v.dtype for k, v in state.items()}
    assert after["weights"].dtype == np.float32


@pytest.mark.slow
def test_single_precision_trains_and_reads():
    problem = single()
    operator = ew.fit(problem, tiny(problem), dtype="float32")
    values = operator(t=1.1)(INSIDE)
    assert values.dtype == np.float32 and operator.recipe.dtype == "float32"
    assert relative_l2(values, 1.1 * jax.vmap(entire)(INSIDE)) < 1e-3
