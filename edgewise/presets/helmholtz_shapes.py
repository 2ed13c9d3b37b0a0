"""Scattering in the plane by sound-soft stars of eight coefficients, from every angle, for one wavenumber.

    (Δ + k²) u = 0 outside r(s) = 1 + Σ_{m=2}^{5} (a_m cos ms + b_m sin ms),     a_m, b_m in [-0.1, 0.1], k = 3,
      u = -e^{ik d·x} on it, d = (cos α, sin α); u is the scattered wave, which radiates.
"""

import jax.numpy as jnp
import numpy as np

from edgewise.geometry import Angle, Box, StarCurve
from edgewise.kernels import Helmholtz
from edgewise.potentials import CombinedField, PlaneWave
from edgewise.problem import Problem

MODES = np.arange(2, 6)


def radius(s, a, b):
    return 1 + a @ jnp.cos(MODES * s) + b @ jnp.sin(MODES * s)


def problem() -> Problem:
    amplitudes = (-0.1 * np.ones(4), 0.1 * np.ones(4))
    return Problem(
        family=StarCurve(radius),
        parameters=Box(a=amplitudes, b=amplitudes, angle=Angle(default=0.0)),
        representation=CombinedField(Helmholtz(dim=2, wavenumber=3.0)),
        data=PlaneWave("angle"),
        side="exterior",
    )
