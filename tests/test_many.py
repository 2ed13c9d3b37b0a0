"""Many parameters, and data as input: the modal network and its training."""

import dataclasses

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from many import AMPLITUDES, DATA, MOVED, PLACED, SHAPES, THREE, WAVES, modal
from training import tiny

import edgewise as ew
from edgewise.learn import optimisers
from edgewise.learn.building import build_network, shape_of
from edgewise.learn.frame import WaveFrame
from edgewise.learn.many import ManyTraining
from edgewise.learn.multiplied import linear_names
from edgewise.learn.networks import split_trainable, unknowns
from edgewise.learn.training import Training

MODAL = {"DATA": DATA, "PLACED": PLACED, "SHAPES": SHAPES, "WAVES": WAVES, "MOVED": MOVED}
# Two bodies in a wave take half a minute to compile.
QUICK = [pytest.param(name, marks=pytest.mark.slow) if name in ("SHAPES", "MOVED") else name for name in MODAL]


def network_of(problem, recipe):
    shape = shape_of(problem, np.dtype(float))
    sizes = jnp.ones(shape.channels + shape.scalars)
    return build_network(problem, recipe, shape, sizes, jax.random.key(3))


@pytest.mark.parametrize("name", QUICK)
def test_a_step_that_stores_no_jacobian_is_that_of_the_jacobian(name):
    """J Jᵀ, J d and Jᵀ v by layers against plain automatic differentiation of what the same draw leaves."""
    problem = MODAL[name]
    training = ManyTraining(problem, modal(problem), 0)
    key, weights = jax.random.key(1), training.first_weights
    direction = np.random.default_rng(0).normal(size=weights.size)

    def looked(w):
        seen = training._look(w, key)
        return *seen[:2], seen.forward(direction), seen.backward(seen.residual)

    residual, gram, forward, back = jax.jit(looked)(weights)
    jacobian = jax.jit(jax.jacfwd(lambda w: training._look(w, key).residual))(weights)
    np.testing.assert_allclose(gram, jacobian @ jacobian.T, atol=1e-12 * np.max(np.abs(gram)))
    np.testing.assert_allclose(forward, jacobian @ direction, atol=1e-12 * np.max(np.abs(forward)))
    np.testing.assert_allclose(back, jacobian.T @ residual, atol=1e-12 * np.max(np.abs(back)))


@pytest.mark.parametrize("name", MODAL)
def test_the_basis_gives_what_the_network_decodes(name):
    problem = MODAL[name]
    network = network_of(problem, modal(problem))
    member = {key: value[0] for key, value in problem.parameters.sample(jax.random.key(5), 1).items()}
    nodes = ew.Kress(32).place(problem.family, member, float)
    numbers = network.amounts(member, float) @ network.coefficients(member)[0]
    np.testing.assert_allclose(network.basis(nodes, member) @ numbers, unknowns(network, nodes, member), atol=1e-13)


