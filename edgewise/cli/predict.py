"""`edgewise predict`: the field of an operator at points, and its boundary, into files."""

import math
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from edgewise.base.precision import enable_x64
from edgewise.base.progress import watched
from edgewise.base.words import counted
from edgewise.cli.output import to_json
from edgewise.cli.points import check_output, read_points
from edgewise.cli.progress import say_what_space_costs, try_next
from edgewise.cli.runs import at_option, choose_members, find, problem_option, too_few_nodes
from edgewise.export import check_resolution, field_table, files_of, grid_points, has_total, is_mesh, places, save
from edgewise.export.boundary import boundary_table
from edgewise.export.table import joined
from edgewise.learn.operator import Operator
from edgewise.show.samples import members_of
from edgewise.solution import Solution
from edgewise.trust.estimate import refusal

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
    for path, option in _outputs(command, 1):
        check_output(path, command.overwrite, option=option)
    found = find(command)
    problem, dim = found.problem, found.problem.family.dim
    members, count = choose_members(command.at, problem.parameters, extrapolate=command.extrapolate)
    for path, option in _outputs(command, count):
        check_output(path, command.overwrite, count, option)
    if command.boundary and command.tol and count > CHUNK:
        raise ValueError(
            f"`--boundary` with `--tol` takes at most {CHUNK} members, which are refined on equally many nodes, got "
            f"{count}. Ask for fewer, or leave one of the options out."
        )
    if command.points is None:
        check_resolution(command.grid)
        # A grid has more points than this; the boundaries of so many members would take long to place.
        _check_size(count, command.grid)
    else:
        points, cells = places(read_points(command.points, dim), dim)
        _check_size(count, math.prod(points.shape[:-1]))
    operator = found.open()
    if command.points is None:
        points, cells = _grid(operator, members, count, command.grid), None
        _check_size(count, math.prod(points.shape[:-1]))
    where = points.shape[:-1]
    known = refusal(problem) is None
    if known and not command.json:
        say_what_space_costs(operator, count, solved=False)
    fields, boundaries, refined = [], [], 0
    solutions = _solutions(operator, members, count, command.tol)
    for part in watched(solutions, count, not command.json, "member", lambda part: len(part) if part.batched else 1):
        errors, bound = _errors(part, command.tol) if known else (None, False)
        fields.append(field_table(part, points, cells, errors, bound=bound, total=has_total(command.out)))
        refined += int(np.sum(part.stats["refined"])) if command.tol else 0
        if command.boundary:
            boundaries.append(boundary_table(part, closed=is_mesh(command.boundary)))
    field = joined(fields)._replace(batched=count > 1)
    save(command.out, field)
    if command.boundary:
        save(command.boundary, joined(boundaries)._replace(batched=count > 1))
    values, errors = field.arrays["u"], field.errors
    wrong = int(np.sum(np.isnan(values)))
    shape = None if len(where) == 1 else ((count, *where) if count > 1 else where)
    written = [files_of(path, count)[-1] for path, _ in _outputs(command, count)]
    report = {
        "run": command.run,
        "members": count,
        "points": math.prod(where),
        "shape": shape,
        "values": values.size,
        "on_the_wrong_side": wrong,
        "error": None if errors is None else errors.tolist(),
        "bound": field.bound,
        "refined": refined,
        "result": str(operator.result),
        "written": str(written[0]),
        "boundary": str(written[1]) if command.boundary else None,
    }
    if command.json:
        print(to_json(report))
        return
    words = f"{count} members at " * (count > 1) + counted(math.prod(where), "point")
    if shape is not None:
        words += f", a grid of {' x '.join(map(str, reversed(where)))}, x running fastest"
    left_out = " and left out" if is_mesh(command.out) else ""
    print(f"{words}; {wrong} of {values.size} values are NaN{left_out}, on the wrong side of the boundary.")
    if errors is not None:
        sure = "at most" if field.bound else "estimated as"
        above = int(np.sum(errors > (command.tol or np.inf)))
        refinement = _refined_words(refined, above, count, command.tol)
        told = (
            f"Error {sure} {errors.max():.1e}"
            if np.isfinite(errors.max())
            else f"Error not known: {too_few_nodes(operator)}"
        )
        print(f"{told}{refinement}; `error` in the file has it.")
    for path in written:
        beside = f", and {count} files that it names" if path.suffix == ".pvd" else ""
        print(f"Wrote {path}{beside}.")
    first = at_option({name: value[0] for name, value in members.items()})
    print(
        try_next(["plot", command.run, *problem_option(command), *first, "--out", str(command.out.with_suffix(".png"))])
    )


def _outputs(command: Any, members: int) -> list[tuple[Path, str]]:
    """The files asked for, each with its option; refuses two options that would write one file for so many members."""
    given = [(command.out, "--out"), (command.boundary, "--boundary")]
    given = [(path, option) for path, option in given if path is not None]
    written: set[Path] = set()
    for path, _ in given:
        files = {file.resolve() for file in files_of(path, members)}
        if files & written:
            raise ValueError(
                f"`--out {command.out}` and `--boundary {command.boundary}` would both be written to "
                f"`{min(files & written).name}`; expected two files. Name another one."
            )
        written |= files
    return given


def _errors(part: Solution, tol: float | None) -> tuple[Any, bool]:
    """What each member says of its error, and whether that is proven."""
    if tol is None:
        found = part.error_estimate()
        return found.value, found.bound
    # They are known already; whether they are proven, any member says for all.
    return part.stats["error"], members_of(part)[0].error_estimate().bound


def _refined_words(refined: int, above: int, count: int, tol: float | None) -> str:
    if tol is None:
        return ""
    left = f", {above} of which are still above it: more than rounding or the nodes allow" if above else ""
    return f", {refined} of {count} members refined to be within {tol:g}{left}"


def _check_size(members: int, points: int) -> None:
    if members * points > MOST_VALUES:
        raise ValueError(
            f"{members} members at {points} points or more are beyond {MOST_VALUES} values, the most that one file "
            "takes. Ask for fewer members or points, or several times."
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
    return grid_points(np.stack(corners), resolution, operator.problem.side)
