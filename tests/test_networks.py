"""What networks see and give: polynomials, harmonics, frozen frequencies, and the formulas of NOMAD and DeepONet."""

import dataclasses
import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import chebyshev
from training import BODIES, BOX, CLOCKWISE, MILD, RING

import edgewise as ew
from edgewise.geometry.union import turn_of
from edgewise.learn.collocation import training_members
from edgewise.learn.density import Reading, _coordinates
from edgewise.learn.inputs import Fixed, GaussianFourier, Harmonics, ParameterInputs, Position
from edgewise.learn.networks import ACTIVATIONS, DeepONet, Nomad, Output, Perceptron, split_trainable, unknowns, xavier
from edgewise.learn.wrapped import NormalDerivative

SIZES = {"layers": 2, "neurons": 6, "p": 4, "activation": "tanh", "dtype": jnp.float64}


@functools.cache
def node_of(s=0.7, t=1.2):
    """One node of the mild family."""
    nodes = jax.jit(MILD.boundary)(jnp.array([s]), jnp.ones(1), {"t": t})
    return jax.tree_util.tree_map(lambda leaf: leaf[0], nodes)


def drawn(network, seed=3):
    """The network with all weights drawn anew, also those that begin as zero."""
    leaves, structure = jax.tree_util.tree_flatten(network)
    rng = np.random.default_rng(seed)
    return jax.tree_util.tree_unflatten(structure, [jnp.asarray(rng.normal(size=leaf.shape)) for leaf in leaves])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_node_of_many_curves_is_seen_on_its_own_curve(dtype):
    """Also the first of each, whose coordinate single precision rounds below its turn."""
    curves, nodes = 40, 64
    family = ew.Union(*(ew.Translate(ew.Ellipse(1.0, 0.5), (3.0 * i, 0.0)) for i in range(curves)))
    s = _coordinates(ew.Kress(nodes), family, np.dtype(dtype)).s
    expected = np.repeat(np.arange(curves), nodes)
    assert np.array_equal(jax.vmap(lambda s: turn_of(s, curves))(s), expected)


@pytest.mark.parametrize("degree", [0, 1, 5])
def test_polynomials_of_one_parameter_are_chebyshevs(degree):
    inputs = ParameterInputs(ew.Box(t=(1.0, 4.0)), degree)
    # Also outside the box, where an operator may be asked to extrapolate.
    for t in (1.0, 1.3, 4.0, 5.5):
        truth = chebyshev.chebvander((t - 2.5) / 1.5, degree)[0]
        np.testing.assert_allclose(inputs.polynomials({"t": t}), truth, rtol=1e-13)


def test_products_have_every_total_degree_once():
    inputs = ParameterInputs(ew.Box(a=(0.0, 2.0), b=(np.array([-1.0, 3.0]), np.array([1.0, 4.0]))), 4)
    assert inputs.axes == inputs.size == 3
    every = {term for term in itertools.product(range(5), repeat=3) if sum(term) <= 4}
    assert set(inputs.terms) == every and len(inputs.terms) == len(every)
    given = {"a": jnp.asarray(0.3), "b": jnp.array([0.4, 3.9])}
    z = np.array([0.3 - 1, 0.4, (3.9 - 3.5) / 0.5])
    np.testing.assert_allclose(inputs.vector(given), z, rtol=1e-13)
    single_axes = chebyshev.chebvander(z, 4)
    truth = [np.prod([axis[i] for axis, i in zip(single_axes, term, strict=True)]) for term in inputs.terms]
    np.testing.assert_allclose(inputs.polynomials(given), truth, rtol=1e-12)


def test_lowest_degrees_come_first():
    """A code shorter than the list of polynomials keeps the smoothest."""
    totals = [sum(term) for term in ParameterInputs(ew.Box(a=(0, 1), b=(0, 1)), 5).terms]
    assert totals == sorted(totals)


def test_angles_are_periodic():
    inputs = ParameterInputs(ew.Box(turn=ew.Angle(), t=(0.0, 1.0)), 3)
    assert inputs.axes == 2 and inputs.size == 3
    here, there = ({"turn": jnp.asarray(0.4 + turns * 2 * np.pi), "t": jnp.asarray(0.9)} for turns in (0, 3))
    np.testing.assert_allclose(inputs.polynomials(here), inputs.polynomials(there), atol=1e-13)
    np.testing.assert_allclose(inputs.vector(here), inputs.vector(there), atol=1e-13)
    # Harmonics of degree k in the angle with Chebyshev's of degree up to 3 - k in t: 4 + 2 (3 + 2 + 1) products.
    waves = [(0, 1.0)] + [(k, f(k * 0.4)) for k in (1, 2, 3) for f in (np.cos, np.sin)]
    truth = sorted(w * chebyshev.chebval(0.8, np.eye(4)[j]) for k, w in waves for j in range(4) if k + j <= 3)
    assert len(truth) == 16
    np.testing.assert_allclose(np.sort(np.asarray(inputs.polynomials(here))), truth, atol=1e-13)


