"""Boundary data by values at nodes: solved and learned."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE
from training import tiny

import edgewise as ew
from edgewise.learn.multiplied import linear_names

STAR = ew.StarCurve(lambda s, t: 1 + 0.2 * t * jnp.cos(3 * s))
S = 2 * np.pi * np.arange(20) / 20
POINTS = np.array([[0.3, 0.2], [-0.5, 0.1], [0.0, -0.6]])


def harmonic(x):
    return x[0] * x[1] + 2 * x[0]


def values_of(family, function, **parameters):
    """At s = 2πj/20."""
    return np.array([function(family.point(jnp.asarray(s), **parameters)) for s in S])


TABLE = ew.Problem(
    STAR,
    ew.Box(t=(0.0, 1.0), g=(-4 * np.ones(20), 4 * np.ones(20))),
    ew.SingleLayer(LAPLACE),
    ew.BoundaryValues("g"),
    "interior",
)


def test_a_table_is_the_function_it_was_taken_from(measured):
    """The data have no wave beyond the table's own, so that the solution is exact."""
    g = values_of(STAR, harmonic, t=0.7)
    found = ew.solve(TABLE, t=0.7, g=g)(POINTS)
    measured("data by 20 values", np.max(np.abs(found - np.array([harmonic(x) for x in POINTS]))), 1e-12)
    fixed = dataclasses.replace(TABLE, parameters=ew.Box(t=(0.0, 1.0)), data=ew.BoundaryValues(g))
    assert np.max(np.abs(ew.solve(fixed, t=0.7)(POINTS) - found)) < 1e-13


def test_a_clockwise_curve_and_two_curves(measured):
    def clockwise(s):
        return jnp.cos(s), -0.5 * jnp.sin(s)

    one = ew.Curve(clockwise)
    problem = ew.Problem(one, None, ew.SingleLayer(LAPLACE), ew.BoundaryValues(values_of(one, harmonic)), "interior")
    measured("clockwise", abs(float(ew.solve(problem)(0.3 * POINTS)[0] - harmonic(0.3 * POINTS[0]))), 1e-12)
    curves = [ew.Translate(ew.Ellipse(0.4, 0.3), (shift, 0.0)) for shift in (-1.0, 1.0)]
    tables = np.stack([values_of(curve, lambda x: x[0] / (x[0] ** 2 + x[1] ** 2)) for curve in curves])
    pair = ew.Problem(ew.Union(curves), None, ew.SingleLayer(LAPLACE), ew.BoundaryValues(tables), "exterior")
    same = dataclasses.replace(pair, data=lambda x: x[0] / (x[0] ** 2 + x[1] ** 2))
    difference = ew.solve(pair)(4 * POINTS) - ew.solve(same)(4 * POINTS)
    measured("two curves", float(jnp.max(jnp.abs(difference))), 1e-5)


def test_errors_are_known_and_batches_and_derivatives_work():
    g = np.stack([np.cos(S), np.sin(2 * S)])
    batch = ew.solve(TABLE, t=0.5, g=g)
    assert batch(POINTS).shape == (2, 3) and np.all(np.asarray(batch.error_estimate().value) < 1e-9)
    slope = jax.grad(lambda g: ew.solve(TABLE, t=0.5, g=g, quadrature=ew.Kress(96))(POINTS[0]))(jnp.asarray(g[0]))
    # Linear: the field is the sum of the values times the derivatives in them.
    assert abs(slope @ g[0] - batch[0](POINTS[0])) < 1e-10


def test_an_operator_is_linear_in_the_values():
    problem = dataclasses.replace(TABLE, parameters=ew.Box(t=(0.0, 1.0), g=(-np.ones(6), np.ones(6))))
    assert linear_names(problem) == ("g",)
    recipe = tiny(problem, network={"degree": 4, "p": 6, "harmonics": 20}, collocation={"members": 40, "nodes": 48})
    operator = ew.fit(problem, recipe)
    g = np.array([0.2, -0.4, 0.7, 0.1, 0.0, -0.9])
    once = operator(t=0.4, g=g)(POINTS)
    assert np.max(np.abs(operator(t=0.4, g=-2 * g, extrapolate=True)(POINTS) + 2 * once)) < 1e-12
    assert np.max(np.abs(once - ew.solve(problem, t=0.4, g=g)(POINTS))) < 1e-2


WRONG = {
    "one value": (lambda: ew.BoundaryValues(3.0), "n values at s"),
    "two rows": (
        lambda: ew.solve(dataclasses.replace(TABLE, data=ew.BoundaryValues(np.ones((2, 8)))), t=0.5, g=0 * S),
        r"expected \(n,\)",
    ),
    "space": (
        lambda: ew.Problem(ew.Sphere(), None, ew.SingleLayer(ew.Laplace(3)), ew.BoundaryValues(S), "exterior"),
        "not for surfaces",
    ),
    "plates": (
        lambda: ew.Problem(
            STAR, TABLE.parameters, ew.LayerPair(ew.Biharmonic(2)), TABLE.data, "interior", ew.Clamped()
        ),
        "Clamped",
    ),
    "unknown name": (lambda: dataclasses.replace(TABLE, data=ew.BoundaryValues("h")), "names `h`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_said(name):
    call, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        call()
