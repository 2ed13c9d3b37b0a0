"""What a field misses of its boundary condition, anywhere on the boundary."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Inexact

from edgewise.base.named import bind
from edgewise.geometry import Boundary
from edgewise.potentials import AbstractCondition, Strengths
from edgewise.problem import Problem
from edgewise.quadrature import AbstractField, AbstractQuadrature, Quantity


@eqx.filter_jit
def fields_of_members(
    problem: Problem,
    quadrature: AbstractQuadrature,
    parameters: Mapping[str, Array],
    strengths: tuple[Strengths, ...],
) -> tuple[AbstractField, ...]:
    """The fields of members along a first axis, one a region."""
    return jax.vmap(lambda p, s: problem.fields(quadrature, p, s))(parameters, strengths)


def misfit(
    problem: Problem, fields: tuple[Any, ...], boundary: Boundary, parameters: Mapping[str, Array]
) -> tuple[Inexact[Array, "c n"], Bool[Array, " n"]]:
    """What the fields miss of the data at nodes of the boundary, and whether the fields exist at these nodes.

    The misfit has one row for every number that the condition prescribes. Where curves bend between the nodes of a
    density, a field may take a point of the boundary for one on the wrong side.
    """
    condition = bind(problem.condition, parameters)
    value_weight = condition.value_weight(boundary, parameters).astype(boundary.x.dtype)
    wanted: tuple[Quantity, ...] = ("potential",) * condition.takes_value + ("gradient",) * condition.takes_flux
    values, fluxes, there = [], [], jnp.ones(len(boundary.x), bool)
    for field in fields:
        *found, seen = field.at_points(boundary.x, *wanted)
        there = there & seen
        if condition.takes_value:
            values.append(found[0])
        if condition.takes_flux:
            fluxes.append(jnp.sum(found[-1] * boundary.normal, axis=-1))
    return _missed(problem, condition, value_weight, values, fluxes, boundary, parameters), there


def _missed(
    problem: Problem,
    condition: AbstractCondition,
    weight: Array,
    values: list[Array],
    fluxes: list[Array],
    boundary: Boundary,
    parameters: Mapping[str, Array],
) -> Inexact[Array, "c n"]:
    if problem.representation.kernel.value_shape:
        made = values[0].T
    else:
        made = jnp.stack(condition.rows(weight, values, fluxes))
    return made - problem.data_on(boundary, parameters, weight).reshape(made.shape)


def misfits_in_space(
    problem: Problem, finer: AbstractQuadrature, fields: tuple[AbstractField, ...], parameters: Mapping[str, Array]
) -> list[Inexact[Array, "... n"]]:
    """What the fields of members along a first axis miss of the data, at the nodes of a finer rule."""
    found = []
    for i in range(len(fields[0].polynomial)):
        own = jax.tree_util.tree_map(lambda leaf, i=i: leaf[i : i + 1], fields)
        member = {name: jnp.asarray(value)[i] for name, value in parameters.items()}
        boundary = finer.place(problem.family, member, fields[0].polynomial.real.dtype)
        condition = bind(problem.condition, member)
        weight = condition.value_weight(boundary, member)
        values, fluxes = [], []
        for field in own:
            if condition.takes_value:
                values.append(field.of_members(boundary.x, "potential")[0][0])
            if condition.takes_flux:
                slope = field.of_members(boundary.x, "gradient")[0][0]
                fluxes.append(jnp.sum(slope * boundary.normal, axis=-1))
        missed = _missed(problem, condition, weight, values, fluxes, boundary, member)
        found.append(missed if len(missed) > 1 else missed[0])
    return found
