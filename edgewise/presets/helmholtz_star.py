"""Scattering in the plane by sound-soft stars, over a decade of the wavenumber and from every angle.

    (Δ + k²) u = 0 outside r(s) = 1 + a cos 3s + b sin 2s,     a, b in [-0.2, 0.2], k in [1, 10],
      u = -e^{ik d·x} on it, d = (cos α, sin α); u is the scattered wave, which radiates.
"""

import jax.numpy as jnp

from edgewise.geometry import Angle, Box, StarCurve
from edgewise.kernels import Helmholtz
from edgewise.potentials import CombinedField, PlaneWave
from edgewise.problem import Problem


def radius(s, a, b):
    return 1 + a * jnp.cos(3 * s) + b * jnp.sin(2 * s)


def problem() -> Problem:
    return Problem(
        family=StarCurve(radius),
        parameters=Box(k=(1.0, 10.0), angle=Angle(default=0.0), a=(-0.2, 0.2), b=(-0.2, 0.2)),
        representation=CombinedField(Helmholtz(dim=2, wavenumber="k"), coupling="k"),
        data=PlaneWave("angle"),
        side="exterior",
    )
