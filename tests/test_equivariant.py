"""Networks that turn with the plane: what turns, the polynomials, and operators trained by conjugate gradients."""

import dataclasses
import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE
from training import changed

import edgewise as ew
from edgewise.learn import equivariant
from edgewise.learn.building import build_network, shape_of
from edgewise.learn.networks import split_trainable, unknowns
from edgewise.learn.turned_data import Column
from edgewise.learn.turning import turning_numbers
from edgewise.learn.turning_terms import terms_of

MODES = np.arange(2, 4)


def radius(s, a, b):
    return 1.1 + a @ jnp.cos(MODES * s) + b @ jnp.sin(MODES * s)


def quadratic(x):
    return x[0] ** 2


FAMILY = ew.StarCurve(radius)
SHAPE = {"a": (-0.1 * np.ones(2), 0.1 * np.ones(2)), "b": (-0.1 * np.ones(2), 0.1 * np.ones(2))}
INSIDE = ew.Problem(FAMILY, ew.Box(**SHAPE), ew.DoubleLayer(LAPLACE), quadratic, "interior")
# Neither even nor odd under reflection, and linear in two numbers.
LINEAR = dataclasses.replace(
    INSIDE,
    parameters=ew.Box(**SHAPE, g=(-np.ones(2), np.ones(2))),
    data=lambda x, g: g[0] * (x[0] * x[1] + x[0]) + g[1] * jnp.exp(x[1]),
)
# A stream of every angle, which multiplies like its strength.
FLOW = ew.Problem(
    FAMILY,
    ew.Box(**SHAPE, angle=ew.Angle(), strength=(0.5, 2.0)),
    ew.SingleLayer(LAPLACE),
    lambda x, normal, angle, strength: -strength * (jnp.cos(angle) * normal[0] + jnp.sin(angle) * normal[1]),
    "exterior",
    ew.Neumann(),
)
# The size of the body and a coefficient do not turn.
ROBIN = ew.Problem(
    ew.Scale(FAMILY, "size"),
    ew.Box(**SHAPE, size=(0.8, 1.2), h=(0.5, 1.5)),
    ew.SingleLayer(LAPLACE),
    quadratic,
    "interior",
    ew.Robin("h"),
)
WAVES = ew.Problem(
    FAMILY,
    ew.Box(**SHAPE, k=(1.0, 2.0), angle=ew.Angle(default=0.0)),
    ew.NullField(ew.Helmholtz(2, "k")),
    ew.PlaneWave("angle"),
    "exterior",
)
VALUES = dataclasses.replace(
    INSIDE, parameters=ew.Box(**SHAPE, g=(-np.ones(6), np.ones(6))), data=ew.BoundaryValues("g")
)
SOURCE = ew.Problem(
    FAMILY, ew.Box(**SHAPE), ew.CombinedField(ew.Helmholtz(2, 2.0)), ew.PointSource((0.0, 4.0)), "exterior"
)
# Problem, how many polynomials, and what it may miss of the field.
FITTED = {
    "INSIDE": (INSIDE, 500, 1e-6),
    "LINEAR": (LINEAR, 500, 1e-6),
    "FLOW": (FLOW, 500, 1e-5),
    "ROBIN": (ROBIN, 500, 2e-3),
    "WAVES": (WAVES, 300, 1e-3),
    "VALUES": (VALUES, 500, 1e-5),
    "SOURCE": (SOURCE, 500, 1e-5),
}
QUICK = [pytest.param(n, marks=pytest.mark.slow) if n in ("INSIDE", "FLOW", "VALUES", "SOURCE") else n for n in FITTED]


def small(problem, p, nodes=40):
    """The recipe of a network of so many polynomials on so many nodes."""
    found = turning_numbers(problem)
    assert found is not None
    harmonics = 2 * nodes // 5
    terms = terms_of(found[0].orders, found[0].costs, p, 14, harmonics)
    return changed(
        ew.recipe("default", problem),
        network={"p": p, "degree": 14, "harmonics": harmonics},
        collocation={"members": 2 * terms.longest, "nodes": nodes},
        validation={"members": 8, "nodes": 48},
    )


