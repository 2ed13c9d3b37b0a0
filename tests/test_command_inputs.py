"""Points that commands read and fields that they write. Every refusal is read for its cure."""

import numpy as np
import pytest
from messages import refuses

import edgewise as ew
from edgewise.cli.points import check_output, read_points

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
    endings = "Name a .csv, .npz, .vtu or .nc file"
    refuses(lambda: read_points(tmp_path / "gone.csv", 2), ["gone.csv", "does not exist", endings])
    refuses(lambda: read_points(tmp_path / "a.txt", 2), ["a.txt", ".vtu and .nc", "Save the points as one of these"])
    (tmp_path / "folder.csv").mkdir()
    refuses(lambda: read_points(tmp_path / "folder.csv", 2), ["is a folder", endings])
    (tmp_path / "text.npz").write_text("x,y\n")
    refuses(lambda: read_points(tmp_path / "text.npz", 2), ["is not an NPZ file", "np.savez"])
    np.savez(tmp_path / "cut.npz", points=np.ones((400, 2)))
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:300] + b"?" + whole[301:])
    refuses(lambda: read_points(tmp_path / "cut.npz", 2), ["cannot be read", "np.savez"])


def test_wrong_outputs(tmp_path):
    kept = tmp_path / "field.csv"
    kept.write_text("mine")
    refuses(
        lambda: check_output(kept, False), ["--out", "field.csv", "exists", "Name another file, or pass --overwrite"]
    )
    refuses(lambda: check_output(kept, False, option="--boundary"), ["`--boundary", "field.csv` exists already"])
    refuses(lambda: check_output(tmp_path / "u.txt", True), ["u.txt", ".csv, .npz, .vtu and .nc", "`--out field.csv`"])
    refuses(lambda: check_output(tmp_path / "field", True), ["unknown ending", ".vtu and .nc", "`--out field.csv`"])
    (tmp_path / "runs.npz").mkdir()
    refuses(lambda: check_output(tmp_path / "runs.npz", True), ["is a folder", "runs.npz/field.csv"])
    refuses(lambda: check_output(kept / "u.csv", True), ["is a file", "expected a folder", "Name another"])
    assert kept.read_text() == "mine"
    check_output(kept, overwrite=True)


def test_every_file_of_a_series_is_kept(tmp_path):
    pytest.importorskip("meshio")
    (tmp_path / "field_1.vtu").write_text("mine")
    check_output(tmp_path / "field.vtu", False)
    refuses(lambda: check_output(tmp_path / "field.vtu", False, 2), ["field_1.vtu", "exists already"])
    check_output(tmp_path / "field.vtu", True, 2)
