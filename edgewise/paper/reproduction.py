"""The paper's plane experiments, its recipe and ours side by side: what `edgewise reproduce` runs."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.base.named import bind
from edgewise.evaluation import measure
from edgewise.geometry.grids import grid_in
from edgewise.learn.choices import recipe
from edgewise.learn.networks import AbstractNetwork, unknowns
from edgewise.learn.operator import Operator
from edgewise.learn.recipes import Recipe
from edgewise.learn.tracing import time_to, trace
from edgewise.presets import preset
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Uniform

# The members that the paper shows.
MEMBERS = (1.15, 1.35, 1.45)
# The error to which the two recipes are raced.
RACE = 0.04


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments."""

    preset: str
    printed: tuple[float, ...]
    """The relative l2 errors that the paper prints for its members."""
    quick_steps: int
    """The steps taken of the paper's 200,000: as many as two cores do in some minutes."""
    step_flops: float
    """The operations of one step of the paper's recipe: network at 30,000 nodes forwards and backwards, and kernels."""


EXPERIMENTS = {
    "laplace": Experiment("laplace-star", (0.0285, 0.0287, 0.0300), 2500, 7.5e9),
    "biharmonic": Experiment("biharmonic-star", (0.0108, 0.0090, 0.0077), 600, 2.6e10),
}


def recipes_for(experiment: Experiment, full: bool) -> tuple[Recipe, Recipe]:
    """The paper's recipe, all of its steps or the first, and ours."""
    problem = preset(experiment.preset)
    theirs, ours = recipe("paper", problem), recipe("best" if full else "default", problem)
    if not full:
        steps = dataclasses.replace(theirs.optimiser, steps=experiment.quick_steps, check_every=100)
        theirs = dataclasses.replace(theirs, optimiser=steps)
    # As many steps as it takes to settle: `fit` finds this out by itself, a race goes on to the end.
    return theirs, dataclasses.replace(ours, optimiser=dataclasses.replace(ours.optimiser, steps=6))


def minutes(experiment: Experiment, full: bool) -> float:
    """The expected seconds here: the arithmetic of the paper's recipe over the speed of such a device, measured
    once."""
    steps = recipes_for(experiment, full)[0].optimiser.steps
    device = jax.devices()[0]
    rate = 1.5e13 if device.platform == "gpu" else 4e10 * (os.cpu_count() or 1)
    return (steps * experiment.step_flops / rate + 90) / 60


def run_experiment(experiment: Experiment, full: bool, seed: int, say: Callable[[str], Any]) -> dict[str, Any]:
    """Trains both recipes in one process and measures them; operators under "operators", the rest is for JSON."""
    problem = preset(experiment.preset)
    theirs, ours = recipes_for(experiment, full)
    points = points_of(problem)
    report: dict[str, Any] = {
        "preset": experiment.preset,
        "members": list(MEMBERS),
        "printed": list(experiment.printed),
    }
    operators = {}
    for name, chosen, error in (
        ("paper", theirs, lambda operator: max(errors_by_its_rule(operator, points))),
        ("edgewise", ours, lambda operator: max(errors(operator, points))),
    ):

        def watch(record, name=name, total=chosen.optimiser.steps):
            left = record["seconds"] / record["step"] * (total - record["step"])
            say(
                f"{name}: step {record['step']}/{total}, loss {record['loss']:.1e}, error {record['error']:.1e}, "
                f"{record['seconds']:.1f} s, {left:.0f} s left"
            )

        operator, path = trace(problem, chosen, error, seed=seed, watch=watch)
        operators[name] = operator
        found = measure(operator(t=jnp.array(MEMBERS)))
        report[name] = {
            "recipe": chosen.name,
            "steps": chosen.optimiser.steps,
            "seconds": path[-1]["seconds"],
            "relative_l2": found.relative_l2.tolist(),
            "max_error": found.max_error.tolist(),
            "seconds_to_4_percent": time_to(path, RACE),
            "path": path,
        }
    report["paper"]["relative_l2_by_its_rule"] = errors_by_its_rule(operators["paper"], points)
    report["race"] = _race(report["paper"], report["edgewise"])
    return {**report, "operators": operators}


