"""`fit`: the neural verb. One network for every member, trained on the boundary alone, without labels."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from edgewise.base.files import is_path
from edgewise.base.named import is_whole
from edgewise.base.precision import working_dtype
from edgewise.base.words import is_text
from edgewise.learn import choices, recipes
from edgewise.learn.curve_training import check_members
from edgewise.learn.folder import Folder
from edgewise.learn.loading import continuation, load
from edgewise.learn.loop import Run
from edgewise.learn.operator import Operator
from edgewise.learn.recipe_checks import check_problem, check_reads_no_data, check_recipe
from edgewise.learn.recipes import Recipe
from edgewise.learn.training import training_for
from edgewise.problem import Problem
from edgewise.solving.validation import check_curves, check_numbers
from edgewise.solving.validation_space import check_surfaces


def fit(
    problem: Problem,
    recipe: str | Recipe = "default",
    *,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    dtype: str | None = None,
    origin: dict[str, str] | None = None,
) -> Operator:
    """Trains the operator of a problem.

    The equation on the boundary of many members is asked to hold; nothing is solved for labels. Ends when the error on
    members that it was not trained on no longer falls, or when the recipe's steps are done, and returns the weights
    that were best there.

    Arguments:
        recipe: A name ("default", "best", "paper", "paper-random") or a `Recipe`.
        seed: Decides everything random.
        out: A folder to keep the run in, written while it trains; it must be new, unless `resume` is given.
        resume: Continues the run in `out` where it was interrupted: same bits, on the same device, as without
            interruption.
        progress: True shows a progress bar, plain lines where there is no terminal; False says nothing. By default the
            bar where
            there is a terminal, elsewhere a line every half minute; and on standard error, before the first step, what
            is trained.
        callback: Called with every record of the history; returning True ends training.
        dtype: "float32" to train in single precision, whatever the recipe says.
        origin: Where the problem comes from, to be kept with the run; a preset is recognised.

    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> operator = ew.fit(ew.preset("laplace-star"))
    >>> bool(operator.result.ok), bool(operator.stats["misfit"] < 1e-6)
    (True, True)
    """
    _check_options(progress, callback)
    return prepare(problem, recipe, seed=seed, out=out, resume=resume, callback=callback, dtype=dtype, origin=origin)(
        progress, True
    )


def prepare(
    problem: Problem,
    recipe: str | Recipe,
    *,
    seed: int,
    out: str | Path | None = None,
    resume: bool = False,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    dtype: str | None = None,
    origin: dict[str, str] | None = None,
) -> Callable[..., Operator]:
    """Checks the arguments of `fit` and opens its folder; returns a function of `progress` and of whether to say what
    is trained."""
    check_problem(problem)
    _check_run(seed, out, resume, origin)
    reading = working_dtype(dtype)
    folder = Folder(Path(out)) if out is not None else None
    if folder is not None:
        # What follows may take seconds.
        folder.check(int(seed), resume)
    with _known_numbers():
        recipe = choices.recipe(recipe, problem) if isinstance(recipe, str) else recipe
    if dtype is not None:
        recipe = recipes.with_dtype(recipe, dtype)
    recipe = check_recipe(recipe, problem)
    _check_members(problem, recipe, int(seed))
    is_finished = folder is not None and folder.open(problem, recipe, int(seed), resume, origin)

    def train(progress: bool | None, announced: bool = False) -> Operator:
        try:
            if folder is not None and is_finished:
                operator = load(folder.path, problem, dtype=dtype)
                # Only now: what could not be read, a person may still want to mend.
                folder.tidy()
                return operator
            run = Run(training_for(problem, recipe, int(seed)), int(seed), folder, callback, origin, reading)
            return run.go(progress, f"fit: {recipe}" if announced else "")
        except KeyboardInterrupt as stopped:
            stopped.add_note(
                'fit: nothing was kept. With `out="runs/mine"` a run can be continued.'
                if folder is None
                else f"fit: the run in `{folder.path}` is kept; {continuation(folder.path)} continues it."
            )
            raise
        finally:
            if folder is not None:
                folder.close()

    return train


def _check_run(seed: Any, out: Any, resume: Any, origin: Any) -> None:
    if not is_whole(seed) or seed >= 2**32:
        raise ValueError(f"`seed` must be a whole number from 0 to 2³² - 1, got {seed!r}. Write `seed=0`.")
    if out is not None and not is_path(out):
        raise TypeError(f'`out` must be the path of a folder, got {out!r}. Write `out="runs/mine"`.')
    if not isinstance(resume, bool):
        raise TypeError(f"`resume` must be True or False, got {resume!r}. Write `resume=True`.")
    if resume and out is None:
        raise ValueError('`resume=True` continues a run in a folder, and none was given. Write `out="runs/mine"`.')
    if origin is not None and not is_text(origin):
        raise TypeError(
            f'`origin` must be a dict of text, got {origin!r}. Write `origin={{"file": "my_problem.py:problem"}}`, '
            "or leave it out."
        )


def _check_options(progress: Any, callback: Any) -> None:
    if progress is not None and not isinstance(progress, bool):
        raise TypeError(f"`progress` must be True, False or None, got {progress!r}. Write `progress=True`.")
    if callback is not None and not callable(callback):
        raise TypeError(f"`callback` must be a function of a record, got {callback!r}. Write `callback=print`.")


def _check_members(problem: Problem, recipe: Recipe, seed: int) -> None:
    """Refuses boxes with members that no rule could serve, by sixteen random members, and by the data of the run's
    own."""
    from_box = problem.parameters.sample(jax.random.key(0), 16)
    with _known_numbers():
        try:
            check_numbers(problem, problem.parameters.extremes(jax.random.key(0), 2))
        except ValueError as error:
            raise ValueError(f"{error} The `Box` reaches there: narrow it.") from None
        check_curves(problem, from_box, 16)
        check_surfaces(problem, from_box, 4)
        check_members(problem, recipe, seed)
        dtype = np.dtype(recipe.dtype)
        check_reads_no_data(problem, {name: value[0].astype(dtype) for name, value in from_box.items()}, dtype)


@contextlib.contextmanager
def _known_numbers():
    """Says in words what a number that is traced would raise."""
    try:
        yield
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`fit` needs known numbers and cannot be traced; a number in this problem is traced by `jit`, `vmap` or "
            "`grad`. Call `fit` outside `jit` and `grad`; the operator can be traced."
        ) from None
