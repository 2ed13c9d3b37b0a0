"""The sweep over the sizes of the paper's network: cells side by side equal cells alone, and an interrupted sweep goes on."""

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training import changed

import edgewise as ew
from edgewise.cli import main
from edgewise.learn.operator import FitResult, Operator
from edgewise.learn.side_by_side import SideBySide, filled
from edgewise.learn.training import Training
from edgewise.paper import reproduction
from edgewise.paper.sweep import KINDS, Cell, Group, Runner, Sweep, groups_of, recipe_for
from edgewise.show.sweep import sweep_figure

SMALL = Sweep(layers=(1,), neurons=(10, 50), p=(10, 50), steps=2, our_steps=1)


@pytest.fixture
def problem():
    return ew.preset("laplace-star")


def small(problem, kind, cell, sweep=SMALL):
    """A cell's recipe with few nodes."""
    recipe = recipe_for(problem, kind, cell, sweep)
    few = {"members": 3, "nodes": 32} if kind == "edgewise" else {"members": 3, "nodes": 60, "targets": 10}
    network = {"harmonics": 12} if kind == "edgewise" else {}
    return changed(recipe, network=network, collocation=few, validation={"members": 2, "nodes": 64})


def papers_cells(problem, features):
    # Of so many steps the first eight have the full rate.
    return [small(problem, features, Cell(2, 6, p), Sweep(steps=80)) for p in (4, 10)]


@pytest.mark.parametrize("features", ["gaussian", "position"])
def test_a_cell_in_a_group_is_trained_as_it_is_alone(problem, features):
    recipes = papers_cells(problem, features)
    group = SideBySide(problem, recipes, seed=3)
    end = group.advance(group.advance(group.start(), 0, 4), 4, 4)
    for i, recipe in enumerate(recipes):
        alone = Training(problem, recipe, seed=3)
        state = alone.advance(alone.advance(alone.start(), 0, 4), 4, 4)
        np.testing.assert_allclose(end["loss"][i], state["loss"], rtol=1e-4)
        own = filled(alone.network(state["weights"]), group.largest.new_network(recipes[-1]))
        found = group.networks(end, np.float32)[i]
        pairs = zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(own), strict=True)
        # Eight steps of Adam move a weight by up to 8e-3.
        assert max(float(jnp.max(jnp.abs(a - b))) for a, b in pairs if a.size) < 1e-5
        assert float(jnp.max(jnp.abs(state["weights"] - alone.first_weights))) > 5e-3


def test_kernels_are_made_once_for_all_cells(problem):
    group = SideBySide(problem, papers_cells(problem, "gaussian"), seed=0)
    steps = str(jax.make_jaxpr(lambda state: group._adam(state, jnp.asarray(0), 2))(group.start()))
    sizes = {np.prod([int(n) for n in shape.split(",")]) for shape in re.findall(r"f32\[([\d,]+)\] = log ", steps)}
    assert max(sizes) == 3 * 10 * 60


def test_neurons_that_were_filled_in_stay_without_weights(problem):
    recipes = [small(problem, "edgewise", Cell(2, neurons, 5)) for neurons in (3, 8)]
    group = SideBySide(problem, recipes, seed=1)
    end = group.advance(group.start(), 0, 2)
    alone = Training(problem, recipes[0], seed=1)
    np.testing.assert_allclose(end["loss"][0], alone.advance(alone.start(), 0, 2)["loss"], rtol=1e-5)
    narrow = group.networks(end, np.float64)[0]
    assert not np.any(narrow.branch.weights[1][3:]) and not np.any(narrow.branch.weights[1][:, 3:])


