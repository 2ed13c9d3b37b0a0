"""The paper's sweep over network sizes: its recipe with and without Fourier features, and ours, cell by cell."""

import dataclasses
import math
import os
import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from edgewise.learn.choices import members_for, recipe
from edgewise.learn.operator import FitResult, Operator
from edgewise.learn.recipes import Recipe
from edgewise.learn.side_by_side import SideBySide
from edgewise.paper.reproduction import field_by_rule, points_of, relative
from edgewise.presets import preset
from edgewise.problem import Problem
from edgewise.quadrature import Uniform
from edgewise.solver import solve

# The member whose error the paper prints.
MEMBER = 1.15
# Relative l2 errors in per cent that the paper prints for its Fourier decoder: by p, layers down, neurons to the right.
PRINTED = {
    10: ((49.48, 31.88, 43.84, 40.31), (13.42, 3.44, 2.56, 3.19), (9.93, 2.80, 4.49, 3.30), (4.68, 3.19, 2.70, 2.11)),
    50: ((5.96, 3.77, 2.16, 2.07), (3.07, 2.22, 1.58, 2.11), (3.01, 1.78, 2.40, 2.85), (4.58, 3.43, 2.34, 2.51)),
    100: ((3.73, 2.50, 1.73, 4.78), (3.18, 1.85, 3.61, 2.88), (1.49, 3.00, 2.81, 3.25), (2.28, 2.83, 3.80, 2.70)),
    150: ((2.49, 2.62, 1.84, 2.58), (2.19, 1.64, 2.32, 1.63), (1.93, 2.67, 3.47, 2.87), (2.47, 3.32, 3.16, 3.36)),
}
LAYERS, NEURONS, CODES = (1, 3, 5, 7), (10, 50, 100, 150), tuple(PRINTED)

Kind = Literal["gaussian", "position", "edgewise"]
KINDS: dict[Kind, str] = {
    "gaussian": "the paper's recipe",
    "position": "the same without Fourier features",
    "edgewise": "edgewise",
}


