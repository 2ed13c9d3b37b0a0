"""The equations of members on the nodes of a rule: assembled, solved, and made into densities."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise import linear
from edgewise.density import NodalDensity
from edgewise.geometry import Boundary
from edgewise.potentials import Member, Strengths
from edgewise.precision import is_concrete
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Graded
from edgewise.resolution import code_of, resolution_of
from edgewise.result import Result
from edgewise.validation import Settings, Values

Parts = tuple[NodalDensity, Boundary, Strengths, AbstractQuadrature, Result, dict[str, Array]]


class System(NamedTuple):
    """Members and their equations, with a leading member axis."""

    member: Member
    matrix: Array
    rhs: Array


def prepare(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, settings: Settings) -> System:
    """In two steps compiled apart: seeing both, XLA would compute a node again for every pair it is part of."""
    member = _place(problem, rule, values, count, settings.dtype)
    return System(member, *assemble(member))


def one_by_one(function: Callable[[Any], Any], members: Any, count: int) -> Any:
    """A function of one member, of each of `count` along the first axis of `members`: one after the other, to hold one matrix.

    With values at hand by a loop, so that what is compiled for one member serves batches of every length.
    """
    if not is_concrete(*jax.tree_util.tree_leaves(members)):
        return jax.lax.map(function, members)
    each = [function(jax.tree_util.tree_map(lambda leaf, i=i: leaf[i], members)) for i in range(count)]
    return jax.tree_util.tree_map(lambda *leaves: jnp.stack(leaves), *each)


def finer_rule(rule: AbstractQuadrature) -> AbstractQuadrature:
    """The same with twice the nodes."""
    return dataclasses.replace(rule, num_nodes=2 * rule.num_nodes)


def solve_system(system: System, settings: Settings) -> Parts:
    member, matrix, rhs = system
    if settings.method == "direct":
        count = rhs.shape[0]
        unknown, applications, residual = (
            linear.direct(
                matrix,
                rhs,
                # Of several curves, each acts on the others by a rule that is not symmetric in the last digits.
                symmetric=member.sources is None and member.representation.is_symmetric(member.condition),
                refine=isinstance(member.quadrature, Graded),
            ),
            jnp.zeros(count, int),
            jnp.zeros(count, rhs.real.dtype),
        )
    else:
        unknown, applications, residual = _iterate(member, matrix, rhs, settings)
    return finish(member, unknown, applications, residual, settings)


@eqx.filter_jit
def _place(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: np.dtype) -> Member:
    # `axis_size` alone makes the batch where a problem has no parameters.
    return jax.vmap(lambda p: problem.member(rule, p, dtype), axis_size=count)(values)


@eqx.filter_jit
def assemble(member: Member) -> tuple[Array, Array]:
    def one(member):
        matrix, rhs = member.representation.equation(member), member.representation.rhs(member)
        return matrix, rhs.astype(jnp.result_type(matrix, rhs))

    return jax.vmap(one)(member)


@eqx.filter_jit
def _iterate(member: Member, matrix: Array, rhs: Array, settings: Settings) -> tuple[Array, Array, Array]:
    def one(member, matrix, rhs):
        orders = member.representation.orders(member.condition)
        precondition = linear.circle_preconditioner(orders, member.boundary.s.shape[0], member.boundary.components)
        return linear.gmres(lambda x: matrix @ x, rhs, tol=settings.tol, precondition=precondition)

    return jax.vmap(one)(member, matrix, rhs)


@eqx.filter_jit
def finish(member: Member, unknown: Array, applications: Array, residual: Array, settings: Settings) -> Parts:
    def one(member, unknown, applications, residual):
        n = member.boundary.s.shape[0] * member.condition.channels
        density = member.representation.density(member.boundary, member.condition, unknown[:n])
        strengths = member.representation.strengths(member, density, unknown[n:])
        resolution, growth = resolution_of(member, strengths)
        code = code_of(member, resolution, growth, residual, settings)
        result = Result(code, jnp.zeros_like(code))
        stats = {
            "num_nodes": jnp.asarray(member.boundary.s.shape[0]),
            "applications": applications,
            "residual": residual,
            "resolution": resolution,
        }
        graded = isinstance(member.quadrature, Graded)
        nodal = NodalDensity(member.boundary.s, density, member.boundary.components, graded)
        return nodal, member.boundary, strengths, member.quadrature, result, stats

    return jax.vmap(one)(member, unknown, applications, residual)
