"""Answers within a tolerance: the network's where its estimate allows it, refined ones elsewhere."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from edgewise.base.named import is_number
from edgewise.base.precision import is_concrete
from edgewise.base.result import Code, Result
from edgewise.quadrature import AbstractQuadrature
from edgewise.solution import Solution
from edgewise.solving.refinement import least_tol

# A residual this much smaller than the error that is allowed, relative to the field, is tried first.
MARGIN = 0.1


def within(solution: Solution, tol: Any, read: Callable[[AbstractQuadrature], Solution]) -> Solution:
    """The batch, refined until every error estimate is at most `tol`; `read` reads the network on another rule's
    nodes."""
    if not is_number(tol) or not 0 < tol < np.inf:
        raise ValueError(
            f"`tol` must be a positive number, the error that is allowed in the unit of the field, got {tol!r}. Write "
            "`tol=1e-6`."
        )
    if not is_concrete(*jax.tree_util.tree_leaves((solution.parameters, solution.strengths))):
        raise ValueError(
            "`tol` decides by the estimate which members to refine, and needs numbers for that; got traced values. "
            "Call the operator outside of `jax.jit`, or leave `tol` out and use `solution.refine(...)`."
        )
    found = solution.error_estimate()
    # Where nodes are too few to tell, an error is infinite, and nothing is known of the size that it is relative to.
    known = np.isfinite(found.value)
    errors, sizes = np.array(found.value), np.where(known, found.value / found.relative, 1.0)
    refined = ~(errors <= tol)
    codes = np.asarray(solution.result.code)
    # What the estimate has vouched for needs no other word.
    codes = np.where(~refined, Code.CONVERGED, codes)
    applications = np.array(solution.stats["applications"])
    if refined.any():
        # A batch has one number of nodes: where one member is refined the others are read on as many.
        rule = solution.quadrature.finer()
        finer = read(rule)
        density: Any = finer.density
        parts = (rule.density(finer.boundary, density.values), finer.boundary, finer.strengths)
        for i in map(int, np.flatnonzero(refined)):
            better, errors[i], applications[i] = _refined(solution[i], float(tol), float(sizes[i]))
            missed = Code.NO_CONVERGENCE if np.isfinite(errors[i]) else Code.UNRESOLVED
            codes[i] = int(better.result.code) if errors[i] <= tol else max(int(better.result.code), missed)
            parts = _with_member(parts, i, (better.density, better.boundary, better.strengths))
        density, boundary, strengths = parts
        solution = dataclasses.replace(finer, density=density, boundary=boundary, strengths=strengths)
    stats = solution.stats | {"applications": applications, "error": errors, "refined": refined}
    return dataclasses.replace(
        solution,
        result=Result(jnp.asarray(codes), solution.result.needed),
        stats={name: jnp.asarray(value) for name, value in stats.items()},
    )


def _refined(member: Solution, tol: float, size: float) -> tuple[Solution, float, int]:
    """One member refined until its estimate is at most `tol`, that estimate, and the applications it took."""
    least = least_tol(member.boundary.x.dtype)
    residual = float(np.clip(MARGIN * tol / max(size, np.finfo(float).tiny), least, MARGIN))
    spent, before = 0, np.inf
    while True:
        better = member.refine(residual)
        spent += int(better.stats["applications"])
        error = float(better.error_estimate())
        # What a smaller residual does not halve is owed to the nodes.
        if error <= tol or residual <= least or not error < before / 2:
            return better, error, spent
        before = error
        # The estimate says by how much the residual was too large.
        residual = max(min(MARGIN, tol / error) * MARGIN * residual, least)


def _with_member(parts: Any, index: int, member: Any) -> Any:
    return jax.tree_util.tree_map(lambda whole, part: whole.at[index].set(part), parts, member)
