"""Fields on slices through space, and the sections of bodies there, for pictures."""

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from scipy.ndimage import map_coordinates

from edgewise.geometry.grids import grid_in
from edgewise.geometry.outlines import patch_grids
from edgewise.show.samples import (
    Samples,
    check_count,
    check_seen,
    corners,
    field_shown,
    members_of,
    truths_of,
    where_known,
)

if TYPE_CHECKING:
    from edgewise.geometry.surface import AbstractSurface
    from edgewise.solution import Solution

# Squares along a side of a patch: sections of the unit sphere are right to 1e-4, less than a line is wide.
_CELLS = 64
# How far off the section the field is read there, in sizes of the section: more than the section is wrong.
_OFF = 1e-3


def sample_slice(
    solution: "Solution",
    *,
    box: Any = None,
    plane: str = "y",
    offset: float = 0.0,
    resolution: int = 200,
    truth: "Solution | None" = None,
) -> list[Samples]:
    """Every member's field on a slice: on a grid of `resolution` points along the longer side, and along bodies.

    Members share `box`, lower left and upper right corner; None stands for one that holds the sections of all bodies.
    `truth` stands in for an `exact` field.
    """
    if plane not in ("x", "y", "z"):
        raise ValueError(f'`plane` must be "x", "y" or "z", the coordinate that a slice fixes, got {plane!r}.')
    axis = "xyz".index(plane)
    members = members_of(solution)
    truths = truths_of(members, truth)
    check_count("resolution", resolution, 2, 200)
    family: Any = solution.problem.family
    curves = [sections(family, member.parameters, axis, offset) for member in members]
    found = [curve for of_member in curves for curve in of_member]
    if box is None and not found:
        raise ValueError(f"No body meets {plane} = {offset}; pass `box=((-1, -1), (1, 1))`, the corners to show.")
    box = corners(box, solution.problem, np.concatenate([*found, np.zeros((0, 2))]))
    grid = grid_in(box, resolution)
    values = np.asarray(field_shown(solution)(np.insert(grid, axis, offset, axis=1))).reshape(len(members), -1)
    return [_one(*parts, box, grid, axis, offset) for parts in zip(members, curves, values, truths, strict=True)]


def sections(family: "AbstractSurface", parameters: dict[str, Any], axis: int, offset: float) -> list[np.ndarray]:
    """Closed curves (n, 2) where bodies meet the plane coordinate = `offset`, with the bounded domain on their left."""
    # Comes with matplotlib, without which there is no figure to ask for this.
    from contourpy import contour_generator

    patches = patch_grids(family, parameters, _CELLS)
    size = np.max(np.ptp(patches.reshape(-1, 3), axis=0))
    # Past the sides of patches and the faces that may lie in the plane itself: there rounding would decide.
    level = offset + 1e-9 * size
    loops = []
    for body in np.split(patches, np.cumsum(family.bodies)[:-1]):
        pieces = []
        for patch in body:
            crossings: Any = contour_generator(z=patch[..., axis]).lines(level)
            for line in crossings:
                shown = (patch[..., i] for i in range(3) if i != axis)
                at = [map_coordinates(part, line.T[::-1], order=1) for part in shown]
                pieces.append(np.stack(at, axis=1))
        loops += [loop for loop in _joined(pieces) if np.max(np.ptp(loop, axis=0)) > 1e-6 * size]
    return _turned(loops)


def _one(
    member: "Solution",
    curves: list[np.ndarray],
    value: np.ndarray,
    truth: "Solution | None",
    box: np.ndarray,
    grid: np.ndarray,
    axis: int,
    offset: float,
) -> Samples:
    beside = [_beside(curve, member.problem.side) for curve in curves]
    points = np.concatenate([grid, *beside])
    places = np.insert(points, axis, offset, axis=1)
    if beside:
        value = np.concatenate([value, np.asarray(field_shown(member)(places[len(grid) :]))])
    shown = np.all((points >= box[0]) & (points <= box[1]), axis=-1) & np.isfinite(value)
    check_seen(shown, box, f" on {'xyz'[axis]} = {offset}")
    points, value, places = points[shown], value[shown], places[shown]
    true = None
    if truth is not None:
        true = np.asarray(field_shown(truth)(places))
    elif member.problem.exact is not None and not member.problem.data.is_wave:
        true = np.asarray(member.problem.exact_at(jnp.asarray(places), member.parameters))
    points, value, true = where_known(points, value, true, box)
    return Samples(member.problem.parameters.in_order(member.parameters), curves, box, points, value, true)


def _beside(curve: np.ndarray, side: str) -> np.ndarray:
    """Points next to a section, on the side of the field."""
    points = curve[:-1]
    along = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    # The domain is on the left.
    way = {"exterior": 1.0, "interior": -1.0, "both": 0.0}[side]
    return points + way * _OFF * np.max(np.ptp(points, axis=0)) * along[:, ::-1] * [1, -1]


def _joined(pieces: list[np.ndarray]) -> list[np.ndarray]:
    """Closed curves from open pieces: always on with the piece that begins or ends nearest."""
    pieces, loops = list(pieces), []
    while pieces:
        loop = pieces.pop()
        while pieces:
            ends = np.array([[piece[0], piece[-1]] for piece in pieces])
            gaps = np.linalg.norm(ends - loop[-1], axis=-1)
            nearest, last = np.unravel_index(np.argmin(gaps), gaps.shape)
            if np.linalg.norm(loop[0] - loop[-1]) <= gaps[nearest, last]:
                break
            piece = pieces.pop(int(nearest))
            loop = np.concatenate([loop, piece[::-1] if last else piece])
        # Where pieces meet, points come twice but for rounding: a step between them would have any direction.
        away = np.linalg.norm(np.roll(loop, -1, axis=0) - loop, axis=1) > 1e-9 * np.max(np.ptp(loop, axis=0))
        loop = loop[away] if np.any(away) else loop[:1]
        loops.append(np.concatenate([loop, loop[:1]]))
    return loops


def _turned(loops: list[np.ndarray]) -> list[np.ndarray]:
    """Anticlockwise round bodies, clockwise round what is hollow in them: inside an odd number of other curves."""
    turned = []
    for loop in loops:
        x, y = loop.T
        area = np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])
        depth = sum(_holds(other, loop[0]) for other in loops if other is not loop)
        turned.append(loop if (area > 0) == (depth % 2 == 0) else loop[::-1])
    return turned


def _holds(loop: np.ndarray, point: np.ndarray) -> bool:
    """Whether a point lies inside a closed curve: a ray to the right crosses it an odd number of times."""
    (x0, y0), (x1, y1) = (loop[:-1] - point).T, (loop[1:] - point).T
    crosses = (y0 > 0) != (y1 > 0)
    rise = np.where(crosses, y1 - y0, 1.0)
    return bool(np.sum(crosses & (x0 - y0 * (x1 - x0) / rise > 0)) % 2)
