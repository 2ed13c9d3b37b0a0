"""Files for other programs: the numbers that come back are those of the solution, in every format."""

import dataclasses
import functools
import itertools
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE, PAPER, entire

import edgewise as ew
from edgewise import export
from edgewise.cli.points import read_points
from edgewise.density import NodalDensity, PanelDensity
from edgewise.export_boundary import closed_curves
from edgewise.export_netcdf import dataset
from edgewise.export_table import Table, columns, joined, write_csv, write_npz

meshio = pytest.importorskip("meshio", reason='needs meshio, `pip install "edgewise[io]"`')
xarray = pytest.importorskip("xarray", reason='needs xarray, `pip install "edgewise[io]"`')

STAR = ew.Problem(PAPER, ew.Box(t=(1.0, 2.0)), ew.SingleLayer(LAPLACE), entire, "interior")
WAVES = ew.Problem(
    ew.Ellipse(1.0, 0.6),
    ew.Box(k=(1.0, 5.0), angle=ew.Angle(0.0)),
    ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k")),
    ew.PlaneWave("angle"),
    "exterior",
)
BALL = ew.Problem(ew.Sphere(), None, ew.SingleLayer(ew.Laplace(dim=3)), lambda x: x[0] * x[2], "interior")
ECHO = ew.Problem(
    ew.Sphere(),
    ew.Box(direction=ew.Direction(3, default=(0, 0, 1))),
    ew.CombinedField(ew.Helmholtz(dim=3, wavenumber=1.0)),
    ew.PlaneWave("direction"),
    "exterior",
)
# In the plane and in space, real and complex, one member and several; on few nodes: files need not be right, but as they were.
CASES = {
    "stars": lambda: ew.solve(STAR, t=jnp.array([1.5, 1.0, 1.25]), quadrature=ew.Kress(64)),
    "wave": lambda: ew.solve(WAVES, k=2.0, quadrature=ew.Kress(48)),
    "ball": lambda: ew.solve(BALL, quadrature=ew.Duffy(4)),
    "echoes": lambda: ew.solve(ECHO, direction=jnp.eye(3)[:2], quadrature=ew.Duffy(4)),
}
cases = pytest.mark.parametrize("case", ["stars", "wave", "ball", pytest.param("echoes", marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def solved():
    """Solutions by name, each made once."""
    return functools.cache(lambda name: CASES[name]())


def test_a_mesh_whose_error_is_not_known(tmp_path):
    gear = ew.StarCurve(lambda s: 1 + 0.1 * jnp.tanh(2 * jnp.cos(7 * s)))
    rough = ew.solve(
        ew.Problem(gear, None, ew.SingleLayer(LAPLACE), entire, "interior"), quadrature=ew.Kress(96), tol=0.5
    )
    assert str(rough.error_estimate()) == "error not known: too few nodes for this boundary"
    mesh = meshio.read(ew.write(tmp_path / "gear.vtu", rough, grid=20))
    assert len(mesh.points) > 200 and np.all(np.isinf(mesh.point_data["error"]))
    np.testing.assert_array_equal(mesh.point_data["u"], rough(mesh.points[:, :2]))


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


@cases
def test_fields_on_grids_come_back_from_vtu(solved, tmp_path, case):
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
def test_fields_and_boundaries_come_back_from_netcdf(solved, tmp_path, case):
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


def test_the_reader_of_vtk_finds_the_same(solved, tmp_path):
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


# Tables of their own, at no price.

POINTS = np.array([[0.1, 0.2], [1 / 3, -2e-300], [np.pi, 1e22]])


def table(values, points=POINTS, errors=None, problem=STAR, **parameters):
    members = {n: np.asarray(v, float) for n, v in parameters.items()}
    return Table(problem, members, points, {"u": np.asarray(values)}, errors, batched=len(values) > 1)


X, Z = np.linspace(1.5, 2, 4), np.linspace(-1, 1, 3)
# As `indexing="ij"` gives it: x runs slowest.
CUBE = table(np.arange(48.0).reshape(1, 4, 4, 3), np.stack(np.meshgrid(X, X, Z, indexing="ij"), axis=-1), problem=BALL)


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
    polar = dataset(table(np.ones((1, 3, 2)), np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1)))
    assert polar.u.dims == polar.x.dims == ("axis_0", "axis_1")
    assert dataset(table(np.ones((1, 3)))).u.dims == ("point",)


# Boundaries.


def body(family, num_nodes=4, panels=1):
    """A surface with a density, the polynomial u³ - 2v²u in the coordinates of every patch; nothing is solved."""
    rule = ew.Duffy(num_nodes, panels)
    nodes = rule.place(family, {}, np.dtype(float))
    u = nodes.s[:, 0] % 1
    density = PanelDensity(u**3 - 2 * nodes.s[:, 1] ** 2 * u, num_nodes, panels)
    problem = ew.Problem(family, None, BALL.representation, BALL.data, "interior")
    return ew.Solution(problem, {}, density, nodes, None, rule, None, {}, batched=False)  # pyright: ignore


def test_boundaries_of_the_plane_are_closed_lines(solved, tmp_path):
    solution = solved("stars")
    ew.write(tmp_path / "edge.vtu", solution)
    for i, member in enumerate(solution):
        mesh = meshio.vtu.read(str(tmp_path / f"edge_{i}.vtu"))
        lines = mesh.cells_dict["line"]
        assert np.all(np.bincount(lines.ravel()) == 2)
        np.testing.assert_array_equal(mesh.points[:, :2], member.boundary.x)
        np.testing.assert_array_equal(mesh.point_data["density"], member.density.values)
        np.testing.assert_array_equal(mesh.point_data["normal"][:, :2], member.boundary.normal)
        # The area by Green's formula, of the polygon and of the curve: right to the square of the spacing.
        a, b = mesh.points[lines[:, 0], :2], mesh.points[lines[:, 1], :2]
        area = jnp.sum(member.boundary.weight * jnp.sum(member.boundary.x * member.boundary.normal, axis=1)) / 2
        assert abs(np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2 / area - 1) < 0.02
    assert closed_curves(2, 6)[0][1].tolist() == [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]


@pytest.mark.parametrize(
    ("given", "volume", "area"),
    [
        (body(ew.Sphere(), 6, 2), 4 / 3 * np.pi, 4 * np.pi),
        (body(ew.Cuboid(), 4, 2), 1.0, 6.0),
        (body(ew.HalfBalls(0.2), 6), 4 / 3 * np.pi, 6 * np.pi),
    ],
    ids=["sphere", "cube", "half-balls"],
)
def test_boundaries_in_space_are_closed_surfaces(tmp_path, given, volume, area):
    mesh = meshio.vtu.read(str(ew.write(tmp_path / "body.vtu", given)))
    squares = mesh.cells_dict["quad"]
    x, density = mesh.points, mesh.point_data["density"]
    # Every edge belongs to two squares, once the points that patches share are one; and is gone along in either way.
    _, same = np.unique(np.round(x, 9) + 0.0, axis=0, return_inverse=True)
    edges = np.concatenate([same.reshape(-1)[squares[:, [i, (i + 1) % 4]]] for i in range(4)])
    ways, counts = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0, return_counts=True)
    assert np.all(counts == 1) and {tuple(way) for way in ways} == {tuple(way[::-1]) for way in ways}
    # Seen from outside they turn anticlockwise: the volume by Gauss's formula is positive.
    a, b, c, d = np.moveaxis(x[squares], 1, 0)
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    flat = area == 6.0
    assert abs(np.linalg.det(faces).sum() / 6 / volume - 1) < (1e-9 if flat else 0.08)
    assert abs(np.linalg.norm(np.cross(c - a, d - b), axis=1).sum() / 2 / area - 1) < (1e-9 if flat else 0.04)
    np.testing.assert_allclose(np.linalg.norm(mesh.point_data["normal"], axis=1), 1)
    # Nodes keep the values they have.
    nodes, values = np.asarray(given.boundary.x), np.asarray(given.density.values)
    nearest = np.argmin(np.linalg.norm(x[:, None] - nodes, axis=-1), axis=0)
    np.testing.assert_allclose(x[nearest], nodes, atol=1e-14)
    np.testing.assert_array_equal(density[nearest], values)
    # On sides the polynomial goes on; on edges the nearest node's value stands.
    line = np.concatenate([[0.0], np.unique(given.quadrature.grid()[0][:, 0]), [1.0]])
    u, v = np.meshgrid(line, line, indexing="ij")
    smooth = np.broadcast_to(u**3 - 2 * v**2 * u, (given.problem.family.patches, *u.shape))
    on_edge = mesh.point_data["jacobian"].reshape(smooth.shape) < 1e-6
    assert on_edge.any() == given.problem.family.has_edges
    np.testing.assert_allclose(density.reshape(smooth.shape)[~on_edge], smooth[~on_edge], atol=1e-12)
    assert values.min() <= density.reshape(smooth.shape)[on_edge].min(initial=0) and density.max() <= 1 + 1e-12


def test_a_pair_of_densities_is_two_arrays(solved):
    star = solved("stars")[0]
    pair = dataclasses.replace(
        star, density=NodalDensity(star.boundary.s, jnp.stack([star.density.values, star.boundary.s]))
    )
    data = ew.to_xarray(pair)
    np.testing.assert_array_equal(data.density_0, star.density.values)
    np.testing.assert_array_equal(data.density_1, star.boundary.s)


# Columns.


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
@pytest.mark.parametrize("values", [np.array([0.1 + 0.2, np.nan, -1e-17]), np.array([1 / 3 + 2j, np.nan, 1j / 7])])
def test_a_field_comes_back_bit_by_bit(tmp_path, suffix, values):
    path = tmp_path / "new" / f"field{suffix}"
    given = table([values], t=[1.5])
    export.save(path, given)
    names = ["x", "y", "u_re", "u_im"] if np.iscomplexobj(values) else ["x", "y", "u"]
    assert list(columns(given)) == names
    np.testing.assert_array_equal(read_points(path, 2), POINTS)
    if suffix == ".csv":
        header, *rows = path.read_text().splitlines()
        found = dict(zip(header.split(","), np.array([row.split(",") for row in rows], float).T, strict=True))
        assert rows[1].endswith("nan,nan" if np.iscomplexobj(values) else ",nan")
    else:
        found = dict(np.load(path))
    assert list(found) == names
    for name, column in columns(given).items():
        np.testing.assert_array_equal(found[name], column)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_columns_of_several_members_begin_with_their_parameters(tmp_path):
    points = np.arange(6.0).reshape(2, 3)
    direction = [[0, 0, 1], [0, 0, 1], [1, 0, 0]]
    given = table(
        np.arange(6.0).reshape(3, 2), points, np.array([0.5, 0.25, 0.125]), t=[0.1, 0.2, 0.3], direction=direction
    )
    found = columns(given)
    assert list(found) == ["t", "direction_0", "direction_1", "direction_2", "x", "y", "z", "u", "error"]
    np.testing.assert_array_equal(found["t"], [0.1, 0.1, 0.2, 0.2, 0.3, 0.3])
    np.testing.assert_array_equal(found["direction_0"], [0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(found["z"], [2, 5, 2, 5, 2, 5])
    np.testing.assert_array_equal(found["u"], np.arange(6))
    np.testing.assert_array_equal(found["error"], [0.5, 0.5, 0.25, 0.25, 0.125, 0.125])
    write_csv(tmp_path / "field.csv", given)
    np.testing.assert_array_equal(read_points(tmp_path / "field.csv", 3), np.tile(points, (3, 1)))
    parts = [
        given._replace(
            parameters={n: v[i] for n, v in given.parameters.items()},
            arrays={"u": given.arrays["u"][i]},
            errors=given.errors[i],
        )
        for i in (slice(0, 2), slice(2, 3))
    ]
    again = columns(joined(parts))
    assert list(again) == list(found) and all(np.array_equal(again[name], found[name]) for name in found)


def test_a_parameter_called_like_a_column_keeps_its_own(tmp_path):
    given = table(np.zeros((2, 1)), POINTS[:1], y=[7, 8], u=[5, 6], file=[1, 2])
    assert list(columns(given)) == ["parameter_y", "parameter_u", "parameter_file", "x", "y", "u"]
    write_npz(tmp_path / "field.npz", given)
    np.testing.assert_array_equal(np.load(tmp_path / "field.npz")["parameter_file"], [1, 2])


def test_boundaries_as_columns(solved, tmp_path):
    wave = solved("wave")
    ew.write(tmp_path / "boundary.npz", wave)
    found = np.load(tmp_path / "boundary.npz")
    assert list(found) == ["x", "y", "density_re", "density_im", "normal_x", "normal_y", "jacobian", "weight"]
    np.testing.assert_array_equal(found["density_re"] + 1j * found["density_im"], wave.density.values)
    ew.write(tmp_path / "boundary.csv", solved("stars"))
    header, *rows = (tmp_path / "boundary.csv").read_text().splitlines()
    assert header == "t,x,y,density,normal_x,normal_y,jacobian,weight" and len(rows) == 3 * 64
    np.testing.assert_array_equal(read_points(tmp_path / "boundary.csv", 2), solved("stars").boundary.x.reshape(-1, 2))


# Grids.


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


# Files that are read.


def test_points_come_back_from_datasets(solved, tmp_path):
    path = tmp_path / "field.nc"
    for points, problem in ((np.stack(np.meshgrid(X, Z), axis=-1), STAR), (np.swapaxes(CUBE.points, 0, 2), BALL)):
        export.save(path, table(np.ones((1, *points.shape[:-1])), points, problem=problem))
        np.testing.assert_array_equal(read_points(path, points.shape[-1]), points)
        flat = points.reshape(-1, points.shape[-1])
        export.save(path, table(np.ones((2, len(flat))), flat, problem=problem))
        np.testing.assert_array_equal(read_points(path, points.shape[-1]), flat)
    ew.write(tmp_path / "edge.nc", solved("stars"))
    np.testing.assert_array_equal(read_points(tmp_path / "edge.nc", 2), solved("stars").boundary.x.reshape(-1, 2))
    # A netCDF file of the older kind.
    xarray.Dataset(coords={"x": [0.1, 0.2], "y": [1, 2, 3]}).to_netcdf(tmp_path / "old.nc", engine="scipy")
    np.testing.assert_array_equal(read_points(tmp_path / "old.nc", 2)[2], [[0.1, 3], [0.2, 3]])


def test_damaged_files_and_others_are_refused_with_words(tmp_path):
    for name in ("field.vtu", "field.nc"):
        export.save(tmp_path / name, CUBE)
    whole, data = ((tmp_path / name).read_bytes() for name in ("field.vtu", "field.nc"))
    for name, content in {
        "cut.vtu": whole[: len(whole) // 2],
        "text.vtu": b"x,y\n0,0\n",
        "other.vtu": b'<?xml version="1.0"?><VTKFile type="PolyData" version="0.1"></VTKFile>',
        "flipped.vtu": whole.replace(b'Name="Points"', b'Name="Points" NumberOfTuples="7"').replace(b"eJ", b"!!", 3),
        "cut.nc": data[: len(data) // 2],
        "text.nc": b"x,y\n0,0\n",
        "empty.nc": b"",
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        kind = "VTU" if path.suffix == ".vtu" else "netCDF"
        with pytest.raises(
            ValueError, match=rf"{name}` cannot be read as a {kind} file.*(save the mesh again|to_netcdf)"
        ):
            read_points(path, 2)
    xarray.Dataset({"x": ("p", [1.0])}).to_netcdf(tmp_path / "one.nc")
    with pytest.raises(ValueError, match=r"has the variables x; expected x, y"):
        read_points(tmp_path / "one.nc", 2)
    xarray.Dataset({"x": ("p", [1.0]), "y": ("p", ["a"])}).to_netcdf(tmp_path / "words.nc")
    with pytest.raises(ValueError, match=r"`y` in .*expected real numbers"):
        read_points(tmp_path / "words.nc", 2)
    raised = meshio.Mesh(np.array([[0.0, 0, 0], [0, 0, 1]]), [("vertex", [[0], [1]])])
    with pytest.raises(ValueError, match=r"point 1 of the mesh.*\[0.0, 0.0, 1.0\]\. Set z to 0"):
        export.places(raised, 2)
    many = meshio.Mesh(np.zeros((4, 3)), [("polyhedron4", [[np.array([0, 1, 2]), np.array([0, 1, 3])]])])
    with pytest.raises(ValueError, match=r"polyhedra.*Tetrahedralize"):
        export.places(many, 3)


# Files that are not written.


def test_what_cannot_be_written_is_said_before_anything_is_computed(solved, tmp_path, monkeypatch):
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
        (ValueError, r"has shape \(0, 2\)", lambda: ew.to_xarray(star, np.zeros((0, 2)))),
        (TypeError, r"got Grid\. Of another mesh, write `points=mesh\.points`", lambda: ew.to_xarray(star, Grid())),
        (ValueError, "not all finite", lambda: ew.to_xarray(star, points + np.nan)),
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


@pytest.mark.parametrize(("name", "path"), [("meshio", "a.vtu"), ("xarray", "a.nc"), ("h5netcdf", "a.nc")])
def test_a_missing_extra_answers_with_its_pip_line(solved, tmp_path, monkeypatch, name, path):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=re.escape('Run `pip install "edgewise[io]"`.')):
        ew.write(tmp_path / path, solved("stars"), grid=9)
    ew.write(tmp_path / "a.csv", solved("stars"))
