"""Functions that no dependency has: trigonometric interpolation, and Bessel functions that differentiate well."""

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
    "halve",
    "i0_of_square",
    "interpolate",
    "j0",
    "j0_of_square",
    "j1",
    "k0",
    "k0_of_square",
    "k0_regular",
    "k1",
    "resample",
    "tail",
    "wave_numbers",
    "y0",
    "y0_of_square",
    "y0_regular",
    "y1",
]
