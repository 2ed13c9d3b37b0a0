"""`solve`: the classical verb. Every member up to rounding, alone or in batches."""

import logging
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise import linear
from edgewise.density import NodalDensity
from edgewise.geometry import Boundary
from edgewise.geometry.parameters import Interval
from edgewise.potentials import Member, SingleLayer, Strengths
from edgewise.precision import is_concrete, working_dtype
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Graded, Kress
from edgewise.quadrature.rule import next_shared, sides
from edgewise.resolution import code_of, resolution_of
from edgewise.solution import Code, Result, Solution
from edgewise.validation import Settings, Values, check_curves, check_numbers, check_settings, raise_failures, words

logger = logging.getLogger("edgewise")

# Node counts tried in turn where the caller names no rule.
LADDER = (128, 192, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048)
# A corner takes a good part of them.
CORNER_NODES = 256
# The power of the nodes that errors at corners fall with, or faster.
CORNER_ORDER = 8
# Where not even the problem's own numbers can be looked at; `result` says if they are too few.
TRACED_NODES = 512
# Bytes that the matrices of a batch may take at once where the caller names no `chunk`: memory that small is used again
# and again, while a larger piece is asked from the system each time, which takes longer than filling it.
BATCH_BYTES = 2**24

Parts = tuple[NodalDensity, Boundary, Strengths, AbstractQuadrature, Result, dict[str, Array]]


def solve(
    problem: Problem,
    *,
    quadrature: AbstractQuadrature | None = None,
    method: Literal["direct", "gmres"] = "direct",
    tol: float | None = None,
    chunk: int | None = None,
    dtype: str | None = None,
    extrapolate: bool = False,
    **parameters: Any,
) -> Solution:
    """Solves one member, or a batch given by a leading axis on any parameter.

    Arguments:
        quadrature: The rule; by default `Kress` with as many nodes as the density turns out to need.
        method: "direct", or "gmres" with the inverse of the circle's operator as preconditioner.
        tol: Relative accuracy: how far the density's Fourier coefficients must have fallen, and where GMRES stops.
            1e-12 by default, with corners 1e-10, in float32 1e-4.
        chunk: How many members of a batch are held in memory at once.
        dtype: "float64", or "float32" where that is enough.
        extrapolate: Allows parameters outside the box.

    >>> import jax.numpy as jnp
    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> u = lambda x: jnp.exp(x[0]) * jnp.sin(x[1])
    >>> problem = ew.Problem(ew.Ellipse(2.0, "b"), ew.Box(b=(0.5, 1)), ew.SingleLayer(ew.Laplace(2)), u, "interior")
    >>> point = jnp.array([0.3, 0.2])
    >>> bool(abs(ew.solve(problem, b=0.8)(point) - u(point)) < 1e-12)
    True
    >>> ew.solve(problem, b=jnp.linspace(0.5, 1, 5))(point).shape
    (5,)
    """
    settings = check_settings(problem, quadrature, method, tol, chunk, working_dtype(dtype))
    values, count, batched = problem.parameters.members(parameters, extrapolate=extrapolate, dtype=settings.dtype)
    try:
        check_numbers(problem, values)
        check_curves(problem, values, count)
        _check_capacity(problem, values, count, settings)
        parts = _solve_adaptively(problem, quadrature, values, count, settings)
        raise_failures(problem, values, *parts)
    except jax.errors.TracerArrayConversionError:
        # Parameters, or numbers inside the problem, are being traced: nothing can be looked at.
        rule = quadrature or _rule(problem, _nodes_for_box(problem, settings))
        parts = _solve_in_chunks(problem, rule, values, count, settings)
    solution = Solution(problem, values, *parts, batched=True)
    return solution if batched else solution[0]


def _solve_adaptively(
    problem: Problem, quadrature: AbstractQuadrature | None, values: Values, count: int, settings: Settings
) -> Parts:
    """With the rule given, or with more nodes until the density has settled on every member."""
    rule = quadrature or _rule(problem, LADDER[0])
    while True:
        parts = *_, result, stats = _solve_in_chunks(problem, rule, values, count, settings)
        unresolved = np.any(np.asarray(result.code) == Code.UNRESOLVED)
        if not unresolved or quadrature or rule.num_nodes >= LADDER[-1]:
            if unresolved and quadrature:
                parts = (*parts[:-2], _with_advice(problem, quadrature, values, parts, settings), stats)
            if not result.ok:
                logger.warning("solve: %s", parts[-2])
            return parts
        reached = min(float(np.max(np.asarray(stats["resolution"]))), 0.5)
        if isinstance(rule, Graded):
            growth = (reached / settings.tol) ** (1 / CORNER_ORDER)
        else:
            # Coefficients fall geometrically: the worst member's rate tells how many nodes it needs.
            growth = np.log(settings.tol) / np.log(reached)
        # Where they have hardly begun to fall a rate says little, so that no step is large.
        wanted = rule.num_nodes * min(growth, 2.5 if isinstance(rule, Graded) else 2)
        higher = [nodes for nodes in LADDER if nodes > rule.num_nodes]
        rule = _rule(problem, next((nodes for nodes in higher if nodes >= wanted), higher[-1]))


