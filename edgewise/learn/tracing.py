"""The path of a training run: loss and error over steps and seconds, compilation and measuring left out."""

import time
from collections.abc import Callable
from typing import Any

import jax

from edgewise.base.precision import working_dtype
from edgewise.learn.networks import AbstractNetwork
from edgewise.learn.operator import FitResult, Operator, in_precision
from edgewise.learn.recipes import Recipe
from edgewise.learn.training import AnyTraining, training_for
from edgewise.problem import Problem

Measure = Callable[[Operator], float]


def trace(
    problem: Problem,
    recipe: Recipe,
    measure: Measure,
    *,
    seed: int = 0,
    look_every: int | None = None,
    watch: Callable[[dict[str, Any]], Any] | None = None,
) -> tuple[Operator, list[dict[str, Any]]]:
    """The operator after the recipe's last step, and a record for every look: step, seconds, loss, misfit, error.

    Unlike `fit` it goes through all steps and keeps the last weights: it shows what training does, good or bad.

    Arguments:
        measure: The error of an operator; the time it takes does not count.
        look_every: Steps between two looks; the recipe's own if left out.
        watch: Called with every record.
    """
    training = training_for(problem, recipe, seed)
    state = training.start()
    total = recipe.optimiser.steps
    count = min(look_every or recipe.optimiser.check_every, total)
    # What is compiled here is not compiled while the clock runs.
    jax.block_until_ready(training.advance(state, 0, count))
    step, seconds, records = 0, 0.0, []
    operator = _operator(training, training.network(state["weights"]), seed, {})
    while step < total:
        count = min(count, total - step)
        start = time.perf_counter()
        state = jax.block_until_ready(training.advance(state, step, count))
        seconds += time.perf_counter() - start
        step += count
        stats = {"steps": step, "seconds": round(seconds, 3), "device": jax.devices()[0].device_kind}
        operator = _operator(training, training.network(state["weights"]), seed, stats)
        record = {
            "step": step,
            "seconds": round(seconds, 4),
            "loss": float(state["loss"]),
            "misfit": training.misfit(state["weights"])["misfit"],
            "error": float(measure(operator)),
        }
        records.append(record)
        if watch is not None:
            watch(record)
    return operator, records


def _operator(training: AnyTraining, network: AbstractNetwork, seed: int, stats: dict[str, Any]) -> Operator:
    network = in_precision(network, working_dtype(None))
    result = FitResult("unconverged", "traced, not judged")
    return Operator(training.problem, network, training.recipe, [], result, stats, {}, seed)


def time_to(records: list[dict[str, Any]], error: float) -> float | None:
    """The seconds after which the error was first this small; None where it never was."""
    return next((record["seconds"] for record in records if record["error"] <= error), None)
