"""Problems of several numbers that are no turned copies of each other, and a small recipe for them."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from members import LAPLACE
from training import tiny

import edgewise as ew

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


def modal(problem, **optimiser):
    """A small recipe of the network for many parameters."""
    return tiny(
        problem,
        network={"kind": "modal", "harmonics": 12, "neurons": 16},
        collocation={"members": 32, "nodes": 32, "targets": 4},
        validation={"nodes": 48, "patience": 0},
        optimiser={"name": "stochastic", "rate": 1.0, "damping": 1e-3, "momentum": 0.9, "check_every": 10, **optimiser},
    )