def test_training_for_many_parameters_makes_the_error_small_and_can_be_continued(tmp_path):
    recipe = modal(SHAPES, steps=60)
    operator = ew.fit(SHAPES, recipe, out=tmp_path / "whole")
    assert operator.stats["misfit"] < 0.05 and operator.history[-1]["misfit"] < operator.history[0]["misfit"] / 2
    draw = SHAPES.parameters.sample(jax.random.key(9), 8)
    points = 0.5 * np.stack([np.cos(np.arange(8)), np.sin(np.arange(8))], axis=-1)
    found, true = operator(**draw)(points), ew.solve(SHAPES, quadrature=ew.Kress(64), **draw)(points)
    assert np.max(np.linalg.norm(found - true, axis=1) / np.linalg.norm(true, axis=1)) < 0.02

    def stop(record):
        if record["step"] == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.fit(SHAPES, recipe, out=tmp_path / "parts", callback=stop)
    again = ew.fit(SHAPES, recipe, out=tmp_path / "parts", resume=True)
    for one, other in zip(
        *(jax.tree_util.tree_leaves(eqx.filter(o.network, eqx.is_array)) for o in (operator, again)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    read = ew.load(tmp_path / "parts", SHAPES)
    np.testing.assert_array_equal(read(**draw)(points), found)


def test_data_that_are_not_linear_in_their_parameter_are_learned_too():
    box = ew.Box(a=AMPLITUDES, w=(0.5, 1.5))
    problem = dataclasses.replace(SHAPES, parameters=box, data=lambda x, w: jnp.cos(w * x[0]) + x[1])
    operator = ew.fit(problem, modal(problem, steps=80))
    assert operator.stats["misfit"] < 0.05


@pytest.mark.parametrize("kind", ["modal", "deeponet"])
def test_twice_the_data_is_twice_the_answer(kind):
    """Whatever the weights, to rounding: of a network that has learned nothing yet."""
    recipe = modal(DATA) if kind == "modal" else tiny(DATA, network={"p": 4, "degree": 1})
    network = network_of(DATA, recipe)
    trainable, rest = split_trainable(network)
    flat, unravel = jax.flatten_util.ravel_pytree(trainable)
    network = eqx.combine(unravel(jnp.asarray(np.random.default_rng(1).normal(size=flat.size))), rest)
    nodes = ew.Kress(32).place(THREE, {"a": jnp.zeros(3)}, float)

    def answer(g):
        return unknowns(network, nodes, {"a": jnp.array([0.1, -0.05, 0.02]), "g": jnp.asarray(g)})

    one, other = answer([0.3, -0.2]), answer([-0.1, 0.7])
    assert np.max(np.abs(one)) > 0.1
    np.testing.assert_allclose(answer([0.6, -0.4]), 2 * one, rtol=1e-13)
    np.testing.assert_allclose(answer([0.2, 0.5]), one + other, atol=1e-12)


def test_which_parameters_the_answer_is_linear_in():
    def names(data, **more):
        box = ew.Box(a=AMPLITUDES, g=(-np.ones(2), np.ones(2)), h=(-1.0, 1.0), **more)
        return linear_names(dataclasses.replace(SHAPES, parameters=box, data=data))

    assert names(lambda x, g, h: g[0] * x[0] + h) == ("g", "h")
    assert names(lambda x, g, h: (g[0] * x[0] + g[1]) * jnp.cos(h)) == ("g",)
    assert names(lambda x, g, h: g[0] * x[0] + h**2) == ()
    assert names(lambda x, g, h: g[0] * x[0] + h + 1) == ()
    # A parameter of the shape is none, though the data are linear in it.
    assert names(lambda x, a, g: a[0] + g[0]) == ()
    assert linear_names(WAVES) == ()


@pytest.mark.parametrize("kind", ["angle", "direction", "clockwise"])
def test_body_and_wave_turned_together_turn_the_answer(kind):
    """Of any weights: a body turned by three nodes, in a wave turned as much, has its density three nodes on."""
    modes, turn = np.arange(2, 5), 3 * 2 * np.pi / 32

    def point(s, a, b):
        s = -s if kind == "clockwise" else s
        radius = 1 + a @ jnp.cos(modes * s) + b @ jnp.sin(modes * s)
        return radius * jnp.cos(s), radius * jnp.sin(s)

    family = ew.Curve(point)
    spec = ew.Direction(2) if kind == "direction" else ew.Angle()
    box = ew.Box(a=AMPLITUDES, b=AMPLITUDES, k=(1.0, 5.0), w=spec)
    problem = ew.Problem(family, box, ew.NullField(ew.Helmholtz(2, "k")), ew.PlaneWave("w"), "exterior")
    network = network_of(problem, modal(problem))
    a, b, angle = np.array([0.05, -0.1, 0.02]), np.array([0.03, 0.07, -0.04]), 0.4
    c, s = np.cos(modes * turn), np.sin(modes * turn)

    def at(a, b, angle):
        w = np.array([np.cos(angle), np.sin(angle)]) if kind == "direction" else angle
        member = {name: jnp.asarray(value) for name, value in {"a": a, "b": b, "k": 3.0, "w": w}.items()}
        return np.asarray(unknowns(network, ew.Kress(32).place(family, member, float), member))

    there = at(a * c - b * s, a * s + b * c, angle + turn)
    np.testing.assert_allclose(there, np.roll(at(a, b, angle), 3), atol=1e-12 * np.max(np.abs(there)))


def test_what_is_seen_of_a_body_in_a_wave():
    """Coefficients that vary, parameters that no boundary shows, and the wavenumber by octaves; a circle looks the same always."""
    frame = WaveFrame(WAVES, np.dtype(float))
    # Modes m of a star are the coefficients 1 + m and 1 - m, real and imaginary.
    assert frame.size == 12 and frame.others.box.names == ()
    members = WAVES.parameters.sample(jax.random.key(0), 500)
    seen = np.asarray(jax.vmap(frame.vector)(members))
    assert np.all(np.abs(seen.mean(axis=0)) < 0.2) and np.all(np.abs(seen.std(axis=0) - 1) < 0.3)
    circles = ew.Problem(
        ew.Ellipse(1.0, 1.0), ew.Box(k=(1.0, 4.0), angle=ew.Angle()), WAVES.representation, WAVES.data, "exterior"
    )
    assert WaveFrame(circles, np.dtype(float)).size == 1
    octaves = dataclasses.replace(circles, representation=ew.NullField(ew.Helmholtz(2, "k")))
    frame = WaveFrame(octaves, np.dtype(float))
    assert np.allclose(frame.vector({"k": jnp.asarray(2.0), "angle": jnp.asarray(1.0)}), [-1 / 3, 0.0])


@pytest.mark.parametrize("name", QUICK)
def test_runs_of_many_parameters_are_read_again(name, tmp_path):
    problem = MODAL[name]
    operator = ew.fit(problem, modal(problem, steps=2), out=tmp_path / "run")
    again = ew.load(tmp_path / "run", problem)
    member = {key: value[0] for key, value in problem.parameters.sample(jax.random.key(5), 1).items()}
    assert np.array_equal(operator(**member).density.values, again(**member).density.values)


def test_a_step_by_iteration_is_that_by_elimination(monkeypatch):
    training = Training(
        SHAPES, tiny(SHAPES, network={"kind": "deeponet", "p": 6, "degree": 1}, optimiser={"name": "gauss-newton"}), 0
    )
    state = training.advance(training.start(), 0, 1)
    jax.clear_caches()
    monkeypatch.setattr(optimisers, "MOST_NUMBERS", 0)
    monkeypatch.setattr(optimisers, "SETTLED", 1e-12)
    monkeypatch.setattr(optimisers, "ITERATIONS", 2000)
    other = training.advance(training.start(), 0, 1)
    jax.clear_caches()
    assert other["damping"] == state["damping"]
    np.testing.assert_allclose(other["weights"], state["weights"], atol=1e-6)
