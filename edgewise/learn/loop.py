"""The loop of a training run: steps, looks at the validation members, what is written down, and why it ends."""

import datetime
import logging
import math
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from edgewise.base.progress import Progress
from edgewise.base.words import counted
from edgewise.learn.folder import Folder
from edgewise.learn.operator import FitResult, Operator, in_precision
from edgewise.learn.optimisers import State
from edgewise.learn.training import AnyTraining

logger = logging.getLogger("edgewise")

# An improvement of the misfit smaller than this share does not count.
SHARE = 0.1
# A step that gains less than this has arrived.
NOTHING = 1e-3
# How often a diverging run is stepped back and tried with half the step before it is given up.
RETRIES = 5
# A loss that grew so much since its least has diverged, though it is finite.
EXPLOSION = 1e6
# Why a run ended that might have gone on.
ALL_STEPS = "these are all steps of the recipe"
# Seconds between two states written to the run's folder.
SAVE_EVERY = 10.0


class Run:
    """Runs from the start, or from the state in a folder, to an operator."""

    def __init__(
        self,
        training: AnyTraining,
        seed: int,
        folder: Folder | None,
        callback: Any,
        origin: Any,
        reading: Any,
    ):
        self.training, self.seed, self.folder, self.callback, self.origin = training, seed, folder, callback, origin
        self.reading = reading
        self.recipe = training.recipe
        self.state: State = training.start()
        self.step, self.retries, self.seconds = 0, 0, 0.0
        self.history: list[dict[str, Any]] = []
        self.best: jax.Array = self.state["weights"]
        self.best_error, self.looks = math.inf, 0
        self._mark()

    def go(self, progress: bool | None, words: str) -> Operator:
        if self.folder is not None:
            self._restore()
        if words:
            logger.info(words)
        ends_early = self.recipe.validation.patience > 0 or self.recipe.optimiser.name == "conjugate-gradients"
        shown = Progress(self.recipe.optimiser.steps, self.step, progress, words, ends_early=ends_early)
        started, saved = time.perf_counter() - self.seconds, time.perf_counter()
        result = self._ended()
        try:
            while result is None:
                self._advance()
                self.seconds = time.perf_counter() - started
                record = self._look()
                shown.update(record)
                if self.folder is not None:
                    self.folder.log(record, shown.line(record))
                self._mark()
                result = self._ended()
                if self.callback is not None and self.callback(dict(record)) is True:
                    result = self._verdict("the callback ended it")
                if self.folder is not None and (result or time.perf_counter() - saved > SAVE_EVERY):
                    self._save()
                    saved = time.perf_counter()
        except (KeyboardInterrupt, SystemExit, Exception):
            # Also of a callback that failed: its run can be continued.
            if self.folder is not None:
                self._save()
            raise
        finally:
            shown.close()
        operator = self.operator(result)
        if not result.ok:
            logger.warning("fit: %s", result)
        if self.folder is not None:
            self.folder.finish(operator)
        return operator

    def _advance(self) -> None:
        """Makes a few steps, and takes them back if they diverged."""
        before = self.state
        count = min(self.recipe.optimiser.check_every, self.recipe.optimiser.steps - self.step)
        state = self.training.advance(before, self.step, count)
        loss = float(state["loss"])
        lost = bool(state.get("lost", False)) or not loss <= EXPLOSION * float(state.get("least", loss))
        if not lost:
            self.state, self.step = state, self.step + count
            return
        if "shrink" in state:
            # Adam goes on from the last good look with half the step; other members are drawn than those that lost it.
            self.state = {**before, "shrink": before["shrink"] / 2}
            self.step += count
        self.retries += 1

    def _look(self) -> dict[str, Any]:
        """A record of where the run stands; remembers the best weights."""
        misfit = self.training.misfit(self.state["weights"])
        record = {"step": self.step, "seconds": round(self.seconds, 3), "loss": float(self.state["loss"]), **misfit}
        for name in ("damping", "shrink"):
            if name in self.state:
                record[name] = float(self.state[name])
        error = misfit["misfit"]
        self.looks += 1
        if error < self.best_error:
            self.looks = 0 if error < (1 - SHARE) * self.best_error else self.looks
            self.best, self.best_error = self.state["weights"], error
        self.history.append(record)
        return record

    def _ended(self) -> FitResult | None:
        validation = self.recipe.validation
        if self.retries > RETRIES:
            words = (
                f"diverged at step {self.step}, also with steps {2**RETRIES} times smaller; the weights are the best "
                "before that, "
                f'with a relative misfit of {self.best_error:.1e}. Lower `optimiser.rate`, or use `recipe="default"`'
            )
            return FitResult("diverged", words)
        if self.step and self.best_error <= validation.floor:
            return self._verdict(f"that is below {validation.floor:.0e}")
        if validation.patience and self.looks >= validation.patience:
            return self._verdict("that no longer falls")
        if self._stands_still():
            return self._verdict("neither that nor the loss falls any more")
        if self.step >= self.recipe.optimiser.steps:
            return self._verdict(ALL_STEPS)
        return None

    def _stands_still(self) -> bool:
        """Whether it has arrived: for two looks neither the loss nor the misfit fell by a tenth. Gauss-Newton also
        where a step that was taken, not refused, changed nothing: steps that gain nothing are the dearest, they try
        every damping.
        """
        is_conjugate = self.recipe.optimiser.name == "conjugate-gradients"
        # Poles may rest for a while before they find their places.
        by_newton = "damping" in self.state and self.recipe.network.kind != "revolved"
        if len(self.history) < 2 or not (by_newton or is_conjugate):
            return False
        *_, before, last = self.history
        is_taken = by_newton and last["loss"] < before["loss"]
        if is_taken and all(last[key] > (1 - NOTHING) * before[key] for key in ("loss", "misfit")):
            return True
        if len(self.history) < 3:
            return False
        before, *after = self.history[-3:]
        return all(record[key] > (1 - SHARE) * before[key] for record in after for key in ("loss", "misfit"))

    def _verdict(self, why: str) -> FitResult:
        tol = self.recipe.validation.tol
        seen = (
            f"the boundary equation holds to {self.best_error:.1e} (relative) on members it was not trained on, "
            f"expected {tol:.0e} or less; ended after {counted(self.step, 'step')}: {why}"
        )
        if self.best_error <= tol:
            return FitResult("converged", f"converged: {seen}")
        if self.recipe.optimiser.name == "stochastic":
            more = "`optimiser.steps` or `network.neurons`"
        elif why == ALL_STEPS:
            more = "`optimiser.steps`"
        elif self.recipe.optimiser.name == "conjugate-gradients":
            more = "`network.p` and `collocation.members`, or `collocation.nodes` and `network.harmonics`"
        else:
            more = "`collocation.nodes`, `network.harmonics` or `collocation.members`"
        return FitResult("unconverged", f"not converged: {seen}. Use more {more}, or a smaller box")

    def operator(self, result: FitResult) -> Operator:
        best = min(self.history, key=lambda record: record["misfit"], default={})
        stats = {
            "steps": self.step,
            "seconds": round(self.seconds, 3),
            "weights": int(self.best.shape[0]),
            "misfit": best.get("misfit", math.nan),
            "misfit_max": best.get("misfit_max", math.nan),
            "device": jax.devices()[0].device_kind,
            "jax": jax.__version__,
            "date": datetime.date.today().isoformat(),
        }
        # Read in double precision where there is one, in whatever it was trained.
        network = in_precision(self.training.network(self.best), self.reading)
        return Operator(
            self.training.problem, network, self.recipe, self.history, result, stats, self.origin or {}, self.seed
        )

    def _mark(self) -> None:
        """Remembers where to go on from: never between a step and its record, wherever an interruption comes."""
        self.mark = (self.state, self.best, (self.best_error, self.seconds), (self.step, self.looks, self.retries))

    def _save(self) -> None:
        assert self.folder is not None
        state, best, numbers, counts = self.mark
        arrays = {f"state.{name}": np.asarray(value) for name, value in state.items()}
        arrays["best"] = np.asarray(best)
        arrays["numbers"] = np.asarray(numbers, np.float64)
        arrays["counts"] = np.asarray(counts, np.int64)
        self.folder.save_state(arrays, self.training.network(best))

    def _restore(self) -> None:
        assert self.folder is not None
        expected = {f"state.{name}": np.asarray(value) for name, value in self.state.items()}
        expected |= {"best": np.asarray(self.best), "numbers": np.zeros(2), "counts": np.zeros(3, np.int64)}
        arrays = self.folder.read_state({name: (a.dtype, a.shape) for name, a in expected.items()})
        if arrays is None:
            return
        self.state = {name: jnp.asarray(arrays[f"state.{name}"]) for name in self.state}
        self.best = jnp.asarray(arrays["best"])
        self.best_error, self.seconds = (float(v) for v in arrays["numbers"])
        self.step, self.looks, self.retries = (int(v) for v in arrays["counts"])
        self.history = self.folder.read_history(self.step)
        self._mark()