def random_network(problem):
    shape = shape_of(problem, np.dtype(float))
    made = build_network(
        problem, small(problem, 50), shape, jnp.ones(shape.channels + shape.scalars), jax.random.key(0)
    )
    trainable, rest = split_trainable(made)
    flat, unravel = jax.flatten_util.ravel_pytree(trainable)
    return eqx.combine(unravel(jax.random.normal(jax.random.key(1), flat.shape)), rest)


def with_random_weights(problem):
    """The values of an equivariant network at coordinates."""
    network = random_network(problem)

    def values(s, **parameters):
        nodes = problem.family.boundary(jnp.asarray(s), jnp.ones(len(s)), parameters)
        return unknowns(network, nodes, parameters)

    return values


def seen_from(a, b, angle):
    """The coefficients of the shape turned by an angle."""
    c, s = np.cos(MODES * angle), np.sin(MODES * angle)
    return a * c - b * s, a * s + b * c


def test_body_and_wave_turned_together_turn_the_answer_whatever_the_weights():
    values = with_random_weights(WAVES)
    a, b, s = np.array([0.05, -0.08]), np.array([0.1, 0.02]), np.linspace(0, 6, 17)
    first = values(s, a=a, b=b, k=1.3, angle=0.4)
    assert np.ptp(np.abs(first)) > 0.1
    turned_a, turned_b = seen_from(a, b, 0.9)
    np.testing.assert_allclose(values(s + 0.9, a=turned_a, b=turned_b, k=1.3, angle=1.3), first, atol=1e-11)
    np.testing.assert_allclose(values(-s, a=a, b=-b, k=1.3, angle=-0.4), first, atol=1e-11)


def test_the_answer_is_linear_in_numbers_of_the_data_whatever_the_weights():
    values = with_random_weights(LINEAR)
    shape, s = {"a": np.array([0.05, -0.08]), "b": np.array([0.1, 0.02])}, np.linspace(0, 6, 7)
    one, two = (values(s, **shape, g=np.array(g)) for g in ([1.0, 0.0], [0.3, -0.7]))
    both = values(s, **shape, g=2 * np.array([1.0, 0.0]) - 3 * np.array([0.3, -0.7]))
    np.testing.assert_allclose(both, 2 * one - 3 * two, atol=1e-12)
    assert both.dtype == np.float64


@pytest.mark.parametrize(("problem", "has_scalar"), [(LINEAR, True), (WAVES, False)])
def test_many_members_have_the_codes_that_each_has_alone(problem, has_scalar, monkeypatch):
    network = random_network(problem)
    assert bool(network.alone) == has_scalar
    members = problem.parameters.sample(jax.random.key(3), 11)
    each = jax.vmap(network.encode)(members)
    # Two whole pieces and one that is not full; then all in one, blocks side by side, the last turn not full either.
    for size, turn in ((4, 1), (11, 5)):
        assert turn == 1 or len(network.weights) % turn
        monkeypatch.setattr(equivariant, "PIECE", size)
        monkeypatch.setattr(equivariant, "TURN", turn)
        for found, true in zip(network.encode_many(members, 11), each, strict=True):
            assert found.shape == true.shape
            np.testing.assert_allclose(found, true, rtol=1e-11, atol=1e-11 * np.max(np.abs(true), initial=1))


