"""Waves in the plane around a star, from every angle and over three octaves of the wavenumber.

(Δ + k²) u = 0 outside r(s) = 1 + a cos 3s + b sin 2s,     |a|, |b| <= 0.2,  k in [1, 10],
  u = -e^{ik d·x} on it: sound-soft; u is the scattered wave, d the direction of `angle`.
"""

import jax.numpy as jnp

from edgewise.base.parameters import Box
from edgewise.base.ranges import Angle
from edgewise.geometry import StarCurve
from edgewise.kernels import Helmholtz
from edgewise.potentials import NullField, PlaneWave
from edgewise.problem import Problem


def radius(s, a, b):
    return 1 + a * jnp.cos(3 * s) + b * jnp.sin(2 * s)


def problem() -> Problem:
    amplitude = (-0.2, 0.2)
    return Problem(
        family=StarCurve(radius),
        parameters=Box(a=amplitude, b=amplitude, k=(1.0, 10.0), angle=Angle(default=0.0)),
        representation=NullField(Helmholtz(dim=2, wavenumber="k"), coupling="k"),
        data=PlaneWave("angle"),
        side="exterior",
    )
