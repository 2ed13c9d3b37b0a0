"""Fields where pictures and comparisons need them: on grids inside their domains, and on the curves themselves."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from edgewise.base.named import is_whole
from edgewise.geometry.grids import MARGIN, box_around, grid_in, read_corners
from edgewise.geometry.outlines import outlines
from edgewise.problem import Problem
from edgewise.solution import Solution

# How far around bodies in a wave a picture goes, in sizes of the bodies: it shows their shadow and echo.
MARGIN_OF_WAVES = 1.0


class Samples(NamedTuple):
    """One member's field where a picture needs it: on a grid inside its domain, and on the curves themselves."""

    parameters: dict[str, Any]
    curves: list[np.ndarray]
    """(n, 2) each, closed by its first point, with the domain on the left if it is the bounded one."""
    box: np.ndarray
    """(2, 2): lower left and upper right corner of what is shown."""
    points: np.ndarray
    """(m, 2)."""
    value: np.ndarray
    """The field; where a wave is scattered, the total field."""
    truth: np.ndarray | None

    @property
    def error(self) -> np.ndarray | None:
        return None if self.truth is None else np.abs(self.value - self.truth)


def sample_field(
    solution: Solution,
    resolution: int = 200,
    curve_points: int = 800,
    box: Any = None,
    truth: Solution | None = None,
) -> list[Samples]:
    """Every member's field on a grid of `resolution` points along the longer side, and on its curves.

    Members share one box, so that they can be compared: `box`, lower left and upper right corner, or one that holds all
    curves. A solution of one member gives one sample. `truth` stands in for an `exact` field.
    """
    check_solution(solution)
    check_count("resolution", resolution, 2, 200)
    if solution.problem.family.in_space:
        raise ValueError(
            "`field_figure` draws fields in the plane; this one fills space. Write `plot.slice_figure(solution)`."
        )
    members = members_of(solution)
    truths = truths_of(members, truth)
    curves = [outlines(member.problem.family, member.parameters, curve_points) for member in members]
    around = np.concatenate([curve for of_member in curves for curve in of_member])
    box = corners(box, solution.problem, around)
    grid = grid_in(box, resolution)
    values = np.asarray(field_shown(solution)(grid)).reshape(len(members), -1)
    return [_one(*parts, box, grid) for parts in zip(members, curves, values, truths, strict=True)]


def field_shown(solution: Solution) -> Any:
    """The field that a picture shows: of scattered waves the total one, of a flow its speed."""
    if solution.problem.representation.kernel.value_shape:
        return lambda points: jnp.linalg.norm(solution(points), axis=-1)
    return solution.total if solution.problem.data.is_wave else solution


def _one(
    member: Solution,
    curves: list[np.ndarray],
    value: np.ndarray,
    truth: Solution | None,
    box: np.ndarray,
    grid: np.ndarray,
) -> Samples:
    points = np.concatenate([grid, *(curve[:-1] for curve in curves)])
    value = np.concatenate([value, np.asarray(field_shown(member)(points[len(grid) :]))])
    shown = np.all((points >= box[0]) & (points <= box[1]), axis=-1) & np.isfinite(value)
    check_seen(shown, box)
    points, value = points[shown], value[shown]
    problem = member.problem
    true = None
    if truth is not None:
        true = np.asarray(field_shown(truth)(points))
    elif problem.exact is not None and not problem.data.is_wave:
        true = np.asarray(problem.exact_at(jnp.asarray(points), member.parameters))
        true = np.linalg.norm(true, axis=-1) if true.ndim == 2 else true
    points, value, true = where_known(points, value, true, box)
    return Samples(problem.parameters.in_order(member.parameters), curves, box, points, value, true)


def where_known(points: np.ndarray, value: np.ndarray, true: np.ndarray | None, box: np.ndarray) -> tuple[Any, ...]:
    """The points to compare: without those where truth is infinite, or too close to the boundary to agree on the
    side."""
    if true is None:
        return points, value, true
    known = np.isfinite(true)
    if np.sum(known) < 3:
        raise ValueError(
            f"The truth is finite nowhere in the box from {box[0].tolist()} to {box[1].tolist()}, so there is nothing "
            "to compare with. Pass another `box`, or mend `exact`."
        )
    return points[known], value[known], true[known]


def truths_of(members: list[Solution], truth: Solution | None) -> list[Any]:
    """The truth of every member, or None for each."""
    truths = [None] * len(members) if truth is None else members_of(truth)
    if len(truths) != len(members):
        raise ValueError(
            f"`truth` has {len(truths)} members, but the solution {len(members)}; expected the same members. Solve for "
            "the same parameters."
        )
    return truths


def corners(box: Any, problem: Problem, around: np.ndarray) -> np.ndarray:
    """(2, 2): lower left and upper right corner of what is shown; `box` or, where it is None, one with room around
    points."""
    if box is None:
        outside = problem.data.is_wave and problem.side == "exterior"
        return box_around(around, MARGIN_OF_WAVES if outside else MARGIN[problem.side])
    found = read_corners(box)
    if found is None:
        raise ValueError(
            f"`box` must be the lower left and the upper right corner of what is shown, got {box!r}. Write "
            "`box=((-3, -2), (3, 2))`."
        )
    return found


def check_solution(solution: Any, example: str = "field_figure(operator(t=1.5))") -> None:
    if not isinstance(solution, Solution):
        raise TypeError(
            f"`solution` must be what `solve` or an operator returns, got {type(solution).__name__}. Write `{example}`."
        )


def check_count(name: str, count: Any, least: int, usual: int) -> None:
    """Whether an argument is a whole number, and not too small."""
    if not is_whole(count, least):
        raise ValueError(f"`{name}` must be a whole number from {least} on, got {count!r}. Write `{name}={usual}`.")


def members_of(solution: Solution) -> list[Solution]:
    check_solution(solution)
    return list(solution) if solution.batched else [solution]


def check_seen(shown: np.ndarray, box: np.ndarray, where: str = "") -> None:
    # Fewer than three points make no triangle.
    if np.sum(shown) < 3:
        raise ValueError(
            f"There is no field in the box from {box[0].tolist()} to {box[1].tolist()}{where}: all of it lies on the "
            "other side of the boundary. Pass another `box` (`--box`), or none for one that holds the boundary."
        )
