"""What layers carry where a density is given by its values and nothing is solved."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from edgewise.potentials import Member, Strengths
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature
from edgewise.solving.systems import one_by_one, over_members, place
from edgewise.solving.validation import Settings


def strengths_of(
    problem: Problem,
    quadrature: AbstractQuadrature,
    parameters: dict[str, Array],
    strengths: tuple[Strengths, ...],
    values: Array,
) -> tuple[Strengths, ...]:
    """Of members along a first axis, from the values of their densities.

    Arguments:
        strengths: The constants beside the densities are theirs.
    """
    members = (parameters, strengths, values)
    if not quadrature.is_dear:
        return _at_once(problem, quadrature, members)
    # In pieces, with the pairs that are close: some densities take a layer on the surface to be made into strengths.
    settings = Settings("direct", 1.0, np.dtype(values.real.dtype), None)

    def one(given):
        parameters, *rest = jax.tree_util.tree_map(lambda leaf: leaf[None], given)
        found = over_members(_of_member, place(problem, quadrature, parameters, 1, settings), *rest)
        return jax.tree_util.tree_map(lambda leaf: leaf[0], found)

    return one_by_one(one, members, len(values))


@eqx.filter_jit
def _at_once(
    problem: Problem,
    quadrature: AbstractQuadrature,
    members: tuple[dict[str, Array], tuple[Strengths, ...], Array],
) -> tuple[Strengths, ...]:
    def one(parameters, strengths, values):
        return _of_member(problem.member(quadrature, parameters, values.real.dtype), strengths, values)

    return jax.vmap(one)(*members)


def _of_member(member: Member, strengths: tuple[Strengths, ...], values: Array) -> tuple[Strengths, ...]:
    count = member.boundary.s.shape[0] * member.representation.unknowns(member.condition)
    polynomial = member.representation.unknown(member, strengths)[count:]
    return member.representation.strengths(member, values, polynomial)
