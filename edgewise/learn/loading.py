"""Operators from folders: one's own runs, and those that ship with the package."""

import logging
from importlib import resources
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from edgewise.base.files import is_path
from edgewise.base.precision import double_precision, working_dtype
from edgewise.base.words import guess, nearest
from edgewise.learn.building import build_network, shape_of
from edgewise.learn.operator import FitResult, Operator, in_precision
from edgewise.learn.recipe_checks import check_recipe
from edgewise.learn.recipes import from_dict
from edgewise.learn.runs import CONFIG, WEIGHTS, by_path, compare, read_config, read_history
from edgewise.learn.storage import load_arrays
from edgewise.presets import PRESETS, preset
from edgewise.problem import Problem

logger = logging.getLogger("edgewise")


def load(path: str | Path, problem: Problem | None = None, *, dtype: str | None = None) -> Operator:
    """The operator of a run.

    Arguments:
        path: The run's folder.
        problem: The problem it was trained for; left out for a preset, which is rebuilt by name. It is refused if a few
            of its
            members differ, in boundary, data or equation, from what the run has written down about them.
        dtype: "float32" to work in single precision.

    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> ew.pretrained("laplace-star").problem.parameters.names
    ('t',)
    """
    operator = read(path, problem, dtype=dtype)
    if is_untrained(operator):
        logger.warning("load: %s", operator.result)
    return operator


def is_untrained(operator: Operator) -> bool:
    """Whether its run was interrupted before it had finished a step."""
    return operator.result.code == "interrupted" and not operator.history


def continuation(path: Path) -> str:
    """How a run is continued in Python; commands say it in the shell's words."""
    return f"`fit(..., out={str(path)!r}, resume=True)`"


def read(path: str | Path, problem: Problem | None = None, *, dtype: str | None = None) -> Operator:
    """As `load`, without a word about operators that are not trained yet."""
    if not is_path(path):
        raise TypeError(f'`path` must be the path of a run\'s folder, got {path!r}. Write `load("runs/mine")`.')
    path = Path(path)
    real = working_dtype(dtype)
    config = read_config(path)
    if problem is not None and not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be a `Problem`, got {problem!r}. Write `load(path, problem)`.")
    if problem is None:
        name = config["problem"].get("preset")
        if name is None:
            where = config["problem"].get("file")
            raise ValueError(
                f"The run in `{path}` was trained for a problem of yours{f' ({where})' if where else ''}; no code is "
                "stored with a run. Hand the problem over: `load(path, problem)`."
            )
        problem = preset(name)
    recipe = check_recipe(from_dict(config["recipe"], path / CONFIG), problem)
    compare(problem, config, path)
    # Shapes alone, without memory: a forged recipe must not be able to ask for any. In the precision of the file,
    # whatever that of the session.
    with double_precision():
        shape = shape_of(problem, np.dtype(recipe.dtype))
        sizes = jax.ShapeDtypeStruct((shape.channels + shape.scalars,), np.dtype(recipe.dtype))
        skeleton = eqx.filter_eval_shape(
            lambda sizes: build_network(problem, recipe, shape, sizes, jax.random.key(0)), sizes
        )
    names, filled = by_path(skeleton)
    expected = {name: (np.dtype(leaf.dtype), tuple(leaf.shape)) for name, leaf in names.items()}
    if config["status"] == "training" and not (path / WEIGHTS).exists():
        raise FileNotFoundError(
            f"The run in `{path}` was interrupted before a step was finished: it has no {WEIGHTS} yet. Continue it "
            f"with {continuation(path)}."
        )
    arrays, _ = load_arrays(path / WEIGHTS, expected)
    wrong = [name for name, array in arrays.items() if not np.all(np.isfinite(array))]
    if wrong:
        raise ValueError(f"`{path / WEIGHTS}` has weights that are not finite, in {wrong[0]}. Train again.")
    leaves = [jnp.asarray(arrays[name]) for name in names]
    network = in_precision(filled(leaves), real)
    history, result = read_history(path), config.get("result")
    if result is not None:
        ended = FitResult(**result)
    elif history:
        ended = FitResult(
            "interrupted", f"interrupted after step {history[-1]['step']}; {continuation(path)} continues it"
        )
    else:
        ended = FitResult(
            "interrupted",
            f"interrupted before a step was finished: its weights are random numbers; {continuation(path)} trains it",
        )
    return Operator(
        problem, network, recipe, history, ended, config.get("stats", {}), config["problem"], config["seed"]
    )


def pretrained(name: str, *, dtype: str | None = None) -> Operator:
    """The operator of a preset, trained already: no training, no network access.

    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> operator = ew.pretrained("laplace-star")
    >>> bool(abs(operator(t=1.15)([0.3, 0.2]) - 0.26817) < 1e-5)
    True
    """
    if name not in shipped():
        names = shipped()
        listed = ", ".join(f'"{known}"' for known in names)
        raise ValueError(
            f"No operator called {name!r} ships.{guess(str(name), names)} There are {listed}. "
            f'Write `pretrained("{nearest(str(name), names) or names[0]}")`.'
        )
    return load(folder(name), dtype=dtype)


def shipped() -> tuple[str, ...]:
    """The presets that have an operator."""
    return tuple(name for name in PRESETS if (folder(name) / "config.json").is_file())


def folder(name: str) -> Path:
    return Path(str(resources.files("edgewise"))) / "operators" / name
