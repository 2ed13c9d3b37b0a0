"""Members and problems, as commands name them. Every refusal is read for its cure."""

import sys

import numpy as np
import pytest
from messages import refuses

import edgewise as ew
from edgewise.cli.members import parse_members, random_members
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
