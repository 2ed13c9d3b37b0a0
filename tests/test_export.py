"""Fields in files for other programs: the numbers that come back are those of the solution."""

import dataclasses
import itertools
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from exported import BALL, CUBE, STAR, X, Z, body, cases, solved, table
from members import LAPLACE, entire

import edgewise as ew
from edgewise import export
from edgewise.cli.points import read_points
from edgewise.export.netcdf import dataset
from edgewise.export.table import joined

meshio = pytest.importorskip("meshio", reason='needs meshio, `pip install "edgewise[io]"`')
xarray = pytest.importorskip("xarray", reason='needs xarray, `pip install "edgewise[io]"`')


def grid_of(solution, count=9):
    return export.grid_points(solution.boundary.x, count, solution.problem.side)


def expected(solution, points):
    """(members, ...) by the names that files use."""
    parts = {"u": solution(points)}
    if np.iscomplexobj(parts["u"]):
        parts["total"] = solution.total(points)
        parts = {f"{n}_{part}": get(v) for n, v in parts.items() for part, get in (("re", jnp.real), ("im", jnp.imag))}
    return {name: np.asarray(value).reshape(-1, *points.shape[:-1]) for name, value in parts.items()}


def sizes(mesh):
    """Areas of squares, or volumes of hexahedra with right angles."""
    (block,) = mesh.cells
    x = mesh.points[block.data]
    if block.type == "quad":
        return np.cross(x[:, 1] - x[:, 0], x[:, 3] - x[:, 0])[:, 2]
    return np.linalg.det(np.stack([x[:, 1] - x[:, 0], x[:, 3] - x[:, 0], x[:, 4] - x[:, 0]], axis=1))


def check_mesh(mesh, points, values, error=None):
    """The cells of a grid whose corners all have a field, with the numbers given there, bit by bit."""
    dim = points.shape[-1]
    good = np.all([np.isfinite(value) for value in values.values()], axis=0)
    corners = itertools.product(*[(slice(None, -1), slice(1, None))] * dim)
    whole = np.all([good[corner] for corner in corners], axis=0)
    assert mesh.cells[0].type == {2: "quad", 3: "hexahedron"}[dim] and len(mesh.cells[0].data) == whole.sum() > 0
    places = {tuple(point): i for i, point in enumerate(points.reshape(-1, dim))}
    at = [places[tuple(point)] for point in mesh.points[:, :dim]]
    for name, value in values.items():
        np.testing.assert_array_equal(mesh.point_data[name], value.ravel()[at], strict=True)
    if error is not None:
        np.testing.assert_array_equal(mesh.point_data["error"], np.full(len(at), error))
    assert set(mesh.point_data) == {*values, *(["error"] if error is not None else [])}
    one = np.prod(np.ptp(points.reshape(-1, dim), axis=0) / (np.array(points.shape[-2::-1]) - 1))
    np.testing.assert_allclose(sizes(mesh), one)


def test_a_mesh_whose_error_is_not_known(tmp_path):
    gear = ew.StarCurve(lambda s: 1 + 0.1 * jnp.tanh(2 * jnp.cos(7 * s)))
    rough = ew.solve(
        ew.Problem(gear, None, ew.SingleLayer(LAPLACE), entire, "interior"), quadrature=ew.Kress(32), tol=0.5
    )
    assert str(rough.error_estimate()) == "error not known: too few nodes for this boundary"
    mesh = meshio.read(ew.write(tmp_path / "gear.vtu", rough, grid=20))
    assert len(mesh.points) > 200 and np.all(np.isinf(mesh.point_data["error"]))
    np.testing.assert_array_equal(mesh.point_data["u"], rough(mesh.points[:, :2]))


def test_a_file_says_bound_only_where_the_estimate_is_one():
    corner = ew.Problem(
        ew.Polygon([(0, 0), (1, 0), (0, 1)]), None, ew.SingleLayer(LAPLACE), lambda x: x[0] * x[1], "interior"
    )
    for solution, words in (
        (solved("stars"), "bound"),
        (ew.solve(corner, quadrature=ew.Graded(96)), "estimate"),
    ):
        assert solution.error_estimate().bound == (words == "bound")
        assert ew.to_xarray(solution, grid=5).error.attrs["long_name"].startswith(f"{words} of the largest error")
    # What is not finite proves nothing; and of several tables all must be proven.
    star = solved("stars")[0]
    tables = [export.field_table(star, np.zeros((1, 2)), None, e, bound=True, total=False) for e in (1.0, np.inf)]
    assert [found.bound for found in (*tables, joined(tables))] == [True, False, False]


