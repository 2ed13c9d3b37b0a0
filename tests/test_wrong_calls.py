"""Calls that commands refuse, of every kind a newcomer may make: each message says what was given, expected, and what to do.

A command line that cannot be read ends with 2, everything else that is refused with 1; nothing is printed on standard output, and
nothing is written.
"""

import errno
import json
import shutil
import sys

import pytest

from edgewise.cli import main, output, runs, train
from edgewise.learn.loading import folder

TRAIN = ["train", "laplace-star", "--out", "new"]
RESUME = ["train", "laplace-star", "--out", "run", "--resume"]
PREDICT = ["predict", "run", "--at", "t=1.5", "--out", "new.csv"]
GRID = [*PREDICT, "--grid", "9"]
EVALUATE = ["evaluate", "run"]
PLOT = ["plot", "run", "--out", "new.png"]
SHAPE = "a=(0.05, 0, 0, 0), b=(0, 0, 0, 0)"
ELLIPSOID = ["evaluate", "helmholtz-ellipsoids", "--at"]

# Arguments, words that the message must hold, exit status.
CALLS = {
    # Names and options that there are not.
    "no such command": (["trian"], ["No command is called `trian`", "Did you mean `train`?", "`edgewise --help`"], 2),
    "a word of other programs": (["help"], ["No command is called `help`", "There are demo, list", "--help"], 2),
    "option before the command": (["--json", "list"], ["`--json` stands before", "`edgewise COMMAND --json`"], 2),
    "no such option": ([*EVALUATE, "--randm", "5"], ["no option `--randm`", "Did you mean `--random`?", "It has"], 2),
    "no such letter": ([*EVALUATE, "-r", "5"], ["no option `-r`", "`edgewise evaluate --help`"], 2),
    "option without value": ([*EVALUATE, "--at"], ["`--at` has no value", "MEMBER", "`edgewise evaluate --help`"], 2),
    "option before an option": ([*EVALUATE, "--grid", "--json"], ["`--grid` has no value", "expected N"], 2),
    "flag with a value": (["list", "--json=yes"], ["`--json` takes no value", "Write `--json` alone"], 2),
    "a word too many": ([*EVALUATE, "--at", "t=1", "t=2"], ["takes RUN and options, got also `t=2`", "quote"], 2),
    "a word for nothing": (["list", "laplace-star"], ["takes options, got also `laplace-star`", "Leave it out"], 2),
    "no run": (["evaluate"], ["lacks `RUN`", "Write `edgewise evaluate RUN`", "`edgewise evaluate --help`"], 2),
    "nowhere to write": (["train", "laplace-star"], ["lacks `--out FOLDER`", "edgewise train PROBLEM --out FOLDER"], 2),
    "seed in words": ([*TRAIN, "--seed", "x"], ["`--seed` must be a whole number such as 200, got `x`"], 2),
    "number of members as a float": ([*EVALUATE, "--random", "1e3"], ["--random", "whole number", "got `1e3`"], 2),
    "tolerance in words": ([*GRID, "--tol", "small"], ["`--tol` must be a number such as 1e-6, got `small`"], 2),
    "no such shell": (
        ["completion", "tcsh"],
        ["behind `edgewise completion` must be one of bash, zsh, fish", "`tcsh`"],
        2,
    ),
    "no such experiment": (
        ["reproduce", "laplce"],
        ["laplace, biharmonic, helmholtz, sweep", "`laplce`", "mean `laplace`?"],
        2,
    ),
    "quick and full": (["reproduce", "laplace", "--quick", "--full"], ["exclude each other", "Leave one out"], 1),
    # Problems and recipes.
    "no such preset": (
        ["train", "laplce-star", "--out", "new"],
        ["Did you mean `laplace-star`?", "`edgewise list`"],
        1,
    ),
    "file without a name": (["train", "mine.py", "--out", "new"], ["is a file", "Write `mine.py:problem`"], 1),
    "file with a syntax error": (
        ["train", "broken.py:problem", "--out", "new"],
        ["`broken.py`, line 1 raised SyntaxError", "'(' was never closed", "Correct the file"],
        1,
    ),
    "name that the file lacks": (["train", "mine.py:square", "--out", "new"], ["has no `square`", "`mine.py:disc`"], 1),
    "not a problem": (["train", "mine.py:number", "--out", "new"], ["of type `int`", "Write `mine.py:disc`"], 1),
    "no such recipe": (
        [*TRAIN, "--recipe", "bets"],
        ["`--recipe` must be one of default, best, paper", "Did you mean `best`?"],
        2,
    ),
    "no such group": ([*TRAIN, "--recipe.optimizer.steps", "5"], ["no `optimizer`", "Did you mean", "optimiser"], 1),
    "no such field": ([*TRAIN, "--recipe.optimiser.step", "5"], ["no `step`", "there are name, steps", "mean"], 1),
    "a group": ([*TRAIN, "--recipe.optimiser", "5"], ["a group of name, steps", "--recipe.optimiser.name"], 1),
    "inside a value": ([*TRAIN, "--recipe.network.p.q", "5"], ["a single value", "--recipe.network.p "], 1),
    "not whole": ([*TRAIN, "--recipe.network.p=4.5"], ["must be a whole number, got `4.5`", "Write"], 1),
    "not a number": ([*TRAIN, "--recipe.optimiser.rate", "fast"], ["must be a number, got `fast`", "0.001"], 1),
    "not a truth": ([*TRAIN, "--recipe.network.scalars", "yes"], ["true or false, got `yes`"], 1),
    "not a choice": ([*TRAIN, "--recipe.network.kind", "mlp"], ["one of deeponet, nomad, ", "got `mlp`"], 1),
    "recipe without value": ([*TRAIN, "--recipe.network.p"], ["has no value", "`--recipe.optimiser.steps 500`"], 1),
    "recipe twice": ([*TRAIN, "--recipe.network.p=4", "--recipe.network.p=5"], ["given twice, 4 and 5"], 1),
    "no steps": ([*TRAIN, "--recipe.optimiser.steps", "0"], ["`recipe.optimiser.steps` must lie in [1, ", "got 0"], 1),
    "refused by fit": ([*TRAIN, "--recipe.collocation.nodes", "63"], ["must be even", "got 63", "Take 64"], 1),
    "corners": (["train", "mine.py:corners", "--out", "new", "--recipe", "paper"], ["paper's rules", "corners"], 1),
    "negative seed": ([*TRAIN, "--seed", "-1"], ["`--seed`", "got -1", "Write `--seed 0`"], 1),
    "a run is there": (["train", "laplace-star", "--out", "run"], ["has a finished run", "Name a new folder"], 1),
    "another recipe": ([*RESUME, "--recipe.network.p", "8"], ["another recipe", "name a new folder"], 1),
    "another seed": ([*RESUME, "--seed", "5"], ["has seed 0, got 5", "Pass that seed"], 1),
    "another problem": (
        ["train", "laplace-quadratic", "--out", "run", "--resume"],
        ["trained for another problem", "its data differs", "`laplace-star`"],
        1,
    ),
    # Runs.
    "no such run": (
        ["info", "runn"],
        ["No folder and no operator is called `runn`", "Did you mean `run`?", "Train"],
        1,
    ),
    "nothing for a run": (["info", ""], ["is called ``", "Operators that ship: `laplace-star`", "Train one with"], 1),
    "a file": (["info", "mine.py"], ["is a file", "a run is a folder", "Name the folder"], 1),
    "not a run": (["evaluate", "."], ["no config.json", "not a run", "`edgewise train` wrote"], 1),
    "weights cut short": (["evaluate", "cut"], ["cut/weights.safetensors", "is damaged", "train again"], 1),
    "weights lost": (["evaluate", "lost"], ["no file `lost/weights.safetensors`", "train again"], 1),
    "configuration cut short": (["info", "halved"], ["`halved/config.json` is damaged", "not JSON", "train again"], 1),
    "configuration without a recipe": (["info", "bare"], ["`bare/config.json` is damaged", "'recipe'"], 1),
    "problem of another run": (
        [*EVALUATE, "--problem", "laplace-quadratic"],
        ["trained for another problem", "`laplace-star`"],
        1,
    ),
    # Members.
    "empty member": ([*EVALUATE, "--at", ""], ["is empty", 'Write `--at "t=1.5"`'], 1),
    "no value": ([*EVALUATE, "--at", "t="], ["`t=` is not of the form `name=value`", '`--at "t=1.5"`'], 1),
    "range of two": ([*EVALUATE, "--at", "t=1:2"], ["not a range `low:high:count`", '"t=1.0:2.0:5"'], 1),
    "not finite": ([*EVALUATE, "--at", "t=nan"], ["`nan` is not a finite number", "[1.0, 2.0]", '`--at "t=1.5"`'], 1),
    "unknown parameter": ([*EVALUATE, "--at", "q=3"], ["unknown parameter `q`", "has `t`", '--at "t=1.5"'], 1),
    "outside the box": ([*EVALUATE, "--at", "t=3"], ["must lie in [1.0, 2.0], got 3", "`--extrapolate`"], 1),
    "nowhere": (
        [*ELLIPSOID, "a=1,b=1,c=1,k=2,direction=(0,0,0)"],
        ["`direction` must be a unit vector, got one of length 0", "points nowhere, unlike (0.0, 0.0, 1.0)"],
        1,
    ),
    "too long": ([*ELLIPSOID, "a=1,b=1,c=1,k=2,direction=(1,1,0)"], ["length 1.41421", "divide it by its length"], 1),
    "number for a vector": (
        ["evaluate", "helmholtz-shapes", "--at", "a=1"],
        ["`1` is not a vector in parentheses; `a` must be 4 numbers in [-0.1, 0.1]", '`--at "a=(0.06, -0.04, '],
        1,
    ),
    "film of one member": (
        ["plot", "run", "--at", "t=1.5", "--out", "new.gif"],
        ["this is one member", 'Write `--at "t=1.0:2.0:24"`.'],
        1,
    ),
    "film of one wave": (
        ["plot", "helmholtz-star", "--out", "new.gif"],
        ['Write `--at "a=-0.2:0.2:24, b=0.12, k=5.5"`', "`--what wave`"],
        1,
    ),
    "film without a number that could run": (
        ["plot", "laplace-shapes", "--out", "new.gif"],
        ["this is one member", "Pass `--at` for every member"],
        1,
    ),
    "no member": (["predict", "run", "--grid", "9", "--out", "new.csv"], ["`t` is missing", '`--at "t=1.5"`'], 1),
    "fewer than none": ([*EVALUATE, "--random", "-1"], ["--random", "got -1", "`--random 200`"], 1),
    "too many to measure": ([*EVALUATE, "--random", "1000000"], ["from 0 to 10000, got 1000000", "`--random 200`"], 1),
    # Points, grids and files.
    "grid of one": ([*EVALUATE, "--grid", "1"], ["2 points or more", "got 1", "`--grid 160`"], 1),
    "negative grid": ([*PREDICT, "--grid", "-5"], ["2 points or more", "got -5", "`--grid 200`"], 1),
    "neither": (PREDICT, ["neither `--points` nor `--grid`", "`--points points.csv` or `--grid 200`"], 1),
    "both": ([*GRID, "--points", "p.csv"], ["both `--points` and `--grid`", "expected one of them"], 1),
    "no points": (
        [*PREDICT, "--points", "gone.csv"],
        ["`gone.csv` does not exist", "Name a .csv, .npz, .vtu or .nc file"],
        1,
    ),
    "points of space": ([*PREDICT, "--points", "space.csv"], ["space.csv", "3 columns; expected 2", "header"], 1),
    "no tolerance": ([*GRID, "--tol", "0"], ["`--tol` must be a positive number", "got 0.0", "`--tol 1e-6`"], 1),
    "unknown ending": (
        ["predict", "run", "--grid", "9", "--out", "u.txt"],
        ["u.txt", ".vtu and .nc", "--out field.csv"],
        1,
    ),
    "kept": (["predict", "run", "--grid", "9", "--out", "kept.csv"], ["exists already", "--overwrite"], 1),
    "kept boundary": ([*GRID, "--boundary", "kept.csv"], ["`--boundary kept.csv` exists already", "--overwrite"], 1),
    "one file for both": ([*GRID, "--boundary", "new.csv"], ["both be written to `new.csv`", "two files"], 1),
    "one file by two paths": ([*GRID, "--boundary", "run/../new.csv"], ["both be written to `new.csv`"], 1),
    "one series for both": (
        ["predict", "run", "--at", "t=1:2:3", "--grid", "9", "--out", "A.vtu", "--boundary", "A.VTU"],
        ["both be written to `A.pvd`", "Name another one"],
        1,
    ),
    "parameters apart": (
        ["evaluate", "helmholtz-star", "--at", "a=0:0.2:3", "--at", "k=5"],
        ['`b` is missing, got `--at "a=0:0.2:3"`', "Put all parameters of a member into one `--at`"],
        1,
    ),
    "a place that is none": (
        ["demo", "--out", "mine.py/demo"],
        ["mine.py/demo", "could not be made", "Name one in"],
        1,
    ),
    "too many values": (
        ["predict", "run", "--at", "t=1:2:100000", "--grid", "999", "--out", "new.csv"],
        ["100000 members", "fewer"],
        1,
    ),
    "not a picture": (
        ["plot", "run", "--out", "u.txt"],
        ["u.txt", "unknown ending", ".svg and .gif", "--out field.png"],
        1,
    ),
    "no such picture": ([*PLOT, "--what", "fields"], ["`--what` must be one of field, total", "mean `field`?"], 2),
    "a kept picture": (["plot", "run", "--out", "kept.png"], ["exists already", "--overwrite"], 1),
    "too coarse": ([*PLOT, "--resolution", "2"], ["from 10 to 2000, got 2", "`--resolution 200`"], 1),
    "too many rows": ([*PLOT, "--at", "t=1:2:99"], ["99 members", "at most 8", "Ask for fewer"], 1),
    "history of members": ([*PLOT, "--history", "--at", "t=1"], ["Leave one of them out"], 1),
}
FILE = """
import edgewise as ew

number = 3
disc = ew.Problem(ew.Ellipse(1.0, 1.0), None, ew.SingleLayer(ew.Laplace(dim=2)), lambda x: x[0], "interior")
corners = ew.Problem(
    ew.Polygon([(0, 0), (1, 0), (0, 1)]), None, ew.SingleLayer(ew.Laplace(dim=2)), lambda x: x[0], "interior"
)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run, four that are damaged, files of problems and of points, and files that must stay as they are."""
    here = tmp_path_factory.mktemp("wrong")
    for name in ("run", "cut", "lost", "halved", "bare"):
        shutil.copytree(folder("laplace-star"), here / name)
    for path in (here / "cut/weights.safetensors", here / "halved/config.json"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    (here / "lost/weights.safetensors").unlink()
    config = json.loads((here / "bare/config.json").read_text())
    del config["recipe"]
    (here / "bare/config.json").write_text(json.dumps(config))
    texts = {"mine.py": FILE, "broken.py": "x = (\n", "space.csv": "1,2,3\n", "kept.csv": "mine", "kept.png": "mine"}
    for name, text in texts.items():
        (here / name).write_text(text)
    return here


@pytest.fixture
def refused(place, capsys, monkeypatch):
    """What a command that must fail says on standard error."""
    monkeypatch.chdir(place)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.suffix != ".pyc"}

    def call(args: list[str], status: int) -> str:
        try:
            found = main(args)
        except SystemExit as ended:
            found = ended.code
        out, err = capsys.readouterr()
        assert (found, out) == (status, ""), err
        after = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.suffix != ".pyc"}
        assert after == before and not (place / "new").exists()
        # Boxes are broken into lines, which may part words that belong together.
        return " ".join(err.replace("│", " ").split())

    return call


