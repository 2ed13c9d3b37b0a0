"""Fields where pictures and comparisons need them: on grids inside their domains, and on the curves themselves."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from edgewise.geometry.outlines import outlines
from edgewise.potentials import AbstractWave
from edgewise.solution import Solution

# How far around the curve a picture goes, in sizes of the curve: room for the line, or for the field outside.
MARGIN = {"interior": 0.04, "exterior": 0.5, "both": 0.5}


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
    if solution.problem.family.dim == 3:
        raise ValueError(
            "`field_figure` draws fields in the plane; this one fills space. Write `plot_space.slice_figure(solution)`."
        )
    members = members_of(solution)
    truths = [None] * len(members) if truth is None else members_of(truth)
    curves = [outlines(member.problem.family, member.parameters, curve_points) for member in members]
    around = np.concatenate([curve for of_member in curves for curve in of_member])
    box = box_around(around, MARGIN[solution.problem.side]) if box is None else np.asarray(box, float)
    grid = grid_in(box, resolution)
    values = np.asarray(field_shown(solution)(grid)).reshape(len(members), -1)
    return [_one(*parts, box, grid) for parts in zip(members, curves, values, truths, strict=True)]


def field_shown(solution: Solution) -> Any:
    """The field that a picture shows: of scattered waves the total one."""
    return solution.total if isinstance(solution.problem.data, AbstractWave) else solution


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
    inside = np.all((points >= box[0]) & (points <= box[1]), axis=-1)
    points, value = points[inside & np.isfinite(value)], value[inside & np.isfinite(value)]
    problem = member.problem
    if truth is not None:
        true = np.asarray(field_shown(truth)(points))
        # Within rounding of the boundary the two may differ about the side.
        points, value, true = (part[np.isfinite(true)] for part in (points, value, true))
    elif problem.exact is not None and not isinstance(problem.data, AbstractWave):
        true = np.asarray(problem.exact_at(jnp.asarray(points), member.parameters))
    else:
        true = None
    return Samples(dict(member.parameters), curves, box, points, value, true)


def members_of(solution: Solution) -> list[Solution]:
    return list(solution) if solution.batched else [solution]


def box_around(points: np.ndarray, margin: float) -> np.ndarray:
    low, high = points.min(axis=0), points.max(axis=0)
    return np.stack([low, high]) + margin * np.max(high - low) * np.array([[-1], [1]])


def grid_in(box: np.ndarray, resolution: int) -> np.ndarray:
    """Equally spaced points of a box, lowest and highest corner: `resolution` of them along the longest side."""
    sides = (np.linspace(*ends) for ends in zip(*box, counts_in(box, resolution), strict=True))
    return np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, len(box[0]))


def counts_in(box: np.ndarray, resolution: int) -> list[int]:
    """How many points a grid has along each side: on shorter ones as many as keep the spacing nearly equal, but two at least."""
    step = np.max(box[1] - box[0]) / (resolution - 1)
    return [max(2, 1 + round(float(length / step))) for length in box[1] - box[0]]
