"""Many parameters, data as input, corners, and problems that nobody tuned for."""

import dataclasses

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE
from training import changed, tiny

import edgewise as ew
from edgewise.learn import optimisers
from edgewise.learn.building import build_network, shape_of
from edgewise.learn.collocation import linear_names
from edgewise.learn.frame import WaveFrame
from edgewise.learn.many import ManyTraining
from edgewise.learn.networks import split_trainable, unknowns
from edgewise.learn.octaves import by_octaves
from edgewise.learn.training import Training

ROUND = ew.Ellipse(1.2, 0.9)
THREE = ew.StarCurve(lambda s, a: 1 + a @ jnp.cos(np.arange(2, 5) * s))
AMPLITUDES = (-0.1 * np.ones(3), 0.1 * np.ones(3))
SHAPES = ew.Problem(THREE, ew.Box(a=AMPLITUDES), ew.DoubleLayer(LAPLACE), lambda x: x[0] ** 2, "interior")


def quadratic(x):
    return x[0] ** 2


def given(x, g):
    return g[0] * x[0] + g[1] * x[0] * x[1]


DATA = dataclasses.replace(SHAPES, parameters=ew.Box(a=AMPLITUDES, g=(-np.ones(2), np.ones(2))), data=given)
WAVES = ew.Problem(
    THREE,
    ew.Box(a=AMPLITUDES, angle=ew.Angle(default=0.0)),
    ew.CombinedField(ew.Helmholtz(2, 2.0)),
    ew.PlaneWave("angle"),
    "exterior",
)
EIGHT = dataclasses.replace(
    SHAPES,
    family=ew.StarCurve(lambda s, a: 1.2 + a @ jnp.cos(np.arange(2, 10) * s)),
    parameters=ew.Box(a=(-0.1 * np.ones(8), 0.1 * np.ones(8))),
)
# Numbers of a family are no weights.
PLACED = dataclasses.replace(SHAPES, family=ew.Translate(THREE, (2.0, 0.0)))
MOVED = dataclasses.replace(
    WAVES, family=ew.Union([ew.Translate(THREE, (2.0, 0.0)), ew.Translate(ew.Ellipse(0.5, 0.7), (-1.0, 0.0))])
)
MODAL = {"DATA": DATA, "PLACED": PLACED, "SHAPES": SHAPES, "WAVES": WAVES, "MOVED": MOVED}
# Two bodies in a wave take half a minute to compile.
QUICK = [pytest.param(name, marks=pytest.mark.slow) if name in ("SHAPES", "MOVED") else name for name in MODAL]


def modal(problem, **optimiser):
    """A small recipe of the network for many parameters."""
    return tiny(
        problem,
        network={"kind": "modal", "harmonics": 12, "neurons": 16},
        collocation={"members": 32, "nodes": 32, "targets": 4},
        validation={"nodes": 48, "patience": 0},
        optimiser={"name": "stochastic", "rate": 1.0, "damping": 1e-3, "momentum": 0.9, "check_every": 10, **optimiser},
    )


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


AIRFOIL = ew.Problem(
    ew.Rotate(ew.Curve(lambda s: (2 * jnp.sin(s / 2), -0.4 * jnp.sin(s)), corners=(0.0,)), "angle"),
    ew.Box(angle=(-0.3, 0.3)),
    ew.SingleLayer(LAPLACE),
    lambda x, normal: -normal[0],
    "exterior",
    ew.Neumann(),
)


def test_flow_past_a_body_with_a_sharp_edge(tmp_path, measured):
    recipe = tiny(AIRFOIL, network={"harmonics": 54}, collocation={"nodes": 128}, validation={"nodes": 192})
    operator = ew.fit(AIRFOIL, recipe, out=tmp_path / "run")
    angles = np.array([-0.21, 0.13])
    points = np.array([[3.0, 1.0], [0.5, 1.2], [-1.0, -1.0], [2.02, 0.3]])
    found, true = operator(angle=angles), ew.solve(AIRFOIL, angle=angles)
    measured("flow past a sharp edge, against solve", float(np.max(np.abs(found(points) - true(points)))), 1e-5)
    refined = found[0].refine(1e-8)
    assert refined.result.ok and np.max(np.abs(refined(points) - true[0](points))) < 1e-7
    assert found.stats["applications"].max() == 0
    with pytest.raises(ValueError, match="given at the nodes, not between them"):
        found[0].density(0.3)
    np.testing.assert_array_equal(ew.load(tmp_path / "run", AIRFOIL)(angle=angles)(points), found(points))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"optimiser": {"name": "gauss-newton"}}, ["'modal'", "'gauss-newton'", '"stochastic"']),
        ({"network": {"kind": "deeponet"}}, ["'deeponet'", "'stochastic'", '"modal"']),
        ({"network": {"features": "position"}}, ['"modal"', "harmonics", "'position'"]),
    ],
)
def test_recipes_whose_parts_do_not_fit(changes, words):
    recipe = modal(SHAPES)
    for part, fields in changes.items():
        recipe = dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **fields)})
    with pytest.raises(ValueError) as error:
        ew.fit(SHAPES, recipe)
    assert all(word in str(error.value) for word in words)


