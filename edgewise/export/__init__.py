"""Files for other programs: fields at points and on grids, boundaries with densities, as CSV, NPZ, VTU or netCDF."""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.base.files import is_path, make_folder
from edgewise.base.named import is_whole
from edgewise.export.boundary import boundary_table
from edgewise.export.netcdf import dataset, write_netcdf, xarray_or_words
from edgewise.export.table import Cells, Table, parameters_of, with_members, write_csv, write_npz
from edgewise.export.vtu import mesh_cells, meshio_or_words, write_vtu
from edgewise.geometry.grids import MARGIN, box_around, counts_in
from edgewise.show.samples import check_solution
from edgewise.solution import Solution
from edgewise.trust.estimate import refusal

if TYPE_CHECKING:
    from xarray import Dataset

SUFFIXES = (".csv", ".npz", ".vtu", ".nc")
MOST_POINTS = 10**7
# What a message proposes.
EXAMPLE = 'ew.write("field.vtu", operator(t=1.5), grid=200)'


def write(
    path: str | Path,
    solution: Solution,
    points: Any = None,
    *,
    grid: int | None = None,
    estimate: bool = True,
    overwrite: bool = False,
) -> Path:
    """Writes the field at points or on a grid, or else the boundary with its density; returns the file to open.

    The ending decides the format. `.csv` has columns x, y[, z], u, error; `.npz` an array for each; `.vtu` is for
    ParaView, `.nc` (netCDF) for xarray: both have the total field of a scattered wave too. Complex fields are two
    arrays, `u_re` and `u_im`. Of a batch, `.vtu` becomes a file for every member and a `.pvd`, the one to open; in
    other files members follow each other.

    Arguments:
        points: Shape (m, d); or a grid of them, (ny, nx, d) or (nz, ny, nx, d); or a mesh of meshio's, whose cells
            `.vtu` keeps.
        grid: Instead of points: a grid around the boundary, with so many along its longest side.
        estimate: Whether to say how wrong the field is, where that is known.
        overwrite: Allows files to be replaced.
    """
    if not is_path(path):
        raise TypeError(
            f"`write` takes the file first, got {type(path).__name__}. Write "
            '`ew.write("field.vtu", solution, grid=200)`.'
        )
    path = Path(path)
    check_ending(path)
    check_solution(solution, EXAMPLE)
    targets = files_of(path, len(solution) if solution.batched else 1)
    for target in targets:
        if target.is_dir():
            raise ValueError(f"`{target}` is a folder; expected a file. Write `{target / 'field.vtu'}`.")
        if target.exists() and not overwrite:
            raise FileExistsError(f"`{target}` exists already. Name another file, or pass `overwrite=True`.")
    save(path, _table(solution, points, grid, estimate, total=has_total(path), closed=is_mesh(path)))
    return targets[-1]


def to_xarray(solution: Solution, points: Any = None, *, grid: int | None = None, estimate: bool = True) -> "Dataset":
    """What `write` writes into netCDF files, as a dataset of xarray's: arguments as there.

    Dimensions are `member` of a batch, with the parameters as coordinates, and y, x of a grid, `point` of points,
    `node` of a boundary.
    """
    xarray_or_words()
    check_solution(solution, EXAMPLE)
    return dataset(_table(solution, points, grid, estimate, total=True, closed=False))


def save(path: Path, table: Table) -> None:
    """Writes a table to the files `files_of(path, table.members)`, whatever they are."""
    make_folder(path.parent)
    if is_mesh(path):
        write_vtu(files_of(path, table.members), table)
    else:
        {".csv": write_csv, ".npz": write_npz, ".nc": write_netcdf}[path.suffix.lower()](path, table)


def files_of(path: Path, members: int) -> list[Path]:
    """The files that so many members go to; the last is the one to open.

    >>> [file.name for file in files_of(Path("field.vtu"), 2)]
    ['field_0.vtu', 'field_1.vtu', 'field.pvd']
    """
    if members == 1 or not is_mesh(path):
        return [path]
    digits = len(str(members - 1))
    names = [f"{path.stem}_{member:0{digits}d}{path.suffix}" for member in range(members)]
    return [*(path.with_name(name) for name in names), path.with_suffix(".pvd")]


def check_ending(path: Path) -> None:
    """Refuses a file that cannot be written, before anything is computed for it."""
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        listed = f"{', '.join(SUFFIXES[:-1])} and {SUFFIXES[-1]}"
        raise ValueError(f"`{path}` has an unknown ending; supported are {listed}. Write `field.vtu`.")
    needs: dict[str, Callable] = {".vtu": meshio_or_words, ".nc": xarray_or_words}
    if kind in needs:
        needs[kind]()


def is_mesh(path: Path) -> bool:
    return path.suffix.lower() == ".vtu"


def has_total(path: Path) -> bool:
    """Whether a file has the total field of a wave too; columns are those of any field."""
    return path.suffix.lower() in (".vtu", ".nc")


