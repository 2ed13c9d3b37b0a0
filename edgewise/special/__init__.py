"""Functions that no dependency has: trigonometric interpolation, differentiable Bessel functions and harmonics."""

from edgewise.special.bessel import (
    i0_of_square,
    j0,
    j0_of_square,
    j1,
    k0,
    k0_of_square,
    k0_regular,
    k1,
    y0,
    y0_of_square,
    y0_regular,
    y1,
)
from edgewise.special.harmonics import on_sphere, real_harmonics
from edgewise.special.legendre import differentiation, gauss, interpolation, lagrange, to_coefficients
from edgewise.special.trigonometric import (
    circulant_weights,
    derivative,
    halve,
    interpolate,
    resample,
    tail,
    wave_numbers,
)

__all__ = [
    "circulant_weights",
    "derivative",
    "differentiation",
    "gauss",
    "halve",
    "i0_of_square",
    "interpolate",
    "interpolation",
    "j0",
    "j0_of_square",
    "j1",
    "k0",
    "k0_of_square",
    "k0_regular",
    "k1",
    "lagrange",
    "on_sphere",
    "real_harmonics",
    "resample",
    "tail",
    "to_coefficients",
    "wave_numbers",
    "y0",
    "y0_of_square",
    "y0_regular",
    "y1",
]
