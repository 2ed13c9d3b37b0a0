"""Small problems and recipes on which networks are trained in seconds, for the tests of learning."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from members import LAPLACE, charges, entire

import edgewise as ew

MILD = ew.StarCurve(lambda s, t: 1 + 0.1 * t * jnp.cos(3 * s))
BOX = ew.Box(t=(0.5, 1.5))


def times_t(x, t):
    """t times a harmonic function: the derivative of the field in t is that function."""
    return t * entire(x)


def single(data=times_t, side="interior", **options):
    return ew.Problem(MILD, BOX, ew.SingleLayer(LAPLACE), data, side, **options)


def tiny(problem, **changes):
    """A recipe that trains in a second; `network={"p": 4}` changes a field of a part, `dtype="float32"` one of its own."""
    base = {
        "network": {"p": 8, "degree": 4, "harmonics": 20, "neurons": 8},
        "collocation": {"members": 8, "nodes": 64},
        "validation": {"members": 4, "nodes": 96},
        "optimiser": {},
    }
    recipe = ew.recipe("default", problem)
    for part, fields in base.items():
        fields = {**fields, **changes.pop(part, {})}
        recipe = dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **fields)})
    return dataclasses.replace(recipe, **changes)


def changed(recipe, **parts):
    """The recipe with other fields of its parts: `network={"p": 4}`."""
    return dataclasses.replace(
        recipe, **{part: dataclasses.replace(getattr(recipe, part), **fields) for part, fields in parts.items()}
    )


def adam(problem, steps=40, rate=1e-3, check_every=10, **changes):
    """The same by Adam, without an early end."""
    optimiser = {"name": "adam", "steps": steps, "rate": rate, "check_every": check_every}
    return tiny(problem, optimiser=optimiser, validation={"patience": 0}, **changes)


def flux(field):
    return lambda x, normal: jax.grad(field)(x) @ normal


def plate(x):
    """Biharmonic, not harmonic."""
    return (x @ x) * entire(x) + x[0] ** 3


OUTSIDE = charges([[0.2, 0.1], [-0.1, 0.3]], [1.0, -1.0])
HELMHOLTZ = ew.Helmholtz(dim=2, wavenumber="k")
CLOCKWISE = ew.Curve(lambda s, t: ((1 + 0.1 * t * jnp.cos(2 * s)) * jnp.cos(s), -0.8 * jnp.sin(s)))
BODIES = ew.Union(MILD, ew.Translate(ew.Ellipse(0.7, 0.5), (3.0, 0.4)))
RING = ew.Union(MILD, ew.Scale(ew.Ellipse(1.0, 1.0), 0.3))

# One problem of every sort that an operator can be trained for, with a member, changes to the recipe and what is known.
PROBLEMS = {
    "single layer": (single(exact=times_t), {"t": 1.23}, {}),
    "both sides": (single(side="both"), {"t": 0.61}, {}),
    "double layer": (
        ew.Problem(MILD, BOX, ew.DoubleLayer(LAPLACE), entire, "interior", exact=entire),
        {"t": 1.37},
        {},
    ),
    "waves": (
        ew.Problem(
            MILD, ew.Box(t=(0.5, 1.5), k=(1.0, 1.4)), ew.CombinedField(HELMHOLTZ), ew.PlaneWave((1.0, 0.0)), "exterior"
        ),
        {"t": 1.1, "k": 1.25},
        {"network": {"degree": 5, "p": 21}, "collocation": {"members": 32}},
    ),
    "waves of one wavenumber": (
        ew.Problem(MILD, BOX, ew.CombinedField(ew.Helmholtz(2, 2.0)), ew.PlaneWave((0.6, 0.8)), "exterior"),
        {"t": 1.1},
        {},
    ),
    "exterior": (
        ew.Problem(
            MILD, BOX, ew.SingleLayer(LAPLACE), lambda x: 2 + OUTSIDE(x), "exterior", exact=lambda x: 2 + OUTSIDE(x)
        ),
        {"t": 0.77},
        {},
    ),
    "exterior Neumann": (
        ew.Problem(MILD, BOX, ew.SingleLayer(LAPLACE), flux(OUTSIDE), "exterior", ew.Neumann(), exact=OUTSIDE),
        {"t": 1.4},
        {},
    ),
    "interior Neumann": (
        ew.Problem(MILD, BOX, ew.SingleLayer(LAPLACE), flux(entire), "interior", ew.Neumann()),
        {"t": 0.9},
        {},
    ),
    "Robin": (
        ew.Problem(
            MILD,
            BOX,
            ew.SingleLayer(LAPLACE),
            lambda x, t, normal: flux(entire)(x, normal) + t * entire(x),
            "interior",
            ew.Robin("t"),
            exact=entire,
        ),
        {"t": 1.3},
        {},
    ),
    "plate": (
        ew.Problem(
            MILD,
            BOX,
            ew.LayerPair(ew.Biharmonic(2)),
            lambda x, normal: (plate(x), flux(plate)(x, normal)),
            "interior",
            ew.Clamped(),
            exact=plate,
        ),
        {"t": 1.2},
        {
            "network": {"degree": 8, "p": 12, "harmonics": 40},
            "collocation": {"members": 16, "nodes": 96},
            "validation": {"nodes": 128},
        },
    ),
    "two bodies": (ew.Problem(BODIES, BOX, ew.SingleLayer(LAPLACE), entire, "exterior"), {"t": 1.31}, {}),
    "a hole": (ew.Problem(RING, BOX, ew.SingleLayer(LAPLACE), entire, "interior", exact=entire), {"t": 1.31}, {}),
    "two parameters": (
        ew.Problem(
            ew.Ellipse(), ew.Box(a=(1.0, 1.3), b=(0.8, 1.1)), ew.SingleLayer(LAPLACE), entire, "interior", exact=entire
        ),
        {"a": 1.17, "b": 0.93},
        {"network": {"degree": 5, "p": 21}, "collocation": {"members": 32}},
    ),
    "an angle": (
        ew.Problem(
            ew.Rotate(ew.Ellipse(1.2, 0.9), "turn"),
            ew.Box(turn=ew.Angle()),
            ew.SingleLayer(LAPLACE),
            entire,
            "interior",
            exact=entire,
        ),
        {"turn": 4.0},
        {"network": {"degree": 10, "p": 21}, "collocation": {"members": 28}},
    ),
    "clockwise": (
        ew.Problem(CLOCKWISE, BOX, ew.SingleLayer(LAPLACE), entire, "interior", exact=entire),
        {"t": 1.1},
        {},
    ),
    "no parameters": (
        ew.Problem(ew.Ellipse(1.2, 0.9), None, ew.SingleLayer(LAPLACE), entire, "interior", exact=entire),
        {},
        {"network": {"degree": 0, "p": 1}, "collocation": {"members": 1}, "validation": {"members": 1}},
    ),
}


def leaves(operator):
    return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(operator.network)]


def assert_same(a, b):
    """Two operators agree bit by bit, and so do their histories but for the clock."""
    assert all(np.array_equal(x, y) for x, y in zip(leaves(a), leaves(b), strict=True))
    assert timeless(a.history) == timeless(b.history)
    assert a.result == b.result and a.recipe == b.recipe and a.seed == b.seed


def timeless(history):
    return [{key: value for key, value in record.items() if key != "seconds"} for record in history]
