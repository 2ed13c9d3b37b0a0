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
    condition, x = member.condition, member.boundary.x
    value = slope = jnp.zeros(len(x), member.data.dtype)
    if condition.takes_value:
        value = at_points(field, x, "potential")[0] * member.value_weight
    if condition.takes_flux:
        gradient, _ = at_points(field, x, "gradient")
        slope = jnp.sum(gradient * member.boundary.normal, axis=-1)
    made = jnp.stack([value, slope]) if condition.channels == 2 else (value + slope)[None]
    return made - member.data


def at_points(field: Field, x: Float[Array, "m 2"], quantity: Quantity) -> tuple[Inexact[Array, "m ..."], Array]:
    """The field at points anywhere, and whether each is on the right side; in pieces, so that memory stays small."""
    _, nodes = field.layers.source.step.shape
    piece = max(1, min(len(x), PAIRS // (8 * nodes * field.layers.source.step.shape[0])))
    return jax.lax.map(lambda point: field.anywhere(point, quantity), x, batch_size=piece)
