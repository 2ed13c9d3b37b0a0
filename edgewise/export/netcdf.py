"""Labelled arrays: xarray's datasets, and netCDF files of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise import __version__
from edgewise.base.files import write_by_name
from edgewise.base.named import UserFunction
from edgewise.export.table import AXES, TAKEN, Table, free_name, scalars
from edgewise.problem import Problem

if TYPE_CHECKING:
    from xarray import Dataset

MEANINGS = {
    "u": "field",
    "total": "incident plus scattered field",
    "density": "density on the boundary",
    "normal": "unit normal, which leaves the bounded domain",
    "jacobian": "length or area per unit of the boundary coordinate",
    "weight": "weight of the node; the sum is the length or area of the boundary",
}
PARTS = {"re": "real part", "im": "imaginary part", **{axis: f"{axis} component" for axis in AXES}}


def dataset(table: Table) -> "Dataset":
    """The table with named axes: `member` of a batch, then y, x of a grid, `point` of points or `node` of a
    boundary."""
    xarray = xarray_or_words()
    lead = ("member",) if table.batched else ()
    axes, coordinates = _places(table, lead)

    def one(array: np.ndarray) -> np.ndarray:
        return array if table.batched else array[0]

    names = {name: free_name(name) for name in table.parameters}
    for name, value in table.parameters.items():
        called = names[name]
        extra = tuple(free_name(f"{called}_{i}", TAKEN.union(names.values())) for i in range(value.ndim - 1))
        spec = dict(table.problem.parameters.specs)[name]
        about = {"long_name": f"parameter {name}"} | ({"units": spec.units} if spec.units else {})
        coordinates[called] = (lead + extra, one(value), about)
    values = {name: (lead + axes, one(array), {"long_name": _meaning(name)}) for name, array in scalars(table).items()}
    if table.errors is not None:
        sure = "bound of the" if table.bound else "estimate of the"
        values["error"] = (lead, one(table.errors), {"long_name": f"{sure} largest error of u over its domain"})
    return xarray.Dataset(values, coordinates, _about(table.problem))


def write_netcdf(path: Path, table: Table) -> None:
    found = dataset(table)
    packed = {name: {"zlib": True} for name, value in found.data_vars.items() if value.ndim}
    write_by_name(path, lambda name: found.to_netcdf(name, engine="h5netcdf", encoding=packed))


def _places(table: Table, lead: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names of the axes of one member's points, and the coordinates along them.

    A grid whose every axis runs along one coordinate has that for its name; other coordinates are then constant.
    """
    points, dim = table.points, table.points.shape[-1]
    if table.own_points:
        x = points if table.batched else points[0]
        return ("node",), {AXES[i]: ((*lead, "node"), x[..., i]) for i in range(dim)}
    order = range(points.ndim - 1)
    runs = [[axis for axis in order if np.any(np.diff(points[..., i], axis=axis))] for i in range(dim)]
    if points.ndim > 2 and sorted(axes[0] for axes in runs if axes) == list(order) and max(map(len, runs)) == 1:
        names = {axes[0]: AXES[i] for i, axes in enumerate(runs) if axes}
        starts = [tuple(slice(None) if axis in axes else 0 for axis in order) for axes in runs]
        lines = {AXES[i]: (tuple(names[axis] for axis in runs[i]), points[(*starts[i], i)]) for i in range(dim)}
        return tuple(names[axis] for axis in order), lines
    names = ("point",) if points.ndim == 2 else tuple(f"axis_{i}" for i in order)
    return names, {AXES[i]: (names, points[..., i]) for i in range(dim)}


def _meaning(name: str) -> str:
    """
    >>> _meaning("u_re"), _meaning("weight")
    ('real part of field', 'weight of the node; the sum is the length or area of the boundary')
    """
    base, _, part = name.partition("_")
    return f"{PARTS.get(part, part)} of {MEANINGS[base]}" if part else MEANINGS[base]


def _about(problem: Problem) -> dict[str, Any]:
    """What a reader should know of a file without its problem at hand."""
    kernel: Any = problem.representation.kernel
    about = {
        "source": f"edgewise {__version__}",
        "problem": f"{kernel.name} in dimension {kernel.dim}, {problem.side}, {type(problem.condition).__name__} data",
        "family": type(problem.family).__name__,
        "representation": type(problem.representation).__name__,
        "data": "function" if isinstance(problem.data, UserFunction) else type(problem.data).__name__,
        "parameters": "; ".join(f"{name}, {spec.expected}" for name, spec in problem.parameters.specs) or "none",
    }
    if hasattr(kernel, "wavenumber"):
        about["wavenumber"] = str(getattr(kernel.wavenumber, "name", kernel.wavenumber))
    return about


def xarray_or_words() -> Any:
    """Imported when a dataset is asked for: an extra, and slow to load."""
    try:
        import h5netcdf  # noqa: F401
        import h5py  # noqa: F401
        import xarray
    except ImportError:
        raise ImportError(
            "Datasets and netCDF files need xarray, h5netcdf and h5py, which are not all installed. Run "
            '`pip install "edgewise[io]"`.'
        ) from None
    return xarray