class Cell(NamedTuple):
    """The sizes of one network."""

    layers: int
    neurons: int
    p: int

    @property
    def printed(self) -> float:
        percent = PRINTED[self.p][LAYERS.index(self.layers)][NEURONS.index(self.neurons)]
        return round(percent / 100, 4)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Which cells, and how long each is trained."""

    layers: tuple[int, ...] = LAYERS
    neurons: tuple[int, ...] = NEURONS
    p: tuple[int, ...] = CODES
    steps: int = 20_000
    """Of Adam: a tenth of what the paper has, after which its error stands still."""
    settle: float = 0.2
    """The last share of those steps, over which the rate falls to nothing: at the paper's, which hardly changes within
    them, the error of a cell is that of its last few steps by chance."""
    our_steps: int = 6
    """Of Gauss-Newton."""
    seed: int = 0

    @property
    def cells(self) -> list[Cell]:
        return [Cell(layers, neurons, p) for p in self.p for layers in self.layers for neurons in self.neurons]


def sweep_for(full: bool, seed: int) -> Sweep:
    """All of it, or what two cores do in some minutes."""
    return Sweep(seed=seed) if full else Sweep((1, 3), (10, 50), (10, 50), steps=300, our_steps=2, seed=seed)


class Group(NamedTuple):
    """Cells that are trained side by side."""

    kind: Kind
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        layers, neurons, p = self.cells[0]
        return f"{self.kind}-layers{layers}-" + (f"p{p}" if self.kind == "edgewise" else f"neurons{neurons}")

    def __str__(self) -> str:
        layers, neurons, p = self.cells[0]
        if self.kind == "edgewise":
            return f"{KINDS[self.kind]}, layers {layers}, p {p}, neurons {_listed(c.neurons for c in self.cells)}"
        return f"{KINDS[self.kind]}, layers {layers}, neurons {neurons}, p {_listed(c.p for c in self.cells)}"


def _listed(numbers: Any) -> str:
    return ", ".join(map(str, numbers))


def groups_of(sweep: Sweep) -> list[Group]:
    """By what costs least to fill up with zeros.

    The paper's networks cost what their neurons cost, at 30,000 nodes, and are filled up along p. Ours have a
    perceptron for each member alone and p times as many unknowns as harmonics: they are filled up along neurons.
    """
    papers = [
        Group(kind, tuple(Cell(layers, neurons, p) for p in sweep.p))
        for kind in ("gaussian", "position")
        for layers in sweep.layers
        for neurons in sweep.neurons
    ]
    ours = [
        Group("edgewise", tuple(Cell(layers, neurons, p) for neurons in sweep.neurons))
        for p in sweep.p
        for layers in sweep.layers
    ]
    return ours + papers


def recipe_for(problem: Problem, kind: Kind, cell: Cell, sweep: Sweep) -> Recipe:
    """The paper's recipe or our `default` one with the sizes of a cell."""
    if kind == "edgewise":
        chosen = recipe("default", problem)
        collocation = dataclasses.replace(chosen.collocation, members=members_for(cell.p, axes=1, answers=1))
        optimiser = dataclasses.replace(chosen.optimiser, steps=sweep.our_steps)
        network = dataclasses.replace(chosen.network, **cell._asdict())
    else:
        chosen = recipe("paper", problem)
        collocation = chosen.collocation
        # A twentieth at a time, so that Ctrl-C is heard.
        optimiser = dataclasses.replace(
            chosen.optimiser,
            steps=sweep.steps,
            settle=sweep.settle,
            check_every=max(1, sweep.steps // 20),
        )
        network = dataclasses.replace(chosen.network, **cell._asdict(), features=kind)
    return dataclasses.replace(chosen, network=network, collocation=collocation, optimiser=optimiser)


class Runner:
    """Trains and measures groups; what they share is made once."""

    def __init__(self, sweep: Sweep):
        self.sweep, self.problem = sweep, preset("laplace-star")
        points = points_of(self.problem)
        self.inside = points[np.isfinite(np.asarray(solve(self.problem, t=MEMBER)(points)))]

    def run(self, group: Group) -> dict[str, Any]:
        """For every cell errors at the paper's member, a loss, and whether a loss was not finite; and seconds of
        all."""
        start = time.perf_counter()
        recipes = [recipe_for(self.problem, group.kind, cell, self.sweep) for cell in group.cells]
        training = SideBySide(self.problem, recipes, self.sweep.seed)
        optimiser, state, step = recipes[-1].optimiser, training.start(), 0
        while step < optimiser.steps:
            count = min(optimiser.check_every, optimiser.steps - step)
            state = jax.block_until_ready(training.advance(state, step, count))
            step += count
        lost = np.asarray(state.get("lost", np.zeros(len(recipes), bool)))
        networks = training.networks(state, np.float64)
        fields = np.stack([self._field(*pair) for pair in zip(networks, recipes, strict=True)])
        return {
            "kind": group.kind,
            "cells": [list(cell) for cell in group.cells],
            "errors": relative(self.problem, fields, self.inside),
            "losses": np.asarray(state["loss"], float).tolist(),
            "lost": lost.tolist(),
            "seconds": round(time.perf_counter() - start, 3),
            "device": jax.devices()[0].device_kind,
        }

    def _field(self, network: Any, recipe: Recipe) -> np.ndarray:
        """The field: of the paper's density by the paper's rule, as it measures; of ours as it is."""
        t = jnp.asarray(MEMBER)
        if recipe.collocation.rule == "uniform":
            rule = Uniform(recipe.collocation.nodes)
            return np.asarray(field_by_rule(network, self.problem, rule, {"t": t}, jnp.asarray(self.inside)))
        operator = Operator(self.problem, network, recipe, [], FitResult("unconverged", "swept, not judged"), {})
        return np.asarray(operator(t=t)(self.inside))


def seconds_of(group: Group, sweep: Sweep) -> float:
    """About how long a group takes here: compilation, and arithmetic over what such a device does of it."""
    is_gpu = jax.devices()[0].platform == "gpu"
    layers, neurons, p = group.cells[-1]
    if group.kind == "edgewise":
        return 12 + (0 if is_gpu else 0.01 * p * layers * sweep.our_steps)
    features = p if group.kind == "gaussian" else 2
    products = neurons * features + (layers - 1) * neurons**2
    # Forwards and backwards. An activation is read and written some 14 times, which takes as long as so many products.
    work = 30_000 * 6 * (products + 70 * layers * neurons) * len(group.cells)
    rate = 3e13 if is_gpu else 4e10 * (os.cpu_count() or 1)
    # Kernels of 10 members, 3000 nodes and 100 targets, once for all cells.
    shared = 3e6 * 300 / rate
    return 8 + sweep.steps * (work / rate + shared)


def summary(sweep: Sweep, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All cells, with the printed error and ours of every kind, and how many are near the printed ones or better."""
    found: dict[Cell, dict[str, Any]] = {cell: {**cell._asdict(), "printed": cell.printed} for cell in sweep.cells}
    for record in records:
        for cell, error, lost in zip(record["cells"], record["errors"], record["lost"], strict=True):
            # JSON has no NaN.
            found[Cell(*cell)] |= {record["kind"]: math.nan if error is None else error}
            if lost:
                found[Cell(*cell)]["lost"] = True
    cells = list(found.values())
    ratios = [cell["gaussian"] / cell["printed"] for cell in cells]
    return {
        "cells": cells,
        "within_a_factor_2": sum(0.5 <= ratio <= 2 for ratio in ratios),
        "edgewise_better": sum(cell["edgewise"] < cell["printed"] for cell in cells),
        "seconds": {kind: round(sum(r["seconds"] for r in records if r["kind"] == kind), 1) for kind in KINDS},
        "devices": {kind: sorted({r["device"] for r in records if r["kind"] == kind}) for kind in KINDS},
    }
