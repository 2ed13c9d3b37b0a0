"""Commands about a trained operator: train, info, evaluate, predict, plot. One small run serves them all."""

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import edgewise as ew
from edgewise.base import progress
from edgewise.cli import main
from edgewise.cli.evaluate import _parts, default_members
from edgewise.cli.members import random_members
from edgewise.cli.runs import typical_member
from edgewise.evaluation import measure
from edgewise.learn import loading, loop
from edgewise.learn.operator import FitResult, Operator

FILE = """
import jax.numpy as jnp
import edgewise as ew

problem = ew.Problem(
    ew.StarCurve(lambda s, t: 1 + 0.1 * t * jnp.cos(3 * s)),
    ew.Box(t=(0.0, 1.0)),
    ew.SingleLayer(ew.Laplace(dim=2)),
    lambda x: x[0] ** 2,
    "interior",
)
waves = ew.Problem(
    ew.Ellipse(1.0, "b"),
    ew.Box(b=(0.6, 1.0)),
    ew.CombinedField(ew.Helmholtz(dim=2, wavenumber=2.0)),
    ew.PlaneWave(0.3),
    "exterior",
)
corners = ew.Problem(
    ew.Polygon([(0, 0), (1, 0), (0, 1)]), None, ew.SingleLayer(ew.Laplace(dim=2)), lambda x: x[0], "interior"
)
"""
TINY = {
    "collocation.members": 6,
    "collocation.nodes": 64,
    "network.harmonics": 20,
    "network.degree": 3,
    "network.p": 6,
    "validation.nodes": 96,
    "validation.members": 4,
}
OPTIONS = [word for name, value in TINY.items() for word in (f"--recipe.{name}", str(value))]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a file of problems, and a run of one of them in `run`."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "mine.py").write_text(FILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["train", "mine.py:problem", "--out", "run", *OPTIONS]) == 0
    return folder


@pytest.fixture
def here(place, monkeypatch):
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def said(capsys):
    """Runs a command that must succeed; what it printed on standard output."""

    def run(*args: str, status: int = 0) -> str:
        assert main(list(args)) == status, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def test_train_says_what_it_does_and_what_came_out(here, said):
    out = said("train", "mine.py:problem", "--out", "again/run", *OPTIONS, "--seed=1", "--recipe.optimiser.steps=2")
    for words in ("mine.py:problem", "t in [0.0, 1.0]", "6 members x 64 nodes", "at most 2 steps", "seed 1", "2 steps"):
        assert words in out
    assert "edgewise evaluate again/run" in out and "--at t=0.5" in out
    config = json.loads((here / "again/run/config.json").read_text())
    assert config["recipe"]["network"]["p"] == 6 and config["problem"] == {"file": "mine.py:problem"}


def test_a_finished_run_is_not_trained_again(here, said):
    before = (here / "run/weights.safetensors").read_bytes()
    report = json.loads(said("train", "mine.py:problem", "--out", "run", "--resume", "--json"))
    assert (
        report["was_finished"]
        and report["recipe"]["collocation"]["members"] == 6
        and report["result"]["code"] == "converged"
    )
    assert (here / "run/weights.safetensors").read_bytes() == before
    out = said("train", "mine.py:problem", "--out", "run", "--resume")
    assert out.startswith("`run` was finished already; nothing was trained.") and "written" not in out


