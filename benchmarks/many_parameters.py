"""Operators against interpolation of solves at equal cost, in one to eight parameters: of a shape, and of waves.

Two families, of which the first 1, 2, 4 or 8 numbers vary.

- "shapes": Laplace inside r(s) = 1.2 + Σ a_m cos ms + b_m sin ms, m = 2 to 5, data x², coefficients in ±0.1.
- "waves": sound-soft bodies r(s) = 1 + Σ ..., m = 2 to 4; the angle of a plane wave, its wavenumber in [1, 10], coefficients in ±0.1.

The operator is that of `fit` without settings. The seconds of its training, compilation left out, buy solves on the same machine,
and interpolation has every level up to the last that they pay for, and the next, which they do not; or fewer where its
coefficients have settled. It gets its transforms for nothing. Of waves it has two forms: the angle as one more axis; and "every
angle at once", where a solve is taken to give all angles of a member, as one factorised matrix would, so that the others alone
are axes.
"""

import dataclasses
from collections.abc import Callable, Iterator
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

MODES, LARGEST = (2, 3, 4, 5), 0.1
DIMENSIONS = (1, 2, 4, 8)
# With 64 nodes a solve of the eight-parameter shapes is wrong by 2e-9 at worst: no interpolation of it sees that.
NODES = {"shapes": 64, "waves": 96}
# Below this share of the largest, coefficients are rounding: more solves change nothing.
SETTLED = 1e-13
# How much better the operator must be in eight parameters, whichever the rival.
REQUIRED = 10.0
TITLES = {"tensor": "Chebyshev", "smolyak": "Smolyak", "degree": "total degree"}
DIRECTIONS = np.stack([wave(2 * np.pi * np.arange(64) / 64) for wave in (np.cos, np.sin)], axis=-1)

Errors = Callable[[Callable[..., Solution]], dict[str, float]]


def radius(s: Array, c: Array) -> Array:
    functions = jnp.stack([wave(m * s) for m in MODES for wave in (jnp.cos, jnp.sin)])
    return 1.2 + c @ functions[: c.shape[0]]


def rounder(s: Array, c: Array) -> Array:
    return radius(s, c) - 0.2


def shapes(dim: int) -> ew.Problem:
    """The family in its first `dim` coefficients a2, b2, a3, b3, ..."""
    return ew.Problem(
        family=ew.StarCurve(radius),
        parameters=ew.Box(c=(-LARGEST * np.ones(dim), LARGEST * np.ones(dim))),
        representation=ew.DoubleLayer(ew.Laplace(dim=2)),
        data=lambda x: x[0] ** 2,
        side="interior",
    )


def waves(dim: int, angle: Any) -> ew.Problem:
    """The first `dim` of angle, wavenumber and coefficients.

    Arguments:
        angle: How the angle varies; None where it does not, and is 0.
    """
    varied: dict[str, Any] = {"angle": angle} if angle is not None else {}
    if dim > 1:
        varied["k"] = (1.0, 10.0)
    if dim > 2:
        varied["c"] = (-LARGEST * np.ones(dim - 2), LARGEST * np.ones(dim - 2))
    return ew.Problem(
        family=ew.StarCurve(rounder) if dim > 2 else ew.Ellipse(1.0, 0.5),
        parameters=ew.Box(**varied),
        representation=ew.NullField(ew.Helmholtz(dim=2, wavenumber="k" if dim > 1 else 5.0)),
        data=ew.PlaneWave("angle" if angle is not None else 0.0),
        side="exterior",
    )


def run(quick: bool) -> dict[str, Any]:
    dimensions = DIMENSIONS[:1] if quick else DIMENSIONS
    cases = [_case(family, dim, quick) for family in ("shapes", "waves") for dim in dimensions]
    ratios = {}
    for family in ("shapes", "waves"):
        last = next(case for case in reversed(cases) if case["family"] == family)
        paid = [row for row in last["interpolation"] if row["solves"] <= last["solves"]]
        for rival in dict.fromkeys(row["rival"] for row in paid):
            best = min(row["median"] for row in paid if row["rival"] == rival)
            ratios[f"{family}, {rival}"] = best / last["operator"]["median"]
    return {
        "cases": cases,
        "ratios": ratios,
        "ratio": min(ratios.values()),
        "required_ratio": REQUIRED,
    }


