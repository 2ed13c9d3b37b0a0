"""Numbers in which the answer is linear: which they are, and that they give the data of every member."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from many import AMPLITUDES, SHAPES, THREE, WAVES
from members import LAPLACE
from training import changed, tiny

import edgewise as ew
from edgewise.learn.amounts import Chebyshev
from edgewise.learn.frame import wave_direction
from edgewise.learn.multiplied import superposition
from edgewise.learn.waves import amounts_of
from edgewise.quadrature import rule_for


def stream(normal, angle):
    return -(jnp.cos(angle) * normal[0] + jnp.sin(angle) * normal[1])


def varied(data, family=THREE, **box):
    """The problem with these data, its shapes and these parameters."""
    return dataclasses.replace(SHAPES, family=family, parameters=ew.Box(a=AMPLITUDES, **box), data=data)


def around_a_disc(family, data, **box):
    return ew.Problem(family, ew.Box(**box), ew.SingleLayer(LAPLACE), data, "exterior", ew.Neumann())


BODY = ew.Ellipse(1.0, 0.7)
PAIR = ew.Union([BODY, ew.Translate(BODY, (3.0, 0.0))])
STREAM = around_a_disc(BODY, lambda x, normal, angle: stream(normal, angle), angle=ew.Angle())
UNIT = (-np.ones(2), np.ones(2))
# The problem, the parameters that multiply, the orders of one of them, and how many numbers there are.
CASES = {
    "nothing": (SHAPES, (), (0,), 1),
    "coefficients": (varied(lambda x, g, h: g[0] * x[0] + g[1] + h, g=UNIT, h=(0.0, 1.0)), ("g", "h"), (0,), 3),
    "every angle": (STREAM, ("angle",), (1,), 2),
    "some angles": (
        dataclasses.replace(STREAM, parameters=ew.Box(angle=(-0.2, 0.1))),
        ("angle",),
        (1,),
        2,
    ),
    "strengths of a stream": (
        around_a_disc(
            BODY, lambda x, normal, u, angle: u[0] * stream(normal, angle) + u[1] * x[0], u=UNIT, angle=ew.Angle()
        ),
        ("u", "angle"),
        (0, 1),
        6,
    ),
    "two strengths": (
        around_a_disc(
            BODY,
            lambda x, normal, u, v, angle: u * stream(normal, angle) + v * x[0],
            u=(0.0, 1.0),
            v=(0.0, 1.0),
            angle=(0.0, 1.0),
        ),
        ("u", "v", "angle"),
        (0, 1),
        6,
    ),
    "a square": (varied(lambda x, h: (x[0] * jnp.cos(h) + x[1] * jnp.sin(h)) ** 2, h=ew.Angle()), ("h",), (0, 2), 3),
    "both": (varied(lambda x, h: jnp.exp(1j * h) * x[0], h=ew.Angle()), ("h",), (1,), 2),
    "even values": (varied(ew.BoundaryValues("g"), g=(-np.ones(6), np.ones(6))), ("g",), (0,), 6),
    "odd values": (varied(ew.BoundaryValues("g"), g=(-np.ones(5), np.ones(5))), ("g",), (0,), 5),
    "values beside what nobody reads": (
        varied(ew.BoundaryValues("g"), g=(-np.ones(6), np.ones(6)), u=(0.0, 1.0)),
        ("g", "u"),
        (0,),
        6,
    ),
    "values of two": (
        ew.Problem(
            PAIR,
            ew.Box(g=(-np.ones((2, 4)), np.ones((2, 4)))),
            ew.SingleLayer(LAPLACE),
            ew.BoundaryValues("g"),
            "exterior",
        ),
        ("g",),
        (0,),
        8,
    ),
}


def check_sums(problem, amounts, atol):
    """Sums of numbers times the data of each are the data of members."""
    settings, shares = amounts.settings(problem.parameters, np.dtype(float))
    draws = problem.parameters.sample(jax.random.key(4), 3)
    for i in range(3):
        draw = {key: value[i] for key, value in draws.items()}
        nodes = rule_for(problem.family, 16).place(problem.family, draw, np.dtype(float))
        given = np.stack(
            [
                problem.data_on(nodes, draw | {key: value[j] for key, value in settings.items()})
                for j in range(len(shares))
            ]
        )
        numbers = np.asarray(amounts(draw, np.dtype(float)))
        np.testing.assert_allclose(numbers @ (shares.T @ given), problem.data_on(nodes, draw), atol=atol)


@pytest.mark.parametrize("name", CASES)
def test_data_are_numbers_times_data_that_are_the_same_for_all(name):
    problem, names, orders, count = CASES[name]
    amounts = superposition(problem)
    assert (amounts.names, amounts.orders, amounts.count) == (names, orders, count)
    check_sums(problem, amounts, 1e-12)


SOURCE = ew.Problem(
    BODY,
    ew.Box(k=(1.0, 3.0), h=(-1.0, 0.5)),
    ew.CombinedField(ew.Helmholtz(2, "k")),
    ew.PointSource((3.0, "h")),
    "exterior",
)


@pytest.mark.parametrize(
    "problem",
    [SOURCE, varied(lambda x, h, q: jnp.exp(h * x[0]) + jnp.sqrt(q + 3 + x[1]), h=(-1.0, 2.0), q=(0.0, 0.1))],
)
def test_polynomials_of_one_number_give_the_data(problem):
    amounts = amounts_of(problem, 0)
    assert isinstance(amounts, Chebyshev) and amounts.names == ("h",) and 8 < amounts.highest < 30
    check_sums(problem, amounts, 1e-8)


def test_a_source_that_moves_is_learned_as_data(measured):
    recipe = ew.recipe("default", SOURCE)
    assert recipe.network.kind == "expansion"
    small = changed(
        recipe,
        network={"p": 12, "degree": 11, "harmonics": 26},
        collocation={"members": 18, "nodes": 64},
        validation={"members": 8, "nodes": 96},
    )
    operator = ew.fit(SOURCE, small)
    draws, angles = SOURCE.parameters.sample(jax.random.key(5), 5), 2 * np.pi * np.arange(16) / 16
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    found, true = (s.far_field(directions) for s in (operator(**draws), ew.solve(SOURCE, **draws)))
    missed = np.linalg.norm(found - true, axis=1) / np.linalg.norm(true, axis=1)
    measured("a source that moves, small", float(np.max(missed)), 1e-5)


@pytest.mark.parametrize(
    "problem",
    [
        varied(lambda x, h: h**2 * x[0], h=(-1.0, 1.0)),
        varied(lambda x, h: jnp.exp(jnp.cos(h)) * x[0], h=ew.Angle()),
        varied(lambda x, h: jnp.cos(9 * h) * x[0], h=ew.Angle()),
        varied(lambda x, h: jnp.where(jnp.abs(h) > 1, jnp.nan, jnp.cos(h)) * x[0], h=(-1.0, 1.0)),
        # Constant, or slow, at all angles of a coarse look, but not in the box.
        varied(lambda x, h: x[1] + x[0] * jax.nn.sigmoid(h - 50), h=(40.0, 60.0)),
        varied(lambda x, h: x[0] * (1 + jnp.cos(32 * h)), h=ew.Angle()),
        # Linear where sin 4θ is zero alone.
        varied(lambda x, h: h * x[0] + h**2 * jnp.sin(4 * jnp.arctan2(x[1], x[0])), h=(0.0, 1.0)),
        # A charge at infinity stays where the data are zero.
        ew.Problem(
            BODY, ew.Box(h=(-1.0, 1.0)), ew.SingleLayer(LAPLACE), lambda x, h: h * x[0], "exterior", at_infinity=1.0
        ),
        # What turns the body too changes its equation.
        dataclasses.replace(WAVES, family=ew.Rotate(THREE, "angle")),
        varied(lambda x, h: jnp.cos(h) * x[0], ew.Rotate(THREE, "h"), h=ew.Angle()),
        WAVES,
    ],
)
def test_numbers_that_do_not_multiply(problem):
    assert superposition(problem).names == ()


def test_an_angle_that_turns_a_body_is_not_its_waves_alone():
    assert wave_direction(WAVES) == "angle"
    assert wave_direction(dataclasses.replace(WAVES, family=ew.Rotate(THREE, "angle"))) is None


def test_a_stream_of_every_angle_is_learned_from_two(measured):
    """Past a disc of radius 1 it adds d·x/|x|²."""
    problem = dataclasses.replace(STREAM, family=ew.Ellipse(1.0, 1.0))
    recipe = ew.recipe("default", problem)
    assert recipe.network.kind == "deeponet" and recipe.collocation.members == 4
    operator = ew.fit(problem, tiny(problem, collocation={"members": 4}))
    angles, points = np.array([0.3, 2.0, -1.0]), np.array([[1.5, 0.4], [-2.0, 3.0]])
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    true = directions @ (points / np.sum(points**2, axis=1, keepdims=True)).T
    measured("a stream past a disc", float(np.max(np.abs(operator(angle=angles)(points) - true))), 1e-9)