@cases
def test_fields_on_grids_come_back_from_vtu(tmp_path, case):
    solution = solved(case)
    points = grid_of(solution)
    errors = np.asarray(solution.error_estimate().value) if case == "stars" else None
    opened = ew.write(tmp_path / "field.vtu", solution, grid=9, estimate=errors is not None)
    assert opened.name == ("field.pvd" if solution.batched else "field.vtu")
    true = expected(solution, points)
    for i in range(len(solution) if solution.batched else 1):
        mesh = meshio.vtu.read(str(tmp_path / (f"field_{i}.vtu" if solution.batched else "field.vtu")))
        check_mesh(
            mesh, points, {name: value[i] for name, value in true.items()}, None if errors is None else errors[i]
        )


@cases
def test_fields_and_boundaries_come_back_from_netcdf(tmp_path, case):
    solution = solved(case)
    dim = solution.problem.family.dim
    ew.write(tmp_path / "field.nc", solution, grid=9, estimate=case == "stars")
    made = ew.to_xarray(solution, grid=9, estimate=case == "stars")
    with xarray.open_dataset(tmp_path / "field.nc", engine="h5netcdf") as found:
        assert found.identical(made)
    points, lead = grid_of(solution), ("member",) if solution.batched else ()
    for name, value in expected(solution, points).items():
        assert made[name].dims == (*lead, *"zyx"[3 - dim :])
        np.testing.assert_array_equal(made[name], value if solution.batched else value[0])
    np.testing.assert_array_equal(xarray.broadcast(made.y, made.x)[1].values[0], points[(0,) * (dim - 1)][:, 0])
    for name, value in solution.parameters.items():
        np.testing.assert_array_equal(made.coords[name], value)
        assert made[name].attrs.get("units") == ("rad" if name == "angle" else None)
    if case == "stars":
        np.testing.assert_array_equal(made.error, solution.error_estimate().value)
    assert made.attrs["source"] == f"edgewise {ew.__version__}" and solution.problem.side in made.attrs["problem"]
    ew.write(tmp_path / "boundary.nc", solution)
    with xarray.open_dataset(tmp_path / "boundary.nc") as found:
        density = found.density_re + 1j * found.density_im if "density_re" in found else found.density
        np.testing.assert_array_equal(density, solution.density.values)
        np.testing.assert_array_equal(found.x, solution.boundary.x[..., 0])
        assert density.dims == (*lead, "node")
        np.testing.assert_array_equal(found.weight.sum("node"), np.asarray(solution.boundary.weight).sum(axis=-1))


def test_the_reader_of_vtk_finds_the_same(tmp_path):
    vtk = pytest.importorskip("vtk", reason="VTK is not installed; it is no dependency")
    from vtk.util.numpy_support import vtk_to_numpy

    export.save(tmp_path / "space.vtu", CUBE)
    files = [
        tmp_path / "space.vtu",
        ew.write(tmp_path / "body.vtu", body(ew.Cuboid())),
        ew.write(tmp_path / "edge.vtu", solved("wave")),
    ]
    for path in files:
        reader = vtk.vtkXMLUnstructuredGridReader()
        reader.SetFileName(str(path))
        reader.Update()
        found, mesh = reader.GetOutput(), meshio.vtu.read(str(path))
        assert reader.GetErrorCode() == 0 and found.GetNumberOfCells() == len(mesh.cells[0].data) > 0
        np.testing.assert_array_equal(vtk_to_numpy(found.GetPoints().GetData()), mesh.points)
        for array, value in mesh.point_data.items():
            np.testing.assert_array_equal(vtk_to_numpy(found.GetPointData().GetArray(array)), value)


def test_a_mesh_that_vtk_wrote_is_read(tmp_path):
    vtk = pytest.importorskip("vtk", reason="VTK is not installed; it is no dependency")
    source = vtk.vtkDiskSource()
    to_grid = vtk.vtkAppendFilter()
    to_grid.AddInputConnection(source.GetOutputPort())
    writer = vtk.vtkXMLUnstructuredGridWriter()
    writer.SetInputConnection(to_grid.GetOutputPort())
    writer.SetFileName(str(tmp_path / "disc.vtu"))
    for compressor in (writer.SetCompressorTypeToZLib, writer.SetCompressorTypeToNone, writer.SetCompressorTypeToLZMA):
        compressor()
        writer.Write()
        points, cells = export.places(read_points(tmp_path / "disc.vtu", 2), 2)
        np.testing.assert_array_equal(np.unique(np.linalg.norm(points, axis=1).round(6)), [0.25, 0.5])
        assert [(kind, len(block)) for kind, block in cells] == [("quad", 6)]


