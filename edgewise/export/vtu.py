"""VTU files, as ParaView reads them: one of every member, and a collection of several."""

import contextlib
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from edgewise.base.files import write_by_name, write_text
from edgewise.export.table import Cells, Table, real_parts


def write_vtu(paths: Sequence[Path], table: Table) -> None:
    """A file for every member; of several, the last path is the collection's, written when all others are whole."""
    meshio = meshio_or_words()
    cells = table.cells or grid_cells(table.points)
    meshes = [_mesh(table, cells, member) for member in range(table.members)]
    for path, parts in zip(paths, meshes, strict=False):
        write_by_name(path, lambda name, parts=parts: meshio.vtu.write(name, meshio.Mesh(*parts)))
    if len(paths) > len(meshes):
        before = _series(paths[-1])
        write_text(paths[-1], _collection(paths[:-1], times(table)))
        for path in before.difference(paths):
            path.unlink(missing_ok=True)


def grid_cells(points: np.ndarray) -> Cells:
    """Cells: squares of a grid (ny, nx, d), hexahedra of (nz, ny, nx, d), the points themselves of (m, d).

    >>> square = np.stack(np.meshgrid([0.0, 1.0], [0.0, 1.0]), axis=-1)
    >>> [(kind, cells.tolist()) for kind, cells in grid_cells(square)]
    [('quad', [[0, 1, 3, 2]])]
    """
    shape = tuple(count for count in points.shape[:-1] if count > 1)
    index = np.arange(points[..., 0].size)
    if len(shape) not in (2, 3):
        return [("vertex", index[:, None])]
    index, places = index.reshape(shape), points.reshape(*shape, -1)
    if len(shape) == points.shape[-1]:
        steps = [np.diff(places, axis=axis).reshape(-1, len(shape)).mean(axis=0) for axis in range(len(shape))]
        if np.linalg.det(steps[::-1]) < 0:
            # As `meshgrid(..., indexing="ij")` gives them: cells would be turned inside out.
            index = np.flip(index, axis=0)
    faces = [index[..., :-1, :-1], index[..., :-1, 1:], index[..., 1:, 1:], index[..., 1:, :-1]]
    if len(shape) == 2:
        return [("quad", np.stack(faces, axis=-1).reshape(-1, 4))]
    corners = [face[:-1] for face in faces] + [face[1:] for face in faces]
    return [("hexahedron", np.stack(corners, axis=-1).reshape(-1, 8))]


def mesh_cells(mesh: Any) -> Cells:
    """The cells of a mesh of meshio's."""
    ragged = [block.type for block in mesh.cells if block.type.startswith("polyhedron")]
    if ragged:
        raise ValueError(
            "The mesh has polyhedra; expected cells of fixed kinds, such as tetrahedra and hexahedra. In ParaView, "
            "apply the filter Tetrahedralize and save again."
        )
    return [(block.type, np.asarray(block.data)) for block in mesh.cells]


def times(table: Table) -> np.ndarray:
    """When ParaView shows each member: at the one parameter that changes, if there is one; else they are numbered."""
    changing = [value for value in table.parameters.values() if np.any(value != value[:1])]
    if len(changing) == 1 and changing[0].ndim == 1 and len(np.unique(changing[0])) == table.members:
        return changing[0]
    return np.arange(table.members)


def _mesh(table: Table, cells: Cells, member: int) -> tuple[np.ndarray, Cells, dict[str, np.ndarray]]:
    """Points, cells and data of one member, without the cells (and their points) that reach to the wrong side."""
    points = (table.points[member] if table.own_points else table.points).reshape(-1, table.points.shape[-1])
    arrays = {name: array[member] for name, array in real_parts(table.arrays).items()}
    arrays = {name: array.reshape(len(points), *array.shape[len(table.shape) :]) for name, array in arrays.items()}
    good = np.all([np.isfinite(array.reshape(len(points), -1)).all(axis=1) for array in arrays.values()], axis=0)
    # Afterwards: where nodes are too few to tell, an error is infinite.
    if table.errors is not None:
        arrays["error"] = np.full(len(points), float(table.errors[member]))
    kept = [(kind, block[good[block].all(axis=1)]) for kind, block in cells]
    kept = [(kind, block) for kind, block in kept if len(block)]
    if not kept:
        of_member = f" of member {member}" if table.members > 1 else ""
        raise ValueError(
            f"No cell{of_member} lies with all its corners where there is a field; the problem is "
            f'"{table.problem.side}". Give more points, or others.'
        )
    used = np.unique(np.concatenate([block.ravel() for _, block in kept]))
    number = np.zeros(len(points), int)
    number[used] = np.arange(len(used))
    data = {name: _in_space(array[used]) if array.ndim == 2 else array[used] for name, array in arrays.items()}
    return _in_space(points[used]), [(kind, number[block]) for kind, block in kept], data


def _in_space(vectors: np.ndarray) -> np.ndarray:
    """With a third component: the format knows no plane."""
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, 3 - vectors.shape[1]))))


def _series(collection: Path) -> set[Path]:
    """The members that an older collection names; not what else it may name, which is another's."""
    member = re.compile(rf"{re.escape(collection.stem)}_\d+\.(?i:vtu)")
    with contextlib.suppress(OSError, ElementTree.ParseError):
        names = [entry.get("file", "") for entry in ElementTree.parse(collection).iter("DataSet")]
        return {collection.with_name(name) for name in names if member.fullmatch(name)}
    return set()


def _collection(paths: Sequence[Path], times: np.ndarray) -> str:
    entries = [
        f"    <DataSet timestep={quoteattr(repr(time))} file={quoteattr(path.name)}/>"
        for time, path in sorted(zip(times.tolist(), paths, strict=True))
    ]
    head = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "  <Collection>"]
    return "\n".join([*head, *entries, "  </Collection>", "</VTKFile>", ""])


def meshio_or_words() -> Any:
    """Imported when a mesh is asked for: an extra."""
    try:
        import meshio
    except ImportError:
        raise ImportError('VTU files need meshio, which is not installed. Run `pip install "edgewise[io]"`.') from None
    return meshio
