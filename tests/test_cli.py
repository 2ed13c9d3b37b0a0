"""The command line: what it prints, what it writes, and how it fails."""

import contextlib
import dataclasses
import io
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import edgewise as ew
from edgewise import __main__, plot
from edgewise.base import progress
from edgewise.cli import COMMANDS, demo, doctor, evaluate, main, reproduce
from edgewise.cli.evaluate import error_table
from edgewise.cli.grammar import complaint, grammar_of
from edgewise.cli.helping import described
from edgewise.cli.progress import say_what_space_costs
from edgewise.learn.fit import fit

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "edgewise", *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    """One run of the demo for all tests of it: a small recipe and a coarse picture, the same path in a tenth of the time."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "notes.txt").write_text("mine")
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        small_demo(patch)
        assert main(["demo", "--out", str(folder), "--json"]) == 0
    (folder / "printed.json").write_text(printed.getvalue())
    return folder


def small_demo(patch):
    patch.setattr(demo, "RESOLUTION", 24)
    patch.setattr(demo, "RANDOM", 3)
    patch.setattr(demo, "fit", lambda problem, **options: fit(problem, _small(problem), **options))


def _small(problem):
    recipe = ew.recipe("default", problem)
    return dataclasses.replace(
        recipe,
        network=dataclasses.replace(recipe.network, harmonics=40, degree=4, p=8),
        collocation=dataclasses.replace(recipe.collocation, members=10, nodes=96),
        optimiser=dataclasses.replace(recipe.optimiser, steps=2),
        validation=dataclasses.replace(recipe.validation, members=4, nodes=128, tol=0.1),
    )


def test_help_names_the_commands_and_loads_no_jax():
    code = "import sys; from edgewise.cli import main\ntry: main(['--help'])\nfinally: assert 'jax' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f" {command} " in done.stdout for command in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_every_option_in_words_and_examples_that_can_be_read(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80 and not re.search(r"None|False|\bINT\b|\bPATH\b", said)
    assert said.startswith(f"usage: edgewise {name} ")
    for option in grammar_of(COMMANDS[name]).options:
        assert re.search(rf"^  {option} ", said, re.MULTILINE)
    examples = described(COMMANDS[name])[1]
    assert examples
    for line in examples:
        words = shlex.split(line.partition("edgewise ")[2].rstrip(')"').partition(" |")[0])
        assert words[0] == name and complaint(words, COMMANDS) is None


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"edgewise {ew.__version__}\n"


def test_list_as_json_is_nothing_but_json(capsys):
    assert main(["list", "--json"]) == 0
    first, *_ = json.loads(capsys.readouterr().out)
    assert first["name"] == "laplace-star" and first["parameters"] == {"t": "[1.0, 2.0]"} and "operator" in first


def test_list_in_words(capsys):
    assert main(["list"]) == 0
    assert "laplace-star" in capsys.readouterr().out


def test_doctor(capsys):
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["x64"]["in this command"] and report["devices"] and report["versions"]["jax"]
    assert main(["doctor"]) == 0
    assert "python" in capsys.readouterr().out


def test_doctor_knows_the_extras_that_the_package_declares():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, names in doctor.EXTRAS.items():
        assert [line.split(">=")[0] for line in declared[extra]] == list(names)


def test_unknown_command_ends_with_2():
    done = run("dmo")
    assert done.returncode == 2 and done.stdout == "" and "demo" in done.stderr


def test_unknown_preset_lists_the_known_ones():
    with pytest.raises(ValueError, match="laplace-star"):
        ew.preset("laplace")


def test_demo_writes_its_files_and_no_other(demo_folder):
    report = json.loads((demo_folder / "table.json").read_text())
    written = ["laplace-star.png", "run", "table.json", "table.md", "training.png"]
    assert sorted(path.name for path in demo_folder.iterdir()) == sorted([*written, "notes.txt", "printed.json"])
    assert sorted(Path(path).name for path in report["written"]) == written
    assert (demo_folder / "notes.txt").read_text() == "mine"
    assert json.loads((demo_folder / "printed.json").read_text()) == report
    assert [row["parameters"]["t"] for row in report["members"]] == [1.15, 1.35, 1.45]
    for row in report["members"]:
        assert row["max_error_of_solve"] < 1e-11 and row["relative_l2_of_solve"] < 1e-12
        assert row["relative_l2"] < row["relative_l2_of_the_paper"]
    assert report["random"]["count"] == 3
    assert ew.load(demo_folder / "run").result.ok


def test_demo_again_replaces_its_own_run_and_without_matplotlib_says_what_to_install(
    demo_folder, tmp_path, capsys, monkeypatch
):
    small_demo(monkeypatch)
    shutil.copytree(demo_folder / "run", tmp_path / "run")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    assert 'pip install "edgewise[plot]"' in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "table.json", "table.md"]


def test_demo_refuses_a_run_that_is_not_its_own_before_it_computes(tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    assert main(["demo", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "holds something else" in said.err
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["notes.txt"]


def test_demo_refuses_a_file_as_folder_before_it_computes(tmp_path, capsys):
    path = tmp_path / "file"
    path.write_text("mine")
    assert main(["demo", "--out", str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "expected a folder" in said.err and "Traceback" not in said.err
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        (["demo"], "nothing is half written; the same command begins again"),
        (["reproduce", "laplace"], "what was begun is not kept; the same command begins again"),
        (["reproduce", "sweep"], "what is done is kept: the same command, without `--overwrite`, goes on"),
    ],
    ids=" ".join,
)
def test_an_interruption_says_what_was_kept(args, kept, tmp_path, capsys, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    for module, name in ((demo, "fit"), (reproduce, "_in_the_plane"), (reproduce, "_swept")):
        monkeypatch.setattr(module, name, stop)
    assert main([*args, "--out", str(tmp_path)]) == 130
    assert f"edgewise: interrupted; {kept}." in capsys.readouterr().err.replace(", `edgewise train`", ".")
    assert not list(tmp_path.iterdir())


def test_an_interruption_while_the_command_is_imported(capsys, monkeypatch):
    class Slow:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "edgewise.cli", Slow())
    assert __main__.main() == 130
    assert capsys.readouterr().err == "\nedgewise: interrupted; nothing was written.\n"


def test_an_error_that_is_not_known_is_said_in_words():
    row = {"parameters": {"t": 1.0}, "relative_l2": 0.5, "max_error": 2.0, "error_estimate": 4.0}
    rows = [row, row | {"error_estimate": math.inf}]
    assert "inf" not in error_table(rows) and error_table(rows).endswith(" not known |")
    ratios = evaluate._ratios(rows)
    assert ratios == {"estimate_not_known": 1, "estimate_over_error": [2.0, 2.0, 2.0]}
    assert evaluate._ratios(rows[1:]) == {"estimate_not_known": 1}


@pytest.mark.parametrize(
    ("early", "second"), [(False, "step 2/8, 6 s, about 3 s left"), (True, "step 2 of at most 8, 6 s")]
)
def test_time_left_is_told_by_steps_that_are_not_compiled_and_only_where_all_are_taken(early, second, monkeypatch):
    """Eight steps: the first takes 5.5 s, the second half a second."""
    times = iter([0.0, 5.5, 5.5, 6.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(times))
    shown = progress.Progress(8, 0, False, ends_early=early)
    shown.update({"step": 1})
    assert shown.line({"step": 1}).endswith("8, 6 s")
    assert shown.line({"step": 2}) == second


@pytest.mark.parametrize(
    ("name", "count", "words"),
    [
        ("helmholtz-halfballs", 1, "about 3 minutes on one core for 1 member.\n"),
        ("helmholtz-ellipsoids", 1, "about 80 s on one core for 1 member.\n"),
        ("helmholtz-ellipsoids", 50, "minutes on one core for 50 members.\n"),
        ("laplace-star", 50, ""),
    ],
)
def test_what_members_in_space_cost_is_said_before(name, count, words, capsys):
    say_what_space_costs(ew.pretrained(name), count)
    said = capsys.readouterr().err
    assert said.endswith(words) and bool(said) == bool(words)


def test_figure_of_an_exterior_field_without_truth():
    pytest.importorskip("matplotlib")
    layer = ew.SingleLayer(ew.Laplace(dim=2))
    solution = ew.solve(ew.Problem(ew.Kite(), None, layer, lambda x: x[0], "exterior"))
    figure = plot.field_figure(solution, resolution=12)
    assert [ax.get_title().split("\n")[0] for ax in figure.axes] == ["solution"]
