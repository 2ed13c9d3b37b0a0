"""Runs in folders: saved and loaded exactly, refused when damaged or not theirs, continued where they were interrupted."""

import dataclasses
import json
import shutil
import time

import jax.numpy as jnp
import numpy as np
import pytest
from members import LAPLACE
from training import BOX, MILD, assert_same, single, times_t, tiny

import edgewise as ew
from edgewise.cli import main
from edgewise.learn.folder import Folder
from edgewise.learn.loading import folder
from edgewise.learn.runs import compare, describe, read_history
from edgewise.learn.storage import load_arrays, save_arrays

PROBLEM = single()


@pytest.fixture(scope="module")
def operator():
    return ew.fit(PROBLEM, tiny(PROBLEM), seed=7)


@pytest.fixture
def run(operator, tmp_path):
    operator.save(tmp_path / "run")
    return tmp_path / "run"


def test_saved_and_loaded_is_the_same(operator, run):
    loaded = ew.load(run, PROBLEM)
    assert_same(loaded, operator)
    assert loaded.stats == operator.stats and loaded.history == operator.history
    assert np.array_equal(loaded(t=1.1).density.values, operator(t=1.1).density.values)
    assert sorted(file.name for file in run.iterdir()) == [
        "config.json",
        "log.txt",
        "metrics.jsonl",
        "weights.safetensors",
    ]
    config = json.loads((run / "config.json").read_text())
    assert config["status"] == "finished" and config["seed"] == 7 and config["box"] == {"t": "[0.5, 1.5]"}
    # And again from the loaded one.
    loaded.save(run.parent / "again")
    assert (run.parent / "again" / "weights.safetensors").read_bytes() == (run / "weights.safetensors").read_bytes()


def test_nothing_is_overwritten_unasked(operator, run):
    before = (run / "config.json").read_bytes()
    with pytest.raises(FileExistsError, match=r"has files in it.*`overwrite=True`"):
        operator.save(run)
    (run / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"no part of a run \(notes\.txt\).*Name another folder"):
        operator.save(run, overwrite=True)
    assert (run / "notes.txt").read_text() == "mine" and (run / "config.json").read_bytes() == before
    (run / "notes.txt").unlink()
    (run / "log.txt").write_text("old")
    # What a write that was cut short left behind is nobody's work.
    (run / ".state.safetensors-x1_abc2d.part").write_text("half")
    operator.save(run, overwrite=True)
    assert "converged" in (run / "log.txt").read_text()
    with pytest.raises(ValueError, match=r"is a file; expected a folder.*Name another one"):
        operator.save(run / "log.txt")
    # Nothing was left beside it.
    assert [entry.name for entry in run.parent.iterdir()] == ["run"]
    (run / ".config.json-mine").write_text("mine")
    with pytest.raises(FileExistsError, match=r"no part of a run \(\.config\.json-mine\)"):
        operator.save(run, overwrite=True)


def test_a_link_to_a_run_stays_one(operator, run):
    link = run.parent / "link"
    link.symlink_to(run)
    (run / "log.txt").write_text("old")
    operator.save(link, overwrite=True)
    assert link.is_symlink() and "converged" in (run / "log.txt").read_text()


def test_folders_that_cannot_be_are_refused_in_words(operator, tmp_path, monkeypatch):
    (tmp_path / "file.py").write_text("")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for path in (".", "..", "", tmp_path):
        with pytest.raises(
            ValueError, match=r"the folder that this program works in, or one above it.*such as `runs/mine`"
        ):
            operator.save(path, overwrite=True)
    for path in (tmp_path / "file.py/run", "/proc/run", "n" * 300 + "/run"):
        with pytest.raises((OSError, ValueError), match=r"Name (one in a folder|another)"):
            operator.save(path)
        with pytest.raises(OSError, match=r"could not be made: .*Name one in a folder that exists"):
            ew.fit(PROBLEM, operator.recipe, out=path)
    assert not list((tmp_path / "empty").iterdir())


def test_two_runs_do_not_share_a_folder(operator, run):
    pytest.importorskip("fcntl")
    forged(status="training", result=None)(run)
    first, second = Folder(run), Folder(run)
    ready = (PROBLEM, operator.recipe, 7, True, None)
    first.open(*ready)
    with pytest.raises(OSError, match=r"Another process is training into `.*run`\. Wait until it has ended, or name"):
        second.open(*ready)
    with pytest.raises(OSError, match=r"Another process is training into"):
        operator.save(run, overwrite=True)
    first.close()
    first.close()
    second.open(*ready)
    second.close()
    # One that is refused does not keep the folder to itself.
    with pytest.raises(ValueError, match="has seed 7, got 8"):
        first.open(PROBLEM, operator.recipe, 8, True, None)
    operator.save(run, overwrite=True)


def test_rounded_weights_are_not_saved(run, tmp_path):
    rounded = ew.load(run, PROBLEM, dtype="float32")
    with pytest.raises(ValueError, match=r"trained in float64 and opened in float32.*Save the one opened in float64"):
        rounded.save(tmp_path / "rounded")
    assert not (tmp_path / "rounded").exists()