def test_what_is_chosen_for_a_problem():
    assert ew.recipe("default", SHAPES).network.kind == "expansion"
    assert ew.recipe("default", EIGHT).network.kind == "modal"
    assert ew.recipe("default", MOVED).network.kind == "expansion"
    assert ew.recipe("default", WAVES).network.kind == "equivariant"
    # A network that follows waves over more wavelengths needs more polynomials.
    degrees = []
    for k in (2.0, 5.0, 10.0):
        problem = ew.Problem(
            ew.Ellipse(1.0, 1.0),
            ew.Box(k=(1.0, k)),
            ew.CombinedField(ew.Helmholtz(2, "k")),
            ew.PlaneWave(0.0),
            "exterior",
        )
        degrees.append(ew.recipe("default", problem).network.degree)
    assert degrees == sorted(set(degrees))
    few = dataclasses.replace(
        DATA, family=ew.Ellipse(1.0, "b"), parameters=ew.Box(b=(0.8, 1.2), g=(-np.ones(2), np.ones(2)))
    )
    data = ew.recipe("default", few)
    assert data.network.kind == "deeponet" and data.collocation.members > 2 * data.network.p
    # Three numbers, but members that are not alike enough.
    assert ew.recipe("default", robin("h", THREE, a=AMPLITUDES, h=(0.5, 2.0))).network.kind == "deeponet"


@pytest.mark.parametrize("problem", [SHAPES, EIGHT, WAVES, ew.preset("helmholtz-ellipsoids")])
def test_without_settings_converged_means_a_thousandth(problem):
    assert ew.recipe("default", problem).validation.tol == 1e-3


def robin(coefficient, family=ROUND, **box):
    return ew.Problem(family, ew.Box(**box), ew.SingleLayer(LAPLACE), quadratic, "interior", ew.Robin(coefficient))


def test_what_is_seen_by_octaves():
    """What is singular at 0, tried and found better so; neither what turns a body, nor a narrow range, nor a wavenumber."""
    assert by_octaves(robin("h", h=(0.1, 10.0))) == ("h",)
    assert by_octaves(robin("h", h=(1.0, 3.0))) == ()
    turning = ew.Rotate(ew.Ellipse(1.5, "b"), "turn")
    assert by_octaves(robin(1.0, turning, turn=(0.3, 3.0), b=(0.8, 1.0))) == ()
    assert by_octaves(robin("h", turning, turn=(0.3, 3.0), b=(0.8, 1.0), h=(0.05, 5.0))) == ("h",)
    waves = ew.Problem(
        ew.Ellipse("a", 1.0),
        ew.Box(a=(1.0, 5.0), k=(1.0, 10.0)),
        ew.CombinedField(ew.Helmholtz(2, "k")),
        ew.PlaneWave(0.0),
        "exterior",
    )
    assert by_octaves(waves) == ()
    # Numbers that the data are linear in multiply the answer, whatever they are.
    box = ew.Box(h=(0.1, 10.0), g=(-np.ones(2), np.ones(2)))
    assert by_octaves(dataclasses.replace(robin("h", h=(0.1, 10.0)), parameters=box, data=given)) == ("h",)
    # Data that are infinite are refused where all data are.
    broken = dataclasses.replace(robin("h", h=(0.1, 10.0)), data=lambda x: x[0] / 0.0)
    assert by_octaves(broken) == ()


def test_a_run_by_octaves_is_kept_and_read_again(tmp_path, measured):
    """Nothing but the logarithm differs, and the pole of the answer at h = 0 no longer hurts."""
    problem = robin("h", h=(0.05, 20.0))
    sizes = {
        "network": {"degree": 12, "p": 14, "harmonics": 12},
        "collocation": {"members": 20, "nodes": 32},
        "validation": {"nodes": 48},
    }
    recipe = tiny(problem, **sizes)
    assert recipe.network.octaves == ("h",) and "h by octaves" in str(recipe)
    operator = ew.fit(problem, recipe, out=tmp_path / "run")
    plain = ew.fit(problem, changed(recipe, network={"octaves": ()}))
    h, points = np.array([0.06, 0.3, 2.0, 19.0]), np.array([[0.2, 0.1], [-0.5, 0.4]])
    true = ew.solve(problem, quadrature=ew.Kress(64), h=h)(points)
    missed = [float(np.max(np.abs(found(h=h)(points) / true - 1))) for found in (operator, plain)]
    measured("Robin data over two decades, tiny, by octaves", missed[0], 1e-3)
    assert missed[0] < 1e-2 * missed[1]
    again = ew.load(tmp_path / "run", problem)
    assert again.recipe == recipe
    np.testing.assert_array_equal(again(h=h)(points), operator(h=h)(points))


