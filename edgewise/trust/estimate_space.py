"""How wrong a solution on surfaces is: it is compared with its own correction on slightly finer nodes.

On those nodes the density, a polynomial on each panel, is put into its equation. The residual shows both what the
density gets wrong and what its nodes do not resolve. The equation is solved loosely for this residual, which corrects
the density. The field of the corrected density, minus the field that the solution gives, is the error up to a much
smaller part.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.potentials import Member, Strengths
from edgewise.problem import Problem
from edgewise.quadrature.surfaces.field import on_sphere_of
from edgewise.solving import linear
from edgewise.solving.refinement import first_guess
from edgewise.solving.systems import System, each_system, over_members, preconditioner, without_pairs
from edgewise.solving.validation import Settings
from edgewise.trust.error_field import ROUNDING, Of, extent, looked_at, row_sizes
from edgewise.trust.misfit import fields_of_members

# By so many the nodes along a side exceed those of the solution. Assembling is the cost; two more nodes gain a digit,
# which makes the remaining error small.
MORE = 2
# The data and the residual are also looked at between these nodes, and at the edges of panels, which the nodes do not
# reach: on so many times as many points along a side.
BETWEEN = 3
# Relative residual of the correction: an estimate is not known better than to some percent anyway.
TOL = 1e-2
# Points at which fields are looked at on the surface itself, where the data do not say what they are.
TRACES = 128


class Terms(NamedTuple):
    """Of what an estimate is made, with a leading member axis."""

    misfit: Float[Array, " b"]
    hidden: Float[Array, " b"]
    rounding: Float[Array, " b"]
    error: Float[Array, " b"]
    """The norm of the correction of the field."""
    size: Float[Array, " b"]
    """The norm of the solution."""


def terms_in_space(
    problem: Problem,
    quadrature: Any,
    parameters: Mapping[str, Array],
    strengths: tuple[Strengths, ...],
    of: Of,
    solved: bool,
) -> Terms:
    """Of every member along the first axis; where not `solved`, the misfit stands for the correction of the field."""
    dtype = np.dtype(strengths[0].polynomial.real.dtype)
    settings = Settings("gmres", TOL, dtype, None)
    finer = quadrature.with_more(MORE)

    def one(system: System, given: tuple[dict[str, Array], tuple[Strengths, ...]]) -> Terms:
        parameters, strengths = given
        member = without_pairs(system.member)
        guess = first_guess(member, quadrature, strengths)
        left, correction = _correct(member, system.matrix, system.rhs, guess, solved)
        own = fields_of_members(problem, quadrature, parameters, strengths)
        misfit, hidden = _look(problem, finer, parameters, member, left)
        data = jnp.max(jnp.abs(member.data).reshape(len(member.data), -1), axis=-1)
        if not solved:
            error, size = misfit, data
        else:
            corrected = _strengths(system.member, guess + correction)
            fields = fields_of_members(problem, finer, parameters, corrected), own
            error, size = _far(fields) if of == "far_field" else _near(problem, finer, parameters, fields, member)
            if of == "field" and problem.condition.gives_value:
                error, size = jnp.maximum(error, misfit), jnp.maximum(size, data)
        rounding = jnp.stack([_rounding(field, member) for field in own]).sum(axis=0)
        return Terms(misfit, hidden, rounding, error, size)

    members = dict(parameters), (dict(parameters), strengths)
    return each_system(one, problem, finer, members, strengths[0].polynomial.shape[0], settings)


@eqx.filter_jit
def _correct(member: Member, matrix: Array, rhs: Array, guess: Array, solved: bool) -> tuple[Array, Array]:
    """What the guess leaves of the equation, and the correction that takes it away."""

    def one(member, matrix, rhs, guess):
        left = rhs - matrix @ guess.astype(rhs.dtype)
        if not solved:
            return left, jnp.zeros_like(left)
        found, _, reached = linear.gmres(
            lambda x: matrix @ x, left, tol=TOL, precondition=preconditioner(member, matrix)
        )
        # Where it does not converge the equation is next to singular, and the error may be anything.
        return left, jnp.where(reached <= TOL, found, jnp.inf)

    return over_members(one, member, matrix, rhs, guess)


def _strengths(member: Member, unknown: Inexact[Array, "b n"]) -> tuple[Strengths, ...]:
    """Of equations on surfaces, which have no unknowns but those at nodes."""

    def one(member, unknown):
        density = member.representation.density(member.boundary, member.condition, unknown)
        return member.representation.strengths(member, density, unknown[:0])

    return over_members(one, member, unknown)


def _far(both: tuple[tuple[Any, ...], tuple[Any, ...]]) -> tuple[Array, Array]:
    """The l2 norms over all directions of the difference of two far fields, and of the second."""
    outside = both[1][0]
    x = outside.coarse.x
    directions, weights = (jnp.asarray(part, x.dtype) for part in on_sphere_of(outside.kernel, x))
    far, own = (fields[0].far_of_members(directions) for fields in both)
    error, size = (jnp.sqrt(jnp.abs(values) ** 2 @ weights) for values in (far - own, own))
    return error, size


def _near(
    problem: Problem,
    rule: Any,
    parameters: dict[str, Array],
    both: tuple[tuple[Any, ...], tuple[Any, ...]],
    member: Member,
) -> tuple[Array, Array]:
    """The largest values of the difference of two fields, and of the second field, at points off the surface.

    Points on the surface count too, unless the data say what the field is there.
    """
    boundary, parameters = jax.tree_util.tree_map(lambda leaf: leaf[0], (member.boundary, parameters))
    points = looked_at(boundary, member.side)
    if not member.condition.gives_value:
        points = jnp.concatenate([_on_panels(problem, rule, parameters, points.dtype), points])
    norms = []
    for pair in zip(*both, strict=True):
        (better, right), (value, also_right) = (field.of_members(points, "potential") for field in pair)
        known = (right & also_right).reshape(*right.shape, *[1] * (value.ndim - right.ndim))
        sizes = (jnp.where(known, jnp.abs(part), 0).reshape(len(part), -1) for part in (better - value, value))
        norms.append([jnp.max(part, axis=-1) for part in sizes])
    error, size = (jnp.max(jnp.stack(part), axis=0) for part in zip(*norms, strict=True))
    return error, size


@eqx.filter_jit
def _on_panels(problem: Problem, rule: Any, parameters: dict[str, Array], dtype: Any) -> Float[Array, "m 3"]:
    """Points of panels: next to corners, where polynomials are worst, in the middle of sides, and in the centre."""
    n = BETWEEN * rule.num_nodes
    squares = rule.with_more(n - rule.num_nodes).place(problem.family, parameters, dtype).x.reshape(-1, n, n, 3)
    some = squares[:, :: n // 2 - 1, :: n // 2 - 1].reshape(-1, 3)
    return some[np.linspace(0, len(some), min(TRACES, len(some)), endpoint=False).astype(int)]


@eqx.filter_jit
def _look(
    problem: Problem, rule: Any, parameters: dict[str, Array], member: Member, left: Inexact[Array, "b n"]
) -> tuple[Float[Array, " b"], Float[Array, " b"]]:
    """The largest misfit, and what the data do between the nodes."""
    other = rule.with_more((BETWEEN - 1) * rule.num_nodes)

    def one(parameters, data, missed, sizes):
        boundary = other.place(problem.family, parameters, data.real.dtype)
        true = problem.data_on(boundary, parameters)
        data, missed = data.reshape(len(sizes), -1), missed.reshape(len(sizes), -1)
        seen, missed = (jnp.stack([rule.spread(row, other) for row in part]) for part in (data, missed))
        hidden = jnp.max(jnp.abs(true.reshape(seen.shape) - seen), axis=-1)
        return jnp.max(sizes * jnp.max(jnp.abs(missed), axis=-1)), jnp.max(sizes * hidden)

    rows = problem.representation.unknowns(problem.condition)
    sizes = jax.vmap(lambda member: row_sizes(member, rows))(member)
    scale = jax.vmap(lambda member: member.representation.row_scale(member))(member)
    return jax.vmap(one)(parameters, member.data, left / scale, sizes)


@eqx.filter_jit
def _rounding(fields: Any, member: Member) -> Float[Array, " b"]:
    """What rounding of sums over the layers and the data may add up to."""

    def one(field, member):
        size = extent(member.boundary)
        total = jnp.max(jnp.abs(member.data)) + jnp.sum(jnp.abs(field.polynomial))
        if field.coarse.single is not None:
            total += jnp.sum(jnp.abs(field.coarse.single)) * field.kernel.sizes(size / 2)[0]
        if field.coarse.double is not None:
            # Over a closed surface ∂G/∂n of Laplace's kernel integrates to one.
            total += jnp.max(jnp.abs(field.coarse.double))
        return ROUNDING * jnp.finfo(size.dtype).eps * total

    return jax.vmap(one)(fields, member)
