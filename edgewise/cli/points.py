"""Where a field is read: points from a table, a mesh or a dataset."""

import csv
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.cli.output import check_file
from edgewise.export import SUFFIXES, check_ending, files_of
from edgewise.export.netcdf import xarray_or_words
from edgewise.export.table import AXES
from edgewise.export.vtu import meshio_or_words

NAMES = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


def read_points(path: Path, dim: int) -> Any:
    """Points of shape (m, dim), or a grid of them; or a mesh of meshio's.

    From `.csv`: a header with the columns x, y[, z], others ignored; or no header and exactly `dim` columns. Blank
    lines and what follows a `#` are skipped. From `.npz`: an array `points` of shape (m, dim), or arrays x, y[, z] of
    equal shapes. From `.nc`: variables x, y[, z], those of a grid along axes of their own. From `.vtu`: the mesh. What
    `predict` wrote can be read.
    """
    _check_suffix(path, "Save the points as one of these")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ValueError(f"The file of points `{path}` {what}. Name a {NAMES} file.")
    if not path.stat().st_size:
        raise ValueError(f"The file of points `{path}` is empty; expected at least one point. Save the points again.")
    read = {".csv": _read_csv, ".npz": _read_npz, ".vtu": _read_vtu, ".nc": _read_netcdf}[path.suffix.lower()]
    points = read(path, dim)
    if not len(getattr(points, "points", points)):
        raise ValueError(f"`{path}` has no points; expected at least one. Add one, such as `{_line(dim)}`.")
    return points


def check_output(path: Path, overwrite: bool, members: int = 1, option: str = "--out") -> None:
    """Refuses a file that could not or must not be written: before anything is computed for it."""
    for file in dict.fromkeys([path, *files_of(path, members)]):
        check_file(file, SUFFIXES if file == path else (".vtu", ".pvd"), overwrite, "field.csv", option)
    check_ending(path)


def _read_csv(path: Path, dim: int) -> np.ndarray:
    try:
        # Spreadsheets mark the start of a file, and the mark is not part of the first name.
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"`{path}` is not text; expected numbers such as `{_line(dim)}`. Save it as CSV.") from None
    pick, width, rows = None, dim, []
    cure = f"Begin the file with a header that has `{','.join(AXES[:dim])}` if there are other columns"
    for number, text in enumerate(lines, start=1):
        bare = text.partition("#")[0].strip()
        if not bare:
            continue
        where = f'`{path}`, line {number}, is "{text.strip()}"'
        try:
            cells = [cell.strip() for cell in next(csv.reader([bare]))]
        except csv.Error as error:
            raise ValueError(f"{where}: {error}. Correct that line.") from None
        if pick is None:
            if not all(map(_is_number, cells)):
                pick, width = _header(cells, where, dim), len(cells)
                cure = "Correct that line"
                continue
            pick = range(dim)
        if len(cells) != width:
            raise ValueError(f"{where}: {len(cells)} columns; expected {width}, separated by commas. {cure}.")
        try:
            row = [float(cells[column]) for column in pick]
        except ValueError:
            raise ValueError(f"{where}: not numbers; expected such as `{_line(dim)}`. Correct that line.") from None
        if not all(map(math.isfinite, row)):
            raise ValueError(f"{where}: coordinates must be finite. Correct that line, or leave it out.")
        rows.append(row)
    return np.array(rows, float).reshape(-1, dim)


def _header(cells: list[str], where: str, dim: int) -> list[int]:
    names = [cell.lower() for cell in cells]
    wrong = [axis for axis in AXES[:dim] if names.count(axis) != 1]
    if wrong:
        listed = " and ".join(f"`{axis}`" for axis in wrong)
        raise ValueError(
            f"{where}: neither {dim} numbers separated by commas nor a header with {listed} once. "
            f"Begin the file with `{','.join(AXES[:dim])}`, or with a point such as `{_line(dim)}`."
        )
    return [names.index(axis) for axis in AXES[:dim]]


