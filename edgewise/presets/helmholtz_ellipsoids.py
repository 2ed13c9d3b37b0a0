"""Scattering by ellipsoids of any semi-axes, for every direction and wavenumbers from 1 to 2π.

    (Δ + k²) u = 0 outside x²/a² + y²/b² + z²/c² = 1,     a, b, c in [0.5, 1.5], k in [1, 2π],
      u = -e^{ik d·x} on it: sound-soft; u is the scattered wave, which radiates.

Six parameters, and no symmetry that every member has beside its three planes.
"""

import math

from edgewise.base.parameters import Box
from edgewise.base.ranges import Direction
from edgewise.geometry import Ellipsoid
from edgewise.kernels import Helmholtz
from edgewise.potentials import CombinedField, PlaneWave
from edgewise.problem import Problem


def problem() -> Problem:
    axis = (0.5, 1.5)
    return Problem(
        family=Ellipsoid(),
        parameters=Box(a=axis, b=axis, c=axis, k=(1.0, 2 * math.pi), direction=Direction(3, default=(0, 0, 1))),
        representation=CombinedField(Helmholtz(dim=3, wavenumber="k"), coupling="k"),
        data=PlaneWave("direction"),
        side="exterior",
    )
