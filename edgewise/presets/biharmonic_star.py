"""A clamped plate inside a star-shaped curve that changes with t: the paper's second example.

    Δ²u = 0 inside r(s) = 1 + 0.1 (sin s + t cos 2s + sin 3s + cos 4s),     t in [1, 2],
      u = (x² + y²) e^x sin y and ∂u/∂n its slope on the curve, and therefore inside.

The field is a pair of layers, u = S φ + D ψ + a + b·x, with three moments of the pair zero.

Reference: Z. Fang, S. Wang and P. Perdikaris, "Learning only on boundaries", arXiv:2308.12939.
"""

import jax
import jax.numpy as jnp

from edgewise.base.parameters import Box
from edgewise.geometry import StarCurve
from edgewise.kernels import Biharmonic
from edgewise.potentials import Clamped, LayerPair
from edgewise.problem import Problem


def radius(s, t):
    return 1 + 0.1 * (jnp.sin(s) + t * jnp.cos(2 * s) + jnp.sin(3 * s) + jnp.cos(4 * s))


def field(x):
    return (x[0] ** 2 + x[1] ** 2) * jnp.exp(x[0]) * jnp.sin(x[1])


def data(x, normal):
    return field(x), jax.grad(field)(x) @ normal


def problem() -> Problem:
    return Problem(
        family=StarCurve(radius),
        parameters=Box(t=(1.0, 2.0)),
        representation=LayerPair(Biharmonic(dim=2)),
        data=data,
        side="interior",
        condition=Clamped(),
        exact=field,
    )
