"""Laplace inside a star-shaped curve that changes with t: the paper's first example.

    Δu = 0 inside r(s) = 1 + 0.2 (sin 3s + t sin 4s + sin 6s + cos 2s + cos 5s),     t in [1, 2],
     u = e^x sin y on the curve, and therefore inside.

The field is a single layer, u = S φ + c with ∫ φ = 0.

Reference: Z. Fang, S. Wang and P. Perdikaris, "Learning only on boundaries", arXiv:2308.12939.
"""

import jax.numpy as jnp

from edgewise.base.parameters import Box
from edgewise.geometry import StarCurve
from edgewise.kernels import Laplace
from edgewise.potentials import SingleLayer
from edgewise.problem import Problem


def radius(s, t):
    return 1 + 0.2 * (jnp.sin(3 * s) + t * jnp.sin(4 * s) + jnp.sin(6 * s) + jnp.cos(2 * s) + jnp.cos(5 * s))


def field(x):
    return jnp.exp(x[0]) * jnp.sin(x[1])


def problem() -> Problem:
    return Problem(
        family=StarCurve(radius),
        parameters=Box(t=(1.0, 2.0)),
        representation=SingleLayer(Laplace(dim=2)),
        data=field,
        side="interior",
        exact=field,
    )
