"""Curves with corners, and the matrices of the rule graded to them."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE

import edgewise as ew

DEGREE = np.pi / 180
SQUARE = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
L_SHAPE = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, -1.0)]


def lens(s, angle=np.pi / 3):
    """Two arcs over the chord from 1 to -1 that meet it at `angle` each, written as two formulas joined at s = π."""
    turn = (s - jnp.where(s < np.pi, np.pi / 2, 3 * np.pi / 2)) * angle / (np.pi / 2)
    sign = jnp.where(s < np.pi, 1.0, -1.0)
    return -sign * jnp.sin(turn) / np.sin(angle), sign * (jnp.cos(turn) - np.cos(angle)) / np.sin(angle)


CORNERED = {
    "square": ew.Polygon(SQUARE),
    "clockwise square": ew.Polygon(SQUARE[::-1]),
    "L": ew.Polygon(L_SHAPE),
    "teardrop": ew.Teardrop(30 * DEGREE),
    "heart": ew.Teardrop(270 * DEGREE),
    "airfoil": ew.Airfoil(10 * DEGREE),
    "lens": ew.Curve(lens, corners=(0.0, np.pi)),
    "moved": ew.Translate(ew.Rotate(ew.Scale(ew.Teardrop(60 * DEGREE), 0.5), 0.7), (5.0, -3.0)),
}
# Interior angles at the corners, in the order of the nodes.
ANGLES = {
    "square": [90] * 4,
    "clockwise square": [90] * 4,
    "L": [270, 90, 90, 90, 90, 90],
    "teardrop": [30],
    "heart": [270],
    "airfoil": [10],
    "lens": [120, 120],
    "moved": [60],
}


QUICK = [n if n in ("clockwise square", "L", "airfoil") else pytest.param(n, marks=pytest.mark.slow) for n in CORNERED]


def nodes_of(family, nodes=576, parameters=None, **options):
    rule = ew.Graded(nodes, **options)
    return rule, place(rule, family, parameters or {})


@eqx.filter_jit
def place(rule, family, parameters):
    return rule.place(family, parameters, np.float64)


@eqx.filter_jit
def matrix(rule, layer, nodes, sampling=2):
    return rule.matrix(LAPLACE, layer, nodes, sampling=sampling)
