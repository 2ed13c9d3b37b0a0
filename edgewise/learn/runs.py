"""Runs in folders: `config.json`, `weights.safetensors`, `metrics.jsonl`, `log.txt`; while training also
`state.safetensors`.

No code is stored, and none is run: a preset is rebuilt by its name, any other problem is handed over and compared with
what was written down about a few of its members.
"""

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from edgewise import __version__
from edgewise.base.files import is_unfinished, lock, make_folder, with_words, write_text
from edgewise.base.named import is_number, is_whole
from edgewise.base.words import is_text
from edgewise.learn import fingerprint
from edgewise.learn.networks import AbstractNetwork
from edgewise.learn.recipes import Recipe
from edgewise.learn.storage import save_arrays
from edgewise.presets import preset_name
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


def describe(problem: Problem, recipe: Recipe, seed: int, origin: Mapping[str, str]) -> dict[str, Any]:
    """What a run writes down before it trains: all that decides it."""
    name = preset_name(problem)
    return {
        "format": FORMAT,
        "edgewise": __version__,
        "status": "training",
        "problem": dict(origin) or ({"preset": name} if name else {}),
        "recipe": dataclasses.asdict(recipe),
        "seed": seed,
        "box": _box(problem),
        "members": fingerprint.take(problem),
    }


def compare(problem: Problem, config: dict[str, Any], path: Path) -> None:
    """Raises if the problem is not the one that the run was trained for."""
    name = config["problem"].get("preset") or config["problem"].get("file")
    fingerprint.compare(problem, config["members"], path, name)
    # A network sees where in its box a parameter lies, and which comes first.
    if list(config["box"].items()) != list(_box(problem).items()):
        trained, given = (", ".join(f"{k} in {v}" for k, v in box.items()) for box in (config["box"], _box(problem)))
        raise ValueError(
            f"The run in `{path}` was trained for another box: {trained}; the problem has {given}. Hand over the "
            "problem it was trained for; `operator(..., extrapolate=True)` goes outside its box."
        )


def _box(problem: Problem) -> dict[str, str]:
    return {name: str(spec) for name, spec in problem.parameters.specs}


def save_run(
    path: Path,
    config: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
    history: list[dict[str, Any]],
    overwrite: bool = False,
) -> None:
    """Writes a finished run into a folder: made beside it, then moved there whole. A link stays one, to the new run."""
    path = _target(path)
    if path.exists() and any(path.iterdir()) and not overwrite:
        raise FileExistsError(f"`{path}` has files in it. Name a new folder, or pass `overwrite=True`.")
    if path.exists() and overwrite:
        strange = sorted(name for name in present(path) if name not in FILES)
        if strange:
            raise FileExistsError(
                f"`{path}` has files in it that are no part of a run ({', '.join(strange[:4])}); they would be lost. "
                "Name another folder."
            )
    make_folder(path.parent)
    release = lock(path) if path.exists() else lambda: None
    try:
        _replace(path, config, arrays, history)
    finally:
        release()


def _target(path: Path) -> Path:
    """Where the folder really is; refuses what cannot be replaced."""
    try:
        found = path.resolve()
        if found.exists() and not found.is_dir():
            raise ValueError(f"`{path}` is a file; expected a folder for the run. Name another one.")
    except (OSError, RuntimeError) as error:
        # Older versions of Python raise a RuntimeError for links in a circle.
        raise OSError(f"`{path}` cannot be a folder for the run: {error}. Name another one.") from error
    if Path.cwd().is_relative_to(found):
        raise ValueError(
            f"`{path}` is the folder that this program works in, or one above it, and cannot be replaced. Name a "
            "folder in it, such as `runs/mine`."
        )
    return found


def _replace(
    path: Path, config: dict[str, Any], arrays: Mapping[str, np.ndarray], history: list[dict[str, Any]]
) -> None:
    try:
        made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    except OSError as error:
        words = f"Nothing can be written to the folder `{path.parent}`: {error.strerror or error}. Name another one."
        raise with_words(error, words) from error
    try:
        made.chmod(0o755)
        save_arrays(made / WEIGHTS, arrays)
        write_text(made / METRICS, as_lines(history))
        write_text(made / LOG, f"{config['result']['message']}\n")
        write_text(made / CONFIG, as_json(config))
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


def present(path: Path) -> list[str]:
    """The contents of a folder, without what an interrupted write left behind."""
    return [entry.name for entry in path.iterdir() if not is_unfinished(entry.name, FILES)]


def as_json(config: dict[str, Any]) -> str:
    return json.dumps(config, indent=1) + "\n"


