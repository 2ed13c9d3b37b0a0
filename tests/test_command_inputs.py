"""What commands take and give: members, points, files of fields, problems. Every refusal is read for its cure."""

import sys

import numpy as np
import pytest

import edgewise as ew
from edgewise.cli.members import parse_members, random_members
from edgewise.cli.points import check_output, field_columns, grid_points, read_points, write_field
from edgewise.cli.problems import find_problem

ONE = ew.Box(t=(1.0, 2.0))
TWO = ew.Box(a=(1.0, 2.0), b=(3.0, 4.0))
WAVE = ew.Box(t=(0.05, 0.5), direction=ew.Direction(3, default=(0, 0, 1)))
MATRIX = ew.Box(coefficients=(np.zeros((2, 2)), np.ones((2, 2))), tilt=ew.Angle())

# Members.


def test_one_member():
    members, count = parse_members(["t=0.3, direction=(1,0,0)"], WAVE)
    assert count == 1
    np.testing.assert_array_equal(members["t"], [0.3])
    np.testing.assert_array_equal(members["direction"], [[1, 0, 0]])


def test_defaults_are_filled_in_and_order_is_the_box_s():
    members, count = parse_members([" t = 3e-1 "], WAVE)
    assert count == 1 and list(members) == ["t", "direction"]
    np.testing.assert_array_equal(members["direction"], [[0, 0, 1]])


def test_ranges_and_single_members_follow_each_other():
    members, count = parse_members(["t=1:2:5", "t=1.3", "t=2:1:2"], ONE)
    assert count == 8
    np.testing.assert_array_equal(members["t"], [1, 1.25, 1.5, 1.75, 2, 1.3, 2, 1])


def test_ranges_in_one_text_run_together_and_others_stay():
    members, count = parse_members(["t=.1:.3:3, direction=[0, 1, 0]", "t=+0.5"], WAVE)
    assert count == 4
    np.testing.assert_allclose(members["t"], [0.1, 0.2, 0.3, 0.5])
    np.testing.assert_array_equal(members["direction"], [[0, 1, 0]] * 3 + [[0, 0, 1]])
    members, count = parse_members(["a=1:2:3, b=4:3:3"], TWO)
    assert count == 3
    np.testing.assert_array_equal(np.stack([members["a"], members["b"]]), [[1, 1.5, 2], [4, 3.5, 3]])


def test_arrays_of_any_shape():
    members, count = parse_members(["coefficients=((1, 2), [3, -4.5],), tilt=-1e-2"], MATRIX)
    assert count == 1
    np.testing.assert_array_equal(members["coefficients"], [[[1, 2], [3, -4.5]]])
    np.testing.assert_array_equal(members["tilt"], [-0.01])


def test_values_outside_the_box_are_left_to_the_box():
    members, _ = parse_members(["t=7"], ONE)
    with pytest.raises(ValueError, match="got 7"):
        ONE.check(members)


def test_members_without_any_option():
    assert parse_members([], ew.Box()) == ({}, 1)
    members, count = parse_members([], ew.Box(direction=ew.Direction(2, default=(1, 0))))
    assert count == 1
    np.testing.assert_array_equal(members["direction"], [[1, 0]])


@pytest.mark.parametrize("box", [ONE, TWO, WAVE, MATRIX])
def test_what_a_message_says_to_write_can_be_written(box):
    with pytest.raises(ValueError) as caught:
        parse_members([""], box)
    (option,) = str(caught.value).split('--at "')[2:]
    members, count = parse_members([option.rpartition('"')[0]], box)
    assert count == 1
    box.check(members)


def test_random_members_repeat_and_lie_in_the_box():
    first, again, other = (random_members(WAVE, 7, seed) for seed in (3, 3, 4))
    assert {name: values.shape for name, values in first.items()} == {"t": (7,), "direction": (7, 3)}
    assert np.array_equal(first["t"], again["t"]) and not np.array_equal(first["t"], other["t"])
    WAVE.check(first)
    assert random_members(ew.Box(), 3, 0) == {}


