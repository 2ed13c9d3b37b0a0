"""The paper's third experiment, sound scattered by two half-balls: its recipe, ours and the classical solve."""

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from edgewise.evaluation import SETTLED, far_directions, relative_l2
from edgewise.geometry.grids import grid_in
from edgewise.learn.choices import recipe
from edgewise.learn.fit import fit
from edgewise.learn.loading import pretrained, shipped
from edgewise.learn.operator import Operator
from edgewise.learn.recipes import Recipe
from edgewise.learn.tracing import trace
from edgewise.potentials import SingleLayer
from edgewise.presets import preset
from edgewise.problem import Problem
from edgewise.quadrature import Duffy
from edgewise.solution import Solution
from edgewise.solver import solve

PRESET = "helmholtz-halfballs"
# The members that the paper shows, and the errors of far fields that it prints for them.
MEMBERS = (0.1, 0.15, 0.35, 0.45)
PRINTED = (0.0356, 0.0372, 0.0418, 0.0310)
# The paper's text sends the wave along the axis, the experiment that it cites along the gap.
WAVES = {"axial": (0.0, 0.0, 1.0), "transverse": (1.0, 0.0, 0.0)}
# What everything is measured against. Beside a solver for bodies of revolution its far fields are wrong by 1.6e-6 or
# less for the axial wave, by 5.8e-6 for the transverse one; its total fields on the slice by 1.5e-5.
RULE = Duffy(12)
# The slice y = 0 that total fields are compared on, as the paper draws it, and points along its side.
BOX, POINTS = ((-4.0, -4.0), (4.0, 4.0)), 41
# The steps taken of the paper's 200,000: as many as two cores do in a minute or two, or an accelerator in some.
STEPS = {False: 20, True: 20_000}
# The operations of one step of the paper's recipe, network at 2 x 56,000 nodes forwards and backwards and kernels, in
# the unit of the rates below: 2 s on two cores.
STEP_FLOPS = 1.6e11

Say = Callable[[str], Any]


class Solved(NamedTuple):
    """The reference: for every t both waves, which share a matrix, and the seconds that they took."""

    solutions: list[Solution]
    seconds: list[float]


def papers_problem(problem: Problem) -> Problem:
    """As the paper has it: by a single layer."""
    return dataclasses.replace(problem, representation=SingleLayer(problem.representation.kernel))


def papers_recipe(full: bool) -> Recipe:
    """The paper's, its first steps."""
    theirs = recipe("paper", papers_problem(preset(PRESET)))
    check_every = theirs.optimiser.check_every if full else 5
    steps = dataclasses.replace(theirs.optimiser, steps=STEPS[full], check_every=check_every)
    return dataclasses.replace(theirs, optimiser=steps)


def our_operator(full: bool, seed: int, say: Say) -> Operator:
    """The operator that ships; one trained now if everything is to be done, or none ships."""
    if not full and PRESET in shipped():
        return pretrained(PRESET)

    def watch(record):
        say(f"edgewise: step {record['step']}, misfit {record['misfit']:.1e}, {record['seconds']:.0f} s")

    return fit(preset(PRESET), "best" if full else "default", seed=seed, progress=False, callback=watch)


def minutes(full: bool) -> float:
    """About how long it takes here, training of ours left out."""
    device = jax.devices()[0]
    rate = 1.5e13 if device.platform == "gpu" else 4e10 * (os.cpu_count() or 1)
    return (1.3 * STEPS[full] * STEP_FLOPS / rate + 240) / 60


def run_scattering(operator: Operator, theirs: Recipe, rule: Duffy, *, seed: int, say: Say) -> dict[str, Any]:
    """Trains the paper's recipe, and measures it and the operator.

    Under "operators" and "references" is what pictures are made of; the rest is for JSON.
    """
    problem = operator.problem
    solved = _references(problem, rule, say)
    axial = [pair[0] for pair in solved.solutions]

    def far_errors(trained: Operator) -> list[float]:
        return [_far_error(trained(t=t), truth) for t, truth in zip(MEMBERS, axial, strict=True)]

    def watch(record):
        say(
            f"paper: step {record['step']}/{theirs.optimiser.steps}, loss {record['loss']:.1e}, far field "
            f"{record['error']:.1e}, {record['seconds']:.1f} s"
        )

    trained, path = trace(
        papers_problem(problem), theirs, lambda trained: max(far_errors(trained)), seed=seed, watch=watch
    )
    say("Comparing fields on the slice y = 0.")
    waves = {name: [pair[i] for pair in solved.solutions] for i, name in enumerate(WAVES)}
    return {
        "preset": PRESET,
        "members": list(MEMBERS),
        "printed": list(PRINTED),
        "reference": {
            "num_nodes": int(np.max(np.asarray(axial[0].stats["num_nodes"]))),
            "nodes_along_a_side": rule.num_nodes,
            "seconds": solved.seconds,
        },
        "paper": {
            "recipe": theirs.name,
            "steps": theirs.optimiser.steps,
            "seconds": path[-1]["seconds"],
            "axial": _errors(trained, "axial", axial),
            "path": path,
        },
        "edgewise": {
            "recipe": operator.recipe.name,
            "result": str(operator.result),
            **{name: operator.stats.get(name) for name in ("steps", "seconds", "device")},
            "query_seconds": _query_seconds(operator),
            **{name: _errors(operator, name, truths) for name, truths in waves.items()},
        },
        "operators": {"paper": trained, "edgewise": operator},
        "references": waves,
    }


def _references(problem: Problem, rule: Duffy, say: Say) -> Solved:
    solutions, seconds = [], []
    for t in MEMBERS:
        start = time.perf_counter()
        both = solve(problem, quadrature=rule, tol=SETTLED, t=t, direction=jnp.array(list(WAVES.values())))
        solutions.append(jax.block_until_ready(both))
        seconds.append(round(time.perf_counter() - start, 2))
        say(f"reference: t = {t}, {seconds[-1]:.0f} s")
    return Solved(solutions, seconds)


def _errors(operator: Operator, wave: str, truths: Sequence[Solution]) -> dict[str, list[float]]:
    """Relative l2 errors of an operator: of far fields over all directions, of total fields on the slice."""
    solutions = [operator(t=t, direction=jnp.array(WAVES[wave])) for t in MEMBERS]
    pairs = list(zip(solutions, truths, strict=True))
    return {
        "far_field": [_far_error(*pair) for pair in pairs],
        "total_field": [_total_error(*pair) for pair in pairs],
    }


def _far_error(solution: Solution, truth: Solution) -> float:
    directions, weights = far_directions(truth)
    found, true = (np.asarray(s.far_field(directions)) for s in (solution, truth))
    return float(relative_l2(found, true, weights))


def _total_error(solution: Solution, truth: Solution) -> float:
    points = np.insert(grid_in(np.array(BOX), POINTS), 1, 0.0, axis=1)
    found, true = (np.asarray(s.total(points)) for s in (solution, truth))
    seen = np.isfinite(found) & np.isfinite(true)
    return float(relative_l2(found[seen], true[seen]))


def _query_seconds(operator: Operator) -> float:
    """From parameters to a far field in all directions, once compiled."""
    directions, _ = far_directions(operator(t=MEMBERS[0]))
    jax.block_until_ready(operator(t=MEMBERS[0]).far_field(directions))
    start = time.perf_counter()
    jax.block_until_ready(operator(t=MEMBERS[1]).far_field(directions))
    return round(time.perf_counter() - start, 4)
