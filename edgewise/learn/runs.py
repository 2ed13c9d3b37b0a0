"""Runs in folders: `config.json`, `weights.safetensors`, `metrics.jsonl`, `log.txt`; while training also `state.safetensors`.

No code is stored, and none is run: a preset is rebuilt by its name, any other problem is handed over and compared with what
was written down about a few of its members.
"""

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from edgewise import __version__
from edgewise.files import write_text
from edgewise.learn import fingerprint
from edgewise.learn.building import build_network, check_recipe, shape_of
from edgewise.learn.networks import AbstractNetwork
from edgewise.learn.operator import FitResult, Operator, in_precision
from edgewise.learn.recipes import Recipe, from_dict
from edgewise.learn.storage import load_arrays, save_arrays
from edgewise.precision import working_dtype
from edgewise.presets import preset, preset_name
from edgewise.problem import Problem

FORMAT = 1
CONFIG, WEIGHTS, STATE, METRICS, LOG = (
    "config.json",
    "weights.safetensors",
    "state.safetensors",
    "metrics.jsonl",
    "log.txt",
)
FILES = (CONFIG, WEIGHTS, STATE, METRICS, LOG)
# A configuration is a few kilobytes; one of this size is something else.
MOST_BYTES = 2**22


class Folder:
    """The folder of a run while it trains."""

    def __init__(self, path: Path):
        self.path = path
        self.config: dict[str, Any] = {}

    def open(
        self, problem: Problem, recipe: Recipe, seed: int, resume: bool, origin: dict[str, str] | None
    ) -> Operator | None:
        """Makes the folder ready for a run; returns the operator if the run in it is finished."""
        path = self.path
        if path.exists() and not path.is_dir():
            raise ValueError(f"`{path}` is a file; expected a folder for the run. Name another one.")
        path.mkdir(parents=True, exist_ok=True)
        # What an interrupted write left behind is nobody's work.
        present = [entry.name for entry in path.iterdir() if not entry.name.startswith(tuple(f".{f}-" for f in FILES))]
        if present and not resume:
            raise FileExistsError(
                f"`{path}` has files in it ({', '.join(sorted(present)[:4])}); nothing is overwritten. Name a new folder, or continue "
                "the run there with `resume=True` (`--resume`)."
            )
        if CONFIG in present:
            self.config = read_config(path)
            self._check_same(problem, recipe, seed)
            return load(path, problem) if self.config["status"] == "finished" else None
        if present:
            raise FileExistsError(
                f"`{path}` has files in it ({', '.join(sorted(present)[:4])}) but no {CONFIG}: no run to continue. Name a new folder."
            )
        self.config = {
            "format": FORMAT,
            "edgewise": __version__,
            "status": "training",
            "problem": origin or _origin(problem),
            "recipe": dataclasses.asdict(recipe),
            "seed": seed,
            "box": {name: str(spec) for name, spec in problem.parameters.specs},
            "members": fingerprint.take(problem),
        }
        self._write_config()
        return None

    def log(self, record: dict[str, Any], line: str) -> None:
        for name, text in ((METRICS, json.dumps(record)), (LOG, line)):
            with (self.path / name).open("a") as file:
                file.write(text + "\n")

    def read_history(self, step: int) -> list[dict[str, Any]]:
        """The records up to this step; later ones, from after the state that was saved, are dropped from the file too."""
        records = [record for record in read_history(self.path) if record["step"] <= step]
        write_text(self.path / METRICS, "".join(json.dumps(record) + "\n" for record in records))
        with (self.path / LOG).open("a") as file:
            file.write(f"continued after step {step}\n")
        return records

    def save_state(self, arrays: dict[str, np.ndarray], network: AbstractNetwork) -> None:
        save_arrays(self.path / WEIGHTS, _named(network))
        save_arrays(self.path / STATE, arrays)

    def read_state(self, expected: dict[str, tuple[np.dtype, tuple[int, ...]]]) -> dict[str, np.ndarray] | None:
        """The state to go on from; None where none was saved yet."""
        if not (self.path / STATE).exists():
            for name in (METRICS, LOG):
                (self.path / name).unlink(missing_ok=True)
            return None
        return load_arrays(self.path / STATE, expected)[0]

    def finish(self, operator: Operator) -> None:
        """The last file says that the others are whole; then the state has served."""
        save_arrays(self.path / WEIGHTS, _named(operator.network, operator.recipe.dtype))
        self.config |= _ending(operator)
        self._write_config()
        with (self.path / LOG).open("a") as file:
            file.write(f"{operator.result}\n")
        (self.path / STATE).unlink(missing_ok=True)

    def _write_config(self) -> None:
        write_text(self.path / CONFIG, json.dumps(self.config, indent=1) + "\n")

    def _check_same(self, problem: Problem, recipe: Recipe, seed: int) -> None:
        stored = from_dict(self.config["recipe"], self.path / CONFIG)
        if stored != recipe:
            raise ValueError(
                f"The run in `{self.path}` has another recipe: {_difference(stored, recipe)}. Continue it with the one it has, or name "
                "a new folder."
            )
        if self.config["seed"] != seed:
            raise ValueError(f"The run in `{self.path}` has seed {self.config['seed']}, got {seed}. Pass that seed.")
        fingerprint.compare(problem, self.config["members"], self.path)


