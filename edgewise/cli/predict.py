"""`edgewise predict`: the field of an operator at points, into a file."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from edgewise.cli.output import to_json
from edgewise.cli.points import check_output, field_columns, grid_points, grid_shape, read_points, write_field
from edgewise.cli.progress import say_what_space_costs, try_next
from edgewise.cli.runs import at_option, choose_members, open_run
from edgewise.estimate import obeys_maximum, refusal
from edgewise.learn.operator import Operator
from edgewise.learn.progress import watched
from edgewise.plot_samples import MARGIN
from edgewise.precision import enable_x64

# Members whose fields are evaluated at once.
CHUNK = 32
MOST_VALUES = 2 * 10**7


def run(command: Any) -> None:
    enable_x64()
    if (command.points is None) == (command.grid is None):
        given = "neither `--points` nor `--grid`" if command.points is None else "both `--points` and `--grid`"
        raise ValueError(f"Got {given}; expected one of them. Write `--points points.csv` or `--grid 200`.")
    if command.tol is not None and not 0 < command.tol < np.inf:
        said = (
            f"`--tol` must be a positive number, the error that is allowed in the unit of the field, got {command.tol}"
        )
        raise ValueError(f"{said}. Write `--tol 1e-6`.")
    check_output(command.out, command.overwrite)
    operator = open_run(command.run, command.problem)
    members, count = choose_members(command.at, operator.problem.parameters, extrapolate=command.extrapolate)
    if command.points is None:
        # A grid has more points than this; the boundaries of so many members would take long to place.
        _check_size(count, command.grid)
        points = _grid(operator, members, count, command.grid)
    else:
        points = read_points(command.points, operator.problem.family.dim)
    _check_size(count, len(points))
    known = refusal(operator.problem) is None
    if known and not command.json:
        say_what_space_costs(operator, count, solved=False)
    fields, estimates, refined = [], [], 0
    solutions = _solutions(operator, members, count, command.tol)
    for part in watched(solutions, count, not command.json, "member", lambda part: len(part) if part.batched else 1):
        fields.append(np.atleast_2d(part(points)))
        refined += int(np.sum(part.stats["refined"])) if command.tol else 0
        if known:
            estimates.append(np.atleast_1d(part.stats["error"] if command.tol else part.error_estimate().value))
    values, errors = np.concatenate(fields), np.concatenate(estimates) if known else None
    sides = None if command.grid is None else grid_shape(points)
    shape = None if sides is None else ((count, *sides) if count > 1 else sides)
    write_field(command.out, field_columns(members, points, values, errors), command.overwrite, shape)
    wrong = int(np.sum(np.isnan(values)))
    report = {
        "run": command.run,
        "members": count,
        "points": len(points),
        "shape": shape,
        "values": values.size,
        "on_the_wrong_side": wrong,
        "error": None if errors is None else errors.tolist(),
        "bound": obeys_maximum(operator.problem),
        "refined": refined,
        "result": str(operator.result),
        "written": str(command.out),
    }
    if command.json:
        print(to_json(report))
        return
    where = f"{count} members at {len(points)} points" if count > 1 else f"{len(points)} points"
    if sides is not None:
        where += f", a grid of {' x '.join(map(str, reversed(sides)))}, x running fastest"
    print(f"{where}; {wrong} of {values.size} values are NaN, on the wrong side of the boundary.")
    if errors is not None:
        sure = "at most" if obeys_maximum(operator.problem) and operator.problem.family.dim == 2 else "estimated as"
        above = int(np.sum(errors > (command.tol or np.inf)))
        refinement = _refined_words(refined, above, count, command.tol)
        print(f"Error {sure} {errors.max():.1e}{refinement}; the column `error` has it.")
    print(f"Wrote {command.out}.")
    first = at_option({name: value[0] for name, value in members.items()})
    print(try_next(["plot", command.run, *first, "--out", str(command.out.with_suffix(".png"))]))


def _refined_words(refined: int, above: int, count: int, tol: float | None) -> str:
    if tol is None:
        return ""
    left = f", {above} of which are still above it: more than rounding or the nodes allow" if above else ""
    return f", {refined} of {count} members refined to be within {tol:g}{left}"


def _check_size(members: int, points: int) -> None:
    if members * points > MOST_VALUES:
        raise ValueError(
            f"{members} members at {points} points or more are beyond {MOST_VALUES} values, the most that one file takes. "
            "Ask for fewer members or points, or several times."
        )


def _solutions(operator: Operator, members: dict[str, np.ndarray], count: int, tol: float | None = None) -> Any:
    """Batches of members, one where there are no parameters."""
    if not members:
        yield operator(tol=tol)
        return
    for start in range(0, count, CHUNK):
        some: dict[str, Any] = {name: jnp.asarray(value[start : start + CHUNK]) for name, value in members.items()}
        # They have been checked against the box already, with the command's own words.
        yield operator(tol=tol, extrapolate=True, **some)


def _grid(operator: Operator, members: dict[str, np.ndarray], count: int, resolution: int) -> np.ndarray:
    """One grid around the boundaries of all members."""
    corners = []
    for part in _solutions(operator, members, count):
        x = np.asarray(part.boundary.x).reshape(-1, operator.problem.family.dim)
        corners += [x.min(axis=0), x.max(axis=0)]
    margin = 0.0 if operator.problem.side == "interior" else MARGIN[operator.problem.side]
    return grid_points(np.stack(corners), resolution, margin)