def test_what_turns():
    numbers, columns = turning_numbers(INSIDE)
    # Mode 3 gives the boundary more slope: its powers fall off more slowly.
    assert numbers.orders == (2, 3) and numbers.costs[0] == 1.0 and 0.7 < numbers.costs[1] < 0.9
    assert columns == (Column(0, False, 0), Column(0, False, 2))
    turning, still = numbers({"a": np.array([0.1, 0.0]), "b": np.array([0.0, 0.1])}, float)
    # r = 1.1 + Re (a - ib) e^{ims}, in units of the largest.
    assert abs(turning[0].imag) < 1e-12 and abs(turning[1].real) < 1e-12 and still.shape == (0,)
    assert 0.6 < turning[0].real < 0.8 and -0.8 < turning[1].imag < -0.6
    numbers, columns = turning_numbers(ROBIN)
    assert numbers.orders == (2, 3) and numbers.costs[2] == numbers.costs[3] < 0.7
    even, odd = (
        {c.order for c in turning_numbers(LINEAR)[1] if c.odd == odd and c.number == 0} for odd in (False, True)
    )
    assert even == {1} and odd == {2}
    # A plane wave along the first axis is even.
    assert not any(column.odd for column in turning_numbers(WAVES)[1])
    far = dataclasses.replace(WAVES, parameters=ew.Box(**SHAPE, k=(1.0, 10.0), angle=ew.Angle()))
    assert turning_numbers(far)[0].costs[2] == 0.33


class Leaning(ew.Laplace):
    """A kernel of one's own, which might have a direction."""


@pytest.mark.parametrize(
    "change",
    [
        {"family": ew.StarCurve(lambda s, a, b: 1 + a @ jnp.cos(MODES * s) + b @ jnp.cos((MODES + 2) * s))},
        {"family": ew.StarCurve(lambda s, a, b: 1 + (0.3 + a) @ jnp.cos(MODES * s) + b @ jnp.sin(MODES * s))},
        {"family": ew.Translate(FAMILY, (2.0, 0.0))},
        {"representation": ew.DoubleLayer(Leaning(dim=2))},
        {"data": lambda x, a: a[0] * x[0] ** 2},
        {"data": lambda x: jnp.abs(x[0])},
        {"condition": ew.Robin(lambda x: 2 + x[0]), "representation": ew.SingleLayer(LAPLACE)},
        {
            "family": ew.Union([FAMILY, ew.Translate(ew.Ellipse(0.5, 0.5), (3.0, 0.0))]),
            "representation": ew.SingleLayer(LAPLACE),
        },
    ],
    ids=[
        "cosines",
        "off centre",
        "elsewhere",
        "own kernel",
        "shape in data",
        "kink in data",
        "place in condition",
        "two",
    ],
)
def test_what_does_not_turn_is_learned_otherwise(change):
    problem = dataclasses.replace(INSIDE, **change)
    assert turning_numbers(problem) is None
    recipe = ew.recipe("default", problem)
    assert recipe.network.kind in ("deeponet", "modal", "expansion")
    with pytest.raises(ValueError, match='"equivariant"` is for one smooth curve'):
        ew.fit(problem, changed(recipe, network={"kind": "equivariant"}, optimiser={"name": "conjugate-gradients"}))