UNIT = 'Write `--at "t=0.275, direction=(0.0, 0.0, 1.0)"`'
WRONG_MEMBERS = {
    "nothing": ([""], ONE, ["is empty", '`--at "t=1.5"`']),
    "no option": ([], ONE, ["`t` is missing", "got no `--at`", "a number in [1.0, 2.0]", '`--at "t=1.5"`']),
    "one missing": (["a=1"], TWO, ["`b` is missing", "[3.0, 4.0]", '`--at "a=1.5, b=3.5"`']),
    "missing in the second": (["a=1,b=3", "b=3"], TWO, ["`a` is missing", 'got `--at "b=3"`', "[1.0, 2.0]"]),
    "unknown": (["q=1"], ONE, ["unknown parameter `q`", "has `t`", '`--at "t=1.5"`']),
    "no name": (["1.5"], ONE, ["`1.5` is not of the form `name=value`", '`--at "t=1.5"`']),
    "no value": (["t="], ONE, ["`t=` is not of the form", '`--at "t=1.5"`']),
    "comma at the end": (["t=1,"], ONE, ["a comma has nothing before or behind", '`--at "t=1.5"`']),
    "twice": (["t=1, t=2"], ONE, ["`t` is given twice", "pass `--at` twice"]),
    "word": (["t=much"], ONE, ["`much` is not a number such as 1.5", "[1.0, 2.0]", '`--at "t=1.5"`']),
    "formula": (["t=2*pi"], ONE, ["`2*pi` is not a number", '`--at "t=1.5"`']),
    "code": (["t=__import__('os').getpid()"], ONE, ["is not a number", '`--at "t=1.5"`']),
    "underscore": (["t=1_0"], ONE, ["`1_0` is not a number", '`--at "t=1.5"`']),
    "nan": (["t=nan"], ONE, ["`nan` is not a finite number", '`--at "t=1.5"`']),
    "infinite": (["t=-inf"], ONE, ["`-inf` is not a finite number", '`--at "t=1.5"`']),
    "too large": (["t=1e999"], ONE, ["`1e999` is not a finite number", '`--at "t=1.5"`']),
    "vector for a number": (["t=(1,2)"], ONE, ["`(1,2)` is not a number", '`--at "t=1.5"`']),
    "number for a vector": (
        ["t=0.1, direction=1"],
        WAVE,
        ["`1` is not a vector in parentheses", "a unit vector of 3 components", UNIT],
    ),
    "vector without parentheses": (
        ["t=0.1, direction=(1,0),0"],
        WAVE,
        ["`(1,0)` has 2 entries instead of 3", "3 components", UNIT],
    ),
    "bare entries": (["t=1, 0, 0"], ONE, ["`0` is not of the form", "a vector stands in parentheses"]),
    "never closed": (["t=0.1, direction=(1,0,0"], WAVE, ["`(` is never closed", UNIT]),
    "closed twice": (["t=0.1, direction=(1,0,0))"], WAVE, ["`)` closes no bracket", UNIT]),
    "mixed brackets": (["t=0.1, direction=(1,0,0]"], WAVE, ["`]` closes no bracket", UNIT]),
    "two vectors": (["t=0.1, direction=(1,0)(0)"], WAVE, ["closes no bracket", UNIT]),
    "no entries": (["t=0.1, direction=()"], WAVE, ["`()` has 0 entries instead of 3", UNIT]),
    "range of two": (["t=1:2"], ONE, ["`1:2` is not a range `low:high:count`", '`--at "t=1.0:2.0:5"`']),
    "count of none": (["t=1:2:0"], ONE, ["from 1 to 1000000, got `0`", '`--at "t=1.0:2.0:5"`']),
    "negative count": (["t=1:2:-3"], ONE, ["got `-3`", '`--at "t=1.0:2.0:5"`']),
    "count with a fraction": (["t=1:2:2.5"], ONE, ["whole count", "got `2.5`", '`--at "t=1.0:2.0:5"`']),
    "count beyond memory": (["t=1:2:10000000000"], ONE, ["from 1 to 1000000", '`--at "t=1.0:2.0:5"`']),
    "beyond memory together": (
        ["t=1:2:600000"] * 2,
        ONE,
        ["1200000 members", "1 to 1000000", "Ask for another number"],
    ),
    "infinite end": (["t=1:inf:3"], ONE, ["`inf` is not a finite number", '`--at "t=1.0:2.0:5"`']),
    "range of a vector": (
        ["t=0.1, direction=0:1:3"],
        WAVE,
        ["only a single number", "Pass one `--at` for every member"],
    ),
    "range in a vector": (
        ["t=0.1, direction=(0:1:3,0,0)"],
        WAVE,
        ["only a single number", "Pass one `--at` for every member"],
    ),
    "unequal counts": (["a=1:2:2, b=3:4:3"], TWO, ["`a` has 2, `b` has 3", "Make them equal"]),
    "no parameters": (["t=1"], ew.Box(), ["has no parameters", 'got `--at "t=1"`', "Leave `--at` out"]),
}


@pytest.mark.parametrize("case", WRONG_MEMBERS)
def test_wrong_members(case):
    texts, box, words = WRONG_MEMBERS[case]
    refuses(lambda: parse_members(texts, box), words)