def test_by_octaves_a_parameter_is_its_logarithm():
    inputs = ParameterInputs(ew.Box(h=(0.1, 10.0), t=(1.0, 4.0)), 3, ("h",))
    given = {"h": jnp.asarray(0.4), "t": jnp.asarray(1.7)}
    z = np.array([np.log10(0.4), (1.7 - 2.5) / 1.5])
    np.testing.assert_allclose(inputs.vector(given), z, rtol=1e-13)
    axes = chebyshev.chebvander(z, 3)
    truth = [axes[0, i] * axes[1, j] for i, j in inputs.terms]
    np.testing.assert_allclose(inputs.polynomials(given), truth, rtol=1e-12)
    # Chebyshev's points of the logarithm, which are trained on.
    members = training_members(ew.Box(h=(0.1, 10.0)), 5, float, ("h",))["h"]
    np.testing.assert_allclose(np.sort(np.log10(members)), np.sort(chebyshev.chebpts1(5)), atol=1e-13)


def test_a_direction_is_its_components():
    inputs = ParameterInputs(ew.Box(d=ew.Direction(2)), 1)
    np.testing.assert_allclose(inputs.polynomials({"d": jnp.array([0.6, 0.8])}), [1, 0.6, 0.8])


def test_no_parameters_leave_the_constant():
    inputs = ParameterInputs(ew.Box(), 3)
    assert inputs.polynomials({}).tolist() == [1.0] and inputs.vector({}).shape == (0,)


def test_a_range_of_one_point_is_no_division_by_zero():
    assert np.all(np.isfinite(ParameterInputs(ew.Box(t=(2.0, 2.0)), 3).polynomials({"t": 2.0})))


def test_harmonics_of_one_curve_and_of_several():
    s = 0.7
    one = Harmonics(3, 1)(node_of(s))
    truth = [1, *np.cos([s, 2 * s, 3 * s]), *np.sin([s, 2 * s, 3 * s])]
    np.testing.assert_allclose(one, truth, rtol=1e-13)
    several = Harmonics(3, 2)
    for curve in range(2):
        node = eqx.tree_at(lambda n: n.s, node_of(s), jnp.asarray(s + 2 * np.pi * curve))
        blocks = np.asarray(several(node)).reshape(2, 7)
        np.testing.assert_allclose(blocks[curve], truth, atol=1e-12)
        assert not blocks[1 - curve].any()
    assert several.size == 14


def test_gaussian_features_are_frozen():
    sight = GaussianFourier(2, 2000, 5.0, jnp.float64, jax.random.key(0))
    frequencies, node = np.asarray(sight.frequencies.value), node_of()
    assert abs(np.std(frequencies) / 5 - 1) < 0.05
    phase = frequencies @ np.asarray(node.x)
    np.testing.assert_allclose(sight(node), [*np.cos(phase), *np.sin(phase)], atol=1e-12)
    output = Output(Fixed(jnp.ones(1)), 1, False)
    network = Nomad(ParameterInputs(BOX, 0), sight, output, **SIZES, key=jax.random.key(0))
    trainable, rest = split_trainable(network)
    assert trainable.sight.frequencies.value is None and rest.sight.frequencies.value is not None
    assert trainable.output.size.value is None and rest.output.size.value is not None
    # Nothing else stays behind, and joined again it is the same.
    assert len(jax.tree_util.tree_leaves(rest)) == 2
    assert eqx.tree_equal(eqx.combine(trainable, rest), network)


def test_xavier_variances():
    weight = xavier(300, 100, jnp.float64, jax.random.key(1))
    assert weight.shape == (100, 300)
    # 30000 normal numbers: their variance is known to one percent.
    assert abs(float(jnp.var(weight)) / (2 / 400) - 1) < 0.04 and abs(float(jnp.mean(weight))) < 0.002
    layers = Perceptron((200, 300, 50), "tanh", jnp.float64, jax.random.key(2))
    for array, total in zip(layers.weights, (500, 350), strict=True):
        assert abs(float(jnp.var(array)) / (2 / total) - 1) < 0.06
    assert not any(bias.any() for bias in layers.biases)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_perceptron_is_its_formula(name):
    layers = drawn(Perceptron((2, 3, 1), name, jnp.float64, jax.random.key(0)))
    x = jnp.array([0.3, -0.4])
    (first, second), (b, c) = layers.weights, layers.biases
    np.testing.assert_allclose(layers(x), second @ ACTIVATIONS[name](first @ x + b) + c, rtol=1e-13)


