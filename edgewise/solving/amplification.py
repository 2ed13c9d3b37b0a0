"""Equations that are nearly singular, such as a single layer for waves outside at a resonance of the inside.

There the density exceeds the data by far, and what is wrong with the equation, be it by rounding alone, is wrong with
the field by as much more. No further nodes help.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool

from edgewise.potentials import Member

# Roundings of a matrix by which the field errs, times growth. Near resonances of circles, ellipses and kites single
# layers take less than 1, double layers 15, and 60 on a circle at k = 1.84: then the field errs by less than 4 `tol`
# where this says nothing.
ROUNDINGS = 16
# Of the first kind, where densities exceed smooth data by the number of waves.
ROUNDINGS_FIRST_KIND = 2
# What on a surface is wrong with the field, times growth, as a share of `resolution`: on spheres near resonances a
# thousandth for single layers, a tenth for double layers ...
SHARE_ON_SURFACES = 0.01
# ... and at least this.
LEAST_ON_SURFACES = 1e-9


def is_amplified(member: Member, resolution: Array, growth: Array, allowed: Array | float) -> Bool[Array, ""]:
    """Whether what is wrong with the equation, times growth of the density over the data, exceeds what is allowed."""
    if member.on.rule.is_dear:
        wrong = jnp.maximum(SHARE_ON_SURFACES * resolution, LEAST_ON_SURFACES)
    else:
        first_kind = min(member.representation.orders(member.condition)) < 0
        wrong = (ROUNDINGS_FIRST_KIND if first_kind else ROUNDINGS) * jnp.finfo(member.boundary.x.dtype).eps
    return wrong * growth > allowed
