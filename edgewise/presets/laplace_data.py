"""Laplace inside stars of four coefficients, with boundary data of eight coefficients: shape and data as input.

    Δu = 0 inside r(s) = 1.2 + Σ_{m=2}^{3} (a_m cos ms + b_m sin ms),     a_m, b_m in [-0.1, 0.1],
     u = Σ_{m=1}^{4} (c_m cos mθ + d_m sin mθ) at the angle θ of a point of the curve,     c_m, d_m in [-1, 1].

The answer is linear in the data, and so is the network, whatever its weights.
"""

import jax.numpy as jnp
import numpy as np

from edgewise.geometry import Box, StarCurve
from edgewise.kernels import Laplace
from edgewise.potentials import DoubleLayer
from edgewise.problem import Problem

SHAPE_MODES, DATA_MODES = np.arange(2, 4), np.arange(1, 5)


def radius(s, a, b):
    return 1.2 + a @ jnp.cos(SHAPE_MODES * s) + b @ jnp.sin(SHAPE_MODES * s)


def data(x, c, d):
    angles = DATA_MODES * jnp.arctan2(x[1], x[0])
    return c @ jnp.cos(angles) + d @ jnp.sin(angles)


def problem() -> Problem:
    amplitudes = (-0.1 * np.ones(2), 0.1 * np.ones(2))
    coefficients = (-np.ones(4), np.ones(4))
    return Problem(
        family=StarCurve(radius),
        parameters=Box(a=amplitudes, b=amplitudes, c=coefficients, d=coefficients),
        representation=DoubleLayer(Laplace(dim=2)),
        data=data,
        side="interior",
    )
