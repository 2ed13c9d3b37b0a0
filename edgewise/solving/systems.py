"""The equations of members on the nodes of a rule: assembled, solved, and made into densities."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.precision import is_concrete
from edgewise.base.result import Result
from edgewise.density import NodalDensity, PanelDensity
from edgewise.geometry import Boundary
from edgewise.potentials import Member, Strengths
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Duffy, Graded
from edgewise.quadrature.centred import Panels
from edgewise.quadrature.operators import AbstractOperator
from edgewise.solving import linear
from edgewise.solving.resolution import code_of, resolution_of
from edgewise.solving.two_level import two_level_preconditioner
from edgewise.solving.validation import Settings, Values

# Nodes of a surface up to which its equation is held as a matrix, of four gigabytes; beyond, pairs of nodes computed at once.
LARGEST, ROW_PAIRS = 16384, 2**22
# Members of the box that tell which nodes of a surface may be close to which panels.
DRAWS = 6

Parts = tuple[NodalDensity | PanelDensity, Boundary, Strengths, AbstractQuadrature, Result, dict[str, Array]]


class System(NamedTuple):
    """Members and their equations, with a leading member axis."""

    member: Member
    matrix: Array
    rhs: Array


def prepare(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, settings: Settings) -> System:
    """In two steps compiled apart: seeing both, XLA would compute a node again for every pair it is part of."""
    member = place(problem, rule, values, count, settings)
    return System(member, *assemble(member))


def place(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, settings: Settings) -> Member:
    """Members along a first axis, which know the pairs of nodes and panels that are close on any of them."""
    member = on_nodes(problem, rule, values, count, settings.dtype)
    if not isinstance(rule, Duffy):
        return member
    # Afterwards: the number of close pairs is another for every member, and what is compiled should not depend on it.
    known = dataclasses.replace(
        ready(problem, rule, values, count, settings.dtype), rows=rows_at_once(member, settings)
    )
    known = jax.tree_util.tree_map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), known)
    return dataclasses.replace(member, quadrature=known)


def rows_at_once(member: Member, settings: Settings) -> int | None:
    """How many rows of a surface's equation are computed at once, where it is not held as a whole; None where it is."""
    nodes = member.boundary.x.shape[1]
    if not is_concrete(member.boundary.x) or (nodes <= LARGEST and (settings.method == "direct" or not settings.chunk)):
        return None
    return settings.chunk or max(1, ROW_PAIRS // nodes)


def ready(
    problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: np.dtype
) -> AbstractQuadrature:
    """A rule for surfaces that knows which panels its nodes are close to, on any of these members.

    While parameters are traced, on any of some members drawn from the box.
    """
    if not isinstance(rule, Duffy) or rule.near is not None:
        return rule
    if is_concrete(*values.values()):
        return rule.ready([_panels(problem, rule, {n: v[i] for n, v in values.items()}, dtype) for i in range(count)])
    with jax.ensure_compile_time_eval():
        draws = problem.parameters.extremes(jax.random.key(0), DRAWS)
        members = [{n: v[i].astype(dtype) for n, v in draws.items()} for i in range(DRAWS)]
        return rule.ready([_panels(problem, rule, member, dtype) for member in members])


@eqx.filter_jit
def _panels(problem: Problem, rule: Duffy, parameters: Values, dtype: np.dtype) -> tuple[Boundary, Panels]:
    return rule.place(problem.family, parameters, dtype), rule.source(problem.family, parameters, dtype)


def one_by_one(function: Callable[[Any], Any], members: Any, count: int) -> Any:
    """A function of one member, of each of `count` along the first axis of `members`: one after the other, to hold one matrix.

    With values at hand by a loop, so that what is compiled for one member serves batches of every length.
    """
    if not is_concrete(*jax.tree_util.tree_leaves(members)):
        return jax.lax.map(function, members)
    each = [function(jax.tree_util.tree_map(lambda leaf, i=i: leaf[i], members)) for i in range(count)]
    return jax.tree_util.tree_map(lambda *leaves: jnp.stack(leaves), *each)


def each_system(
    function: Callable[[System, Any], Any],
    problem: Problem,
    rule: AbstractQuadrature,
    members: tuple[Values, Any],
    count: int,
    settings: Settings,
) -> Any:
    """A function of a member's equation and of what belongs to it, of each along the first axis of `members`, parameters first.

    One after the other, as `one_by_one`. The function sees and returns batches of one. On a surface, where assembling is the cost,
    members that differ in their data alone share a matrix.
    """

    def alone(member):
        parameters, given = jax.tree_util.tree_map(lambda leaf: leaf[None], member)
        found = function(prepare(problem, rule, parameters, 1, settings), given)
        return jax.tree_util.tree_map(lambda leaf: leaf[0], found)

    if not isinstance(rule, Duffy) or not is_concrete(*jax.tree_util.tree_leaves(members)):
        return one_by_one(alone, members, count)
    found = {}
    for group in _alike(problem, rule, members[0], count, settings.dtype):
        system = None
        for i in group:
            parameters, given = jax.tree_util.tree_map(lambda leaf, i=i: leaf[i : i + 1], members)
            if system is None:
                system = prepare(problem, rule, parameters, 1, settings)
            else:
                system = _with_data_of(problem, rule, parameters, system, settings)
            found[i] = function(system, given)
    return jax.tree_util.tree_map(lambda *leaves: jnp.concatenate(leaves), *(found[i] for i in range(count)))


def _alike(problem: Problem, rule: Duffy, values: Values, count: int, dtype: np.dtype) -> list[list[int]]:
    """Members of one and the same equation, by their places: those that differ in the data alone."""
    groups: dict[Any, list[int]] = {}
    for i in range(count):
        member = on_nodes(problem, rule, {name: value[i : i + 1] for name, value in values.items()}, 1, dtype)
        equation = (member.boundary, member.value_weight, member.representation)
        key = tuple(np.asarray(leaf).tobytes() for leaf in jax.tree_util.tree_leaves(equation))
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _with_data_of(problem: Problem, rule: Duffy, values: Values, system: System, settings: Settings) -> System:
    """The system of another member that has the same equation."""
    member = on_nodes(problem, rule, values, 1, settings.dtype)
    member = dataclasses.replace(member, quadrature=system.member.quadrature)
    rhs = over_members(lambda member: member.representation.rhs(member), member)
    return System(member, system.matrix, rhs.astype(system.rhs.dtype))


def finer_rule(rule: AbstractQuadrature) -> AbstractQuadrature:
    """The same with twice the nodes, on surfaces with half as many again along a side."""
    return rule.finer() if isinstance(rule, Duffy) else dataclasses.replace(rule, num_nodes=2 * rule.num_nodes)


def solve_system(system: System, settings: Settings) -> Parts:
    member, matrix, rhs = system
    if settings.method == "direct" and not isinstance(matrix, AbstractOperator):
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
        unknown, applications, residual = _iterate(without_pairs(member), matrix, rhs, settings)
    return finish(member, unknown, applications, residual, settings)


@eqx.filter_jit
def on_nodes(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: np.dtype) -> Member:
    # `axis_size` alone makes the batch where a problem has no parameters.
    return jax.vmap(lambda p: problem.member(rule, p, dtype), axis_size=count)(values)


def assemble(member: Member) -> tuple[Array, Array]:
    """The equations of members along a first axis."""
    return _assemble(member) if _in_pieces(member) else _compiled(member)


def _in_pieces(member: Member) -> bool:
    """On a surface with values at hand, pieces are compiled that serve every member, not the whole."""
    return isinstance(member.quadrature, Duffy) and is_concrete(*jax.tree_util.tree_leaves(member))


def _assemble(member: Member) -> tuple[Array, Array]:
    def one(member):
        matrix, rhs = member.representation.equation(member), member.representation.rhs(member)
        if isinstance(matrix, AbstractOperator):
            # What the operator makes of it shows whether it is complex.
            return matrix, rhs.astype(jax.eval_shape(matrix.apply, rhs).dtype)
        return matrix, rhs.astype(jnp.result_type(matrix, rhs))

    return over_members(one, member)


_compiled = eqx.filter_jit(_assemble)


@eqx.filter_jit
def _iterate(member: Member, matrix: Array, rhs: Array, settings: Settings) -> tuple[Array, Array, Array]:
    def one(member, matrix, rhs):
        return linear.gmres(lambda x: matrix @ x, rhs, tol=settings.tol, precondition=preconditioner(member, matrix))

    return over_members(one, member, matrix, rhs)


def preconditioner(member: Member, matrix: Any) -> linear.Operator:
    """The inverse, on circles, of the member's operator; on surfaces that of the smooth part of the matrix, where it is held."""
    if isinstance(matrix, AbstractOperator):
        return lambda residual: residual
    if isinstance(member.quadrature, Duffy):
        return two_level_preconditioner(member.quadrature, matrix)
    orders = member.representation.orders(member.condition)
    return linear.circle_preconditioner(orders, member.boundary.s.shape[0], member.boundary.components)


def without_pairs(member: Member) -> Member:
    """For functions that need not know which pairs are close: compiled with them, they would be so anew for every member."""
    rule = member.quadrature
    if not isinstance(rule, Duffy):
        return member
    return dataclasses.replace(member, quadrature=Duffy(rule.num_nodes, rule.panels))


def over_members(function: Callable[..., Any], *members: Any) -> Any:
    """Along the first axis; a batch of one without it, which is cheaper to compile and to run on large arrays."""
    if len(jax.tree_util.tree_leaves(members)[0]) > 1:
        return jax.vmap(function)(*members)
    alone = function(*jax.tree_util.tree_map(lambda leaf: leaf[0], members))
    return jax.tree_util.tree_map(lambda leaf: leaf[None], alone)


def finish(member: Member, unknown: Array, applications: Array, residual: Array, settings: Settings) -> Parts:
    """Densities from the unknowns, and how the solve ended."""
    function = _finish if _in_pieces(member) else _compiled_finish
    return function(member, unknown, applications, residual, settings)


def _finish(member: Member, unknown: Array, applications: Array, residual: Array, settings: Settings) -> Parts:
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
        # Which pairs are close was known for the solve; elsewhere it is found out again.
        quadrature = without_pairs(member).quadrature
        return nodal(quadrature, member.boundary, density), member.boundary, strengths, quadrature, result, stats

    return over_members(one, member, unknown, applications, residual)


def nodal(rule: AbstractQuadrature, boundary: Boundary, density: Array) -> NodalDensity | PanelDensity:
    """The density that has these values at the nodes of the rule."""
    if isinstance(rule, Duffy):
        return PanelDensity(density, rule.num_nodes, rule.panels)
    return NodalDensity(boundary.s, density, boundary.components, isinstance(rule, Graded))


_compiled_finish = eqx.filter_jit(_finish)
