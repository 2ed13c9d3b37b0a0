"""The command line: what it prints, what it writes, and how it fails."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import edgewise as ew
from edgewise import plot
from edgewise.cli import demo, doctor, main

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "edgewise", *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture
def small_demo(monkeypatch):
    """The demo with a coarse picture: the same path in a tenth of the time."""
    monkeypatch.setattr(demo, "RESOLUTION", 24)


def test_help_names_the_commands_and_loads_no_jax():
    code = "import sys; from edgewise.cli import main\ntry: main(['--help'])\nfinally: assert 'jax' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(command in done.stdout for command in ("demo", "doctor", "list"))


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"edgewise {ew.__version__}\n"


def test_list_as_json_is_nothing_but_json(capsys):
    assert main(["list", "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert only["name"] == "laplace-star" and only["parameters"] == {"t": "[1.0, 2.0]"}


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


def test_demo_writes_its_three_files_and_no_other(tmp_path, capsys, small_demo):
    kept = tmp_path / "notes.txt"
    kept.write_text("mine")
    assert main(["demo", "--out", str(tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "laplace-star.png",
        "notes.txt",
        "table.json",
        "table.md",
    ]
    assert kept.read_text() == "mine"
    assert json.loads((tmp_path / "table.json").read_text()) == report
    assert [row["t"] for row in report["members"]] == [1.15, 1.35, 1.45]
    for row in report["members"]:
        assert row["max_error"] < 1e-11 and row["max_error_near_boundary"] < 1e-11
        assert row["max_error_of_gradient"] < 1e-9
        assert row["relative_l2"] < 1e-12 < row["relative_l2_of_the_paper"]


def test_demo_without_matplotlib_writes_the_table_and_says_what_to_install(tmp_path, capsys, small_demo, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    assert 'pip install "edgewise[plot]"' in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.json", "table.md"]


def test_demo_refuses_a_file_as_folder_before_it_computes(tmp_path, capsys):
    path = tmp_path / "file"
    path.write_text("mine")
    assert main(["demo", "--out", str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "expected a folder" in said.err and "Traceback" not in said.err
    assert path.read_text() == "mine"


def test_figure_of_an_exterior_field_without_truth():
    pytest.importorskip("matplotlib")
    layer = ew.SingleLayer(ew.Laplace(dim=2))
    solution = ew.solve(ew.Problem(ew.Kite(), None, layer, lambda x: x[0], "exterior"))
    figure = plot.field_figure(solution, resolution=12)
    assert len(figure.axes) == 2  # one panel and its colour bar