def test_a_series_runs_over_the_parameter(tmp_path):
    export.save(tmp_path / "a <b>&.vtu", table(np.ones((3, 3)), t=[1.5, 1.0, 1.25], k=[2, 2, 2]))
    listed = [entry.attrib for entry in ElementTree.parse(tmp_path / "a <b>&.pvd").iter("DataSet")]
    assert [(float(e["timestep"]), e["file"]) for e in listed] == [
        (1.0, "a <b>&_1.vtu"),
        (1.25, "a <b>&_2.vtu"),
        (1.5, "a <b>&_0.vtu"),
    ]
    # Two parameters change, or one is twice the same: members are numbered.
    for given in ({"t": [1, 2], "k": [2, 1]}, {"t": [1, 1]}):
        export.save(tmp_path / "w.vtu", table(np.ones((2, 3)), **given))
        listed = [entry.attrib for entry in ElementTree.parse(tmp_path / "w.pvd").iter("DataSet")]
        assert [entry["timestep"] for entry in listed] == ["0", "1"]
        assert all((tmp_path / entry["file"]).is_file() for entry in listed)


def test_a_shorter_series_leaves_nothing_of_a_longer_one(tmp_path):
    export.save(tmp_path / "s.vtu", table(np.ones((11, 3)), t=np.arange(11)))
    pvd = tmp_path / "s.pvd"
    # Names that are not of the series stay, also if the collection has them.
    for name in ("s_x.vtu", "other_1.vtu"):
        (tmp_path / name).write_text("mine")
        pvd.write_text(pvd.read_text().replace("  </Coll", f'    <DataSet timestep="9" file="{name}"/>\n  </Coll'))
    export.save(tmp_path / "s.vtu", table(np.ones((2, 3)), t=[0, 1]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other_1.vtu", "s.pvd", "s_0.vtu", "s_1.vtu", "s_x.vtu"]
    pvd.write_text("no XML")
    export.save(tmp_path / "s.vtu", table(np.ones((2, 3)), t=[0, 1]))
    assert len(list(ElementTree.parse(pvd).iter("DataSet"))) == 2


def test_points_meshes_and_grids_of_ones_own(tmp_path):
    path = tmp_path / "field.vtu"
    points = np.array([[0.1, 0.2], [5.0, 5.0], [-0.2, 0.1]])
    export.save(path, table([[1.0, np.nan, 3.0]], points))
    mesh = meshio.vtu.read(str(path))
    np.testing.assert_array_equal(mesh.cells_dict["vertex"], [[0], [1]])
    np.testing.assert_array_equal(mesh.points, [[0.1, 0.2, 0], [-0.2, 0.1, 0]])
    np.testing.assert_array_equal(mesh.point_data["u"], [1, 3])
    corners = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0.2, 0.2, 0], [9, 9, 0]])
    given = meshio.Mesh(
        corners, [("triangle", [[0, 1, 2], [1, 4, 3], [1, 3, 2]]), ("line", [[0, 4]]), ("vertex", [[1]])]
    )
    points, cells = export.places(given, 2)
    export.save(path, table([[1.0, 2.0, 3.0, 4.0, np.nan]], points)._replace(cells=cells))
    mesh = meshio.vtu.read(str(path))
    np.testing.assert_array_equal(mesh.cells_dict["triangle"], [[0, 1, 2], [1, 3, 2]])
    assert {block.type for block in mesh.cells} == {"triangle", "vertex"}
    # The other way round cells would be inside out.
    export.save(path, CUBE)
    mesh = meshio.vtu.read(str(path))
    np.testing.assert_allclose(sizes(mesh), (0.5 / 3) ** 2)
    assert len(sizes(mesh)) == 3 * 3 * 2


def test_names_of_axes():
    assert dataset(CUBE).u.dims == ("x", "y", "z")
    # A slice through space, a grid along no axes, points.
    plane = np.stack(np.meshgrid(X, Z), axis=-1)
    cut = dataset(table(np.ones((2, 3, 4)), np.insert(plane, 1, 0.5, axis=-1), problem=BALL))
    assert cut.u.dims == ("member", "z", "x") and cut.y.dims == () and float(cut.y) == 0.5
    np.testing.assert_array_equal(cut.x, X)
    r, angle = np.meshgrid([0.1, 0.2], [0.0, 0.5, 1.0])
    round_about = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1)
    polar = dataset(table(np.ones((1, 3, 2)), round_about))
    assert polar.u.dims == polar.x.dims == ("axis_0", "axis_1")
    # Parameters of that name keep out of their way, and of each other's.
    box = ew.Box(t=(1.0, 2.0), axis=([0, 0], [1, 1]), axis_0=(0, 1))
    named = dataclasses.replace(STAR, parameters=box)
    both = dataset(table(np.ones((1, 3, 2)), round_about, problem=named, axis=[[0.1, 0.2]], axis_0=[0.3]))
    assert both.u.dims == ("axis_0", "axis_1") and both.axis.dims == ("parameter_parameter_axis_0",)
    assert float(both.parameter_axis_0) == 0.3
    assert dataset(table(np.ones((1, 3)))).u.dims == ("point",)