def _read_npz(path: Path, dim: int) -> np.ndarray:
    axes = AXES[:dim]
    arrays: dict[str, np.ndarray] = {}
    if not zipfile.is_zipfile(path):
        # `np.load` would take it for a pickle, and say so.
        raise ValueError(f"`{path}` is not an NPZ file. Write it with `np.savez(path, points=points)`.")
    try:
        with np.load(path, allow_pickle=False) as file:
            # Only those wanted are read: the others may be of any kind.
            names = list(file.keys())
            for name in ["points"] if "points" in names else [axis for axis in axes if axis in names]:
                arrays[name] = file[name]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"`{path}` cannot be read as arrays of numbers: {error}. Write it with `np.savez(path, points=points)`."
        ) from None
    for name, array in arrays.items():
        if array.dtype.kind not in "iuf":
            raise ValueError(f"`{name}` in `{path}` is {array.dtype}; expected real numbers. Save it as float64.")
    if "points" in arrays:
        points = arrays["points"]
        if points.ndim != 2 or points.shape[1] != dim:
            raise ValueError(
                f"`points` in `{path}` has shape {points.shape}; expected (m, {dim}). Write "
                f"`points.reshape(-1, {dim})`."
            )
    else:
        if len(arrays) < dim:
            raise ValueError(
                f"`{path}` has the arrays {', '.join(names) or 'none'}; expected `points` or {', '.join(axes)}. "
                f"Write it with `np.savez(path, points=points)`, of shape (m, {dim})."
            )
        shapes = {name: array.shape for name, array in arrays.items()}
        if len(set(shapes.values())) > 1:
            raise ValueError(f"The arrays of `{path}` must have equal shapes, got {shapes}. Give each as many entries.")
        points = np.stack([arrays[axis].ravel() for axis in axes], axis=-1)
    return _finite(points.astype(float), path)


def _read_vtu(path: Path, dim: int) -> Any:
    meshio = meshio_or_words()
    try:
        # Not `meshio.read`, which ends the program where it cannot read.
        mesh = meshio.vtu.read(str(path))
    except Exception as error:
        # Whatever a damaged file makes of a reader that does not expect one.
        said = f"{type(error).__name__}: {error}".strip(": ")
        raise ValueError(
            f"`{path}` cannot be read as a VTU file, {said}. In ParaView, save the mesh again as .vtu."
        ) from None
    _finite(np.asarray(mesh.points), path)
    return mesh


def _read_netcdf(path: Path, dim: int) -> np.ndarray:
    xarray = xarray_or_words()
    cure = 'Write it with `dataset.to_netcdf(path, engine="h5netcdf")`'
    axes = list(AXES[:dim])
    try:
        with xarray.open_dataset(path, decode_times=False) as file:
            names = [str(name) for name in file.variables]
            found = [file[axis].load() for axis in axes if axis in names]
    except Exception as error:
        # Each of the libraries that may be behind it has errors of its own.
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"`{path}` cannot be read as a netCDF file: {said}. {cure}.") from None
    if len(found) < dim:
        raise ValueError(
            f"`{path}` has the variables {', '.join(names) or 'none'}; expected {', '.join(axes)}. Name the "
            "coordinates so."
        )
    for axis, array in zip(axes, found, strict=True):
        if array.dtype.kind not in "iuf":
            raise ValueError(f"`{axis}` in `{path}` is {array.dtype}; expected real numbers. Save it as float64.")
    # The last coordinate outermost, so that the first runs fastest.
    spread = xarray.broadcast(*reversed(found))
    points = np.stack([array.values for array in reversed(spread)], axis=-1).astype(float)
    # The nodes of several members are no grid.
    is_grid = points.ndim <= 4 and "member" not in spread[0].dims
    return _finite(points if is_grid else points.reshape(-1, dim), path)


def _finite(points: np.ndarray, path: Path) -> np.ndarray:
    flat = points.reshape(-1, points.shape[-1])
    wrong = np.flatnonzero(~np.isfinite(flat).all(axis=1))
    if len(wrong):
        raise ValueError(
            f"Point {wrong[0]} in `{path}`, counted from 0, is {flat[wrong[0]].tolist()}; it must be finite. Leave it "
            "out."
        )
    return points


def _check_suffix(path: Path, cure: str) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"`{path}` has an unknown ending; supported are {', '.join(SUFFIXES[:-1])} and {SUFFIXES[-1]}. {cure}."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _line(dim: int) -> str:
    return ",".join(("0.3", "0.2", "0.1")[:dim])
