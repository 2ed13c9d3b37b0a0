"""How wrong a solution on surfaces is: it is compared with its own correction on slightly finer nodes.

There the density, polynomials on panels, is put into its equation. What it leaves shows both what a density gets wrong and what its
nodes do not resolve. The equation is solved for it, loosely, and the field of the corrected density less the solution's own, as it
is read, is the error but for a part that is much smaller.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.potentials import Dirichlet, Member, Strengths
from edgewise.potentials.evaluate import far_field
from edgewise.potentials.surface_field import SurfaceField, evaluate_space, on_sphere_of
from edgewise.problem import Problem
from edgewise.quadrature import Duffy
from edgewise.solving import linear
from edgewise.solving.refinement import first_guess
from edgewise.solving.systems import System, each_system, over_members, preconditioner, without_pairs
from edgewise.solving.validation import Settings
from edgewise.trust.error_field import ROUNDING, Of, extent, looked_at
from edgewise.trust.misfit import fields_in_space

# More nodes along a side than the solution has. Assembling is the cost; two more gain a digit, which makes what is left small.
MORE = 2
# Between these nodes, and at the edges of panels that they do not reach, others are looked at: so many times as many along a side.
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
    problem: Problem, quadrature: Duffy, parameters: Mapping[str, Array], strengths: Strengths, of: Of, solved: bool
) -> Terms:
    """Of every member along the first axis; where not `solved`, the misfit stands for the correction of the field."""
    dtype = np.dtype(strengths.polynomial.real.dtype)
    settings = Settings("gmres", TOL, dtype, None)
    finer = Duffy(quadrature.num_nodes + MORE, quadrature.panels)

    def one(system: System, given: tuple[dict[str, Array], Strengths]) -> Terms:
        parameters, strengths = given
        member = without_pairs(system.member)
        guess = first_guess(member, quadrature, strengths)
        left, correction = _correct(member, system.matrix, system.rhs, guess, solved)
        own = _field(problem, quadrature, parameters, strengths)
        misfit, hidden = _look(problem, finer, parameters, member, left)
        data = jnp.max(jnp.abs(member.data), axis=-1)
        if not solved:
            error, size = misfit, data
        else:
            corrected = _strengths(system.member, guess + correction)
            fields = _field(problem, finer, parameters, corrected), own
            error, size = _far(fields) if of == "far_field" else _near(problem, finer, parameters, fields, member)
            if of == "field" and isinstance(problem.condition, Dirichlet):
                error, size = jnp.maximum(error, misfit), jnp.maximum(size, data)
        return Terms(misfit, hidden, _rounding(own, member), error, size)

    members = dict(parameters), (dict(parameters), strengths)
    return each_system(one, problem, finer, members, strengths.polynomial.shape[0], settings)


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


def _strengths(member: Member, unknown: Inexact[Array, "b n"]) -> Strengths:
    """Of equations on surfaces, which have no unknowns but those at nodes."""

    def one(member, unknown):
        density = member.representation.density(member.boundary, member.condition, unknown)
        return member.representation.strengths(member, density, unknown[:0])

    return over_members(one, member, unknown)


_field = eqx.filter_jit(fields_in_space)


def _far(fields: tuple[SurfaceField, SurfaceField]) -> tuple[Array, Array]:
    """The l2 norms over all directions of the difference of two far fields, and of the second."""
    x = fields[1].coarse.x
    directions, weights = (jnp.asarray(part, x.dtype) for part in on_sphere_of(fields[1].kernel, x))
    far, own = (far_field(field, directions) for field in fields)
    error, size = (jnp.sqrt(jnp.abs(values) ** 2 @ weights) for values in (far - own, own))
    return error, size


def _near(
    problem: Problem,
    rule: Duffy,
    parameters: dict[str, Array],
    fields: tuple[SurfaceField, SurfaceField],
    member: Member,
) -> tuple[Array, Array]:
    """The same of the fields themselves, the largest values at points off the surface; on it too, unless the data say it."""
    boundary, parameters = jax.tree_util.tree_map(lambda leaf: leaf[0], (member.boundary, parameters))
    points = looked_at(boundary, member.side)
    if not isinstance(member.condition, Dirichlet):
        points = jnp.concatenate([_on_panels(problem, rule, parameters, points.dtype), points])
    (better, right), (value, also_right) = (evaluate_space(field, points, "potential") for field in fields)
    known = right & also_right
    error, size = (jnp.max(jnp.where(known, jnp.abs(part), 0), axis=-1) for part in (better - value, value))
    return error, size


@eqx.filter_jit
def _on_panels(problem: Problem, rule: Duffy, parameters: dict[str, Array], dtype: Any) -> Float[Array, "m 3"]:
    """Points next to the corners of panels, where polynomials are worst, in the middle of their sides and in their middle."""
    n = BETWEEN * rule.num_nodes
    squares = Duffy(n, rule.panels).place(problem.family, parameters, dtype).x.reshape(-1, n, n, 3)
    some = squares[:, :: n // 2 - 1, :: n // 2 - 1].reshape(-1, 3)
    return some[np.linspace(0, len(some), min(TRACES, len(some)), endpoint=False).astype(int)]


@eqx.filter_jit
def _look(
    problem: Problem, rule: Duffy, parameters: dict[str, Array], member: Member, left: Inexact[Array, "b n"]
) -> tuple[Float[Array, " b"], Float[Array, " b"]]:
    """The largest misfit, and what the data do between the nodes."""
    other = Duffy(BETWEEN * rule.num_nodes, rule.panels)

    def one(parameters, data, missed):
        boundary = other.place(problem.family, parameters, data.real.dtype)
        true = problem.data_on(boundary, parameters)
        seen, missed = (rule.spread(part, other.num_nodes) for part in (data, missed))
        return jnp.max(jnp.abs(missed)), jnp.max(jnp.abs(true - seen))

    return jax.vmap(one)(parameters, member.data, left / member.representation.row_scale(member))


@eqx.filter_jit
def _rounding(fields: SurfaceField, member: Member) -> Float[Array, " b"]:
    """What rounding of sums over the layers and the data may add up to."""

    def one(field, member):
        size = extent(member.boundary)
        total = jnp.max(jnp.abs(member.data)) + jnp.sum(jnp.abs(field.polynomial))
        if field.coarse.single is not None:
            total += jnp.sum(jnp.abs(field.coarse.single)) * jnp.abs(field.kernel.radial((size / 2) ** 2))
        if field.coarse.double is not None:
            # Over a closed surface ∂G/∂n of Laplace's kernel integrates to one.
            total += jnp.max(jnp.abs(field.coarse.double))
        return ROUNDING * jnp.finfo(size.dtype).eps * total

    return jax.vmap(one)(fields, member)
