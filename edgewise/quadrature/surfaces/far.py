"""Far fields of surfaces: of many members in many directions, by their nodes alone."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from edgewise.special.elementary import sincos


def far_of(
    k: Any,
    x: Float[Array, "n 3"],
    area: Float[Array, "n 3"],
    single: Inexact[Array, " n"] | None,
    double: Inexact[Array, " n"] | None,
    directions: Float[Array, "m 3"],
) -> Inexact[Array, " m"]:
    """u_inf, where u ~ e^{ikr}/r · u_inf; G(x - y) ~ e^{ikr}/4πr · e^{-ik x̂·y}.

    `area` is the normal times the weight, and `single` includes the weight. Beside the phase, what a double layer adds
    is linear in the direction, so that one product sums all nodes.
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