def test_interrupted_and_continued_is_as_uninterrupted(here, said, capsys, monkeypatch):
    look = loop.Run._look
    monkeypatch.setattr(loop.Run, "_look", lambda run: _stop_at(2, look(run)))
    assert main(["train", "mine.py:problem", "--out", "stopped", *OPTIONS]) == 130
    command = capsys.readouterr().err.strip().rpartition("continue with: ")[2]
    assert command == "edgewise train mine.py:problem --out stopped --resume"
    assert "not finished" in said("info", "stopped")
    monkeypatch.setattr(loop.Run, "_look", look)
    said(*command.split()[1:])
    first, second = (ew.load(name, _problem(here)) for name in ("run", "stopped"))
    for a, b in zip(*(jax.tree_util.tree_leaves(operator.network) for operator in (first, second)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_interrupted_before_a_step(here, said, capsys, monkeypatch):
    """What was kept are the weights that the network started from, and everyone is told."""

    def stop(run):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loop.Run, "_advance", stop)
        assert main(["train", "mine.py:problem", "--out", "begun", *OPTIONS]) == 130
    command = "edgewise train mine.py:problem --out begun --resume"
    assert f"edgewise: interrupted; no step was finished; continue with: {command}" in capsys.readouterr().err
    assert f"not finished, no step was finished: `{command}`" in said("info", "begun")
    assert main(["predict", "begun", "--at", "t=0.5", "--grid", "9", "--out", "begun.csv"]) == 0
    words = f"Mind: interrupted before a step was finished: its weights are random numbers; `{command}` trains it."
    assert words in capsys.readouterr().err
    with pytest.MonkeyPatch.context() as patch:
        warned = []
        patch.setattr(loading.logger, "warning", lambda words, *args: warned.append(words % args))
        ew.load("begun", _problem(here))
    assert "random numbers" in warned[0] and "fit(..., out='begun', resume=True)" in warned[0]
    (here / "begun/weights.safetensors").unlink()
    assert main(["evaluate", "begun"]) == 1
    assert f"it has no weights.safetensors yet. Continue it with `{command}`" in capsys.readouterr().err


def _stop_at(step, record):
    if record["step"] == step:
        raise KeyboardInterrupt
    return record


def _problem(folder):
    from edgewise.cli.problems import find_problem

    return find_problem(f"{folder}/mine.py:problem")[0]


def test_a_run_that_diverged_ends_with_1(here, said, monkeypatch):
    monkeypatch.setattr(loop.Run, "_ended", lambda run: FitResult("diverged", "diverged") if run.step else None)
    assert "diverged" in said("train", "mine.py:problem", "--out", "lost", *OPTIONS, status=1)


def test_info(here, said):
    report = json.loads(said("info", "run", "--json"))
    assert report["problem"] == {"file": "mine.py:problem"} and report["box"] == {"t": "[0.0, 1.0]"}
    assert report["stats"]["weights"] > 100 and report["files"]["weights.safetensors"] > 1000
    out = said("info", "run")
    assert "default, changed: network.p = 6, network.harmonics = 20, network.degree = 3" in out
    for words in ("mine.py:problem", "converged", "weights", "cpu", "config.json"):
        assert words in out


def test_evaluate_against_a_solve(here, said):
    args = ["evaluate", "run", "--at", "t=0.25", "--at", "t=0:1:2", "--grid", "20", "--random", "3"]
    report = json.loads(said(*args, "--json"))
    assert report["truth"] == "solve" and [row["parameters"]["t"] for row in report["members"]] == [0.25, 0, 1]
    for row in report["members"]:
        assert 0 < row["relative_l2"] < 1e-3 and row["max_error"] >= row["max_error_near_boundary"]
        assert row["printed_formula"] == pytest.approx(row["relative_l2"] ** 2)
    random = report["random"]
    assert random["worst_relative_l2"] == random["worst"]["relative_l2"] >= random["median_relative_l2"]
    out = said(*args, "--printed-formula")
    assert "t = 0.25" in out and "3 random members" in out and "printed formula" in out


def test_members_that_evaluate_takes_by_itself():
    assert default_members(ew.Box(t=(1.0, 2.0)))[0]["t"].tolist() == [1.15, 1.35, 1.45]
    assert default_members(ew.Box(t=(0.0, 1.0)))[0]["t"].tolist() == [0.5]
    assert list(default_members(ew.Box(t=(1.0, 2.0), k=(1.0, 3.0)))[0]) == ["t", "k"]
    assert default_members(ew.Box()) == ({}, 1)


@pytest.mark.slow
def test_evaluate_waves_by_their_far_field_too(here, said):
    said("train", "mine.py:waves", "--out", "waves", *OPTIONS, "--json")
    (row,) = json.loads(said("evaluate", "waves", "--grid", "12", "--json"))["members"]
    assert row["parameters"] == {"b": 0.8} and row["far_field_relative_l2"] < 1e-2 and row["relative_l2"] < 1e-2
    said("plot", "waves", "--out", "waves.png", "--resolution", "16")


def test_measured_errors_are_those_of_a_known_field():
    """u = 2 x, taken for x: wrong by x, so relatively by one, at most by the largest |x| on the boundary."""
    layer = ew.SingleLayer(ew.Laplace(dim=2))
    problem = ew.Problem(
        ew.Ellipse(2.0, "b"), ew.Box(b=(0.5, 1.0)), layer, lambda x: 2 * x[0], "interior", exact=lambda x: x[0]
    )
    solution = ew.solve(problem, b=jnp.array([0.6, 0.9]), quadrature=ew.Kress(64))
    for errors in (measure(solution, resolution=20), measure(solution, every_point=False)):
        np.testing.assert_allclose(errors.relative_l2, 1, rtol=1e-9)
        np.testing.assert_allclose(errors.printed_formula, 1, rtol=1e-9)
        np.testing.assert_allclose(errors.max_error, 2, rtol=1e-2)
        np.testing.assert_allclose(errors.max_error_near_boundary, 2, rtol=1e-2)
    assert measure(solution[0], resolution=20).relative_l2.shape == (1,)


def test_errors_outside_and_with_a_free_constant():
    layer, circle = ew.SingleLayer(ew.Laplace(dim=2)), ew.Ellipse(1.0, 1.0)
    dipole = lambda x: x[0] / (x @ x)
    outside = ew.Problem(circle, None, layer, dipole, "exterior", exact=dipole)
    assert measure(ew.solve(outside), resolution=16).max_error[0] < 1e-12
    inside = ew.Problem(circle, None, layer, lambda x: x[0], "interior", ew.Neumann(), exact=lambda x: x[0] + 7)
    assert measure(ew.solve(inside), resolution=16).relative_l2[0] < 1e-12


def test_predict(here, said):
    (here / "points.csv").write_text("x,y\n0.1,0.2\n5,5\n")
    args = ["predict", "run", "--at", "t=0.5", "--points", "points.csv"]
    report = json.loads(said(*args, "--out", "field.npz", "--json"))
    assert (report["points"], report["on_the_wrong_side"]) == (2, 1)
    found = np.load(here / "field.npz")
    exact = ew.solve(_problem(here), t=0.5)(jnp.array([0.1, 0.2]))
    assert abs(found["u"][0] - exact) < 1e-4 and np.isnan(found["u"][1])
    out = said("predict", "run", "--at", "t=0:1:3", "--grid", "9", "--out", "fields/field.csv")
    assert "3 members" in out and "NaN" in out
    assert (here / "fields/field.csv").read_text().startswith("t,x,y,u,error\n")
    out = said("predict", "run", "--at", "t=0:1:3", "--grid", "9", "--out", "grid.npz")
    found = np.load(here / "grid.npz")
    members, rows, columns = found["shape"]
    assert members == 3 and max(rows, columns) == 9 and f"a grid of {columns} x {rows}, x running fastest" in out
    t, x, y = (found[name].reshape(found["shape"]) for name in ("t", "x", "y"))
    assert np.all(np.diff(t, axis=0) > 0) and np.all(np.diff(y, axis=1) > 0) and np.all(np.diff(x, axis=2) > 0)
    said(*args, "--out", "field.npz", "--overwrite")
    said("predict", "run", "--at", "t=1.5", "--extrapolate", "--grid", "4", "--out", "beyond.csv")


def test_predict_meshes_and_datasets(here, said):
    """The numbers of the table that `predict` writes, in the formats of other programs; and points from any of them."""
    meshio, xarray = pytest.importorskip("meshio"), pytest.importorskip("xarray")
    args = ["predict", "run", "--at", "t=0:1:3", "--grid", "9"]
    said(*args, "--out", "io/all.npz")
    table = dict(np.load(here / "io/all.npz"))
    u = table["u"].reshape(table["shape"])
    out = said(*args, "--out", "io/field.vtu", "--boundary", "io/edge.nc")
    assert "Wrote io/field.pvd, and 3 files that it names." in out and "Wrote io/edge.nc." in out
    for i, values in enumerate(u):
        mesh = meshio.vtu.read(str(here / f"io/field_{i}.vtu"))
        assert set(mesh.point_data["u"]) <= set(values.ravel()) and len(mesh.point_data["u"]) > 9
    with xarray.open_dataset(here / "io/edge.nc") as edge:
        assert edge.density.dims == ("member", "node") and edge.t.values.tolist() == [0, 0.5, 1]
    report = json.loads(said(*args, "--out", "io/field.nc", "--boundary", "io/edge.vtu", "--json"))
    assert (report["written"], report["boundary"]) == ("io/field.nc", "io/edge.pvd")
    with xarray.open_dataset(here / "io/field.nc") as field:
        np.testing.assert_array_equal(field.u, u)
        np.testing.assert_array_equal(field.t, [0, 0.5, 1])
    # The same points again, from every format.
    args = ["predict", "run", "--at", "t=0:1:3", "--out", "io/again.npz", "--overwrite", "--points"]
    said(*args, "io/field.nc")
    np.testing.assert_array_equal(np.load(here / "io/again.npz")["u"].reshape(u.shape), u)
    said(*args, "io/field_0.vtu")
    mesh = meshio.vtu.read(str(here / "io/field_0.vtu"))
    again = np.load(here / "io/again.npz")["u"].reshape(3, -1)
    np.testing.assert_allclose(again[0], mesh.point_data["u"], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("suffix", ["png", pytest.param("svg", marks=pytest.mark.slow)])
def test_plot(here, said, suffix):
    pytest.importorskip("matplotlib")
    said("plot", "run", "--at", "t=0:1:2", "--resolution", "16", "--out", f"field.{suffix}")
    said("plot", "run", "--history", "--out", f"history.{suffix}")
    start = b"\x89PNG" if suffix == "png" else b"<?xml"
    assert all((here / f"{name}.{suffix}").read_bytes().startswith(start) for name in ("field", "history"))


@pytest.mark.slow
def test_the_truth_of_a_picture_may_be_a_solve(here):
    pytest.importorskip("matplotlib")
    from edgewise import plot

    problem = _problem(here)
    coarse, fine = (ew.solve(problem, t=0.5, quadrature=ew.Kress(nodes), tol=1e-2) for nodes in (32, 64))
    figure = plot.field_figure(coarse, resolution=16, truth=fine, name="prediction")
    assert [ax.get_title().split(",")[0] for ax in figure.axes[:3]] == ["truth", "prediction", "|error|"]


def test_a_moved_problem_is_named(here, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = str(here / "run")
    assert main(["evaluate", run, "--grid", "9"]) == 1
    assert "--problem my_problem.py:problem" in capsys.readouterr().err
    said("predict", run, "--at", "t=0.5", "--grid", "9", "--out", "u.csv", "--problem", f"{here}/mine.py:problem")
    assert main(["evaluate", run, "--problem", "laplace-star"]) == 1
    assert "another problem" in capsys.readouterr().err


def test_shipped_operators_are_found_by_name(here, said, monkeypatch):
    """A folder in place of the package's: what ships is a run like any other."""
    from edgewise.cli import listing, runs

    for module in (listing, runs):
        monkeypatch.setattr(module, "shipped", lambda: ("laplace-star",))
        monkeypatch.setattr(module, "folder", lambda name: here / "run")
    assert json.loads(said("info", "laplace-star", "--json"))["run"] == str(here / "run")
    found = {one["name"]: one["operator"] for one in json.loads(said("list", "--json"))}
    assert found["laplace-star"]["misfit"] < 1e-3 and found["laplace-quadratic"] is None
    assert re.search(
        r"ships; the boundary equation holds to .* on the worst of 4 members it was not trained", said("list")
    )


def test_typical_member_of_every_kind_of_parameter():
    box = ew.Box(t=(1.0, 2.0), v=([0, 2], [2, 4]), d=ew.Direction(2), e=ew.Direction(2, default=(0, 1)), a=ew.Angle())
    members, count = typical_member(box)
    assert count == 1
    expected = {"t": [1.5], "v": [[1.6, 2.6]], "d": [[1, 0]], "e": [[0, 1]], "a": [0]}
    assert {name: value.tolist() for name, value in members.items()} == expected
    assert set(random_members(box, 3, 0)) == set(expected)


@pytest.mark.parametrize(
    "args",
    [
        ["list"],
        ["doctor"],
        ["info", "run"],
        ["evaluate", "run", "--grid", "9", "--random", "2"],
        ["predict", "run", "--at", "t=0.5", "--grid", "9", "--out", "json.csv"],
        ["plot", "run", "--resolution", "12", "--out", "json.png"],
        ["train", "mine.py:problem", "--out", "json", *OPTIONS],
    ],
    ids=lambda args: args[0],
)
def test_under_json_there_is_json_and_nothing_else(here, capsys, args):
    assert main([*args, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) and err == ""


def test_members_that_are_done_are_counted_and_the_rest_is_estimated(here, capsys, monkeypatch):
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    assert main(["predict", "run", "--at", "t=0:1:40", "--grid", "5", "--out", "counted.csv"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"member 32/40, \d+ s, about \d+ s left\n", err)
    assert out.endswith("Try next:\n  edgewise plot run --at t=0.0 --out counted.png\n")
    assert main(["evaluate", "run", "--grid", "9", "--random", "20"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"member 10/20, \d+ s, about \d+ s left\n", err) and "  edgewise plot run --at t=" in out


@pytest.mark.parametrize("command", ["evaluate", "predict", "plot"])
def test_interrupted_commands_leave_nothing_behind_and_say_so(here, capsys, monkeypatch, command):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(Operator, "__call__", stop)
    before = sorted(here.iterdir())
    args = {"predict": ["--at", "t=0.5", "--grid", "5", "--out", "none.csv"], "plot": ["--out", "none.png"]}
    assert main([command, "run", *args.get(command, [])]) == 130
    assert capsys.readouterr() == ("", "\nedgewise: interrupted; nothing was written.\n")
    assert sorted(here.iterdir()) == before


def test_members_in_space_that_share_a_matrix_are_measured_together():
    box = {"t": np.array([1.0, 2.0, 1.0]), "direction": np.eye(3)}
    waves = ew.preset("helmholtz-halfballs")
    assert [part.tolist() for part in _parts(waves, box)] == [[0, 2], [1]]
    # In the plane all parts are of one size; the last member comes again.
    parts = _parts(ew.preset("laplace-star"), {"t": np.linspace(1, 2, 17)})
    assert [part.tolist() for part in parts] == [list(range(9)), [*range(9, 17), 16]]