def test_terms():
    """The cheapest polynomials, all of them, orthonormal on discs and intervals, with the order that they say."""
    costs, most = np.array([1.0, 0.7, 0.5]), 400
    terms = terms_of((2, 3), tuple(costs), most, 20, 99)
    zero = np.sum(terms.is_term[terms.orders == 0])
    count = 2 * np.sum(terms.is_term) - zero
    # Powers of two complex numbers and their conjugates, and of a real one.
    powers = np.stack(np.meshgrid(*[np.arange(12)] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    degrees = np.stack([powers[:, 0] + powers[:, 1], powers[:, 2] + powers[:, 3], powers[:, 4]], axis=1)
    sums = np.sort(np.sum((costs * degrees) ** 1.5, axis=1))
    assert 0.8 * most < count <= most and sums[count] > sums[count - 1] + 1e-3
    highest = np.array(terms.highest)
    assert np.all((costs * highest) ** 1.5 < sums[count]) and np.all((costs * (highest + 1)) ** 1.5 > sums[count - 1])
    # Where there may be more than a degree has, that decides.
    assert terms_of((2,), (1.0,), 1000, 3, 99).highest == (3,)
    y, t = np.array([0.4 + 0.3j, -0.2 + 0.6j]), np.array([0.3])

    def values(y):
        left, right = terms.products(jnp.asarray(y), jnp.asarray(t))
        return np.where(terms.is_term, left[terms.left] * right[terms.right], 0)

    turned = values(y * np.exp(1j * np.array([2, 3]) * 0.7))
    np.testing.assert_allclose(turned, values(y) * np.exp(0.7j * terms.orders)[:, None], atol=1e-12)
    # One complex number: the mean over the disc of products with conjugates.
    degree = 5
    disc = terms_of((1,), (1.0,), 1000, degree, 99)
    radii, weights = np.polynomial.legendre.leggauss(degree + 1)
    radii, weights = np.sqrt((radii + 1) / 2), weights / 2
    angles = 2 * np.pi * np.arange(2 * degree + 2) / (2 * degree + 2)
    rows = []
    for place in (radii[:, None] * np.exp(1j * angles)).ravel():
        left, right = disc.products(jnp.asarray([place]), jnp.zeros(0))
        rows.append((left[disc.left] * right[disc.right])[disc.is_term])
    means = np.einsum("pi,pj,p->ij", np.conj(rows), rows, np.repeat(weights, len(angles)) / len(angles))
    np.testing.assert_allclose(means, np.eye(len(means)), atol=1e-12)


def field(solution, problem):
    if problem.side == "interior":
        return solution(np.array([[0.2, 0.3], [-0.5, 0.1], [0.0, -0.6]]))
    return solution(np.array([[1.6, 0.3], [-2.0, 0.1], [0.0, -3.0]]))


@pytest.mark.parametrize("name", QUICK)
def test_operators_against_solve(name, tmp_path, measured):
    problem, p, bound = FITTED[name]
    operator = ew.fit(problem, small(problem, p), out=tmp_path / "run")
    members = problem.parameters.sample(jax.random.key(7), 12)
    found, true = operator(**members), ew.solve(problem, **members)
    error = np.max(np.abs(field(found, problem) - field(true, problem))) / np.max(np.abs(field(true, problem)))
    measured(f"equivariant network, {name}, {p} polynomials", float(error), bound)
    # What `result` says is what the validation members say.
    assert operator.result.ok == (operator.stats["misfit"] <= 1e-3)
    assert found.stats["applications"].max() == 0
    again = ew.load(tmp_path / "run", problem)(**members)
    np.testing.assert_array_equal(again.density.values, found.density.values)
    refined = found[0].refine(1e-9)
    assert refined.result.ok


def test_derivatives_in_the_parameters():
    operator = ew.fit(INSIDE, small(INSIDE, 210))
    a, b, x = np.array([0.05, -0.08]), np.array([0.1, 0.02]), np.array([0.3, 0.2])
    slope = jax.grad(lambda a: operator(a=a, b=b)(x))(a)
    step = 1e-5 * np.array([1.0, 0.0])
    difference = (operator(a=a + step, b=b)(x) - operator(a=a - step, b=b)(x)) / 2e-5
    assert abs(slope[0] - difference) < 1e-8
    # Also where nothing turns: on a circle.
    circle = jax.grad(lambda a: operator(a=a, b=0 * b)(x))(0 * a)
    true = jax.grad(lambda a: ew.solve(INSIDE, a=a, b=0 * b)(x))(0 * a)
    np.testing.assert_allclose(circle, true, atol=1e-3)


def test_single_precision(measured):
    operator = ew.fit(INSIDE, small(INSIDE, 130), dtype="float32")
    members = INSIDE.parameters.sample(jax.random.key(7), 12)
    found, true = field(operator(**members), INSIDE), field(ew.solve(INSIDE, **members), INSIDE)
    measured("equivariant network in single precision", float(np.max(np.abs(found - true))), 1e-3)


def test_more_polynomials_miss_less():
    few, more = (ew.fit(INSIDE, small(INSIDE, p)).stats["misfit"] for p in (40, 210))
    assert more < few / 8


@pytest.mark.parametrize(
    ("part", "fields", "words"),
    [
        ("optimiser", {"name": "gauss-newton"}, ["'equivariant'", "'gauss-newton'", '"conjugate-gradients"']),
        ("network", {"p": 300_000}, ["`recipe.network.p`", "65536", "got 300000"]),
        ("network", {"kind": "deeponet"}, ["'deeponet'", "'conjugate-gradients'"]),
        ("network", {"features": "position"}, ['"equivariant"', "harmonics", "'position'"]),
    ],
)
def test_recipes_that_cannot_be_followed(part, fields, words):
    with pytest.raises(ValueError) as error:
        ew.fit(INSIDE, changed(small(INSIDE, 80), **{part: fields}))
    assert all(word in str(error.value) for word in words)


def test_what_is_chosen_and_said():
    problem = ew.preset("laplace-shapes")
    recipe, best = ew.recipe("default", problem), ew.recipe("best", problem)
    assert (recipe.network.kind, recipe.optimiser.name) == ("equivariant", "conjugate-gradients")
    assert recipe.validation.tol == 1e-3
    assert f"equivariant, at most {recipe.network.p} polynomials" in str(recipe)
    assert "steps of conjugate-gradients" in str(recipe)
    assert best.network.degree >= recipe.network.degree and best.collocation.members > recipe.collocation.members
    # Two numbers of a shape would need four that turn; but a wave from every side turns against the body.
    two = ew.preset("helmholtz-star")
    assert ew.recipe("default", two).network.kind == "equivariant"
    still = dataclasses.replace(two, data=ew.PlaneWave(0.0), parameters=two.parameters.without(["angle"]))
    assert ew.recipe("default", still).network.kind == "expansion"


def test_steps_continue_where_they_were_interrupted(tmp_path):
    """The same bits, whether or not it was interrupted after five steps."""
    recipe = changed(small(INSIDE, 80), optimiser={"steps": 15})
    whole = ew.fit(INSIDE, recipe)

    def interrupt(record):
        if record["step"] == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.fit(INSIDE, recipe, out=tmp_path / "run", callback=interrupt)
    again = ew.fit(INSIDE, recipe, out=tmp_path / "run", resume=True)
    assert [record["step"] for record in again.history] == [record["step"] for record in whole.history]
    np.testing.assert_array_equal(again.network.weights, whole.network.weights)


def test_nothing_is_solved_for_labels(monkeypatch):
    """Trained by the residual of the equation: no system of a member is ever eliminated."""

    def refuse(*args, **kwargs):
        raise AssertionError("a system was solved")

    recipe = small(INSIDE, 80)
    monkeypatch.setattr(jnp.linalg, "solve", refuse)
    monkeypatch.setattr("edgewise.solving.linear.direct", refuse)
    monkeypatch.setattr("edgewise.solving.linear.gmres", refuse)
    history = ew.fit(INSIDE, recipe).history
    losses = [record["loss"] for record in history]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 1e-6


SINGLE = """
import numpy as np, jax, jax.numpy as jnp, edgewise as ew
modes = np.arange(2, 4)
family = ew.StarCurve(lambda s, a, b: 1.1 + a @ jnp.cos(modes * s) + b @ jnp.sin(modes * s))
largest = 0.1 * np.ones(2)
box = ew.Box(a=(-largest, largest), b=(-largest, largest), angle=ew.Angle())
problem = ew.Problem(family, box, ew.CombinedField(ew.Helmholtz(2, 2.0)), ew.PlaneWave("angle"), "exterior")
assert not jax.config.read("jax_enable_x64")
recipe = ew.recipe("default", problem)
assert not jax.config.read("jax_enable_x64") and jnp.ones(1).dtype == jnp.float32
print(recipe.network.kind, recipe.collocation.members)
"""


def test_a_session_of_single_precision_chooses_the_same():
    """Whatever arrays of 64 bits the functions of a problem hold."""
    said = [
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"JAX_ENABLE_X64": "0"}, capture_output=True, text=True
        )
        for code in (SINGLE, SINGLE.replace("assert not", "ew.enable_x64() #").replace("assert", "#"))
    ]
    assert all(run.returncode == 0 for run in said), said[0].stderr + said[1].stderr
    assert said[0].stdout == said[1].stdout and "equivariant" in said[0].stdout