def _with_advice(
    problem: Problem, quadrature: AbstractQuadrature, values: Values, parts: Parts, settings: Settings
) -> Result:
    """The result, with how many nodes its worst member takes: found by solving it."""
    *_, result, stats = parts
    worst = int(np.argmax(np.asarray(stats["resolution"])))
    member = {name: value[worst : worst + 1] for name, value in values.items()}
    for nodes in (count for count in LADDER if count > quadrature.num_nodes):
        rule = _rule(problem, nodes)
        *_, tried, _ = _solve_in_chunks(problem, rule, member, 1, settings)
        if tried.ok:
            return Result(result.code, jnp.full_like(result.code, rule.num_nodes))
    return result


def _rule(problem: Problem, nodes: int) -> AbstractQuadrature:
    """The rule for this geometry, with so many nodes on each curve, or with the next number that it can have."""
    shares = sides(problem.family)
    return Graded(next_shared(max(nodes, CORNER_NODES), shares)) if shares else Kress(nodes)


def _nodes_for_box(problem: Problem, settings: Settings) -> int:
    """Enough nodes for members all over the box, where the parameters are traced and cannot be looked at."""
    count = 10
    with jax.ensure_compile_time_eval():
        draws = problem.parameters.sample(jax.random.key(0), count)
        for name, spec in problem.parameters.specs:
            if isinstance(spec, Interval):
                draws[name] = draws[name].at[:2].set(jnp.stack([jnp.asarray(spec.low), jnp.asarray(spec.high)]))
        values = {name: draw.astype(settings.dtype) for name, draw in draws.items()}
        try:
            *_, rule, _, _ = _solve_adaptively(problem, None, values, count, settings)
        except jax.errors.TracerArrayConversionError:
            # The problem itself holds traced numbers: no member of it can be looked at.
            return TRACED_NODES
    return rule.num_nodes


def _solve_in_chunks(
    problem: Problem, rule: AbstractQuadrature, values: Values, count: int, settings: Settings
) -> Parts:
    """All members, a chunk at a time: one compiled function serves every chunk, the last one filled up."""
    chunk = _chunk(problem, rule, count, settings)
    index = np.minimum(np.arange(-(-count // chunk) * chunk), count - 1).reshape(-1, chunk)

    def prepare(index) -> System:
        return _prepare(problem, rule, {n: v[index] for n, v in values.items()}, chunk, settings)

    if len(index) == 1:
        return _solve_system(prepare(index[0]), settings)
    if not is_concrete(*values.values()):
        parts = jax.lax.map(lambda index: _solve_system(prepare(index), settings), jnp.asarray(index))
        return jax.tree_util.tree_map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], parts)
    # One chunk after the other: where JAX still works on the last while LAPACK has the next, both are slower for it.
    parts = [jax.block_until_ready(_solve_system(jax.block_until_ready(prepare(some)), settings)) for some in index]
    return jax.tree_util.tree_map(lambda *leaves: jnp.concatenate(leaves)[:count], *parts)


def _chunk(problem: Problem, rule: AbstractQuadrature, count: int, settings: Settings) -> int:
    unknowns = rule.num_nodes * len(problem.family.curves) * problem.condition.channels
    return min(count, settings.chunk or max(1, BATCH_BYTES // (settings.dtype.itemsize * unknowns**2)))


class System(NamedTuple):
    """Members and their equations, with a leading member axis."""

    member: Member
    matrix: Array
    rhs: Array


def _prepare(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, settings: Settings) -> System:
    """In two steps compiled apart: seeing both, XLA would compute a node again for every pair it is part of."""
    member = _place(problem, rule, values, count, settings.dtype)
    return System(member, *_assemble(member))


def _solve_system(system: System, settings: Settings) -> Parts:
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
    return _finish(member, unknown, applications, residual, settings)


@eqx.filter_jit
def _place(problem: Problem, rule: AbstractQuadrature, values: Values, count: int, dtype: np.dtype) -> Member:
    # `axis_size` alone makes the batch where a problem has no parameters.
    return jax.vmap(lambda p: problem.member(rule, p, dtype), axis_size=count)(values)


@eqx.filter_jit
def _assemble(member: Member) -> tuple[Array, Array]:
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
        graded = isinstance(member.quadrature, Graded)
        nodal = NodalDensity(member.boundary.s, density, member.boundary.components, graded)
        return nodal, member.boundary, strengths, member.quadrature, result, stats

    return jax.vmap(one)(member, unknown, applications, residual)


def _check_capacity(problem: Problem, values: Values, count: int, settings: Settings) -> None:
    """Refuses a bare single layer where it is singular: u = S φ cannot make a constant on a curve of capacity 1."""
    representation = problem.representation
    if not isinstance(representation, SingleLayer) or representation.cure:
        return
    # The cured layer with unit charge and zero data is constant on the curve: log(capacity) / 2π.
    changes = {"representation": SingleLayer(representation.kernel), "data": lambda x: 0.0 * x[0], "at_infinity": 1.0}
    unit = Problem(problem.family, problem.parameters, **changes, side="exterior")
    constant = _solve_adaptively(unit, None, values, count, settings)[2].polynomial[:, 0]
    capacity = np.exp(2 * np.pi * np.asarray(constant))
    worst = int(np.argmin(np.abs(np.log(capacity))))
    if abs(np.log(capacity[worst])) < 1e-6:
        where = words({name: value[worst] for name, value in values.items()})
        raise ValueError(
            f"The single layer is singular on this curve{where}: its capacity is {capacity[worst]:.3f}; any other was expected. "
            "Use `SingleLayer(..., cure=True)` (the default) or `DoubleLayer`."
        )