def _case(family: str, dim: int, quick: bool) -> dict[str, Any]:
    members, repeats, batch = (4, 1, 64) if quick else (200, 5, 2048)
    problem = shapes(dim) if family == "shapes" else waves(dim, ew.Angle())
    rivals = {"every parameter an axis": problem}
    if family == "waves":
        rivals["every parameter an axis"] = waves(dim, (0.0, 2 * np.pi))
        if dim > 1:
            rivals["every angle at once"] = waves(dim, None)
    operator, seconds = without_compiling(lambda: ew.fit(problem, _recipe(problem, quick)))
    rule = ew.Kress(NODES[family])
    drawn = problem.parameters.sample(jax.random.key(1), batch)
    times, _ = compete(
        {
            "solve": lambda: ew.solve(problem, quadrature=rule, tol=0.5, **drawn).density.values,
            "operator": lambda: operator(**drawn).density.values,
        },
        repeats,
    )
    each = {name: taken / batch for name, taken in medians(times).items()}
    solves = 40 if quick else int(seconds / each["solve"])
    rows = [
        {
            "rival": title,
            "grid": kind,
            "level": int(interpolant.grid.levels[-1]),
            "solves": len(interpolant.grid),
            **errors(interpolant),
            # Of the largest grids an answer takes milliseconds: fewer of them.
            "answer": _seconds(interpolant, rival, min(batch, 256), repeats),
        }
        for title, rival in rivals.items()
        for errors in [_judge(rival, members)]
        for kind in _kinds(rival)
        for interpolant in _levels(rival, kind, solves, rule)
    ]
    return {
        "family": family,
        "parameters": dim,
        "seconds": seconds,
        "solve": each["solve"],
        "solves": solves,
        "operator": {
            "kind": operator.recipe.network.kind,
            **_judge(problem, members)(operator),
            "answer": each["operator"],
        },
        "interpolation": rows,
    }


def _recipe(problem: ew.Problem, quick: bool) -> ew.Recipe:
    recipe = ew.recipe("default", problem)
    if not quick:
        return recipe
    changes = {
        "network": {"degree": 4, "p": 6, "harmonics": 12},
        "collocation": {"members": 9, "nodes": 32},
        "optimiser": {"steps": 4},
        "validation": {"members": 2, "nodes": 64},
    }
    changed = {part: dataclasses.replace(getattr(recipe, part), **fields) for part, fields in changes.items()}
    return dataclasses.replace(recipe, **changed)


def _numbers(problem: ew.Problem) -> int:
    return sum(int(np.prod(spec.shape)) for _, spec in problem.parameters.specs)


def _kinds(problem: ew.Problem) -> tuple[Kind, ...]:
    return ("tensor",) if _numbers(problem) <= 2 else ("smolyak", "degree")


def _levels(problem: ew.Problem, kind: Kind, solves: int, rule: ew.Kress) -> Iterator[Interpolation]:
    """Every level up to the first beyond so many solves, or with which the coefficients settle."""
    dim = _numbers(problem)
    rival = interpolation(problem, grid(kind, dim, 1), rule)
    yield rival
    while len(rival.grid) <= solves and rival.change > SETTLED:
        rival = interpolation(problem, grid(kind, dim, rival.grid.levels[-1] + 1), rule, rival)
        yield rival


def _seconds(rival: Interpolation, problem: ew.Problem, batch: int, repeats: int) -> float:
    """Of one answer in a batch."""
    drawn = problem.parameters.sample(jax.random.key(1), batch)
    times, _ = compete({"answer": lambda: rival(**drawn).density.values}, repeats)
    return medians(times)["answer"] / batch


def _judge(problem: ew.Problem, members: int) -> Errors:
    """What gives the errors of a predictor on members that nobody has seen: of waves those of the far field."""
    looked_at = problem.parameters.sample(jax.random.key(2), members)
    if problem.side == "interior":
        points = _inside(looked_at["c"])
        read = lambda solution: _fields(solution, points)
    else:
        read = lambda solution: solution.far_field(DIRECTIONS)
    true = read(ew.solve(problem, quadrature=ew.Kress(384), tol=1e-2, **looked_at))

    def errors(predict: Callable[..., Solution]) -> dict[str, float]:
        missed = jnp.linalg.norm(read(predict(**looked_at)) - true, axis=1) / jnp.linalg.norm(true, axis=1)
        return {"median": float(jnp.median(missed)), "worst": float(jnp.max(missed))}

    return errors


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
            f"{case['family']}, {case['parameters']} parameter{'s' * (case['parameters'] > 1)}, {case['seconds']:.0f} s of training, or "
            f"{case['solves']} solves of {1e6 * case['solve']:.0f} µs: operator {_words(case['operator'])}"
        )
        for rival, kind in dict.fromkeys((row["rival"], row["grid"]) for row in case["interpolation"]):
            rows = [row for row in case["interpolation"] if (row["rival"], row["grid"]) == (rival, kind)]
            for row in rows[-2:]:
                beyond = "" if row["solves"] <= case["solves"] else ", more than training costs"
                lines.append(
                    f"  {TITLES[kind]}, {rival}, level {row['level']}, {row['solves']} solves{beyond}: {_words(row)}"
                )
            better = [row["solves"] for row in rows if row["median"] <= case["operator"]["median"]]
            lines.append(f"  {TITLES[kind]} has the operator's median with {better[0] if better else 'no'} solves")
    for rival, ratio in result["ratios"].items():
        lines.append(f"median error of interpolation over that of the operator in the last: {rival}: {ratio:.2g}")
    return lines


def _words(errors: dict[str, Any]) -> str:
    return f"median {errors['median']:.1e}, worst {errors['worst']:.1e}, an answer in {1e6 * errors['answer']:.0f} µs"