def test_a_problem_must_be_handed_over(run):
    with pytest.raises(ValueError, match=r"a problem of yours; no code is stored.*`load\(path, problem\)`"):
        ew.load(run)
    with pytest.raises(TypeError, match=r"must be a `Problem`, got 3. Write `load\(path, problem\)`"):
        ew.load(run, 3)


OTHERS = {
    "boundary": ew.Problem(
        ew.StarCurve(lambda s, t: 1 + 0.101 * t * jnp.cos(3 * s)), BOX, ew.SingleLayer(LAPLACE), times_t, "interior"
    ),
    "data": single(lambda x, t: times_t(x, t) + 1e-3),
    "equation": ew.Problem(MILD, BOX, ew.DoubleLayer(LAPLACE), times_t, "interior"),
    "parameters t; the problem has k, t": ew.Problem(
        MILD, ew.Box(t=(0.5, 1.5), k=(0, 1)), ew.SingleLayer(LAPLACE), times_t, "interior"
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_problem_is_refused(what, run):
    with pytest.raises(ValueError, match=r"Hand over the problem it was trained for") as caught:
        ew.load(run, OTHERS[what])
    assert what in str(caught.value)


@pytest.mark.parametrize("box", [ew.Box(t=(0.4, 1.6)), ew.Box(t=(0.5, 1.5001))], ids=str)
def test_another_box_is_refused(box, run):
    """The network sees the place of t in its box: in another box it would answer for another member."""
    with pytest.raises(ValueError, match=r"another box: t in \[0.5, 1.5\]; the problem has t in \[0.*Hand over"):
        ew.load(run, ew.Problem(MILD, box, ew.SingleLayer(LAPLACE), times_t, "interior"))


def test_another_order_of_the_parameters_is_refused(tmp_path):
    first, second = (
        ew.Problem(ew.Ellipse(), ew.Box(**box), ew.SingleLayer(LAPLACE), lambda x: x[0], "interior")
        for box in ({"a": (1, 2), "b": (1, 2)}, {"b": (1, 2), "a": (1, 2)})
    )
    config = describe(first, tiny(first), 0, {})
    compare(first, config, tmp_path)
    with pytest.raises(ValueError, match=r"another box: a in \[1.0, 2.0\], b in .*; the problem has b in"):
        compare(second, config, tmp_path)


def test_the_other_side_of_the_same_layer(run):
    """One density makes the field on both sides; loaded for both, it agrees with a solve outside too."""
    both = dataclasses.replace(PROBLEM, side="both", exact=None)
    solution = ew.load(run, both)(t=1.2)
    points = jnp.array([[1.3, 0.4], [-2.0, 5.0], [0.2, 0.1]])
    truth = ew.solve(both, t=1.2, quadrature=solution.quadrature)
    np.testing.assert_allclose(solution(points), truth(points), rtol=1e-5)


def forged(**changes):
    """The run's own configuration with a part changed."""

    def write(run):
        config = json.loads((run / "config.json").read_text())
        for path, value in changes.items():
            *parents, name = path.split("__")
            inner = config
            for parent in parents:
                inner = inner[parent]
            inner[name] = value
        (run / "config.json").write_text(json.dumps(config))

    return write


def no_number(run):
    arrays, notes = load_arrays(run / "weights.safetensors")
    name = next(name for name in arrays if "trunk_skip" in name)
    arrays[name] = arrays[name].copy()
    arrays[name][0, 0] = np.nan
    save_arrays(run / "weights.safetensors", arrays, notes)


DAMAGE = {
    "not JSON": (lambda run: (run / "config.json").write_text('{"format": 1,'), "it is not JSON"),
    "not text": (lambda run: (run / "config.json").write_bytes(b"\xff\xfe\x00"), "it is not JSON"),
    "a list": (lambda run: (run / "config.json").write_text("[1, 2]"), "it has no proper"),
    "deep": (lambda run: (run / "config.json").write_text("[" * 100_000), "damaged"),
    "no members": (forged(members=None), "it has no proper 'members'"),
    "text for a seed": (forged(seed="7"), "it has no proper 'seed'"),
    "members of text": (forged(members__parameters={"t": ["a", "b"]}), "do not fit this problem"),
    "members ragged": (forged(members__parameters={"t": [[1], [1, 2]]}), "do not fit this problem"),
    "many members": (forged(members__parameters={"t": [1.0] * 10**5}), "expected 3 values of each parameter"),
    "members that are a number": (forged(members__parameters={"t": 1.0}), "do not fit this problem"),
    "no box": (forged(box=None), "it has no proper 'box'"),
    "data of text": (forged(members__data="many"), "its data differs"),
    "another format": (forged(format=99), "format 99"),
    "a result that is none": (forged(result={"code": "converged"}), "'result'"),
    "a result of numbers": (forged(result={"code": 1, "message": [2]}), "'result'"),
    "stats that are none": (forged(stats=[1]), "'stats'"),
    "a preset that is no name": (forged(problem={"preset": ["x"]}), "it has no proper 'problem'"),
    "an unknown field": (forged(recipe__network__colour="red"), "`recipe.network` is not a recipe's"),
    "a recipe without a part": (forged(recipe={"name": "default"}), "`recipe` is not a recipe's"),
    "a part that is a number": (forged(recipe__network=3), "`recipe.network` is not a recipe's"),
    "absurd neurons": (forged(recipe__network__neurons=10**15), "`recipe.network.neurons`"),
    "absurd degree": (forged(recipe__network__degree=10**6), "`recipe.network.degree`"),
    "absurd nodes": (forged(recipe__validation__nodes=10**12), "`recipe.validation.nodes`"),
    "infinite nodes": (forged(recipe__validation__nodes=float("inf")), "`recipe.validation.nodes`"),
    "the most there may be": (
        forged(recipe__network__neurons=2**16, recipe__network__layers=64, recipe__network__p=2**16),
        "holds other arrays than expected",
    ),
    "a truth for a number": (forged(recipe__network__p=True), "`recipe.network.p`"),
    "a list for a choice": (forged(recipe__network__activation=["tanh"]), "`recipe.network.activation`"),
    "a name that is no text": (forged(recipe__name=5), "`recipe.name`"),
    "other harmonics": (forged(recipe__network__harmonics=21), "holds other arrays than expected"),
    "cut weights": (
        lambda run: (run / "weights.safetensors").write_bytes((run / "weights.safetensors").read_bytes()[:-9]),
        "is damaged",
    ),
    "weights that are not finite": (no_number, "not finite"),
}


HISTORY = {
    "not JSON": (b"{,\n", "is not a record in JSON"),
    "a list": (b"[1]\n", "is not a record in JSON"),
    "not text": (b'{"step": 1, "loss": "\xff"}\n', "is not a record in JSON"),
    "no whole step": (b'{"step": "x", "loss": 1.0, "misfit": 1.0}\n', "has the step 'x'"),
    "no loss": (b'{"step": 1, "misfit": 1.0}\n', "has the loss None, expected a number"),
    "a loss of text": (b'{"step": 1, "loss": "x", "misfit": 1.0}\n', "has the loss 'x', expected a number"),
    "no misfit": (b'{"step": 1, "loss": 1.0, "misfit": null}\n', "has the misfit None, expected a number"),
    "a largest misfit of text": (
        b'{"step": 1, "loss": 1.0, "misfit": 1.0, "misfit_max": "x"}\n',
        "has the misfit_max 'x'",
    ),
}


@pytest.mark.parametrize("what", HISTORY)
def test_a_damaged_history_names_its_line(what, tmp_path):
    line, words = HISTORY[what]
    good = b'{"step": 1, "loss": 1.0, "misfit": Infinity}\n'
    (tmp_path / "metrics.jsonl").write_bytes(good + line + good)
    with pytest.raises(
        ValueError, match=r"metrics\.jsonl` is damaged: line 2 .*Correct that line, or delete the file"
    ) as caught:
        read_history(tmp_path)
    assert words in str(caught.value)


EDITED = {
    "features": (forged(recipe__network__features="foo"), "`recipe.network.features` must be one of 'harmonics'"),
    "a size": (forged(recipe__network__p="x"), "`recipe.network.p` must be of type int, got 'x'"),
    "measured": (forged(stats__measured=[1]), "no proper 'stats'"),
    "measured in words": (forged(stats__measured={"a": "b"}), "no proper 'stats'"),
    "a misfit of text": (forged(stats__misfit="small"), "no proper 'stats'"),
    "status": (forged(status="done"), "its 'status' is 'done'"),
    "no result": (forged(result=None), "its 'status' is finished, but it has no 'result'"),
}


@pytest.mark.parametrize("what", EDITED)
def test_info_says_what_was_edited_and_where(what, tmp_path, capsys):
    damage, words = EDITED[what]
    run = tmp_path / "run"
    shutil.copytree(folder("laplace-star"), run)
    assert main(["info", str(run)]) == 0
    damage(run)
    assert main(["info", str(run)]) == 1
    said = capsys.readouterr().err
    assert f"`{run}/config.json` is damaged: " in said and words in said


def test_a_run_that_only_says_it_is_finished_keeps_its_state(operator, run):
    """The state is all that it can be continued from."""
    (run / "state.safetensors").write_text("precious")
    forged(result=None)(run)
    with pytest.raises(ValueError, match=r"no 'result'.*continue the run with `resume=True`"):
        ew.fit(PROBLEM, operator.recipe, seed=7, out=run, resume=True)
    forged(result={"code": "converged", "message": "converged"})(run)
    (run / "weights.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"weights\.safetensors"):
        ew.fit(PROBLEM, operator.recipe, seed=7, out=run, resume=True)
    assert (run / "state.safetensors").read_text() == "precious"


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_run_is_refused_in_words(what, run):
    damage, words = DAMAGE[what]
    damage(run)
    started = time.perf_counter()
    with pytest.raises((ValueError, TypeError)) as caught:
        ew.load(run, PROBLEM)
    assert words in str(caught.value), str(caught.value)
    assert time.perf_counter() - started < 20
