"""`solve`: the classical verb. Every member up to rounding, alone or in batches."""

import logging
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from edgewise.geometry.parameters import Interval
from edgewise.potentials import SingleLayer
from edgewise.precision import is_concrete, working_dtype
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Graded, Kress
from edgewise.quadrature.rule import next_shared, sides
from edgewise.result import Code, Result
from edgewise.solution import Solution
from edgewise.systems import Parts, System, prepare, solve_system
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

    def system(index) -> System:
        return prepare(problem, rule, {n: v[index] for n, v in values.items()}, chunk, settings)

    if len(index) == 1:
        return solve_system(system(index[0]), settings)
    if not is_concrete(*values.values()):
        parts = jax.lax.map(lambda index: solve_system(system(index), settings), jnp.asarray(index))
        return jax.tree_util.tree_map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], parts)
    # One chunk after the other: where JAX still works on the last while LAPACK has the next, both are slower for it.
    parts = [jax.block_until_ready(solve_system(jax.block_until_ready(system(some)), settings)) for some in index]
    return jax.tree_util.tree_map(lambda *leaves: jnp.concatenate(leaves)[:count], *parts)


def _chunk(problem: Problem, rule: AbstractQuadrature, count: int, settings: Settings) -> int:
    unknowns = rule.num_nodes * len(problem.family.curves) * problem.condition.channels
    return min(count, settings.chunk or max(1, BATCH_BYTES // (settings.dtype.itemsize * unknowns**2)))


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