def test_errors_are_measured_as_the_paper_measures_them(problem, monkeypatch):
    cells = (Cell(1, 10, 10), Cell(1, 10, 50))
    seen, read = [], Runner._field
    monkeypatch.setattr("edgewise.paper.sweep.recipe_for", small)
    monkeypatch.setattr(Runner, "_field", lambda self, *given: seen.append(given) or read(self, *given))
    record = Runner(SMALL).run(Group("gaussian", cells))
    assert record["cells"] == [[1, 10, 10], [1, 10, 50]] and not any(record["lost"])
    operator = Operator(problem, *seen[0], [], FitResult("unconverged", "not judged"), {})
    by_its_rule = reproduction.errors_by_its_rule(operator, reproduction.points_of(problem))
    assert record["errors"][0] == pytest.approx(by_its_rule[0], rel=1e-12)


def test_every_cell_of_the_paper_is_in_one_group_of_each_kind():
    sweep = Sweep()
    assert len(sweep.cells) == 64 and Cell(3, 100, 50).printed == 0.0158 and Cell(7, 10, 10).printed == 0.0468
    for kind in KINDS:
        cells = [cell for group in groups_of(sweep) if group.kind == kind for cell in group.cells]
        assert sorted(cells) == sorted(sweep.cells)


@pytest.fixture
def made_up(monkeypatch):
    """Groups that take no time: every error a tenth more than printed, ours a millionth; the names of those that were run."""
    ran = []

    class Quick:
        def __init__(self, sweep):
            self.stop_after = None

        def run(self, group):
            if len(ran) == made.stop_after:
                raise KeyboardInterrupt
            ran.append(group.name)
            share = 1e-6 if group.kind == "edgewise" else 1.1
            return {
                "kind": group.kind,
                "cells": [list(cell) for cell in group.cells],
                "errors": [share * cell.printed for cell in group.cells],
                "losses": [0.0] * len(group.cells),
                "lost": [False] * len(group.cells),
                "seconds": 0.1,
                "device": "cpu",
            }

    class made:
        names = ran
        stop_after = -1

    monkeypatch.setattr("edgewise.cli.reproduce.sweep.Runner", Quick)
    return made


def test_an_interrupted_sweep_goes_on(made_up, tmp_path, capsys):
    out = tmp_path / "sweep"
    command = ["reproduce", "sweep", "--full", "--out", str(out)]
    made_up.stop_after = 5
    assert main(command) == 130 and not (out / "results.md").exists()
    made_up.stop_after = -1
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(made_up.names) == len(set(made_up.names)) == 48
    assert report["within_a_factor_2"] == report["edgewise_better"] == len(report["cells"]) == 64
    assert json.loads((out / "results.json").read_text()) == report
    text = (out / "results.md").read_text()
    assert (
        "2.56% / 2.82% / 3e-08" in text
        and "64 of 64 cells are within a factor of 2" in text
        and "--full" not in text.split("##")[1]
    )
    # What is there stays, until one says otherwise.
    assert main(command) == 1 and "--overwrite" in capsys.readouterr().err
    made_up.stop_after = 60
    assert main([*command, "--overwrite"]) == 130 and not (out / "results.md").exists()
    made_up.stop_after = -1
    assert main(command) == 0 and len(made_up.names) == 96


def test_a_folder_with_another_sweep_is_refused(made_up, tmp_path, capsys):
    out = tmp_path / "sweep"
    made_up.stop_after = 2
    assert main(["reproduce", "sweep", "--out", str(out)]) == 130
    assert main(["reproduce", "sweep", "--seed", "1", "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert "seed 0, here 1" in said and "--out" in said
    path = out / "groups" / f"{made_up.names[0]}.json"
    path.write_text(path.read_text()[:-20])
    assert main(["reproduce", "sweep", "--out", str(out)]) == 1
    assert "is damaged. Delete it" in capsys.readouterr().err


def test_the_picture_has_every_number():
    pytest.importorskip("matplotlib")
    cells = [
        cell._asdict() | {"printed": cell.printed, "gaussian": 0.03, "position": 1.0, "edgewise": 2e-9}
        for cell in SMALL.cells
    ]
    cells[0]["position"] = None
    figure = sweep_figure(cells)
    figure.canvas.draw()
    shown = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert shown.count("3.00 %") == shown.count("2e-9") == 4 and shown.count("100 %") == 3 and shown.count("-") == 1
    assert "49.5 %" in shown
