"""Points that commands read and fields that they write. Every refusal is read for its cure."""

import numpy as np
import pytest
from messages import refuses

import edgewise as ew
from edgewise.cli.members import parse_members
from edgewise.cli.points import check_output, field_columns, grid_points, read_points, write_field

WAVE = ew.Box(t=(0.05, 0.5), direction=ew.Direction(3, default=(0, 0, 1)))


@pytest.mark.parametrize(
    ("text", "dim"),
    [
        ("x,y\n0.1,0.2\n-3,4e-1\n", 2),
        ("0.1,0.2\n-3,4e-1", 2),
        ("\ufeffX, Y \r\n0.1, 0.2\r\n\r\n -3, 0.4 \r\n", 2),
        ("# made by hand\nlabel,y,u,x\na,0.2,nan,0.1  # the first\n\n'b',0.4,,-3\n", 2),
        ('"x","y","z"\n0.1,0.2,7\n-3,0.4,8\n', 2),
        ("x,y,z\n0.1,0.2,7\n-3,0.4,8\n", 3),
    ],
)
def test_points_from_csv(tmp_path, text, dim):
    path = tmp_path / "points.csv"
    path.write_bytes(text.encode())
    np.testing.assert_array_equal(read_points(path, dim), np.array([[0.1, 0.2, 7], [-3, 0.4, 8]])[:, :dim])


@pytest.mark.parametrize("dim", [2, 3])
def test_points_from_npz(tmp_path, dim):
    points = np.arange(4.0 * dim).reshape(4, dim)
    path = tmp_path / "points.npz"
    np.savez(path, points=points, note=np.array("any"))
    np.testing.assert_array_equal(read_points(path, dim), points)
    np.savez(path, **{axis: points[:, i].astype(int) for i, axis in enumerate("xyz"[:dim])})
    np.testing.assert_array_equal(read_points(path, dim), points)


WRONG_FILES = {
    "letters": ("x,y\n0.1,0.2\n0.3,oops\n", ["line 3", '"0.3,oops"', "`0.3,0.2`", "Correct that line"]),
    "too few": ("x,y,u\n1,2\n", ["line 2", "2 columns; expected 3", "Correct that line"]),
    "too many without a header": ("1,2,3\n", ["line 1", '"1,2,3"', "3 columns; expected 2", "header that has `x,y`"]),
    "another row without a header": ("1,2\n\n1\n", ["line 3", "1 columns; expected 2", "header that has `x,y`"]),
    "wrong header": ("x,v\n1,2\n", ["line 1", "header with `y` once", "Begin the file with `x,y`"]),
    "a column twice": ("x,x,y\n1,2,3\n", ["header with `x` once", "Begin the file with `x,y`"]),
    "semicolons": ("0.1;0.2\n", ["line 1", "separated by commas", "Begin the file with `x,y`"]),
    "empty cell": ("x,y\n1,\n", ["line 2", '"1,"', "Correct that line"]),
    "not finite": ("x,y\n1,nan\n", ["line 2", "must be finite", "leave it out"]),
    "empty": ("# nothing\n\n", ["has no points", "such as `0.3,0.2`"]),
    "header alone": ("x,y\n", ["has no points", "such as `0.3,0.2`"]),
    "not text": (b"\xff\xfe\x00", ["is not text", "Save it as CSV"]),
}


@pytest.mark.parametrize("case", WRONG_FILES)
def test_wrong_csv(tmp_path, case):
    content, words = WRONG_FILES[case]
    path = tmp_path / "points.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    refuses(lambda: read_points(path, 2), [*words, "points.csv"])


WRONG_ARRAYS = {
    "shape": ({"points": np.ones((4, 3))}, ["shape (4, 3)", "expected (m, 2)", "reshape(-1, 2)"]),
    "names": (
        {"p": np.ones((4, 2))},
        ["has the arrays p", "expected `points` or x, y", "np.savez(path, points=points)"],
    ),
    "one axis": ({"x": np.ones(4)}, ["has the arrays x", "np.savez(path, points=points)"]),
    "lengths": ({"x": np.ones(4), "y": np.ones(3)}, ["equal shapes", "(4,)", "as many entries"]),
    "complex": ({"points": np.ones((4, 2), complex)}, ["complex128", "expected real numbers", "as float64"]),
    "objects": ({"points": np.array([[None, 1]])}, ["cannot be read", "np.savez(path, points=points)"]),
    "not finite": ({"points": np.array([[0, 1], [np.inf, 0]])}, ["Point 1", "must be finite", "Leave it out"]),
    "none": ({"points": np.ones((0, 2))}, ["has no points", "at least one"]),
}


@pytest.mark.parametrize("case", WRONG_ARRAYS)
def test_wrong_npz(tmp_path, case):
    arrays, words = WRONG_ARRAYS[case]
    np.savez(tmp_path / "points.npz", **arrays)
    refuses(lambda: read_points(tmp_path / "points.npz", 2), [*words, "points.npz"])


def test_wrong_files_of_points(tmp_path):
    refuses(lambda: read_points(tmp_path / "gone.csv", 2), ["gone.csv", "does not exist", "Name a .csv or .npz file"])
    refuses(lambda: read_points(tmp_path / "a.vtu", 2), ["a.vtu", ".csv and .npz", "Save the points as one of these"])
    (tmp_path / "folder.csv").mkdir()
    refuses(lambda: read_points(tmp_path / "folder.csv", 2), ["is a folder", "Name a .csv or .npz file"])
    (tmp_path / "text.npz").write_text("x,y\n")
    refuses(lambda: read_points(tmp_path / "text.npz", 2), ["is not an NPZ file", "np.savez"])
    np.savez(tmp_path / "cut.npz", points=np.ones((400, 2)))
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:300] + b"?" + whole[301:])
    refuses(lambda: read_points(tmp_path / "cut.npz", 2), ["cannot be read", "np.savez"])


