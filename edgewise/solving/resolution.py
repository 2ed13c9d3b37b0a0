"""How a solve ended: what `solve` looks at before it trusts a member."""

import jax.numpy as jnp
from jaxtyping import Array

from edgewise.base.result import Code
from edgewise.potentials import Member
from edgewise.solving.amplification import is_amplified
from edgewise.solving.validation import Settings, rounding_of_integrals


def rounding_of_places(x: Array) -> Array:
    """Far from the origin the nodes themselves are rounded, and more of them do not help."""
    return 64 * jnp.finfo(x.dtype).eps * jnp.max(jnp.abs(x)) / jnp.max(jnp.abs(x - x.mean(axis=0)))


def code_of(member: Member, resolution: Array, growth: Array, residual: Array, settings: Settings) -> Array:
    rounding = rounding_of_places(member.boundary.x)
    # Equations of the first kind amplify rounding by the number of nodes, a pair of fourth order by its square.
    n = member.on.rule.num_nodes
    rounding = jnp.maximum(
        rounding, jnp.finfo(settings.dtype).eps * (2 * n**2 if member.representation.kernel.order == 4 else 8 * n)
    )
    allowed = jnp.maximum(settings.tol, rounding)
    code = jnp.where(is_amplified(member, resolution, growth, allowed), Code.SINGULAR, Code.CONVERGED)
    code = jnp.where(resolution <= allowed, code, Code.UNRESOLVED)
    code = jnp.where(residual <= settings.tol, code, Code.NO_CONVERGENCE)
    code = jnp.where(growth < 1e-4 / jnp.finfo(settings.dtype).eps, code, Code.SINGULAR)
    # What the data fail to balance by more than nodes can miss of them.
    missed = jnp.where(code == Code.CONVERGED, 0, 10 * resolution)
    unbalanced = member.imbalance > rounding_of_integrals(settings.dtype) + missed
    code = jnp.where(((code == Code.CONVERGED) | (code == Code.UNRESOLVED)) & unbalanced, Code.INCOMPATIBLE, code)
    finite = jnp.all(jnp.isfinite(member.data)) & jnp.all(jnp.isfinite(member.value_weight))
    return jnp.where(finite, code, Code.NOT_FINITE)
