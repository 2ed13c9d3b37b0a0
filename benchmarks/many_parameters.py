"""Operators against interpolation of solves at equal cost, in one to eight parameters of a shape.

Curves r(s) = 1.2 + Σ a_m cos ms + b_m sin ms, m = 2 to 5, coefficients in ±0.1, of which the first 1, 2, 4 or 8 vary; Laplace inside,
data x². The operator is that of `fit` without settings. The seconds of its training, compilation left out, buy
solves on the same machine, and interpolation has every level up to the last that they pay for, and the next, which they do
not; or fewer where its coefficients have settled. It gets as few nodes as its error allows, and its transforms for nothing.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import edgewise as ew
from benchmarks.harness import compete, medians, without_compiling
from benchmarks.interpolation import Interpolation, Kind, grid, interpolation
from edgewise.solution import Solution

MODES, MIDDLE, LARGEST = (2, 3, 4, 5), 1.2, 0.1
DIMENSIONS = (1, 2, 4, 8)
# With 64 nodes a solve of the eight-parameter family is wrong by 2e-9 at worst: no interpolation of it sees that.
NODES = 64
# Below this share of the largest, coefficients are rounding: more solves change nothing.
SETTLED = 1e-13
# How much better the operator must be in eight parameters.
REQUIRED = 10.0
TITLES = {"tensor": "Chebyshev", "smolyak": "Smolyak", "degree": "total degree"}


def radius(s: Array, c: Array) -> Array:
    functions = jnp.stack([wave(m * s) for m in MODES for wave in (jnp.cos, jnp.sin)])
    return MIDDLE + c @ functions[: c.shape[0]]


def shapes(dim: int) -> ew.Problem:
    """The family in its first `dim` coefficients a2, b2, a3, b3, ..."""
    return ew.Problem(
        family=ew.StarCurve(radius),
        parameters=ew.Box(c=(-LARGEST * np.ones(dim), LARGEST * np.ones(dim))),
        representation=ew.DoubleLayer(ew.Laplace(dim=2)),
        data=lambda x: x[0] ** 2,
        side="interior",
    )


def run(quick: bool) -> dict[str, Any]:
    cases = [_case(dim, quick) for dim in (DIMENSIONS[:1] if quick else DIMENSIONS)]
    last = cases[-1]
    paid = [row for row in last["interpolation"] if row["solves"] <= last["solves"]]
    return {
        "nodes": NODES,
        "cases": cases,
        "ratio": min(row["median"] for row in paid) / last["operator"]["median"],
        "ratio_of_the_worst": min(row["worst"] for row in paid) / last["operator"]["worst"],
        "required_ratio": REQUIRED,
    }


def _case(dim: int, quick: bool) -> dict[str, Any]:
    problem = shapes(dim)
    operator, seconds = without_compiling(lambda: ew.fit(problem, _recipe(problem, quick)))
    members, repeats, batch = (4, 1, 64) if quick else (200, 5, 2048)
    drawn = problem.parameters.sample(jax.random.key(1), batch)
    times, _ = compete(
        {"solve": lambda: ew.solve(problem, quadrature=ew.Kress(NODES), tol=1e-2, **drawn).density.values}, repeats
    )
    rate = batch / medians(times)["solve"]
    solves = 40 if quick else int(seconds * rate)
    looked_at = problem.parameters.sample(jax.random.key(2), members)
    points = _inside(looked_at["c"])
    true = _fields(ew.solve(problem, quadrature=ew.Kress(2 * operator.quadrature.num_nodes), **looked_at), points)

    def errors(predict: Any) -> dict[str, float]:
        missed = jnp.linalg.norm(_fields(predict(**looked_at), points) - true, axis=1) / jnp.linalg.norm(true, axis=1)
        return {"median": float(jnp.median(missed)), "worst": float(jnp.max(missed))}

    kinds: tuple[Kind, ...] = ("tensor",) if dim <= 2 else ("smolyak", "degree")
    return {
        "parameters": dim,
        "seconds": seconds,
        "solves_per_second": rate,
        "solves": solves,
        "operator": {"kind": operator.recipe.network.kind, **errors(operator)},
        "interpolation": [
            {"grid": kind, "level": int(rival.grid.levels[-1]), "solves": len(rival.grid), **errors(rival)}
            for kind in kinds
            for rival in _levels(problem, kind, dim, solves)
        ],
    }


def _recipe(problem: ew.Problem, quick: bool) -> ew.Recipe:
    recipe = ew.recipe("default", problem)
    if not quick:
        return recipe
    changes = {
        "network": {"degree": 4, "p": 6, "harmonics": 12},
        "collocation": {"members": 9, "nodes": 32},
        "optimiser": {"steps": 4},
        "validation": {"members": 2, "nodes": NODES},
    }
    changed = {part: dataclasses.replace(getattr(recipe, part), **fields) for part, fields in changes.items()}
    return dataclasses.replace(recipe, **changed)


def _levels(problem: ew.Problem, kind: Kind, dim: int, solves: int) -> Iterator[Interpolation]:
    """Every level up to the first beyond so many solves, or with which the coefficients settle."""
    rival = interpolation(problem, grid(kind, dim, 1), ew.Kress(NODES))
    yield rival
    while len(rival.grid) <= solves and rival.change > SETTLED:
        rival = interpolation(problem, grid(kind, dim, rival.grid.levels[-1] + 1), ew.Kress(NODES), rival)
        yield rival


def _inside(c: Array) -> Array:
    """Of every member 64 points spread over the domain, up to 0.95 of the radius."""
    i = np.arange(64)
    angles = i * np.pi * (3 - np.sqrt(5))
    shares = 0.95 * np.sqrt((i + 1) / 64)
    radii = jax.vmap(lambda c: jax.vmap(lambda s: radius(s, c))(angles))(c)
    return (shares * radii)[..., None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


@eqx.filter_jit
def _fields(solution: Solution, points: Array) -> Array:
    """The field of every member at its own points."""
    # The density may hold what all members share, a network; the strengths are all that is read.
    members = dataclasses.replace(solution, density=None, batched=False)
    return eqx.filter_vmap(lambda member, x: member(x))(members, points)


def describe(result: dict[str, Any]) -> list[str]:
    lines = []
    for case in result["cases"]:
        lines.append(
            f"{case['parameters']} parameter{'s' * (case['parameters'] > 1)}, {case['seconds']:.0f} s of training, or {case['solves']} "
            f"solves: operator {_words(case['operator'])}"
        )
        for kind in dict.fromkeys(row["grid"] for row in case["interpolation"]):
            rows = [row for row in case["interpolation"] if row["grid"] == kind]
            for row in rows[-2:]:
                beyond = "" if row["solves"] <= case["solves"] else ", more than training costs"
                lines.append(f"  {TITLES[kind]}, level {row['level']}, {row['solves']} solves{beyond}: {_words(row)}")
            better = [row["solves"] for row in rows if row["median"] <= case["operator"]["median"]]
            lines.append(f"  {TITLES[kind]} has the operator's median with {better[0] if better else 'no'} solves")
    last = result["cases"][-1]["parameters"]
    lines.append(
        f"in {last}: error of interpolation over that of the operator {result['ratio']:.2g} (median), "
        f"{result['ratio_of_the_worst']:.2g} (worst)"
    )
    return lines


def _words(errors: dict[str, Any]) -> str:
    return f"median {errors['median']:.1e}, worst {errors['worst']:.1e}"