def test_grid_of_the_plane_and_of_space():
    grid = grid_points(np.array([[0.0, 0.0], [4.0, 1.0], [2.0, -1.0]]), 11, 0.25)
    np.testing.assert_allclose([grid.min(axis=0), grid.max(axis=0)], [[-1, -2], [5, 2]])
    assert len(np.unique(grid[:, 0])) == 11 and len(np.unique(grid[:, 1])) == 8
    np.testing.assert_allclose(grid[1] - grid[0], [0.6, 0])
    # Members of a batch share one grid; x runs fastest, then y.
    space = grid_points(np.array([[[0.0, 0.0, 0.0]], [[1.0, 2.0, 2.0]]]), 3, 0.0)
    assert space.shape == (2 * 3 * 3, 3)
    np.testing.assert_allclose(space[:3], [[0, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_wrong_grids():
    square = np.array([[0.0, 0.0], [1.0, 1.0]])
    refuses(lambda: grid_points(square, 1, 0.1), ["2 points or more", "got 1", "`--grid 200`"])
    refuses(lambda: grid_points(square, 9, -0.1), ["0 or more", "got -0.1", "`--margin 0.5`"])
    refuses(lambda: grid_points(square, 9000, 0.0), ["9000 x 9000", "at most 10000000", "`--grid 3162` or less"])


POINTS = np.array([[0.1, 0.2], [1 / 3, -2e-300], [np.pi, 1e22]])


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
@pytest.mark.parametrize("values", [np.array([0.1 + 0.2, np.nan, -1e-17]), np.array([1 / 3 + 2j, np.nan, 1j / 7])])
def test_a_field_comes_back_bit_by_bit(tmp_path, suffix, values):
    path = tmp_path / "new" / f"field{suffix}"
    columns = field_columns({"t": np.array([1.5])}, POINTS, values)
    write_field(path, columns, overwrite=False)
    assert list(columns) == (["x", "y", "u_re", "u_im"] if np.iscomplexobj(values) else ["x", "y", "u"])
    np.testing.assert_array_equal(read_points(path, 2), POINTS)
    if suffix == ".csv":
        header, *rows = path.read_text().splitlines()
        found = dict(zip(header.split(","), np.array([row.split(",") for row in rows], float).T, strict=True))
        assert rows[1].endswith("nan,nan" if np.iscomplexobj(values) else ",nan")
    else:
        found = dict(np.load(path))
    assert list(found) == list(columns)
    for name, column in columns.items():
        np.testing.assert_array_equal(found[name], column)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_columns_of_several_members_begin_with_their_parameters(tmp_path):
    members, count = parse_members(["t=0.1:0.2:2", "t=0.3, direction=(1,0,0)"], WAVE)
    points = np.arange(6.0).reshape(2, 3)
    values = np.arange(count * 2.0).reshape(count, 2)
    columns = field_columns(members, points, values)
    assert list(columns) == ["t", "direction_0", "direction_1", "direction_2", "x", "y", "z", "u"]
    np.testing.assert_array_equal(columns["t"], [0.1, 0.1, 0.2, 0.2, 0.3, 0.3])
    np.testing.assert_array_equal(columns["direction_0"], [0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(columns["z"], [2, 5, 2, 5, 2, 5])
    np.testing.assert_array_equal(columns["u"], np.arange(6))
    write_field(tmp_path / "field.csv", columns, overwrite=False)
    np.testing.assert_array_equal(read_points(tmp_path / "field.csv", 3), np.tile(points, (3, 1)))


def test_a_parameter_called_like_a_column_keeps_its_own(tmp_path):
    parameters = {"y": np.array([7.0, 8.0]), "u": np.array([5.0, 6.0]), "file": np.array([1.0, 2.0])}
    columns = field_columns(parameters, POINTS[:1], np.zeros((2, 1)))
    assert list(columns) == ["parameter_y", "parameter_u", "parameter_file", "x", "y", "u"]
    write_field(tmp_path / "field.npz", columns, overwrite=False)
    np.testing.assert_array_equal(np.load(tmp_path / "field.npz")["parameter_file"], [1, 2])


def test_wrong_outputs(tmp_path):
    columns = field_columns({}, POINTS, np.zeros(3))
    kept = tmp_path / "field.csv"
    kept.write_text("mine")
    refuses(
        lambda: write_field(kept, columns, False), ["field.csv", "exists", "Name another file, or pass --overwrite"]
    )
    refuses(lambda: check_output(tmp_path / "u.vtu", True), ["u.vtu", ".csv and .npz", "`--out field.csv`"])
    refuses(lambda: check_output(tmp_path / "field", True), ["unknown ending", ".csv and .npz", "`--out field.csv`"])
    (tmp_path / "runs.npz").mkdir()
    refuses(lambda: check_output(tmp_path / "runs.npz", True), ["is a folder", "runs.npz/field.csv"])
    refuses(lambda: check_output(kept / "u.csv", True), ["is a file", "expected a folder", "Name another"])
    uneven = {"x": np.zeros(2), "u": np.zeros(3)}
    refuses(lambda: write_field(tmp_path / "u.npz", uneven, False), ["'x': 2", "equal lengths", "as many entries"])
    assert kept.read_text() == "mine" and not (tmp_path / "u.npz").exists()
    write_field(kept, columns, overwrite=True)
    np.testing.assert_array_equal(read_points(kept, 2), POINTS)