@pytest.mark.parametrize("case", CALLS)
def test_wrong_calls(case, refused):
    args, words, status = CALLS[case]
    said = refused(args, status)
    assert "Traceback" not in said and [word for word in words if word not in said] == [], said


@pytest.mark.parametrize(
    "args",
    [
        ["predict", "helmholtz-shapes", "--at", "q=3", "--grid", "9", "--out", "new.csv"],
        ["predict", "helmholtz-shapes", "--at", SHAPE, "--grid", "1", "--out", "new.csv"],
        ["predict", "helmholtz-shapes", "--at", SHAPE, "--points", "gone.csv", "--out", "new.csv"],
        ["predict", "helmholtz-shapes", "--at", SHAPE, "--points", "space.csv", "--out", "new.csv"],
        ["evaluate", "helmholtz-shapes", "--at", "angle=7"],
        ["evaluate", "helmholtz-shapes", "--grid", "9999"],
        ["evaluate", "helmholtz-shapes", "--random", "5", "--seed", "-1"],
        ["plot", "helmholtz-shapes", "--at", SHAPE, "--out", "new.gif"],
        ["plot", "helmholtz-shapes", "--at", "a=1", "--out", "new.png"],
        ["train", "helmholtz-shapes", "--out", "run"],
        ["train", "helmholtz-shapes", "--out", "mine.py"],
        ["train", "helmholtz-shapes", "--out", "new", "--recipe.optimizer.steps", "5"],
    ],
    ids=" ".join,
)
def test_what_takes_seconds_comes_after_all_that_can_be_refused_at_once(args, refused, monkeypatch):
    def late(*args, **options):
        pytest.fail("an operator was read, or a recipe chosen")

    monkeypatch.setattr(runs, "read", late)
    monkeypatch.setattr(train, "recipe", late)
    refused(args, 1)


@pytest.mark.parametrize("args", [["info", "runn"], [*EVALUATE, "--at", "t=3"], PREDICT, [*PLOT, "--at", "t=3"]])
def test_an_error_under_json_is_words_on_standard_error(args, refused):
    assert refused([*args, "--json"], 1).startswith("edgewise: ")


def test_a_folder_that_must_not_be_written_to_is_refused_before_anything_is_computed(refused, monkeypatch):
    def refuse(**options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(output.tempfile, "NamedTemporaryFile", refuse)
    for args in (GRID, PLOT):
        said = refused(args, 1)
        assert "Nothing can be written to the folder `.` of `--out new" in said and "Permission denied. Name" in said


def test_an_extra_that_is_missing_is_named_with_its_pip_line(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for args in (PLOT, [*PLOT, "--history"]):
        assert 'pip install "edgewise[plot]"' in refused(args, 1)
