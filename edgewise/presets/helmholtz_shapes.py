"""Waves in the plane around every shape of eight coefficients, from every angle.

(Δ + k²) u = 0 outside r(s) = 1 + Σ_{m=2}^{5} (a_m cos ms + b_m sin ms),     |a_m|, |b_m| <= 0.1,  k = 3,
  u = -e^{ik d·x} on it: sound-soft; u is the scattered wave, d the direction of `angle`.
"""

from edgewise.base.parameters import Box
from edgewise.base.ranges import Angle
from edgewise.geometry import StarCurve
from edgewise.kernels import Helmholtz
from edgewise.potentials import NullField, PlaneWave
from edgewise.presets.laplace_shapes import amplitudes, waves
from edgewise.problem import Problem


def radius(s, a, b):
    return 1 + waves(s, a, b)


def problem() -> Problem:
    return Problem(
        family=StarCurve(radius),
        parameters=Box(a=amplitudes(4), b=amplitudes(4), angle=Angle(default=0.0)),
        representation=NullField(Helmholtz(dim=2, wavenumber=3.0), coupling=3.0),
        data=PlaneWave("angle"),
        side="exterior",
    )
