"""Polynomials times harmonics, with the harmonics of a plane wave's angle as data: what is trained, and operators against `solve`."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE
from training import changed

import edgewise as ew
from edgewise.learn.amounts import AngleHarmonics
from edgewise.learn.collocation import conditioned_systems
from edgewise.learn.expansion import Expansion
from edgewise.learn.expansion_training import ExpansionTraining
from edgewise.learn.networks import unknowns
from edgewise.learn.waves import degree_costs, orders_of
from edgewise.quadrature import rule_for

ANGLE, K = ew.Angle(), (1.0, 2.0)


def waves(family, wavenumber="k", **parameters):
    """Scattering in a plane wave of the parameter `angle`."""
    return ew.Problem(
        family,
        ew.Box(**parameters),
        ew.CombinedField(ew.Helmholtz(2, wavenumber)),
        ew.PlaneWave("angle"),
        "exterior",
    )


KITE = waves(ew.Kite("bend"), bend=(0.2, 0.4), k=K, angle=ANGLE)
# Where what the network gives is the flux, and the field has the wave beside it.
FLUX = dataclasses.replace(KITE, representation=ew.NullField(ew.Helmholtz(2, "k")))
HARD = dataclasses.replace(waves(ew.Ellipse(1.0, "b"), b=(0.6, 0.8), k=K, angle=ANGLE), condition=ew.Neumann())
VECTOR = dataclasses.replace(
    waves(ew.Ellipse(1.0, "b"), 2.0, b=(0.5, 1.0), angle=ANGLE),
    data=ew.PlaneWave("d"),
    parameters=ew.Box(b=(0.5, 1.0), d=ew.Direction(2)),
)
SECTOR = waves(ew.Ellipse(1.0, 0.6), k=K, angle=(-1.0, 0.5))
SQUARE = waves(ew.Polygon([(1, 1), (-1, 1), (-1, -1), (1, -1)]), k=K, angle=ANGLE)
PAIR = waves(
    ew.Union(ew.Ellipse(0.5, 0.4), ew.Curve(lambda s, away: (away + 0.5 * jnp.cos(s), 0.3 * jnp.sin(s)))),
    1.5,
    away=(1.4, 1.8),
    angle=ANGLE,
)
# Problem, how many polynomials, and what it may miss of the far field.
FITTED = {
    "KITE": (KITE, 60, 1e-6),
    "FLUX": (FLUX, 60, 1e-6),
    "HARD": (HARD, 60, 1e-5),
    "VECTOR": (VECTOR, 16, 1e-10),
    "SECTOR": (SECTOR, 16, 1e-10),
    "SQUARE": (SQUARE, 16, 5e-3),
    "PAIR": (PAIR, 16, 1e-10),
}
QUICK = [pytest.param(n, marks=pytest.mark.slow) if n != "KITE" else n for n in FITTED]
CIRCLE = np.stack([wave(2 * np.pi * np.arange(32) / 32) for wave in (np.cos, np.sin)], axis=-1)


def small(problem, p, nodes=48):
    """The recipe of a network of so many polynomials on so many nodes."""
    recipe = changed(ew.recipe("default", problem), network={"p": p, "harmonics": 2 * nodes // 5})
    nodes = 2 * nodes if isinstance(problem.family, ew.Polygon) else nodes
    return changed(
        recipe, collocation={"members": 2 * p, "nodes": nodes}, validation={"members": 8, "nodes": 3 * nodes // 2}
    )


def far(solution):
    return np.asarray(solution.far_field(CIRCLE))


@pytest.mark.parametrize(
    "problem", [KITE, VECTOR, SECTOR, SQUARE, PAIR], ids=["KITE", "VECTOR", "SECTOR", "SQUARE", "PAIR"]
)
def test_the_harmonics_of_its_angle_add_up_to_a_wave(problem):
    amounts = AngleHarmonics(problem.data.direction.name, orders_of(problem))
    settings, shares = amounts.settings(problem.parameters, np.dtype(float))
    draw = {name: value[0] for name, value in problem.parameters.sample(jax.random.key(1), 1).items()}
    nodes = rule_for(problem.family, 64).place(problem.family, draw, float)
    given = np.stack(
        [problem.data_on(nodes, draw | {n: v[i] for n, v in settings.items()}) for i in range(len(shares))]
    )
    np.testing.assert_allclose(
        amounts(draw, np.dtype(float)) @ (shares.T @ given), problem.data_on(nodes, draw), atol=1e-8
    )
    # Orthonormal over all angles.
    every = np.stack([amounts({amounts.direction: angle}, np.dtype(float)) for angle in 2 * np.pi * np.arange(99) / 99])
    np.testing.assert_allclose(every.T @ every / 99, np.eye(amounts.count), atol=1e-12)


@pytest.mark.parametrize("problem", [KITE, pytest.param(PAIR, marks=pytest.mark.slow)], ids=["KITE", "PAIR"])
def test_what_training_makes_small_is_the_residual_of_every_angle(problem):
    """Σ_j g_j(α) times the columns is the conditioned residual at that angle, between harmonics, with the inverse in front."""
    recipe = small(problem, 16)
    training = ExpansionTraining(problem, recipe, 0)
    weights = training.start()["weights"] + jax.random.normal(jax.random.key(1), training.first_weights.shape)
    network, seen = training.network(weights), training.seen
    assert isinstance(network, Expansion)
    count, angle = 3, 0.83
    members = {name: value[:count] for name, value in training._members().items()} | {"angle": jnp.full(count, angle)}
    columns = (training.equations(seen, weights) - seen.rhs)[:count]
    found = columns @ network.amounts({"angle": angle}, float)
    systems = conditioned_systems(problem, training.rule, members, count, training.dtype)
    unknown = jax.vmap(lambda s: unknowns(network, s.nodes, s.parameters))(systems)
    residual = jax.vmap(jnp.matmul)(systems.matrix, unknown) - systems.rhs
    between = jax.vmap(training._harmonics)(residual[..., None], systems.nodes) @ jnp.ones(1)
    np.testing.assert_allclose(found, between @ training.inverse.T, atol=1e-7 * np.max(np.abs(found)))


@pytest.mark.parametrize("name", QUICK)
def test_operators_against_solve(name, tmp_path, measured):
    problem, p, bound = FITTED[name]
    assert ew.recipe("default", problem).network.kind == "expansion"
    operator = ew.fit(problem, small(problem, p), out=tmp_path / "run")
    members = problem.parameters.sample(jax.random.key(7), 12)
    found, true = operator(**members), ew.solve(problem, **members)
    errors = np.linalg.norm(far(found) - far(true), axis=1) / np.linalg.norm(far(true), axis=1)
    measured(f"expansion, {name}, {p} polynomials", float(np.max(errors)), bound)
    assert operator.result.ok == (operator.stats["misfit"] <= 1e-3)
    assert found.stats["applications"].max() == 0
    again = ew.load(tmp_path / "run", problem)(**members)
    np.testing.assert_array_equal(again.density.values, found.density.values)
    one = operator(**{key: value[3] for key, value in members.items()})
    np.testing.assert_allclose(far(one), far(found)[3], rtol=1e-10)
    assert found[0].refine(1e-8).result.ok


def test_many_members_in_pieces_and_derivatives(monkeypatch):
    operator = ew.fit(VECTOR, small(VECTOR, 16))
    members = VECTOR.parameters.sample(jax.random.key(3), 11)
    whole = operator(**members).density.values
    # Two pieces, the second not full.
    monkeypatch.setattr("edgewise.learn.expansion.ROOM", 8 * operator.network.weights[0].size)
    jax.clear_caches()
    np.testing.assert_allclose(operator(**members).density.values, whole, rtol=1e-12)
    direction = jnp.array([0.6, 0.8])

    def echo(b):
        return jnp.abs(operator(b=b, d=direction).far_field(-direction))

    slope, true = jax.grad(echo)(0.7), (echo(0.7 + 1e-5) - echo(0.7 - 1e-5)) / 2e-5
    assert abs(slope - true) < 1e-7 * abs(slope)


def test_parameters_of_the_data_are_columns_too(measured):
    """Without a wave the recipe asks for it; the numbers in which the answer is linear are never seen by the polynomials."""
    problem = ew.Problem(
        ew.Ellipse("a", 1.0),
        ew.Box(a=(1.0, 1.5), g=(-np.ones(2), np.ones(2))),
        ew.DoubleLayer(LAPLACE),
        lambda x, g: g[0] * x[0] + g[1] * x[0] * x[1],
        "interior",
    )
    recipe = changed(
        ew.recipe("default", problem),
        network={"kind": "expansion", "p": 12, "order": 0, "harmonics": 16},
        collocation={"members": 24, "nodes": 40},
        optimiser={"name": "conjugate-gradients", "check_every": 5},
        validation={"members": 6, "nodes": 64, "patience": 0},
    )
    operator = ew.fit(problem, recipe)
    draw, points = problem.parameters.sample(jax.random.key(5), 9), np.array([[0.2, 0.3], [-0.5, 0.1]])
    found = operator(**draw)(points)
    measured("expansion, linear data", float(np.max(np.abs(found - ew.solve(problem, **draw)(points)))), 1e-12)
    twice = operator(**draw | {"g": 2 * draw["g"]}, extrapolate=True)(points)
    np.testing.assert_allclose(twice, 2 * found, rtol=1e-13)


@pytest.mark.slow
def test_steps_continue_where_they_were_interrupted(tmp_path):
    recipe = changed(small(VECTOR, 16), optimiser={"steps": 15})
    whole = ew.fit(VECTOR, recipe)

    def interrupt(record):
        if record["step"] == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.fit(VECTOR, recipe, out=tmp_path / "run", callback=interrupt)
    again = ew.fit(VECTOR, recipe, out=tmp_path / "run", resume=True)
    assert [record["step"] for record in again.history] == [record["step"] for record in whole.history]
    np.testing.assert_array_equal(again.network.weights, whole.network.weights)


def test_nothing_is_solved_for_labels(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a system was solved")

    recipe = small(VECTOR, 16)
    monkeypatch.setattr(jnp.linalg, "solve", refuse)
    monkeypatch.setattr("edgewise.solving.linear.direct", refuse)
    monkeypatch.setattr("edgewise.solving.linear.gmres", refuse)
    losses = [record["loss"] for record in ew.fit(VECTOR, recipe).history]
    falling = losses[: 1 + sum(loss > 1e-20 for loss in losses)]
    assert falling == sorted(falling, reverse=True) and falling[-1] < 1e-20


@pytest.mark.slow
def test_single_precision(measured):
    operator = ew.fit(VECTOR, small(VECTOR, 16), dtype="float32")
    members = VECTOR.parameters.sample(jax.random.key(7), 6)
    found, true = far(operator(**members)), far(ew.solve(VECTOR, **members))
    measured("expansion in single precision", float(np.max(np.abs(found - true)) / np.max(np.abs(true))), 1e-3)


@pytest.mark.parametrize(
    ("problem", "part", "fields", "words"),
    [
        (VECTOR, "optimiser", {"name": "gauss-newton"}, ["'expansion'", "'gauss-newton'", '"conjugate-gradients"']),
        (VECTOR, "network", {"features": "position"}, ['"expansion"', "harmonics", "'position'"]),
        (VECTOR, "network", {"kind": "deeponet"}, ["'deeponet'", "'conjugate-gradients'"]),
        (
            dataclasses.replace(
                HARD,
                family=ew.Rotate(ew.Ellipse(1.0, "b"), "turn"),
                parameters=ew.Box(b=(0.6, 0.8), k=K, angle=ANGLE, turn=ANGLE),
            ),
            "network",
            {"kind": "expansion", "p": 16},
            ['"expansion"', "`turn`", "angle"],
        ),
    ],
    ids=["optimiser", "features", "kind", "turn"],
)
def test_recipes_that_cannot_be_followed(problem, part, fields, words):
    recipe = small(VECTOR, 16)
    with pytest.raises(ValueError) as error:
        ew.fit(problem, changed(recipe, **{part: fields}))
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_wavenumber_has_a_higher_degree_and_never_costs_nothing():
    box = KITE.parameters.without(["angle"])
    (one, k), none = degree_costs(KITE, box, 16), degree_costs(KITE, box, 0)
    assert one == 1.0 and 0.5 < k < 1 and none == (1.0, 1.0)
    still = waves(ew.Kite(0.3), k=(2.0, 2.0), angle=ANGLE)
    assert degree_costs(still, still.parameters.without(["angle"]), 16) == (1.0,)


def test_what_is_chosen_and_said():
    recipe, best = (ew.recipe(name, KITE) for name in ("default", "best"))
    assert (recipe.network.kind, recipe.optimiser.name) == ("expansion", "conjugate-gradients")
    assert best.collocation.nodes > recipe.collocation.nodes and best.network.p > recipe.network.p
    assert f"{recipe.network.order} harmonics of the wave's angle" in str(recipe)
    # Larger bodies take more of them.
    large = dataclasses.replace(KITE, parameters=ew.Box(bend=(0.2, 0.4), k=(1.0, 6.0), angle=ANGLE))
    assert ew.recipe("default", large).network.order > recipe.network.order
    # So are waves of several numbers without an angle.
    still = dataclasses.replace(KITE, data=ew.PlaneWave(0.3), parameters=KITE.parameters.without(["angle"]))
    assert ew.recipe("default", still).network.kind == "expansion"
    # One angle alone, an angle by which the body turns, and what no wave has, are learned otherwise.
    alone = waves(ew.Kite(0.3), 2.0, angle=ANGLE)
    turned = dataclasses.replace(
        HARD,
        family=ew.Rotate(ew.Ellipse(1.0, "b"), "turn"),
        parameters=ew.Box(b=(0.6, 0.8), k=K, angle=ANGLE, turn=ANGLE),
    )
    assert {ew.recipe("default", p).network.kind for p in (alone, turned)} <= {"deeponet", "modal"}
