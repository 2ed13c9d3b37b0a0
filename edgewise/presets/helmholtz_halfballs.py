"""Scattering by two half-balls at a distance that changes with t: the paper's third example, for every direction.

    (Δ + k²) u = 0 outside two solid half-balls of radius 1 with centres (0, 0, ±t), each closed by its disc,     k =
    2π,
      u = -e^{ik d·x} on them: sound-soft; u is the scattered wave, which radiates.

The paper sends the wave along the axis, d = (0, 0, 1), which is the default; the experiment that it cites along the
gap. The field is a combined one, whose equation is well conditioned for every t; that of the paper's single layer is
next to singular. The gap resonates: near t = 0.265 the density on the discs is four times as large as beside it.

Reference: Z. Fang, S. Wang and P. Perdikaris, "Learning only on boundaries", arXiv:2308.12939.
"""

import math

from edgewise.base.parameters import Box
from edgewise.base.ranges import Direction
from edgewise.geometry import HalfBalls
from edgewise.kernels import Helmholtz
from edgewise.potentials import CombinedField, PlaneWave
from edgewise.problem import Problem


def problem() -> Problem:
    return Problem(
        family=HalfBalls(),
        parameters=Box(t=(0.05, 0.5), direction=Direction(3, default=(0, 0, 1))),
        representation=CombinedField(Helmholtz(dim=3, wavenumber=2 * math.pi), coupling=2 * math.pi),
        data=PlaneWave("direction"),
        side="exterior",
    )