def test_wrong_random_members():
    refuses(lambda: random_members(ONE, 0, 0), ["asks for 0 members", "expected 1 to", "Ask for another"])
    refuses(lambda: random_members(ONE, 1, -1), ["got -1", "from 0 to", "`--seed 0`"])


# Points and fields.


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


# Problems.

FILE = """
from __future__ import annotations
import dataclasses
import edgewise as ew
from {sibling} import OTHER

@dataclasses.dataclass
class Kept:
    side: str = "interior"

print("loading")
circle = ew.Problem(ew.Ellipse(1.0, 1.0), None, ew.SingleLayer(ew.Laplace(dim=2)), lambda x: x[0], Kept().side)
number = OTHER

def made(scale=2.0):
    import {later}
    return circle

def needy(t): return circle
def nothing(): pass
def broken():
    return 1 / 0
"""


@pytest.fixture
def file(tmp_path):
    # Names of their own for every test: Python keeps what it has imported.
    sibling, later = (f"{word}_{abs(hash(tmp_path))}" for word in ("sibling", "later"))
    (tmp_path / f"{sibling}.py").write_text("OTHER = 3")
    (tmp_path / f"{later}.py").write_text("")
    path = tmp_path / "my_problem.py"
    path.write_text(FILE.format(sibling=sibling, later=later))
    return path


def test_a_preset_by_name():
    problem, origin = find_problem("laplace-star")
    assert isinstance(problem, ew.Problem) and origin == {"preset": "laplace-star"}


@pytest.mark.parametrize("name", ["circle", "made"])
def test_a_problem_in_a_file(file, capsys, monkeypatch, name):
    before = list(sys.path)
    problem, origin = find_problem(f"{file}:{name}")
    assert problem.side == "interior" and origin == {"file": f"{file}:{name}"}
    assert sys.path == before
    # Not where a command prints its JSON.
    said = capsys.readouterr()
    assert said.out == "" and said.err == "loading\n"
    monkeypatch.chdir(file.parent)
    assert find_problem(f"my_problem.py:{name}")[1] == {"file": f"my_problem.py:{name}"}


WRONG_PROBLEMS = {
    "preset": ("laplce-star", ["called `laplce-star`", "Did you mean `laplace-star`?", "`edgewise list`"]),
    "far from a preset": ("zzz", ["`laplace-star`", "`my_problem.py:problem`"]),
    "nothing": ("", ["`laplace-star`", "`my_problem.py:problem`"]),
    "file without a name": ("my_problem.py", ["is a file", "Write `my_problem.py:problem`"]),
    "empty name": ("my_problem.py:", ["not a Python file and a name", "`my_problem.py:problem`"]),
    "not Python": ("notes.txt:problem", ["not a Python file and a name", "`my_problem.py:problem`"]),
    "no file": ("gone.py:problem", ["`gone.py` does not exist", "Write its path"]),
    "no name": ("my_problem.py:square", ["has no `square`", "file has `circle`", "Write `my_problem.py:circle`"]),
    "a number": ("my_problem.py:number", ["`number`", "of type `int`", "Write `my_problem.py:circle`"]),
    "a class": ("my_problem.py:Kept", ["`Kept`", "of type `type`", "Write `my_problem.py:circle`"]),
    "arguments": ("my_problem.py:needy", ["a function of `t`", "without arguments", "Give them defaults"]),
    "returns nothing": ("my_problem.py:nothing", ["returned `NoneType`", "`return ew.Problem(...)`"]),
    "function raises": ("my_problem.py:broken", ["line 22", "ZeroDivisionError: division by zero", "Correct `broken`"]),
}


@pytest.mark.parametrize("case", WRONG_PROBLEMS)
def test_wrong_problems(file, monkeypatch, case):
    monkeypatch.chdir(file.parent)
    text, words = WRONG_PROBLEMS[case]
    refuses(lambda: find_problem(text), words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import json\n\njson.loads('{')\n", ["line 3", "JSONDecodeError: Expecting"]),
        ("x = 1\ny = (\n", ["line 2", "SyntaxError: '(' was never closed"]),
        ("import no_such_package\n", ["line 1", "ModuleNotFoundError: No module named 'no_such_package'"]),
        ("import sys\nsys.exit(3)\n", ["line 2", "SystemExit: 3"]),
        ("x = 1\n", ["has no `problem`", "Write `problem = ew.Problem(...)`"]),
    ],
)
def test_wrong_python(tmp_path, text, words):
    path = tmp_path / "mine.py"
    path.write_text(text)
    before = list(sys.path)
    cure = [] if "ew.Problem" in words[-1] else [f"`python {path}` shows the whole traceback"]
    refuses(lambda: find_problem(f"{path}:problem"), [*words, *cure])
    assert sys.path == before


def refuses(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message
