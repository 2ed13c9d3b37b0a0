"""The folder of a run while it trains: ready for the next step at every moment, whatever happens to the program."""

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.base.files import is_unfinished, lock, make_folder, write_text
from edgewise.learn.networks import AbstractNetwork
from edgewise.learn.operator import Operator
from edgewise.learn.recipes import Recipe, from_dict
from edgewise.learn.runs import (
    CONFIG,
    FILES,
    LOG,
    METRICS,
    STATE,
    WEIGHTS,
    as_json,
    as_lines,
    compare,
    describe,
    named_arrays,
    present,
    read_config,
    read_history,
)
from edgewise.learn.storage import load_arrays, save_arrays
from edgewise.problem import Problem


class Folder:
    """The folder of a run while it trains."""

    def __init__(self, path: Path):
        self.path = path
        self.config: dict[str, Any] = {}
        self._release: Callable[[], None] = lambda: None

    def open(self, problem: Problem, recipe: Recipe, seed: int, resume: bool, origin: dict[str, str] | None) -> bool:
        """Makes the folder ready for a run, and nobody else's until `close`; says whether the run in it is finished."""
        make_folder(self.path)
        self._release = lock(self.path)
        try:
            return self._open(problem, recipe, seed, resume, origin)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._release()

    def check(self, seed: int, resume: bool) -> None:
        """Refuses a folder of other files, and a run that is not to be continued, or was begun with another seed."""
        path = self.path
        # Unlike those of `Path`, these answer False for a name that no file can have.
        if os.path.exists(path):
            make_folder(path)
        found = present(path) if os.path.isdir(path) else []
        if found and not resume:
            if _is_finished(path):
                raise FileExistsError(f"`{path}` has a finished run in it; nothing is overwritten. Name a new folder.")
            raise FileExistsError(
                f"`{path}` has files in it ({', '.join(sorted(found)[:4])}); nothing is overwritten. Name a new "
                "folder, or continue the run there with `resume=True` (`--resume`)."
            )
        if found and CONFIG not in found:
            raise FileExistsError(
                f"`{path}` has files in it ({', '.join(sorted(found)[:4])}) but no {CONFIG}: no run to continue. Name "
                "a new folder."
            )
        stored = read_config(path)["seed"] if found else seed
        if stored != seed:
            raise ValueError(f"The run in `{path}` has seed {stored}, got {seed}. Pass that seed.")

    def _open(self, problem: Problem, recipe: Recipe, seed: int, resume: bool, origin: dict[str, str] | None) -> bool:
        self.check(seed, resume)
        if (self.path / CONFIG).exists():
            self.config = read_config(self.path)
            self._check_same(problem, recipe)
            return self.config["status"] == "finished"
        self.config = describe(problem, recipe, seed, origin or {})
        self._write_config()
        return False

    def log(self, record: dict[str, Any], line: str) -> None:
        for name, text in ((METRICS, json.dumps(record)), (LOG, line)):
            with (self.path / name).open("a") as file:
                file.write(text + "\n")

    def read_history(self, step: int) -> list[dict[str, Any]]:
        """The records up to this step, the last that was saved; later ones are dropped, from the file too."""
        records = [record for record in read_history(self.path) if record["step"] <= step]
        write_text(self.path / METRICS, as_lines(records))
        with (self.path / LOG).open("a") as file:
            file.write(f"continued after step {step}\n")
        return records

    def save_state(self, arrays: dict[str, np.ndarray], network: AbstractNetwork) -> None:
        save_arrays(self.path / WEIGHTS, named_arrays(network))
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
        save_arrays(self.path / WEIGHTS, named_arrays(operator.network, operator.recipe.dtype))
        self.config |= operator.ending
        self._write_config()
        with (self.path / LOG).open("a") as file:
            file.write(f"{operator.result}\n")
        self.tidy()

    def tidy(self) -> None:
        """A finished run needs no state, nor what a write that was cut short left behind."""
        for entry in self.path.iterdir():
            if entry.name == STATE or is_unfinished(entry.name, FILES):
                entry.unlink(missing_ok=True)

    def _write_config(self) -> None:
        write_text(self.path / CONFIG, as_json(self.config))

    def _check_same(self, problem: Problem, recipe: Recipe) -> None:
        stored = from_dict(self.config["recipe"], self.path / CONFIG)
        if stored != recipe:
            raise ValueError(
                f"The run in `{self.path}` has another recipe: {_difference(stored, recipe)}. Continue it with the one "
                "it has, or name a new folder."
            )
        compare(problem, self.config, self.path)


def _is_finished(path: Path) -> bool:
    """Whether there is a run that needs no more training; what cannot be read is none."""
    with contextlib.suppress(ValueError, OSError):
        return read_config(path)["status"] == "finished"
    return False


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
