"""Values at points, of one member or several: what every format is written from, and the two that are plain columns."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from edgewise.base.files import write
from edgewise.problem import Problem
from edgewise.solution import Solution

AXES = "xyz"
# What a parameter must not be called in a file: names of the rest, and what `np.savez` means by its own keywords.
TAKEN = frozenset(
    [
        "x",
        "y",
        "z",
        "u",
        "u_re",
        "u_im",
        "total_re",
        "total_im",
        "error",
        "member",
        "point",
        "node",
        "jacobian",
        "weight",
    ]
    + [f"density{part}" for part in ("", "_re", "_im", "_0", "_1")]
    + [f"normal_{axis}" for axis in AXES]
    + [f"axis_{i}" for i in range(len(AXES))]
    + ["file", "allow_pickle", "shape"]
)
ROWS_AT_ONCE = 100_000

Cells = list[tuple[str, np.ndarray]]
"""Kinds of cells, by meshio's names, and the numbers of their points."""


class Table(NamedTuple):
    """Values at points, of one member or several."""

    problem: Problem
    parameters: dict[str, np.ndarray]
    """With a member axis first."""
    points: np.ndarray
    """(..., d), which all members share; or (members, n, d), each member's own nodes."""
    arrays: dict[str, np.ndarray]
    """(members, ...) in the shape of the points, vectors with d more; real or complex, NaN where there is no field."""
    errors: np.ndarray | None
    """What each member says of its error, (members,)."""
    bound: bool = False
    """Whether all of these are proven to be no less than the errors."""
    cells: Cells | None = None
    """How points are joined, where the shape of `points` does not say so."""
    batched: bool = False
    own_points: bool = False

    @property
    def members(self) -> int:
        return len(next(iter(self.arrays.values())))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the points of one member: (m,), or that of a grid."""
        return self.points.shape[1 if self.own_points else 0 : -1]


def with_members(value: Any, solution: Solution) -> np.ndarray:
    """What a solution gave, with a member axis also for a single one."""
    return np.asarray(value) if solution.batched else np.asarray(value)[None]


def parameters_of(solution: Solution) -> dict[str, np.ndarray]:
    return {name: with_members(value, solution) for name, value in solution.parameters.items()}


def joined(tables: Sequence[Table]) -> Table:
    """The members of several, one after the other."""
    first = tables[0]

    def chained(field: str) -> dict[str, np.ndarray]:
        return {
            name: np.concatenate([getattr(table, field)[name] for table in tables]) for name in getattr(first, field)
        }

    return first._replace(
        parameters=chained("parameters"),
        arrays=chained("arrays"),
        errors=None if first.errors is None else np.concatenate([np.asarray(table.errors) for table in tables]),
        bound=all(table.bound for table in tables),
        points=np.concatenate([table.points for table in tables]) if first.own_points else first.points,
    )


def real_parts(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Complex arrays as two, `name_re` and `name_im`: hardly any format has complex numbers.

    >>> {name: part.tolist() for name, part in real_parts({"u": np.array([1 + 2j])}).items()}
    {'u_re': [1.0], 'u_im': [2.0]}
    """
    parts = {}
    for name, array in arrays.items():
        if np.iscomplexobj(array):
            parts[f"{name}_re"] = np.real(array)
            # A real NaN in a complex array has imaginary part 0, which would read as a value.
            parts[f"{name}_im"] = np.where(np.isnan(array), np.nan, np.imag(array))
        else:
            parts[name] = array
    return parts


def scalars(table: Table) -> dict[str, np.ndarray]:
    """The arrays in real numbers, (members, ...): of vectors `name_x`, `name_y` and so on."""
    found = {}
    for name, array in real_parts(table.arrays).items():
        if array.ndim == 1 + len(table.shape):
            found[name] = array
        else:
            found |= {f"{name}_{axis}": array[..., i] for i, axis in enumerate(AXES[: array.shape[-1]])}
    return found


def free_name(name: str, taken: Set[str] = TAKEN) -> str:
    """The name of a parameter in a file.

    >>> free_name("t"), free_name("u")
    ('t', 'parameter_u')
    """
    while name in taken:
        name = f"parameter_{name}"
    return name


def columns(table: Table) -> dict[str, np.ndarray]:
    """The columns x, y[, z], then the arrays, then `error`, one member after the other.

    For several members the parameters come first: `name`, or `name_0`, `name_1`, ... of a vector. A parameter called
    like another column is `parameter_name`.
    """
    members, count = table.members, int(np.prod(table.shape))
    found: dict[str, np.ndarray] = {}
    if members > 1:
        for name, value in table.parameters.items():
            for index in np.ndindex(value.shape[1:]):
                column = free_name("_".join([name, *map(str, index)]), TAKEN | found.keys())
                found[column] = np.repeat(value[(slice(None), *index)], count)
    for axis, coordinate in zip(AXES, np.moveaxis(table.points, -1, 0), strict=False):
        found[axis] = coordinate.ravel() if table.own_points else np.tile(coordinate.ravel(), members)
    values = scalars(table)
    found |= {name: array.ravel() for name, array in values.items()}
    if table.errors is not None:
        # NaN where the field is: nothing is known there.
        missing = np.isnan(next(iter(values.values())).ravel())
        found["error"] = np.where(missing, np.nan, np.repeat(table.errors, count))
    return found


def write_csv(path: Path, table: Table) -> None:
    """A header, and every digit of each number."""
    write(path, lambda file: _save_csv(file, columns(table)))


def write_npz(path: Path, table: Table) -> None:
    """An array for each column; the `shape` of a grid too."""
    arrays: dict[str, Any] = columns(table)
    if len(table.shape) > 1:
        arrays["shape"] = np.array([table.members, *table.shape] if table.members > 1 else table.shape)
    write(path, lambda file: np.savez_compressed(file, **arrays))


def _save_csv(file: BinaryIO, columns: Mapping[str, np.ndarray]) -> None:
    file.write((",".join(columns) + "\n").encode())
    length = len(next(iter(columns.values())))
    for start in range(0, length, ROWS_AT_ONCE):
        # As Python's numbers, whose `repr` is the shortest text that reads back as the same one.
        part = [column[start : start + ROWS_AT_ONCE].tolist() for column in columns.values()]
        file.writelines((",".join(map(repr, row)) + "\n").encode() for row in zip(*part, strict=True))
