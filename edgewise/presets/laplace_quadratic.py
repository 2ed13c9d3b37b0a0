"""Laplace inside the paper's curves with data x², so that the field itself depends on t.

    Δu = 0 inside r(s) = 1 + 0.2 (sin 3s + t sin 4s + sin 6s + cos 2s + cos 5s),     t in [1, 2],
     u = x² on the curve, which is harmonic nowhere: inside, the field differs from member to member.

With the paper's own data only the density depends on t, and an error in t could hide.
"""

import dataclasses

from edgewise.presets import laplace_star
from edgewise.problem import Problem


def data(x):
    return x[0] ** 2


def problem() -> Problem:
    return dataclasses.replace(laplace_star.problem(), data=data, exact=None)