def save(operator: Operator, path: str | Path, overwrite: bool = False) -> None:
    """Writes a run into a folder: made beside it, then moved there whole."""
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise ValueError(f"`{path}` is a file; expected a folder for the run. Name another one.")
    if path.exists() and any(path.iterdir()) and not overwrite:
        raise FileExistsError(f"`{path}` has files in it. Name a new folder, or pass `overwrite=True`.")
    if path.exists() and overwrite:
        strange = sorted(entry.name for entry in path.iterdir() if entry.name not in FILES)
        if strange:
            raise FileExistsError(
                f"`{path}` has files in it that are no part of a run ({', '.join(strange[:4])}); they would be lost. Name another folder."
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    try:
        made.chmod(0o755)
        config = {
            "format": FORMAT,
            "edgewise": __version__,
            "status": "finished",
            "problem": operator.origin or _origin(operator.problem),
            "recipe": dataclasses.asdict(operator.recipe),
            "seed": operator.seed,
            "box": {name: str(spec) for name, spec in operator.problem.parameters.specs},
            "members": fingerprint.take(operator.problem),
            **_ending(operator),
        }
        save_arrays(made / WEIGHTS, _named(operator.network, operator.recipe.dtype))
        write_text(made / METRICS, "".join(json.dumps(record) + "\n" for record in operator.history))
        write_text(made / LOG, f"{operator.result}\n")
        write_text(made / CONFIG, json.dumps(config, indent=1) + "\n")
        if path.exists():
            old = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
            path.rename(old / "old")
            made.rename(path)
            shutil.rmtree(old)
        else:
            made.rename(path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def load(path: str | Path, problem: Problem | None = None, *, dtype: str | None = None) -> Operator:
    """The operator of a run.

    Arguments:
        path: The run's folder.
        problem: The problem it was trained for; left out for a preset, which is rebuilt by name. It is refused if a few of its
            members differ, in boundary, data or equation, from what the run has written down about them.
        dtype: "float32" to work in single precision.

    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> ew.pretrained("laplace-star").problem.parameters.names
    ('t',)
    """
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
                f"The run in `{path}` was trained for a problem of yours{f' ({where})' if where else ''}; no code is stored with a "
                "run. Hand the problem over: `load(path, problem)`."
            )
        problem = preset(name)
    recipe = check_recipe(from_dict(config["recipe"], path / CONFIG), problem)
    fingerprint.compare(problem, config["members"], path)
    shape = shape_of(problem, np.dtype(recipe.dtype))
    sizes = jax.ShapeDtypeStruct((shape.channels + shape.scalars,), np.dtype(recipe.dtype))
    # Shapes alone, without memory: a forged recipe must not be able to ask for any.
    skeleton = eqx.filter_eval_shape(
        lambda sizes: build_network(problem, recipe, shape, sizes, jax.random.key(0)), sizes
    )
    names, structure = _paths(skeleton)
    expected = {name: (np.dtype(leaf.dtype), tuple(leaf.shape)) for name, leaf in names.items()}
    arrays, _ = load_arrays(path / WEIGHTS, expected)
    wrong = [name for name, array in arrays.items() if not np.all(np.isfinite(array))]
    if wrong:
        raise ValueError(f"`{path / WEIGHTS}` has weights that are not finite, in {wrong[0]}. Train again.")
    leaves = [jnp.asarray(arrays[name]) for name in names]
    network = in_precision(jax.tree_util.tree_unflatten(structure, leaves), real)
    result, stats = config.get("result"), config.get("stats", {})
    ended = (
        FitResult(**result)
        if result
        else FitResult("interrupted", f"interrupted: `fit(..., out={str(path)!r}, resume=True)`")
    )
    return Operator(problem, network, recipe, read_history(path), ended, stats, config["problem"], config["seed"])


def read_config(path: Path) -> dict[str, Any]:
    """What a run says of itself, checked for being that."""
    file = path / CONFIG
    if not file.is_file():
        there = "has none" if path.is_dir() else "does not exist"
        raise FileNotFoundError(
            f"A run is a folder with {CONFIG}; `{path}` {there}. Check the path, or train one there."
        )
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"`{file}` has {file.stat().st_size:,} bytes; a run's has a few thousand. Train again.")
    try:
        config = json.loads(file.read_text())
    except (ValueError, RecursionError):
        raise ValueError(f"`{file}` is damaged: it is not JSON. Copy it again, or train again.") from None
    kinds = {"format": int, "status": str, "problem": dict, "recipe": dict, "seed": int, "members": dict}
    wrong = [k for k, kind in kinds.items() if not isinstance(config, dict) or not isinstance(config.get(k), kind)]
    if wrong:
        raise ValueError(f"`{file}` is damaged: it has no proper {wrong[0]!r}. Copy it again, or train again.")
    if config["format"] != FORMAT:
        raise ValueError(f"`{file}` has format {config['format']}; this version reads {FORMAT}. Update edgewise.")
    result = config.get("result")
    if result is not None and not (isinstance(result, dict) and set(result) == {"code", "message"}):
        raise ValueError(f"`{file}` is damaged: its 'result' is not one. Copy it again, or train again.")
    return config