def test_nomads_split_first_layer_is_the_unsplit_one():
    output = Output(Fixed(jnp.array([2.0, 3.0])), 2, False)
    network = drawn(Nomad(ParameterInputs(BOX, 0), Position(2), output, **SIZES, key=jax.random.key(0)))
    node, t = node_of(), jnp.asarray(0.9)
    code = network.encoder(network.inputs.vector({"t": t}))
    joint = jnp.concatenate([network.from_code, network.from_features], axis=1)
    first = jnp.tanh(joint @ jnp.concatenate([code, node.x]) + network.first_bias)
    truth = network.decoder(first) * network.output.size.value
    found = network.decode(network.encode({"t": t}), network.features(node))
    np.testing.assert_allclose(found, truth, rtol=1e-12)


@pytest.mark.parametrize("deep", [False, True])
def test_deeponet_is_linear_in_its_code(deep):
    output = Output(Fixed(jnp.array([2.0, 3.0, 0.5])), 2, False)
    made = DeepONet(ParameterInputs(BOX, 2), Harmonics(3, 1), output, **SIZES, deep_trunk=deep, key=jax.random.key(0))
    # At the start nothing, with the polynomials as the first codes.
    code = made.encode({"t": jnp.asarray(1.2)})
    np.testing.assert_allclose(code[:3], chebyshev.chebvander(0.4, 2)[0], rtol=1e-13)
    assert not made.decode(code, made.features(node_of())).any() and not made.scalars(code).any()
    network = drawn(made)
    features = network.features(node_of())
    rng = np.random.default_rng(0)
    a, b = jnp.asarray(rng.normal(size=(2, 4)))
    for read in (lambda c: network.decode(c, features), network.scalars):
        np.testing.assert_allclose(read(2.5 * a - b), 2.5 * read(a) - read(b), rtol=1e-12)


def test_complex_unknowns_are_two_real_ones():
    output = Output(Fixed(jnp.array([2.0, 3.0, 5.0])), 2, True)
    assert output.count == 4 and output.scalar_count == 2
    assert output.values(jnp.array([1.0, 2.0, 3.0, 4.0])).tolist() == [2 + 6j, 6 + 12j]
    assert output.scalars(jnp.array([1.0, -1.0])).tolist() == [5 - 5j]
    network = drawn(Nomad(ParameterInputs(BOX, 0), Position(2), output, **SIZES, key=jax.random.key(0)))
    code = network.encode({"t": jnp.asarray(1.0)})
    value = network.decode(code, network.features(node_of()))
    assert value.dtype == np.complex128 and value.shape == (2,) and jnp.abs(value.imag).min() > 0
    assert network.scalars(code).shape == (1,)


def test_normal_derivative_against_finite_differences():
    output = Output(Fixed(jnp.array([1.5])), 1, False)
    inner = drawn(Nomad(ParameterInputs(BOX, 0), Position(2), output, **SIZES, key=jax.random.key(0)))
    network, node, t = NormalDerivative(inner), node_of(), {"t": jnp.asarray(0.8)}

    def v(x):
        return inner.decode(inner.encode(t), inner.features(dataclasses.replace(node, x=x)))[0]

    slope = (v(node.x + 1e-5 * node.normal) - v(node.x - 1e-5 * node.normal)) / 2e-5
    found = network.decode(network.encode(t), network.features(node))
    # The unknown of the single layer is density times jacobian.
    np.testing.assert_allclose(found, [-slope * node.jacobian, -v(node.x)], rtol=1e-8)


@pytest.mark.parametrize("family", [MILD, CLOCKWISE, BODIES, RING], ids=["curve", "clockwise", "bodies", "hole"])
def test_features_shared_by_all_members_are_those_of_each(family):
    """A clockwise curve and a hole have their nodes in another order than the rule."""
    rule, curves = ew.Kress(16), len(family.curves)
    output = Output(Fixed(jnp.ones(2)), 2, False)
    network = drawn(
        DeepONet(
            ParameterInputs(BOX, 2), Harmonics(5, curves), output, **SIZES, deep_trunk=False, key=jax.random.key(0)
        )
    )

    @jax.jit
    def both(parameters):
        nodes = rule.place(family, parameters, jnp.float64)
        reading = Reading(network, rule, family, jnp.float64)
        assert reading.features is not None
        return reading.unknowns(nodes, parameters), unknowns(network, nodes, parameters)

    for t in (0.6, 1.4):
        shared, own = both({"t": jnp.asarray(t)})
        assert jnp.std(own) > 0.1
        np.testing.assert_allclose(shared, own, atol=1e-12)