def _race(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, float | None]:
    """How much sooner ours is at 4 %, and how much smaller its error is after equal time: that of the shorter run."""
    times = theirs["seconds_to_4_percent"], ours["seconds_to_4_percent"]
    seconds = min(theirs["seconds"], ours["seconds"])
    at = [
        min((r["error"] for r in side["path"] if r["seconds"] <= seconds), default=side["path"][0]["error"])
        for side in (theirs, ours)
    ]
    return {
        "sooner_at_4_percent": None if None in times else times[0] / times[1],
        "equal_seconds": seconds,
        "smaller_after_equal_time": at[0] / at[1],
        # The paper's recipe to its end, ours long since done.
        "smaller_at_the_end": theirs["path"][-1]["error"] / ours["path"][-1]["error"],
    }


def errors(operator: Operator, points: np.ndarray) -> list[float]:
    """Relative l2 errors at the paper's members, of the field as it is."""
    values = np.asarray(operator(t=jnp.array(MEMBERS))(points))
    return relative(operator.problem, values, points)


def errors_by_its_rule(operator: Operator, points: np.ndarray) -> list[float]:
    """The same, of the field that the paper's own rule makes of the density: what the paper measures."""
    inside = np.asarray(operator(t=jnp.array(MEMBERS))(points))
    rule = Uniform(operator.recipe.collocation.nodes)
    fields = [
        field_by_rule(operator.network, operator.problem, rule, {"t": jnp.asarray(t)}, jnp.asarray(points))
        for t in MEMBERS
    ]
    return relative(operator.problem, np.where(np.isfinite(inside), np.asarray(fields), np.nan), points)


def relative(problem: Problem, values: np.ndarray, points: np.ndarray) -> list[float]:
    """Relative l2 errors of fields, one a row, where they are known."""
    truth = np.asarray(problem.exact_at(jnp.asarray(points), {}))
    seen = np.isfinite(values)
    return [
        float(np.linalg.norm((value - truth)[right]) / np.linalg.norm(truth[right]))
        for value, right in zip(values, seen, strict=True)
    ]


@eqx.filter_jit
def field_by_rule(
    network: AbstractNetwork,
    problem: Problem,
    rule: AbstractQuadrature,
    parameters: dict[str, Array],
    points: Float[Array, "m 2"],
) -> Inexact[Array, " m"]:
    """A plain sum over the rule's nodes of unknowns times kernels: point sources on the boundary."""
    nodes = rule.place(problem.family, parameters, points.dtype)
    unknown = unknowns(network, nodes, parameters)[: problem.condition.channels * nodes.s.shape[0]]
    strengths = unknown.reshape(problem.condition.channels, -1) * (nodes.weight / nodes.jacobian)
    kernel = bind(problem.representation.kernel, parameters)

    def at(point):
        # The kernel looks at a target's position alone for these two layers.
        target = eqx.tree_at(lambda n: n.x, jax.tree_util.tree_map(lambda leaf: leaf[0], nodes), point)
        single = jax.vmap(lambda node: kernel(target, node, "single"))(nodes)
        total = single @ strengths[0]
        if problem.condition.channels == 2:
            total += jax.vmap(lambda node: kernel(target, node, "double"))(nodes) @ (strengths[1] * nodes.jacobian)
        return total

    return jax.lax.map(at, points, batch_size=64)


def points_of(problem: Problem) -> np.ndarray:
    """A grid over the members' curves; which points lie inside is for the fields to say."""
    s = jnp.linspace(0, 2 * jnp.pi, 200)
    curves = np.concatenate([jax.vmap(lambda s, t=t: problem.family.point(s, t=t))(s) for t in MEMBERS])
    return grid_in(np.stack([curves.min(axis=0), curves.max(axis=0)]), 48)
