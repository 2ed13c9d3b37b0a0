"""Far fields of surfaces: of many members in many directions, by their nodes alone."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.potentials.representation import Strengths
from edgewise.special.elementary import sincos

# Pairs of node and direction that are worked on at once.
PAIRS = 2**21


def far_of(
    k: Any,
    x: Float[Array, "n 3"],
    area: Float[Array, "n 3"],
    single: Inexact[Array, " n"] | None,
    double: Inexact[Array, " n"] | None,
    directions: Float[Array, "m 3"],
) -> Inexact[Array, " m"]:
    """u_inf with u ~ e^{ikr}/r · u_inf: G(x - y) ~ e^{ikr}/4πr · e^{-ik x̂·y}. `area` is normal times weight; `single` has the weight.

    The direction enters what a double layer adds linearly beside the phase, so that all nodes are summed by one product.
    """
    columns = [] if single is None else [single[:, None]]
    if double is not None:
        columns.append(-1j * k * double[:, None] * area)
    amounts = jnp.concatenate(columns, axis=1) + 0j
    sine, cosine = sincos(-k * (directions @ x.T))
    parts = jnp.concatenate([amounts.real, amounts.imag], axis=1)
    (a, b), (c, d) = (jnp.split(wave @ parts, 2, axis=1) for wave in (cosine, sine))
    sums = jax.lax.complex(a - d, b + c)
    along = ([] if single is None else [jnp.ones_like(directions[:, :1])]) + ([] if double is None else [directions])
    return jnp.sum(sums * jnp.concatenate(along, axis=1), axis=1) / (4 * jnp.pi)


@eqx.filter_jit
def far_in_space(
    kernels: Any, boundaries: Boundary, strengths: Strengths, directions: Float[Array, "m 3"]
) -> Inexact[Array, "b m"]:
    """Of members along a first axis of everything but the directions, which they share."""
    step = max(1, min(len(directions), PAIRS // boundaries.x.shape[1]))
    count = len(directions)
    some = np.arange(-(-count // step) * step).reshape(-1, step) % count

    def one(member):
        kernel, boundary, strengths = member
        single = strengths.single
        if single is not None:
            single = single * boundary.weight / boundary.jacobian
        area = boundary.weight[:, None] * boundary.normal

        def part(index):
            return far_of(kernel.wavenumber, boundary.x, area, single, strengths.double, directions[index])

        return jax.lax.map(part, jnp.asarray(some)).reshape(-1)[:count]

    return jax.lax.map(one, (kernels, boundaries, strengths))