def circles(gap):
    return [ew.Curve(lambda s, gap, way=way: (jnp.cos(s) + way * (1 + gap / 2), jnp.sin(s))) for way in (-1, 1)]


def joukowski(s):
    """A circle about -0.08 + 0.05i, a little larger than the one that would give a cusp."""
    z = -0.08 + 0.05j + abs(1.11 - 0.05j) * jnp.exp(1j * s)
    return jnp.stack([(z + 1 / z).real, (z + 1 / z).imag])


UNTUNED = {
    "ellipses of aspect 1 to 5": ew.Problem(
        ew.Curve(lambda s, aspect: (aspect * jnp.cos(s), jnp.sin(s))),
        ew.Box(aspect=(1.0, 5.0)),
        ew.SingleLayer(LAPLACE),
        quadratic,
        "interior",
    ),
    "a kite that bends": ew.Problem(
        ew.Curve(lambda s, bend: (jnp.cos(s) + bend * (jnp.cos(2 * s) - 1), 1.5 * jnp.sin(s))),
        ew.Box(bend=(0.0, 0.65)),
        ew.SingleLayer(LAPLACE),
        quadratic,
        "interior",
    ),
    "two bodies that approach to 0.2": ew.Problem(
        ew.Union(circles(None)), ew.Box(gap=(0.2, 1.0)), ew.SingleLayer(LAPLACE), quadratic, "exterior"
    ),
    "flow past a smooth airfoil": ew.Problem(
        ew.Rotate(ew.Curve(joukowski), "angle"),
        ew.Box(angle=(-0.3, 0.3)),
        ew.SingleLayer(LAPLACE),
        lambda x, normal: -normal[0],
        "exterior",
        ew.Neumann(),
    ),
    "flow past a sharp airfoil": dataclasses.replace(AIRFOIL, family=ew.Rotate(ew.Airfoil(), "angle")),
    "Robin data": ew.Problem(
        ew.StarCurve(lambda s, a: 1 + a * jnp.cos(3 * s)),
        ew.Box(a=(0.0, 0.3), h=(0.5, 2.0)),
        ew.SingleLayer(LAPLACE),
        quadratic,
        "interior",
        ew.Robin("h"),
    ),
    "Robin data over two decades": ew.Problem(
        ew.StarCurve(lambda s, a: 1 + a * jnp.cos(3 * s)),
        ew.Box(a=(0.0, 0.3), h=(0.1, 10.0)),
        ew.SingleLayer(LAPLACE),
        lambda x: jnp.exp(x[0]),
        "interior",
        ew.Robin("h"),
    ),
    "clamped ellipses of aspect 1 to 3": ew.Problem(
        ew.Ellipse("a", 1.0),
        ew.Box(a=(1.0, 3.0)),
        ew.LayerPair(ew.Biharmonic(2)),
        lambda x: (x[0] ** 4, x[1]),
        "interior",
        ew.Clamped(),
    ),
    "waves on a hard star with five arms": ew.Problem(
        ew.StarCurve(lambda s: 1 + 0.3 * jnp.cos(5 * s)),
        ew.Box(k=(1.0, 5.0)),
        ew.CombinedField(ew.Helmholtz(2, "k")),
        ew.PlaneWave(0.0),
        "exterior",
        ew.Neumann(),
    ),
    "scattering, k in [1, 5]": ew.Problem(
        ew.StarCurve(lambda s: 1 + 0.2 * jnp.cos(3 * s)),
        ew.Box(k=(1.0, 5.0)),
        ew.CombinedField(ew.Helmholtz(2, "k")),
        ew.PlaneWave(0.3),
        "exterior",
    ),
    "scattering from every angle": ew.Problem(
        ew.Curve(lambda s: (jnp.cos(s) + 0.65 * (jnp.cos(2 * s) - 1), 1.5 * jnp.sin(s))),
        ew.Box(k=(1.0, 5.0), angle=ew.Angle()),
        ew.CombinedField(ew.Helmholtz(2, "k")),
        ew.PlaneWave("angle"),
        "exterior",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNTUNED)
def test_problems_that_nobody_tuned_for(name, measured):
    problem = UNTUNED[name]
    operator = ew.fit(problem)
    draw = problem.parameters.sample(jax.random.key(77), 20)
    angles = 2 * np.pi * np.arange(48) / 48
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    found, true = operator(**draw), ew.solve(problem, **draw)
    if isinstance(problem.data, ew.PlaneWave):
        found, true = (np.asarray(solution.far_field(circle)) for solution in (found, true))
    else:
        points = 5 * circle if problem.side == "exterior" else 0.5 * circle - np.array([0.2, 0.0])
        found, true = (np.asarray(solution(points)) for solution in (found, true))
    errors = np.linalg.norm(found - true, axis=1) / np.linalg.norm(true, axis=1)
    assert operator.result.ok
    measured(f"{name}, default, worst of 20 members", float(errors.max()), 1e-4)
