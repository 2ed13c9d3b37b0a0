"""`edgewise evaluate`: the errors of an operator, in a table."""

import time
from typing import Any

import jax.numpy as jnp
import numpy as np

from edgewise.base.named import names_in
from edgewise.base.parameters import Box
from edgewise.base.precision import enable_x64
from edgewise.base.progress import watched
from edgewise.cli.members import check_seed, random_members
from edgewise.cli.output import table, to_json
from edgewise.cli.progress import say_what_space_costs, try_next
from edgewise.cli.runs import (
    Members,
    at_option,
    choose_members,
    describe,
    find,
    problem_option,
    too_few_nodes,
    typical_member,
)
from edgewise.evaluation import DISTANCES, RESOLUTION, Errors, measure, truth_name
from edgewise.learn.operator import Operator
from edgewise.paper.reproduction import MEMBERS
from edgewise.problem import Problem
from edgewise.trust.estimate import ErrorEstimate, refusal

MOST_MEMBERS = 10_000
# Members that are measured together in the plane.
AT_ONCE = 16
# Points along the longest side of a grid, by dimension.
MOST_GRID = {2: 2000, 3: 100}

Row = dict[str, Any]


def run(command: Any) -> None:
    enable_x64()
    _check(command)
    found = find(command)
    grid = _grid(command, found.problem.family.dim)
    box = found.problem.parameters
    members, count = (
        default_members(box) if not command.at else choose_members(command.at, box, extrapolate=command.extrapolate)
    )
    if count > MOST_MEMBERS:
        raise ValueError(f"`--at` asks for {count} members; expected at most {MOST_MEMBERS}. Ask for fewer.")
    operator = found.open()
    show = not command.json
    if show:
        say_what_space_costs(operator, count + command.random)
    start = time.perf_counter()
    report: dict[str, Any] = {
        "run": command.run,
        "problem": operator.origin,
        "result": str(operator.result),
        "truth": truth_name(operator.problem),
        "grid": grid,
        "members": measure_members(operator, members, grid, show=show),
    }
    if command.random:
        report["random"] = measure_random(operator, command.random, command.seed, grid, show=show)
    report["seconds"] = round(time.perf_counter() - start, 3)
    print(to_json(report) if command.json else _words(command, report, operator))


def _check(command: Any) -> None:
    check_seed(command.seed)
    if command.grid is not None and command.grid < 2:
        raise ValueError(f"A grid needs 2 points or more a side, got {command.grid}. Write `--grid 160`.")
    if not 0 <= command.random <= MOST_MEMBERS:
        raise ValueError(
            f"`--random` must be a number of members from 0 to {MOST_MEMBERS}, got {command.random}. Write "
            "`--random 200`."
        )


def _grid(command: Any, dim: int) -> int:
    """The points along the longest side: those asked for, or as many as suit the dimension."""
    grid = command.grid or RESOLUTION[dim]
    if grid > MOST_GRID[dim]:
        raise ValueError(
            f"`--grid` must be at most {MOST_GRID[dim]} points a side, got {grid}. Write `--grid {RESOLUTION[dim]}`."
        )
    return grid


def default_members(box: Box) -> tuple[Members, int]:
    """The paper's, where they are in the box; else a typical one."""
    (spec,) = (spec for _, spec in box.specs) if box.names == ("t",) else (None,)
    if spec and spec.is_linear and not spec.shape and not spec.problem_with(np.array(MEMBERS)):
        return {"t": np.array(MEMBERS)}, len(MEMBERS)
    return typical_member(box)


def measure_members(operator: Operator, members: Members, resolution: int, show: bool = False) -> list[Row]:
    """Every member on the whole grid."""
    return _measure(operator, members, resolution, every_point=True, show=show)


def measure_random(operator: Operator, count: int, seed: int, resolution: int, show: bool = False) -> Row:
    """Median and worst of random members, each measured at a choice of the grid's points."""
    box = operator.problem.parameters
    members = random_members(box, count, seed) if box.specs else {}
    rows = _measure(operator, members, resolution, every_point=False, show=show)
    worst = max(rows, key=lambda row: row["relative_l2"])
    return {
        "count": len(rows),
        "seed": seed,
        "points": min(row["points"] for row in rows),
        "median_relative_l2": float(np.median([row["relative_l2"] for row in rows])),
        "worst_relative_l2": worst["relative_l2"],
        "worst_max_error": max(row["max_error"] for row in rows),
        "worst": worst,
    } | _ratios(rows)


def _ratios(rows: list[Row]) -> Row:
    """Estimates over the errors measured: the least, the median and the largest."""
    if "error_estimate" not in rows[0]:
        return {}
    ratios = [row["error_estimate"] / max(row["max_error"], np.finfo(float).tiny) for row in rows if _is_known(row)]
    found: Row = {"estimate_not_known": len(rows) - len(ratios)}
    return found | ({"estimate_over_error": [float(f(ratios)) for f in (np.min, np.median, np.max)]} if ratios else {})


def _is_known(row: Row) -> bool:
    """Whether the operator knows how wrong its answer is; where nodes are too few to tell, its estimate is infinite."""
    return bool(np.isfinite(row.get("error_estimate", 0)))