def read_history(path: Path) -> list[dict[str, Any]]:
    """The records of a run, but for a last line that was cut off."""
    file = path / METRICS
    records = []
    for line in file.read_text().splitlines() if file.is_file() else []:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(record, dict) or not isinstance(record.get("step"), int):
            break
        records.append(record)
    return records


def _origin(problem: Problem) -> dict[str, str]:
    name = preset_name(problem)
    return {"preset": name} if name else {}


def _ending(operator: Operator) -> dict[str, Any]:
    return {"status": "finished", "result": dataclasses.asdict(operator.result), "stats": operator.stats}


def _paths(network: Any) -> tuple[dict[str, Any], Any]:
    leaves, structure = jax.tree_util.tree_flatten_with_path(network)
    return {jax.tree_util.keystr(path).lstrip("."): leaf for path, leaf in leaves}, structure


def _named(network: AbstractNetwork, dtype: str | None = None) -> dict[str, np.ndarray]:
    """The arrays by where they are in the network; in the precision of training, which they come from."""
    return {name: np.asarray(leaf, dtype or leaf.dtype) for name, leaf in _paths(network)[0].items()}


def _difference(stored: Any, given: Any, where: str = "recipe") -> str:
    for field in dataclasses.fields(stored):
        a, b, name = getattr(stored, field.name), getattr(given, field.name), f"{where}.{field.name}"
        if dataclasses.is_dataclass(a):
            found = _difference(a, b, name)
            if found:
                return found
        elif a != b:
            return f"`{name}` is {a!r} there, got {b!r}"
    return ""
