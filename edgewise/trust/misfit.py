"""What a field misses of its boundary condition, anywhere on the boundary."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.base.named import bind
from edgewise.geometry import AbstractFamily, Boundary
from edgewise.potentials import Strengths
from edgewise.potentials.evaluate import PAIRS, Field, Quantity
from edgewise.potentials.surface_field import SurfaceField, evaluate_space
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Duffy, Graded


def field_of(
    problem: Problem, quadrature: AbstractQuadrature, parameters: Mapping[str, Array], strengths: Strengths
) -> Field:
    """The field of one member on curves."""
    return Field(problem.representation.kernel, problem.family, quadrature, problem.side, parameters, strengths)


def fields_in_space(
    problem: Problem, quadrature: Duffy, parameters: Mapping[str, Array], strengths: Strengths
) -> SurfaceField:
    """The fields of members on surfaces, along a first axis."""
    kernel, family, side = problem.representation.kernel, problem.family, problem.side
    return jax.vmap(lambda p, s: SurfaceField(kernel, family, quadrature, side, p, s))(parameters, strengths)


def misfit(
    problem: Problem, field: Field, boundary: Boundary, parameters: Mapping[str, Array]
) -> tuple[Inexact[Array, "c n"], Bool[Array, " n"]]:
    """What the field misses of the data at nodes of the boundary, one row a channel of the condition; and whether it is there.

    Where curves bend between the nodes of a density, a field may take a point of the boundary for one on the wrong side.
    """
    condition = bind(problem.condition, parameters)
    value_weight = condition.value_weight(boundary, parameters).astype(boundary.x.dtype)
    wanted: tuple[Quantity, ...] = ("potential",) * condition.takes_value + ("gradient",) * condition.takes_flux
    *values, seen = at_points(field, boundary.x, *wanted)
    found = dict(zip(wanted, values, strict=True))
    rows = []
    if "potential" in found:
        rows.append(found["potential"] * value_weight)
    if "gradient" in found:
        rows.append(jnp.sum(found["gradient"] * boundary.normal, axis=-1))
    rows = jnp.stack(rows)
    made = rows if condition.channels == 2 else jnp.sum(rows, axis=0, keepdims=True)
    return made - problem.data_on(boundary, parameters, value_weight), seen


def between(
    quadrature: AbstractQuadrature,
    family: AbstractFamily,
    parameters: Mapping[str, Array],
    sigma: np.ndarray,
    dtype: Any,
) -> Boundary:
    """Nodes at any coordinates σ of a rule, in the order given, on every curve."""
    # Where there are no corners its coordinate is that of the rules on equispaced nodes.
    rule = quadrature if isinstance(quadrature, Graded) else Graded(16)
    return rule.position(sigma, family, parameters, dtype)


def at_points(field: Field, x: Float[Array, "m 2"], *quantities: Quantity) -> tuple[Inexact[Array, "m ..."], ...]:
    """As `field.anywhere`, at many points; in pieces, so that memory stays small."""
    piece = max(1, min(len(x), PAIRS // (8 * field.layers.source.step.size)))
    return jax.lax.map(lambda point: field.anywhere(point, *quantities), x, batch_size=piece)


def misfits_in_space(
    problem: Problem, quadrature: Duffy, fields: Any, parameters: Mapping[str, Array]
) -> list[Inexact[Array, " n"]]:
    """What the fields of members along a first axis miss of the data, at the nodes of a finer rule."""
    found = []
    for i in range(len(fields.panels.radius)):
        field = jax.tree_util.tree_map(lambda leaf, i=i: leaf[i : i + 1], fields)
        member = {name: jnp.asarray(value)[i] for name, value in parameters.items()}
        boundary = quadrature.finer().place(problem.family, member, fields.panels.x.dtype)
        condition = bind(problem.condition, member)
        weight = condition.value_weight(boundary, member)
        row = -problem.data_on(boundary, member, weight)
        if condition.takes_value:
            row = row + weight * evaluate_space(field, boundary.x, "potential")[0][0]
        if condition.takes_flux:
            row = row + jnp.sum(evaluate_space(field, boundary.x, "gradient")[0][0] * boundary.normal, axis=-1)
        found.append(row)
    return found