def _measure(operator: Operator, members: Members, resolution: int, every_point: bool, show: bool) -> list[Row]:
    """Errors against the truth, and what the operator says of them itself, if it can."""
    parts = _parts(operator.problem, members)
    rows: dict[int, Row] = {}
    for part in watched(parts, len(set(np.concatenate(parts))), show, "member"):
        some = {name: value[part] for name, value in members.items()}
        given: dict[str, Any] = {name: jnp.asarray(value) for name, value in some.items()}
        # Checked against the box before, with the command's own words.
        solution = operator(extrapolate=True, **given)
        own = solution.error_estimate() if refusal(operator.problem) is None else None
        errors = measure(solution, resolution=resolution, every_point=every_point, first=int(part[0]))
        rows |= dict(zip(part.tolist(), _rows(some, errors, own), strict=True))
    return [rows[i] for i in sorted(rows)]


def _parts(problem: Problem, members: Members) -> list[np.ndarray]:
    """Which members are measured at once: in space those that share a matrix; in the plane a few, to show progress.

    In the plane all parts have one size, or another would be compiled; so the last member may be repeated.
    """
    count = len(next(iter(members.values()), [None]))
    if not problem.family.in_space:
        parts = -(-count // AT_ONCE)
        return list(np.minimum(np.arange(parts * -(-count // parts)), count - 1).reshape(parts, -1))
    shaping = names_in((problem.family, problem.representation))
    alike: dict[tuple[bytes, ...], list[int]] = {}
    for i in range(count):
        alike.setdefault(tuple(value[i].tobytes() for name, value in members.items() if name in shaping), []).append(i)
    return [np.array(group) for group in alike.values()]


def _rows(members: Members, errors: Errors, own: ErrorEstimate | None) -> list[Row]:
    rows = []
    for i in range(len(errors.relative_l2)):
        row = {
            "parameters": {name: np.asarray(value[i]).tolist() for name, value in members.items()},
            "relative_l2": float(errors.relative_l2[i]),
            "max_error": float(errors.max_error[i]),
            "max_error_near_boundary": float(errors.max_error_near_boundary[i]),
            "printed_formula": float(errors.printed_formula[i]),
            "points": int(errors.num_points[i]),
        }
        if own is not None:
            row["error_estimate"] = float(np.atleast_1d(own.value)[i])
            row["error_estimate_is_bound"] = own.bound
        if errors.far_field is not None:
            row["far_field_relative_l2"] = float(errors.far_field[i])
        rows.append(row)
    return rows


COLUMNS = {
    "relative_l2": "relative l2",
    "max_error": "max error",
    "max_error_near_boundary": "near the boundary",
    "error_estimate": "its own estimate",
    "far_field_relative_l2": "far field, relative l2",
    "printed_formula": "the paper's printed formula (no root)",
}


def error_table(rows: list[Row], printed_formula: bool = False) -> str:
    columns = [c for c in COLUMNS if c in rows[0] and (c != "printed_formula" or printed_formula)]
    cells = [
        [
            describe(row["parameters"]),
            *(f"{row[column]:.2e}" if np.isfinite(row[column]) else "not known" for column in columns),
        ]
        for row in rows
    ]
    names = COLUMNS | ({"error_estimate": "its own bound"} if rows[0].get("error_estimate_is_bound") else {})
    return table(["member", *(names[column] for column in columns)], cells)


def random_words(found: Row) -> str:
    words = (
        f"{found['count']} random members (seed {found['seed']}): median relative l2 "
        f"{found['median_relative_l2']:.2e}, worst {found['worst_relative_l2']:.2e} at "
        f"{describe(found['worst']['parameters'])}; max error {found['worst_max_error']:.2e}."
    )
    if "estimate_over_error" in found:
        least, median, largest = found["estimate_over_error"]
        words += f" Own estimate over max error: {least:.2f} to {largest:.2f}, median {median:.2f}."
    if found.get("estimate_not_known"):
        words += f" Of {found['estimate_not_known']} there is no estimate."
    return words


def _own_words(rows: list[Row]) -> str:
    if "error_estimate" not in rows[0]:
        return ""
    own, sure = ("bound", ", proven") if rows[0]["error_estimate_is_bound"] else ("estimate", "")
    return f" its own {own}: what the answer says of its largest error, from the boundary alone{sure}."


def _words(command: Any, report: dict[str, Any], operator: Operator) -> str:
    rows, dim = report["members"], operator.problem.family.dim
    solved = {
        2: "`solve` with twice the nodes it needs",
        3: "`solve` with two nodes more along a side of a patch than the operator has",
    }[dim]
    on, it = {2: ("on the boundary and ", "it"), 3: ("", "the boundary")}[dim]
    near = [f"1e{round(np.log10(distance))}" for distance in DISTANCES[dim] if distance > 0]
    lines = [
        f"{command.run}: {report['result']}",
        "",
        error_table(rows, command.printed_formula),
        "",
        "relative l2: the norm of the error over that of the field. max error: the largest, everywhere and near the "
        f"boundary.{_own_words(rows)}",
        f"Against {'the exact field' if report['truth'] == 'exact' else solved}, at "
        f"{min(row['points'] for row in rows)} points or more a member: a grid of {report['grid']} points a side, and "
        f"points {on}{near[0]} to {near[-1]} from {it}.",
    ]
    if "random" in report:
        lines.append(random_words(report["random"]))
    measured: list[Row] = [*rows, report["random"]["worst"]] if "random" in report else rows
    worst = max(measured, key=lambda row: row["relative_l2"])
    if not all(map(_is_known, measured)):
        lines.append(f"Where no estimate is known, {too_few_nodes(operator)}.")
    lines.append(f"{report['seconds']:.1f} s.")
    picture = ["plot", command.run, *problem_option(command), *at_option(worst["parameters"]), "--out", "worst.png"]
    return "\n".join([*lines, try_next(picture)])
