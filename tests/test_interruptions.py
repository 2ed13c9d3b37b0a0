"""Runs that are interrupted, by a person or by the machine, and continued: same bits as without."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from training import adam, assert_same, single, tiny

import edgewise as ew
from edgewise.learn import loop
from edgewise.learn.runs import read_history
from edgewise.learn.training import Training

PROBLEM = single()
RECIPES = {
    "gauss-newton": tiny(PROBLEM, optimiser={"steps": 3}, validation={"patience": 0, "floor": 0.0}),
    "adam": adam(PROBLEM, steps=30, rate=1e-2),
}


@pytest.fixture(scope="module")
def whole():
    """The runs without interruption."""
    return {name: ew.fit(PROBLEM, recipe) for name, recipe in RECIPES.items()}


@pytest.fixture(autouse=True)
def save_always(monkeypatch):
    monkeypatch.setattr(loop, "SAVE_EVERY", -1.0)


def resumed(path, recipe):
    return ew.fit(PROBLEM, recipe, out=path, resume=True)


def is_finished(path):
    files = sorted(entry.name for entry in path.iterdir())
    return files == ["config.json", "log.txt", "metrics.jsonl", "weights.safetensors"]


@pytest.mark.parametrize("save_every", [-1.0, 1e9], ids=["saved at every look", "saved when interrupted"])
@pytest.mark.parametrize("name", RECIPES)
def test_interrupted_by_a_person(name, save_every, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "SAVE_EVERY", save_every)
    path, recipe, seen = tmp_path / "run", RECIPES[name], []

    def interrupt(record):
        seen.append(record)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        ew.fit(PROBLEM, recipe, out=path, callback=interrupt)
    (note,) = stopped.value.__notes__
    assert f"the run in `{path}` is kept" in note and f"`fit(..., out='{path}', resume=True)` continues it" in note
    halfway = ew.load(path, PROBLEM)
    assert halfway.result.code == "interrupted" and "after step" in str(halfway.result)
    assert "resume=True" in str(halfway.result) and len(halfway.history) == 2
    assert not halfway(t=1.0).result.ok
    assert_same(resumed(path, recipe), whole[name])
    assert is_finished(path)
    # Finished, it is only read.
    assert_same(resumed(path, recipe), whole[name])
    assert_same(ew.load(path, PROBLEM), whole[name])


def test_interrupted_without_a_folder_says_how_to_keep_a_run():
    def interrupt(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        ew.fit(PROBLEM, RECIPES["gauss-newton"], callback=interrupt)
    assert 'nothing was kept. With `out="runs/mine"`' in stopped.value.__notes__[0]


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), SystemExit("mine")], ids=["an error", "an exit"])
def test_a_callback_that_fails_loses_nothing(error, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "SAVE_EVERY", 1e9)
    path, recipe, seen = tmp_path / "run", RECIPES["gauss-newton"], []

    def fail(record):
        seen.append(record)
        if len(seen) == 2:
            raise error

    with pytest.raises(type(error), match="mine"):
        ew.fit(PROBLEM, recipe, out=path, callback=fail)
    assert [record["step"] for record in ew.load(path, PROBLEM).history] == [1, 2]
    again = []
    assert_same(ew.fit(PROBLEM, recipe, out=path, resume=True, callback=again.append), whole["gauss-newton"])
    assert [record["step"] for record in again] == [3]


@pytest.mark.parametrize("place", ["misfit", "advance"])
def test_interrupted_between_a_step_and_its_record(place, whole, tmp_path, monkeypatch):
    """The state that is kept has all its records, wherever the key was pressed."""
    recipe, original, calls = RECIPES["gauss-newton"], getattr(Training, place), []

    def pressed(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*args)

    with monkeypatch.context() as patch:
        patch.setattr(Training, place, pressed)
        with pytest.raises(KeyboardInterrupt):
            ew.fit(PROBLEM, recipe, out=tmp_path / "run")
    assert_same(resumed(tmp_path / "run", recipe), whole["gauss-newton"])


class Killed(BaseException):
    """Nobody catches it, as nobody catches the end of a process."""


@pytest.mark.parametrize("name", ["gauss-newton", pytest.param("adam", marks=pytest.mark.slow)])
def test_killed_before_and_after_every_file_is_written(name, whole, tmp_path, monkeypatch):
    recipe, replace = RECIPES[name], os.replace
    for after in (False, True):
        for moment in range(100):
            calls = []

            def fatal(*args, moment=moment, after=after, calls=calls):
                calls.append(1)
                last = len(calls) == moment + 1
                if not last or after:
                    replace(*args)
                if last:
                    raise Killed

            path = tmp_path / f"{after}{moment}"
            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", fatal)
                try:
                    ew.fit(PROBLEM, recipe, out=path)
                except Killed:
                    pass
                else:
                    break
            assert_same(resumed(path, recipe), whole[name])
            assert is_finished(path)
        # The configuration, weights and state at every look, weights and configuration at the end.
        assert moment == 1 + 2 * len(whole[name].history) + 2


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import jax
jax.config.update("jax_enable_x64", True)
import edgewise as ew
from edgewise.learn import loop
import test_interruptions as here
loop.SAVE_EVERY = -1.0
recipe = here.long_recipe(sys.argv[2])
ew.fit(here.PROBLEM, recipe, out=sys.argv[3], callback=lambda record: print(record["step"], flush=True))
"""