def as_lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def read_config(path: Path) -> dict[str, Any]:
    """What a run says of itself, checked for being that."""
    file = path / CONFIG
    if not file.is_file():
        there = "has none" if path.is_dir() else "is a file" if path.exists() else "does not exist"
        raise FileNotFoundError(
            f"A run is a folder with {CONFIG}; `{path}` {there}. Check the path, or train one there."
        )
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"`{file}` has {file.stat().st_size:,} bytes; a run's has a few thousand. Train again.")
    try:
        config = json.loads(file.read_text())
    except (ValueError, RecursionError):
        raise ValueError(f"`{file}` is damaged: it is not JSON. Copy it again, or train again.") from None
    kinds = {"format": int, "status": str, "problem": dict, "recipe": dict, "seed": int, "box": dict, "members": dict}
    wrong = [k for k, kind in kinds.items() if not isinstance(config, dict) or not isinstance(config.get(k), kind)]
    if wrong:
        raise ValueError(f"`{file}` is damaged: it has no proper {wrong[0]!r}. Copy it again, or train again.")
    if config["format"] != FORMAT:
        raise ValueError(f"`{file}` has format {config['format']}; this version reads {FORMAT}. Update edgewise.")
    result, status = config.get("result"), config["status"]
    if result is not None and not (is_text(result) and set(result) == {"code", "message"}):
        raise ValueError(f"`{file}` is damaged: its 'result' is not one. Copy it again, or train again.")
    if status not in ("training", "finished"):
        raise ValueError(f"`{file}` is damaged: its 'status' is {status!r}. Copy it again, or train again.")
    if status == "finished" and result is None:
        raise ValueError(
            f"`{file}` is damaged: its 'status' is finished, but it has no 'result'. Write \"training\" there to "
            "continue the run with `resume=True` (`--resume`), or train again."
        )
    for part, good in (("problem", is_text(config["problem"])), ("stats", _are_stats(config.get("stats", {})))):
        if not good:
            raise ValueError(f"`{file}` is damaged: it has no proper {part!r}. Copy it again, or train again.")
    return config


def _are_stats(value: Any) -> bool:
    """Whether the entries that commands print as numbers are numbers; there may be others."""
    if not isinstance(value, dict) or not isinstance(value.get("measured", {}), dict):
        return False
    numbers = [value[name] for name in ("steps", "seconds", "weights", "misfit", "misfit_max") if name in value]
    return all(map(is_number, [*numbers, *value.get("measured", {}).values()]))


def read_history(path: Path) -> list[dict[str, Any]]:
    """The records of a run, but for a last line that was cut off."""
    file = path / METRICS
    lines = file.read_bytes().split(b"\n") if file.is_file() else []
    records = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode())
        except (ValueError, RecursionError):
            record = None
        wrong = _flaw(record)
        if wrong and number == len(lines):
            # A line ends with a line break: this one was being written when the program ended.
            break
        if wrong:
            raise ValueError(
                f"`{file}` is damaged: line {number} {wrong}. Correct that line, or delete the file, which nothing but "
                "the history is read from."
            )
        records.append(record)
    return records


def _flaw(record: Any) -> str | None:
    """What keeps a line from being a record; None where nothing does."""
    if not isinstance(record, dict):
        return "is not a record in JSON"
    step = record.get("step")
    if not is_whole(step):
        return f"has the step {step!r}, expected a whole number"
    known = {"loss": None, "misfit": None} | record
    for name in ("loss", "misfit", "misfit_max", "seconds"):
        if name in known and not is_number(known[name]):
            return f"has the {name} {known[name]!r}, expected a number"
    return None


def by_path(network: Any) -> tuple[dict[str, Any], Callable[[list[Any]], Any]]:
    """The arrays of a network by where they are in it, and the network of others in their place.

    Plain numbers are the problem's, such as a wavenumber, and stay as they are.
    """
    arrays, rest = eqx.partition(network, lambda leaf: hasattr(leaf, "dtype"))
    leaves, structure = jax.tree_util.tree_flatten_with_path(arrays)
    named = {jax.tree_util.keystr(path).lstrip("."): leaf for path, leaf in leaves}
    return named, lambda others: eqx.combine(jax.tree_util.tree_unflatten(structure, others), rest)


def named_arrays(network: AbstractNetwork, dtype: str | None = None) -> dict[str, np.ndarray]:
    """The arrays by where they are in the network; in the precision of training, which they come from."""
    leaves = by_path(network)[0]
    if dtype == "float64" and any(leaf.dtype == np.float32 for leaf in leaves.values()):
        raise ValueError(
            "This operator was trained in float64 and opened in float32: its weights are rounded, and saved they "
            "would not be what its `stats` speak of. Save the one opened in float64: open it without `dtype`."
        )
    return {name: np.asarray(leaf, dtype or leaf.dtype) for name, leaf in leaves.items()}
