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
from edgewise.density import AbstractDensity
from edgewise.geometry import Boundary
from edgewise.potentials import Member, Strengths
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Preconditioner
from edgewise.quadrature.surfaces.operators import AbstractOperator
from edgewise.solving import linear
from edgewise.solving.resolution import code_of
from edgewise.solving.validation import Settings, Values

# The equation of a surface is held as a matrix up to so many nodes, where it takes four gigabytes. Beyond, it is
# computed in pieces of so many pairs of nodes.
LARGEST, ROW_PAIRS = 16384, 2**22
# Members of the box that tell which nodes of a surface may be close to which panels.
DRAWS = 6


class Answer(NamedTuple):
    """What a solve makes of members, with a leading member axis; in the order in which a `Solution` takes it."""

    density: AbstractDensity
    boundary: Boundary
    strengths: tuple[Strengths, ...]
    quadrature: AbstractQuadrature
    result: Result
    stats: dict[str, Array]


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
    if not member.on.needs_pairs:
        return member
    # Afterwards: the number of close pairs is another for every member, and what is compiled should not depend on it.
    seen = member
    if not is_concrete(*values.values()):
        with jax.ensure_compile_time_eval():
            draws = problem.parameters.extremes(jax.random.key(0), DRAWS)
            drawn = {name: draw.astype(settings.dtype) for name, draw in draws.items()}
            seen = on_nodes(problem, rule, drawn, DRAWS, settings.dtype)
    return dataclasses.replace(member, on=member.on.with_pairs(seen.on, rows_at_once(member, settings)))


def rows_at_once(member: Member, settings: Settings) -> int | None:
    """How many rows of a surface's equation are computed at once, where it is not held as a whole; None where it is."""
    nodes = member.boundary.x.shape[1]
    if not is_concrete(member.boundary.x) or (nodes <= LARGEST and (settings.method == "direct" or not settings.chunk)):
        return None
    return settings.chunk or max(1, ROW_PAIRS // nodes)


def one_by_one(function: Callable[[Any], Any], members: Any, count: int) -> Any:
    """Applies a function of one member to each of `count` members along the first axis of `members`.

    It takes one member after the other, so that only one matrix is held in memory. With values at hand this is a loop,
    so that what is compiled for one member serves batches of every length.
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
    """Applies a function of a member's equation, and of what else is given for the member, to each of `count` members.

    `members` holds the parameters first and then what else is given, along a first axis. As in `one_by_one`, the
    function takes one member after the other; it sees and returns batches of one. On a surface, where assembling is the
    cost, members that differ in their data alone share a matrix.
    """

    def alone(member):
        parameters, given = jax.tree_util.tree_map(lambda leaf: leaf[None], member)
        found = function(prepare(problem, rule, parameters, 1, settings), given)
        return jax.tree_util.tree_map(lambda leaf: leaf[0], found)

    if not rule.is_dear or not is_concrete(*jax.tree_util.tree_leaves(members)):
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


def _alike(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: np.dtype) -> list[list[int]]:
    """Members of one and the same equation, by their places: those that differ in the data alone."""
    groups: dict[Any, list[int]] = {}
    for i in range(count):
        member = on_nodes(problem, rule, {name: value[i : i + 1] for name, value in values.items()}, 1, dtype)
        equation = (member.boundary, member.value_weight, member.representation)
        key = tuple(np.asarray(leaf).tobytes() for leaf in jax.tree_util.tree_leaves(equation))
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _with_data_of(
    problem: Problem, rule: AbstractQuadrature, values: Values, system: System, settings: Settings
) -> System:
    """The system of another member that has the same equation."""
    member = on_nodes(problem, rule, values, 1, settings.dtype)
    member = dataclasses.replace(member, on=system.member.on)
    rhs = over_members(lambda member: member.representation.rhs(member), member)
    return System(member, system.matrix, rhs.astype(system.rhs.dtype))


def solve_system(system: System, settings: Settings) -> Answer:
    member, matrix, rhs = system
    if settings.method == "direct" and not isinstance(matrix, AbstractOperator):
        count = rhs.shape[0]
        symmetric = member.representation.is_symmetric(member.condition) and not member.on.couples_unsymmetrically
        unknown = linear.direct(matrix, rhs, symmetric=symmetric, refine=member.on.loses_digits)
        applications, residual = jnp.zeros(count, int), jnp.zeros(count, rhs.real.dtype)
    else:
        unknown, applications, residual = _iterate(without_pairs(member), matrix, rhs, settings)
    return finish(member, unknown, applications, residual, settings, member.on.rule)


@eqx.filter_jit
def on_nodes(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: np.dtype) -> Member:
    # `axis_size` alone makes the batch where a problem has no parameters.
    return jax.vmap(lambda p: problem.member(rule, p, dtype), axis_size=count)(values)


def assemble(member: Member) -> tuple[Array, Array]:
    """The equations of members along a first axis."""
    return _assemble(member) if _in_pieces(member) else _compiled(member)


def _in_pieces(member: Member) -> bool:
    """Whether pieces are compiled that serve every member, not the whole: on a surface, with values at hand."""
    return member.on.in_pieces and is_concrete(*jax.tree_util.tree_leaves(member))


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


def preconditioner(member: Member, matrix: Any) -> Preconditioner:
    """An approximate inverse of a member's equation."""
    return member.on.preconditioner(matrix, member.representation.orders(member.condition))


def without_pairs(member: Member) -> Member:
    """The member without its close pairs, for functions that need not know them.

    With the pairs, such a function would be compiled anew for every member.
    """
    return dataclasses.replace(member, on=member.on.without_pairs())


def over_members(function: Callable[..., Any], *members: Any) -> Any:
    """Along the first axis; a batch of one without it, which is cheaper to compile and to run on large arrays."""
    if len(jax.tree_util.tree_leaves(members)[0]) > 1:
        return jax.vmap(function)(*members)
    alone = function(*jax.tree_util.tree_map(lambda leaf: leaf[0], members))
    return jax.tree_util.tree_map(lambda leaf: leaf[None], alone)


def finish(
    member: Member,
    unknown: Array,
    applications: Array,
    residual: Array,
    settings: Settings,
    rule: AbstractQuadrature,
) -> Answer:
    """Densities from the unknowns, and how the solve ended."""
    function = _finish if _in_pieces(member) else _compiled_finish
    return function(member, unknown, applications, residual, settings, rule)


def _finish(
    member: Member,
    unknown: Array,
    applications: Array,
    residual: Array,
    settings: Settings,
    rule: AbstractQuadrature,
) -> Answer:
    def one(member, unknown, applications, residual):
        representation = member.representation
        n = member.boundary.s.shape[0] * representation.unknowns(member.condition)
        density = representation.density(member.boundary, member.condition, unknown[:n])
        strengths = representation.strengths(member, density, unknown[n:])
        resolution = member.on.resolution(member, strengths)
        code = code_of(member, resolution.missed, resolution.growth, residual, settings)
        stats = {
            "num_nodes": jnp.asarray(member.boundary.s.shape[0]),
            "applications": applications,
            "residual": residual,
            "resolution": resolution.missed,
            "imbalance": member.imbalance,
        }
        result = Result(code, jnp.zeros_like(code))
        return Answer(rule.density(member.boundary, density), member.boundary, strengths, rule, result, stats)

    return over_members(one, member, unknown, applications, residual)


_compiled_finish = eqx.filter_jit(_finish)
