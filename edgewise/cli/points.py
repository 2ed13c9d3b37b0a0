"""Where a field is read, and the file it goes to: points from a table or a grid, columns to CSV or NPZ."""

import csv
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from edgewise.cli.output import check_file
from edgewise.files import write

AXES = "xyz"
SUFFIXES = (".csv", ".npz")
MOST_POINTS = 10**7
# What a parameter's column must not be called: columns of the field, and what `np.savez` means by its own keywords.
TAKEN = frozenset({"x", "y", "z", "u", "u_re", "u_im", "error", "file", "allow_pickle", "shape"})
ROWS_AT_ONCE = 100_000


def read_points(path: Path, dim: int) -> np.ndarray:
    """Points of shape (m, dim).

    From `.csv`: a header with the columns x, y[, z], others ignored; or no header and exactly `dim` columns. Blank lines and
    what follows a `#` are skipped. From `.npz`: an array `points` of shape (m, dim), or arrays x, y[, z] of equal shapes.
    What `write_field` wrote can be read.
    """
    _check_suffix(path, "Save the points as one of these")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ValueError(f"The file of points `{path}` {what}. Name a .csv or .npz file.")
    points = _read_npz(path, dim) if path.suffix.lower() == ".npz" else _read_csv(path, dim)
    if not len(points):
        raise ValueError(f"`{path}` has no points; expected at least one. Add one, such as `{_line(dim)}`.")
    return points


def grid_points(boundary_points: np.ndarray, resolution: int, margin: float) -> np.ndarray:
    """A grid around points of a boundary, (..., d): `resolution` points along the longest side, x running fastest.

    The margin is in lengths of the longest side. Shorter sides have as many points as keep the spacing nearly equal, but
    two at least.

    >>> grid_points(np.array([[0.0, 0.0], [2.0, 1.0]]), 3, 0.0).tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]
    """
    if resolution < 2:
        raise ValueError(f"A grid needs 2 points or more a side, got {resolution}. Write `--grid 200`.")
    if not (math.isfinite(margin) and margin >= 0):
        raise ValueError(f"The margin of a grid must be 0 or more, got {margin}. Write `--margin 0.5`.")
    dim = boundary_points.shape[-1]
    flat = np.asarray(boundary_points, float).reshape(-1, dim)
    low, high = flat.min(axis=0), flat.max(axis=0)
    room = margin * np.max(high - low)
    low, high = low - room, high + room
    spacing = np.max(high - low) / (resolution - 1)
    counts = [max(2, 1 + round(float(side / spacing))) for side in high - low]
    if math.prod(counts) > MOST_POINTS:
        raise ValueError(
            f"A grid of {' x '.join(map(str, counts))} has {math.prod(counts)} points; expected at most {MOST_POINTS}. "
            f"Write `--grid {int(MOST_POINTS ** (1 / dim))}` or less."
        )
    sides = [np.linspace(*side) for side in zip(low, high, counts, strict=True)]
    # The last axis outermost, so that the first runs fastest.
    mesh = np.meshgrid(*reversed(sides), indexing="ij")
    return np.stack([axis.ravel() for axis in reversed(mesh)], axis=-1)


def grid_shape(points: np.ndarray) -> tuple[int, ...]:
    """The shape of what `grid_points` gave, its last axis first: a column of it is reshaped to an image by this.

    >>> grid_shape(grid_points(np.array([[0.0, 0.0], [2.0, 1.0]]), 3, 0.0))
    (2, 3)
    """
    return tuple(len(np.unique(coordinate)) for coordinate in reversed(points.T))


def field_columns(parameters: Mapping[str, Any], points: Any, values: Any, errors: Any = None) -> dict[str, np.ndarray]:
    """The columns x, y[, z] and u, or u_re and u_im, of values of shape (m,) or (members, m) at points (m, d).

    With one error a member, the column `error` behind them.

    Of several members, one after the other, the parameters come first: `name`, or `name_0`, `name_1`, ... of a vector. They
    have a leading member axis. A parameter called like a column of the field is `parameter_name`.

    >>> columns = field_columns({"t": np.array([1.0, 2.0])}, np.array([[0.5, 0.25]]), np.array([[3.0], [4.0]]))
    >>> {name: column.tolist() for name, column in columns.items()}
    {'t': [1.0, 2.0], 'x': [0.5, 0.5], 'y': [0.25, 0.25], 'u': [3.0, 4.0]}
    """
    points, values = np.asarray(points), np.atleast_2d(np.asarray(values))
    members, count = values.shape
    columns: dict[str, np.ndarray] = {}
    if members > 1:
        for name, value in parameters.items():
            value = np.asarray(value)
            for index in np.ndindex(value.shape[1:]):
                column = "_".join([name, *map(str, index)])
                while column in TAKEN or column in columns:
                    column = f"parameter_{column}"
                columns[column] = np.repeat(value[(slice(None), *index)], count)
    for axis, coordinate in zip(AXES, points.T, strict=False):
        columns[axis] = np.tile(coordinate, members)
    flat = values.ravel()
    if np.iscomplexobj(flat):
        columns["u_re"] = flat.real
        # A real NaN in a complex array has imaginary part 0, which would read as a value.
        columns["u_im"] = np.where(np.isnan(flat), np.nan, flat.imag)
    else:
        columns["u"] = flat
    if errors is not None:
        # NaN where the field is: nothing is known there.
        columns["error"] = np.where(np.isnan(flat), np.nan, np.repeat(np.asarray(errors, float), count))
    return columns


def check_output(path: Path, overwrite: bool) -> None:
    check_file(path, SUFFIXES, overwrite, "field.csv")


def write_field(
    path: Path, columns: dict[str, np.ndarray], overwrite: bool, shape: tuple[int, ...] | None = None
) -> None:
    """Writes columns of equal lengths: `.csv` with a header and every digit of each number, or `.npz` with an array each.

    The `shape` of a grid goes to `.npz` as an array of that name; `.csv` has no place for it.
    """
    check_output(path, overwrite)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"The columns of `{path}` must have equal lengths, got {lengths}. Give each as many entries.")
    if path.suffix.lower() == ".npz":
        arrays: dict[str, Any] = columns if shape is None else {**columns, "shape": np.array(shape)}
        write(path, lambda file: np.savez_compressed(file, **arrays))
    else:
        write(path, lambda file: _save_csv(file, columns))


def _save_csv(file: BinaryIO, columns: dict[str, np.ndarray]) -> None:
    file.write((",".join(columns) + "\n").encode())
    length = len(next(iter(columns.values())))
    for start in range(0, length, ROWS_AT_ONCE):
        # As Python's numbers, whose `repr` is the shortest text that reads back as the same one.
        part = [np.asarray(column)[start : start + ROWS_AT_ONCE].tolist() for column in columns.values()]
        file.writelines((",".join(map(repr, row)) + "\n").encode() for row in zip(*part, strict=True))


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
                f"`points` in `{path}` has shape {points.shape}; expected (m, {dim}). Write `points.reshape(-1, {dim})`."
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
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(wrong):
        raise ValueError(
            f"Point {wrong[0]} in `{path}`, counted from 0, is {points[wrong[0]].tolist()}; it must be finite. Leave it out."
        )
    return points.astype(float)


def _check_suffix(path: Path, cure: str) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"`{path}` has an unknown ending; supported are {' and '.join(SUFFIXES)}. {cure}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _line(dim: int) -> str:
    return ",".join(("0.3", "0.2", "0.1")[:dim])
