"""Laplace inside stars of eight coefficients, with data x² whose field differs from shape to shape.

    Δu = 0 inside r(s) = 1.2 + Σ_{m=2}^{5} (a_m cos ms + b_m sin ms),     a_m, b_m in [-0.1, 0.1],
     u = x² on the curve.

Eight parameters: interpolation of solved members would need more of them than one can solve.
"""

import jax.numpy as jnp
import numpy as np

from edgewise.geometry import Box, StarCurve
from edgewise.kernels import Laplace
from edgewise.potentials import DoubleLayer
from edgewise.problem import Problem

MODES = np.arange(2, 6)


def radius(s, a, b):
    return 1.2 + a @ jnp.cos(MODES * s) + b @ jnp.sin(MODES * s)


def data(x):
    return x[0] ** 2


def problem() -> Problem:
    amplitudes = (-0.1 * np.ones(4), 0.1 * np.ones(4))
    return Problem(
        family=StarCurve(radius),
        parameters=Box(a=amplitudes, b=amplitudes),
        representation=DoubleLayer(Laplace(dim=2)),
        data=data,
        side="interior",
    )