def field_table(
    solution: Solution, points: np.ndarray, cells: Cells | None, errors: Any, *, bound: bool, total: bool
) -> Table:
    """The field of every member at points (..., d), with the total one of a scattered wave; `bound`: errors are
    proven."""
    values: dict[str, Any] = {"u": solution(points)}
    if total and solution.problem.data.is_wave:
        values["total"] = values["u"] + solution.incident_outside(points)
    arrays = {name: with_members(value, solution) for name, value in values.items()}
    known = None if errors is None else np.atleast_1d(np.asarray(errors))
    # Where nodes are too few to tell, an error is infinite, and nothing is proven.
    proven = bound and known is not None and bool(np.all(np.isfinite(known)))
    return Table(solution.problem, parameters_of(solution), points, arrays, known, proven, cells, solution.batched)


def places(points: Any, dim: int) -> tuple[np.ndarray, Cells | None]:
    """Points of shape (m, d) or those of a grid, checked; and the cells of a mesh."""
    cells = None
    if "meshio" in sys.modules and isinstance(points, sys.modules["meshio"].Mesh):
        cells = mesh_cells(points)
        points = np.asarray(points.points)
        if points.shape[-1] > dim:
            off = np.flatnonzero(points[:, 2])
            if len(off):
                raise ValueError(
                    f"The problem lies in the plane, but point {off[0]} of the mesh, counted from 0, is "
                    f"{points[off[0]].tolist()}. Set z to 0."
                )
            points = points[:, :2]
    if hasattr(points, "dtype") and np.iscomplexobj(points):
        raise TypeError(
            f"`points` must be real, got {points.dtype}. Stack the coordinates: `np.stack([x, y], axis=-1)`."
        )
    try:
        # What a mask hides is no point.
        points = np.ma.asarray(points, float).filled(np.nan)
    except (TypeError, ValueError):
        raise TypeError(
            f"`points` must be an array of real numbers or a mesh of meshio's, got {type(points).__name__}. Of another "
            "mesh, write `points=mesh.points`."
        ) from None
    if not points.size:
        raise ValueError(f"`points` has shape {points.shape}: no points; give at least one, of shape (m, {dim}).")
    points = points[None] if points.ndim == 1 else points
    if not 2 <= points.ndim <= 4 or points.shape[-1] != dim:
        grids = {2: "(ny, nx, 2)", 3: "(ny, nx, 3) or (nz, ny, nx, 3)"}[dim]
        raise ValueError(
            f"`points` has shape {points.shape}; expected (m, {dim}), or {grids} for a grid. Write "
            f"`points.reshape(-1, {dim})`."
        )
    if not np.all(np.isfinite(points)):
        raise ValueError("`points` are not all finite; expected finite numbers. Leave the others out.")
    return points, cells or None


def check_resolution(resolution: Any) -> None:
    if not is_whole(resolution, 2):
        raise ValueError(f"A grid needs 2 points or more a side, got {resolution}. Write `grid=200` (`--grid 200`).")


def grid_points(boundary_points: Any, resolution: int, side: str) -> np.ndarray:
    """A grid (ny, nx, 2) or (nz, ny, nx, 3) around boundary points (..., d), `resolution` points along the longest
    side.

    Inside a boundary it ends there; outside it goes on for half a longest side.

    >>> grid_points(np.array([[0.0, 0.0], [2.0, 1.0]]), 3, "interior").tolist()
    [[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]]
    """
    check_resolution(resolution)
    dim = boundary_points.shape[-1]
    flat = np.asarray(boundary_points, float).reshape(-1, dim)
    box = box_around(flat, 0.0 if side == "interior" else MARGIN[side])
    counts = counts_in(box, resolution)
    if math.prod(counts) > MOST_POINTS:
        most = int(MOST_POINTS ** (1 / dim))
        raise ValueError(
            f"A grid of {' x '.join(map(str, counts))} has {math.prod(counts)} points; expected at most {MOST_POINTS}. "
            f"Write `grid={most}` (`--grid {most}`) or less."
        )
    sides = [np.linspace(*ends) for ends in zip(*box, counts, strict=True)]
    # The last axis outermost, so that the first runs fastest.
    mesh = np.meshgrid(*reversed(sides), indexing="ij")
    return np.stack(mesh[::-1], axis=-1)


def _table(solution: Solution, points: Any, grid: int | None, estimate: bool, *, total: bool, closed: bool) -> Table:
    if solution.problem.representation.kernel.value_shape:
        raise ValueError(
            "Files hold one number a point, and this field is a velocity; expected a scalar one. Write the velocity by "
            '`np.savez("flow.npz", points=points, u=solution(points))`.'
        )
    if points is not None and grid is not None:
        raise ValueError(
            "Got both `points` and `grid`; expected one of them, or neither for the boundary. Leave one out."
        )
    if points is None and grid is None:
        return boundary_table(solution, closed)
    problem = solution.problem
    if grid is not None:
        points = grid_points(solution.boundary.x, grid, problem.side)
    points, cells = places(points, problem.family.dim)
    if not estimate or refusal(problem) is not None:
        return field_table(solution, points, cells, None, bound=False, total=total)
    found = solution.error_estimate()
    return field_table(solution, points, cells, found.value, bound=found.bound, total=total)
