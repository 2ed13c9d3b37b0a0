"""The Laplace equation with boundary data as input, on shapes of four coefficients.

    Δu = 0 inside r(s) = 1.2 + Σ_{m=2}^{3} (a_m cos ms + b_m sin ms),     |a_m|, |b_m| <= 0.1,
      u = Σ_{m=1}^{4} (c_m cos mθ + d_m sin mθ) at the angle θ of the boundary, |c_m|, |d_m| <= 1.

The answer is linear in `c` and `d`, and so is the operator: doubled data have the doubled answer.
"""

import jax.numpy as jnp
import numpy as np

from edgewise.base.parameters import Box
from edgewise.geometry import StarCurve
from edgewise.kernels import Laplace
from edgewise.potentials import DoubleLayer
from edgewise.presets.laplace_shapes import amplitudes, radius
from edgewise.problem import Problem

WAVES = np.arange(1, 5)


def data(x, c, d):
    angle = WAVES * jnp.arctan2(x[1], x[0])
    return c @ jnp.cos(angle) + d @ jnp.sin(angle)


def problem() -> Problem:
    one = [-1.0] * len(WAVES), [1.0] * len(WAVES)
    return Problem(
        family=StarCurve(radius),
        parameters=Box(a=amplitudes(2), b=amplitudes(2), c=one, d=one),
        representation=DoubleLayer(Laplace(dim=2)),
        data=data,
        side="interior",
    )