def test_what_cannot_be_written_is_said_before_anything_is_computed(tmp_path, monkeypatch):
    star = solved("stars")[0]
    (tmp_path / "kept.nc").write_text("mine")
    (tmp_path / "s_2.vtu").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    points = np.zeros((2, 2))
    Grid = type("Grid", (), {"points": points, "cells": points})
    for error, words, call in (
        (
            ValueError,
            r"`field\.txt` has an unknown ending; supported are \.csv, \.npz, \.vtu and \.nc",
            lambda: ew.write("field.txt", star),
        ),
        (FileExistsError, r"kept\.nc` exists already.*`overwrite=True`", lambda: ew.write(tmp_path / "kept.nc", star)),
        (FileExistsError, r"s_2\.vtu` exists already", lambda: ew.write(tmp_path / "s.vtu", solved("stars"), grid=9)),
        (ValueError, r"folder\.csv` is a folder", lambda: ew.write(tmp_path / "folder.csv", star)),
        (TypeError, "must be what `solve` or an operator returns, got str", lambda: ew.write("a.csv", "star")),  # pyright: ignore
        (ValueError, "both `points` and `grid`", lambda: ew.to_xarray(star, points, grid=9)),
        (ValueError, r"has shape \(2, 3\); expected \(m, 2\)", lambda: ew.to_xarray(star, np.zeros((2, 3)))),
        (ValueError, r"has shape \(0, 2\): no points; give at least one", lambda: ew.to_xarray(star, np.zeros((0, 2)))),
        (TypeError, r"got Grid\. Of another mesh, write `points=mesh\.points`", lambda: ew.to_xarray(star, Grid())),
        (ValueError, "not all finite", lambda: ew.to_xarray(star, points + np.nan)),
        (ValueError, "not all finite", lambda: ew.to_xarray(star, np.ma.array(points, mask=[[0, 0], [0, 1]]))),
        (TypeError, r"must be real, got complex128.*`np\.stack", lambda: ew.to_xarray(star, points + 0.1j)),
        (TypeError, r'takes the file first, got Solution.*`ew\.write\("field\.vtu"', lambda: ew.write(star, "a.csv")),  # pyright: ignore
        (TypeError, "takes the file first, got NoneType", lambda: ew.write(None, star)),  # pyright: ignore
        (
            ValueError,
            'No cell lies.*"interior".*others',
            lambda: export.save(tmp_path / "no.vtu", table([[np.nan, np.nan, np.nan]])),
        ),
    ):
        with pytest.raises(error, match=re.compile(words, re.DOTALL)):
            call()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "kept.nc", "s_2.vtu"]
    assert (tmp_path / "kept.nc").read_text() == "mine"

    def half(name, mesh):
        Path(name).write_text("<VTK")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(meshio.vtu, "write", half)
    with pytest.raises(OSError, match="No space left"):
        ew.write(tmp_path / "new.vtu", star)
    assert not (tmp_path / "new.vtu").exists()


@pytest.mark.parametrize(
    ("name", "path"), [("meshio", "a.vtu"), ("xarray", "a.nc"), ("h5netcdf", "a.nc"), ("h5py", "a.nc")]
)
def test_a_missing_extra_answers_with_its_pip_line(tmp_path, monkeypatch, name, path):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=re.escape('Run `pip install "edgewise[io]"`.')):
        ew.write(tmp_path / path, solved("stars"), grid=9)
    ew.write(tmp_path / "a.csv", solved("stars"))


def test_grid_of_the_plane_and_of_space():
    grid = export.grid_points(np.array([[0.0, 0.0], [4.0, 1.0], [2.0, -1.0]]), 11, "exterior")
    assert grid.shape == (9, 11, 2)
    np.testing.assert_allclose([grid.min(axis=(0, 1)), grid.max(axis=(0, 1))], [[-2, -3], [6, 3]])
    np.testing.assert_allclose(grid[0, 1] - grid[0, 0], [0.8, 0])
    # Members of a batch share one grid; x runs fastest, then y.
    space = export.grid_points(np.array([[[0.0, 0.0, 0.0]], [[1.0, 2.0, 2.0]]]), 3, "interior")
    assert space.shape == (3, 3, 2, 3)
    np.testing.assert_allclose(space.reshape(-1, 3)[:3], [[0, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_wrong_grids():
    square = np.array([[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"2 points or more.*got 1\. Write `grid=200` \(`--grid 200`\)"):
        export.grid_points(square, 1, "interior")
    with pytest.raises(ValueError, match=r"9000 x 9000.*at most 10000000.*`--grid 3162`.* or less"):
        export.grid_points(square, 9000, "interior")
