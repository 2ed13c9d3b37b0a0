"""Columns that are written, and points that are read: bit by bit, and damage in words."""

import numpy as np
import pytest
from exported import BALL, CUBE, POINTS, STAR, X, Z, solved, table

import edgewise as ew
from edgewise import export
from edgewise.cli.points import read_points
from edgewise.export.table import columns, joined, write_csv, write_npz

meshio = pytest.importorskip("meshio", reason='needs meshio, `pip install "edgewise[io]"`')
xarray = pytest.importorskip("xarray", reason='needs xarray, `pip install "edgewise[io]"`')


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


def test_points_come_back_from_datasets(tmp_path):
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
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        kind = "VTU" if path.suffix == ".vtu" else "netCDF"
        with pytest.raises(
            ValueError, match=rf"{name}` cannot be read as a {kind} file.*(save the mesh again|to_netcdf)"
        ):
            read_points(path, 2)
    for name in ("empty.nc", "empty.vtu"):
        (tmp_path / name).touch()
        with pytest.raises(ValueError, match=rf"{name}` is empty; expected at least one point"):
            read_points(tmp_path / name, 2)
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
