"""`solve`: the classical verb. Every member up to rounding, alone or in batches."""

import logging
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.precision import is_concrete, working_dtype
from edgewise.base.result import Code, Result
from edgewise.potentials import SingleLayer
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, rungs
from edgewise.solution import Solution
from edgewise.solving import ladder
from edgewise.solving.systems import Answer, System, each_system, prepare, solve_system
from edgewise.solving.unseen import first_that_sees, judged, unseen
from edgewise.solving.validation import (
    Settings,
    Values,
    check_curves,
    check_numbers,
    check_settings,
    raise_failures,
    words,
)
from edgewise.solving.validation_space import check_surfaces

logger = logging.getLogger("edgewise")

# How many nodes a curve, or the side of a patch, gets where even the problem's own numbers are traced and cannot be
# looked at; `result` says if they are too few.
TRACED = {2: 512, 3: 16}
# Bytes that the matrices of a batch may take at once where the caller names no `chunk`: memory that small is used again
# and again, while a larger piece is asked from the system each time, which takes longer than filling it.
BATCH_BYTES = 2**24


def solve(
    problem: Problem,
    *unnamed: Any,
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
        quadrature: The rule; by default `Kress`, on surfaces `Duffy`, with as many nodes as the density turns out to
            need.
        method: "direct", or "gmres" with, on curves, the inverse of the circle's operator as preconditioner.
        tol: Accuracy relative to the largest boundary datum, not to the field where it is asked, which may have decayed
            to nothing: how far the density's coefficients must have fallen, how much of the data the nodes may miss,
            what rounding may leave where an equation is nearly singular, and where GMRES stops. `solution.result` says
            "converged" where all of that holds; the field then errs by less than about ten times as much.
            1e-12 by default, with corners 1e-10, on surfaces 1e-6, with edges 1e-4, in float32 1e-4.
        chunk: How many members of a batch are held in memory at once. On a surface, with GMRES, it is the number of
            rows of the equation that are held at once; the equation is then never held as a whole.
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
    problem.parameters.check_named(unnamed, "solve(problem, ")
    values, count, batched = problem.parameters.members(parameters, extrapolate=extrapolate, dtype=settings.dtype)
    try:
        check_numbers(problem, values)
        check_curves(problem, values, count)
        check_surfaces(problem, values, count)
        _check_capacity(problem, values, count, settings)
        parts = _solve_adaptively(problem, quadrature, values, count, settings)
        raise_failures(problem, values, *parts)
    except jax.errors.TracerArrayConversionError:
        # Parameters, or numbers inside the problem, are being traced: nothing can be looked at.
        rule = quadrature or _rule_for_box(problem, settings)
        parts = _solve_and_look(problem, rule, values, count, settings)
    solution = Solution(problem, values, *parts, batched=True)
    return solution if batched else solution[0]


def _solve_adaptively(
    problem: Problem, quadrature: AbstractQuadrature | None, values: Values, count: int, settings: Settings
) -> Answer:
    """With the rule given, or with more nodes until the density has settled on every member."""
    rules = rungs(problem.family)
    rule, missed = quadrature, None
    if rule is None:
        # Rungs that do not see the data are not worth a solve; those above one that does see them too.
        least = ladder.first(problem, rules, values, settings.tol).size
        rules = [rule for rule in rules if rule.size >= least]
        rule, missed = first_that_sees(problem, rules, values, count, settings)
    while True:
        answer = _solve_and_look(problem, rule, values, count, settings, missed)
        unresolved = np.any(np.asarray(answer.result.code) == Code.UNRESOLVED)
        reached = float(np.max(np.asarray(answer.stats["resolution"])))
        following = ladder.after(rules, rule, reached, settings.tol) if unresolved and not quadrature else None
        if following is None:
            if unresolved:
                answer = answer._replace(result=_with_advice(problem, rule, values, answer, settings))
            if not answer.result.ok:
                logger.warning("solve: %s", answer.result)
            return answer
        rule = following


def _with_advice(
    problem: Problem, rule: AbstractQuadrature, values: Values, answer: Answer, settings: Settings
) -> Result:
    """The result, with how many nodes its worst member takes: found by solving it, on surfaces from the rate so far."""
    result, stats = answer.result, answer.stats
    worst = int(np.argmax(np.asarray(stats["resolution"])))
    member = {name: value[worst : worst + 1] for name, value in values.items()}
    if rule.is_dear:
        reached = min(float(stats["resolution"][worst]), 0.5)
        # What falls geometrically once the waves are resolved, and not before.
        waves = ladder.wanted_for(problem, member, 1.0)
        settled = max(rule.size - waves, 1)
        growth = min(np.log(settings.tol) / np.log(reached), 4.0)
        needed = max(
            int(np.ceil(waves + settled * growth)), ladder.wanted_for(problem, member, settings.tol, ladder.SURE_DIGIT)
        )
        return Result(result.code, jnp.full_like(result.code, needed), "along each side of a patch should be")
    for finer in (other for other in rungs(problem.family) if other.num_nodes > rule.num_nodes):
        if _solve_and_look(problem, finer, member, 1, settings).result.ok:
            return Result(result.code, jnp.full_like(result.code, finer.num_nodes))
    return result


def _rule_for_box(problem: Problem, settings: Settings) -> AbstractQuadrature:
    """Enough nodes for members all over the box, where the parameters are traced and cannot be looked at."""
    count = 2 if problem.family.in_space else 10
    with jax.ensure_compile_time_eval():
        draws = problem.parameters.extremes(jax.random.key(0), count)
        values = {name: draw.astype(settings.dtype) for name, draw in draws.items()}
        try:
            rule = _solve_adaptively(problem, None, values, count, settings).quadrature
        except jax.errors.TracerArrayConversionError:
            # The problem itself holds traced numbers: no member of it can be looked at.
            rules = rungs(problem.family)
            return next((rule for rule in rules if rule.size >= TRACED[problem.family.dim]), rules[-1])
    return rule


def _solve_and_look(
    problem: Problem,
    rule: AbstractQuadrature,
    values: Values,
    count: int,
    settings: Settings,
    missed: Array | None = None,
) -> Answer:
    """All members, and whether the nodes saw their data; what they missed of them may be known already."""
    if missed is None:
        missed = unseen(problem, rule, values, count, settings.dtype)
    return judged(_solve_in_chunks(problem, rule, values, count, settings), missed, settings)


def _solve_in_chunks(
    problem: Problem, rule: AbstractQuadrature, values: Values, count: int, settings: Settings
) -> Answer:
    """All members, a chunk at a time: one compiled function serves every chunk, the last one filled up."""
    if rule.is_dear and count > 1 and _is_known(problem, values):
        # Of members that differ in their data alone the matrix is made once.
        return each_system(
            lambda system, _: jax.block_until_ready(solve_system(system, settings)),
            problem,
            rule,
            (values, ()),
            count,
            settings,
        )
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


def _is_known(problem: Problem, values: Values) -> bool:
    """Whether neither a parameter nor a number of the problem is traced."""
    arrays = eqx.filter((problem, values), eqx.is_array)
    return is_concrete(*jax.tree_util.tree_leaves(arrays))


def _chunk(problem: Problem, rule: AbstractQuadrature, count: int, settings: Settings) -> int:
    if rule.is_dear:
        # One matrix is large already.
        return 1
    unknowns = rule.nodes(problem.family) * problem.representation.unknowns(problem.condition)
    return min(count, settings.chunk or max(1, BATCH_BYTES // (settings.dtype.itemsize * unknowns**2)))


def _check_capacity(problem: Problem, values: Values, count: int, settings: Settings) -> None:
    """Refuses a bare single layer where it is singular: u = S φ cannot make a constant on a curve of capacity 1."""
    representation = problem.representation
    if not isinstance(representation, SingleLayer) or representation.cure or problem.family.in_space:
        return
    # The cured layer with unit charge and zero data is constant on the curve: log(capacity) / 2π.
    changes = {"representation": SingleLayer(representation.kernel), "data": lambda x: 0.0 * x[0], "at_infinity": 1.0}
    unit = Problem(problem.family, problem.parameters, **changes, side="exterior")
    constant = _solve_adaptively(unit, None, values, count, settings).strengths[0].polynomial[:, 0]
    capacity = np.exp(2 * np.pi * np.asarray(constant))
    worst = int(np.argmin(np.abs(np.log(capacity))))
    if abs(np.log(capacity[worst])) < 1e-6:
        where = words({name: value[worst] for name, value in values.items()})
        raise ValueError(
            f"The single layer is singular on this curve{where}: its capacity is {capacity[worst]:.3f}; any other was "
            "expected. Use `SingleLayer(..., cure=True)` (the default) or `DoubleLayer`."
        )
