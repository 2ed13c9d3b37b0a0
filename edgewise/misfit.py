"""What a field misses of its boundary condition, anywhere on the boundary."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from edgewise.potentials import Member, Strengths
from edgewise.potentials.evaluate import PAIRS, Field, Quantity
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature


def field_of(
    problem: Problem, quadrature: AbstractQuadrature, parameters: Mapping[str, Array], strengths: Strengths
) -> Field:
    """The field of one member."""
    return Field(problem.representation.kernel, problem.family, quadrature, problem.side, parameters, strengths)


def misfit(field: Field, member: Member) -> Inexact[Array, "c n"]:
    """What the field misses of the data at the nodes of a member; one row a channel of the condition."""
    condition, boundary = member.condition, member.boundary
    wanted: tuple[Quantity, ...] = ("potential",) * condition.takes_value + ("gradient",) * condition.takes_flux
    found = dict(zip(wanted, at_points(field, boundary.x, *wanted), strict=False))
    rows = []
    if "potential" in found:
        rows.append(found["potential"] * member.value_weight)
    if "gradient" in found:
        rows.append(jnp.sum(found["gradient"] * boundary.normal, axis=-1))
    rows = jnp.stack(rows)
    return (rows if condition.channels == 2 else jnp.sum(rows, axis=0, keepdims=True)) - member.data


def at_points(field: Field, x: Float[Array, "m 2"], *quantities: Quantity) -> tuple[Inexact[Array, "m ..."], ...]:
    """As `field.anywhere`, at many points; in pieces, so that memory stays small."""
    piece = max(1, min(len(x), PAIRS // (8 * field.layers.source.step.size)))
    return jax.lax.map(lambda point: field.anywhere(point, *quantities), x, batch_size=piece)