def long_recipe(name):
    if name == "adam":
        return adam(PROBLEM, steps=400, rate=1e-2, check_every=5)
    return tiny(PROBLEM, optimiser={"steps": 40}, validation={"patience": 0, "floor": 0.0})


@pytest.mark.parametrize(
    ("name", "moments"),
    [
        ("gauss-newton", 1),
        pytest.param("gauss-newton", 10, marks=pytest.mark.slow),
        pytest.param("adam", 10, marks=pytest.mark.slow),
    ],
)
def test_killed_by_the_machine(name, moments, tmp_path):
    recipe = long_recipe(name)
    whole = ew.fit(PROBLEM, recipe)
    # A run takes about so long from its first look on, so that some kills come early, some late.
    spans = np.random.default_rng(moments).uniform(0, max(0.3, whole.stats["seconds"]), moments)
    lost = 0
    for moment, span in enumerate(spans):
        path = tmp_path / str(moment)
        command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), name, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None and child.stdout.readline().strip()
            time.sleep(span)
            child.send_signal(signal.SIGKILL)
        lost += not is_finished(path)
        assert_same(resumed(path, recipe), whole)
        assert is_finished(path)
    assert lost or moments == 1


def test_a_last_line_that_was_cut_is_left_out(whole, tmp_path):
    operator = whole["gauss-newton"]
    operator.save(tmp_path / "run")
    metrics = tmp_path / "run" / "metrics.jsonl"
    text = metrics.read_text()
    metrics.write_text(text[:-20])
    assert read_history(tmp_path / "run") == operator.history[:-1] == ew.load(tmp_path / "run", PROBLEM).history
    for tail in ("[1]", '{"step": "x"', "[" * 10_000, "\0\0", "\n\n"):
        metrics.write_text(text + tail)
        assert read_history(tmp_path / "run") == operator.history
    metrics.unlink()
    assert ew.load(tmp_path / "run", PROBLEM).history == []


def test_what_is_continued_must_be_the_same(tmp_path):
    path, recipe = tmp_path / "run", RECIPES["gauss-newton"]
    with pytest.raises(RuntimeError, match="stop here"):
        ew.fit(PROBLEM, recipe, out=path, callback=lambda record: (_ for _ in ()).throw(RuntimeError("stop here")))
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    other = tiny(PROBLEM, optimiser={"steps": 5}, validation={"patience": 0, "floor": 0.0})
    cases = {
        r"`recipe.optimiser.steps` is 3 there, got 5.*name a new folder": dict(recipe=other),
        r"has seed 0, got 1. Pass that seed": dict(recipe=recipe, seed=1),
    }
    for words, options in cases.items():
        with pytest.raises(ValueError, match=words):
            ew.fit(PROBLEM, out=path, resume=True, **options)
    with pytest.raises(ValueError, match="its data differs"):
        ew.fit(single(lambda x: x[0]), recipe, out=path, resume=True)
    with pytest.raises(FileExistsError, match=r"config\.json.*`resume=True`"):
        ew.fit(PROBLEM, recipe, out=path)
    assert before == {file.name: file.read_bytes() for file in path.iterdir()}


def test_a_damaged_state_is_refused_in_words(tmp_path):
    path, recipe = tmp_path / "run", RECIPES["gauss-newton"]
    with pytest.raises(KeyboardInterrupt):
        ew.fit(PROBLEM, recipe, out=path, callback=lambda record: (_ for _ in ()).throw(KeyboardInterrupt))
    state = path / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-3])
    with pytest.raises(ValueError, match="is damaged"):
        resumed(path, recipe)
