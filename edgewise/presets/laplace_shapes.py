"""The Laplace equation inside every shape of eight coefficients, with data that no formula solves.

    Δu = 0 inside r(s) = 1.2 + Σ_{m=2}^{5} (a_m cos ms + b_m sin ms),     |a_m|, |b_m| <= 0.1,
      u = x² on the boundary, which is not harmonic: the field is different for every shape.

`a` and `b` hold the four coefficients each. The truth is `solve` with twice the nodes.
"""

import jax.numpy as jnp
import numpy as np

from edgewise.base.parameters import Box
from edgewise.geometry import StarCurve
from edgewise.kernels import Laplace
from edgewise.potentials import DoubleLayer
from edgewise.presets.laplace_quadratic import data
from edgewise.problem import Problem

MODES = np.arange(2, 6)
AMPLITUDE = 0.1


def waves(s, a, b):
    """The modes 2, 3, ... of a radius, as many as there are coefficients."""
    modes = MODES[: len(a)]
    return a @ jnp.cos(modes * s) + b @ jnp.sin(modes * s)


def radius(s, a, b):
    return 1.2 + waves(s, a, b)


def amplitudes(count: int) -> tuple[list[float], list[float]]:
    """The range of the coefficients of so many modes."""
    return [-AMPLITUDE] * count, [AMPLITUDE] * count


def problem() -> Problem:
    return Problem(
        family=StarCurve(radius),
        parameters=Box(a=amplitudes(4), b=amplitudes(4)),
        representation=DoubleLayer(Laplace(dim=2)),
        data=data,
        side="interior",
    )
