"""What a field misses of its boundary condition, anywhere on the boundary."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Inexact

from edgewise.base.named import bind
from edgewise.geometry import Boundary
from edgewise.potentials import Strengths
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
    there = []

    def read(field, wanted):
        *found, seen = field.at_points(boundary.x, *wanted)
        there.append(seen)
        return found

    missed = _missed(problem, fields, read, boundary, parameters)
    return missed, jnp.all(jnp.stack(there), axis=0)


def _missed(
    problem: Problem,
    fields: tuple[Any, ...],
    read: Callable[[Any, tuple[Quantity, ...]], list[Array]],
    boundary: Boundary,
    parameters: Mapping[str, Array],
) -> Inexact[Array, "c n"]:
    """The misfit of fields whose quantities at the nodes `read` gives."""
    condition = bind(problem.condition, parameters)
    weight = condition.value_weight(boundary, parameters).astype(boundary.x.dtype)
    wanted: tuple[Quantity, ...] = ("potential",) * condition.takes_value + ("gradient",) * condition.takes_flux
    found = [read(field, wanted) for field in fields]
    values = [parts[0] for parts in found if condition.takes_value]
    fluxes = [jnp.sum(parts[-1] * boundary.normal, axis=-1) for parts in found if condition.takes_flux]
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

        def read(field, wanted, x=boundary.x):
            return [field.of_members(x, quantity)[0][0] for quantity in wanted]

        missed = _missed(problem, own, read, boundary, member)
        found.append(missed if len(missed) > 1 else missed[0])
    return found
