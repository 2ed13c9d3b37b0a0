"""The run a command is about: a folder, or the name of an operator that ships; and its members."""

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.base.parameters import Box
from edgewise.base.values import written
from edgewise.base.words import guess
from edgewise.cli.members import parse_members
from edgewise.cli.problems import find_problem
from edgewise.learn.loading import continuation, folder, read, shipped
from edgewise.learn.operator import Operator
from edgewise.learn.runs import CONFIG, read_config
from edgewise.presets import preset
from edgewise.problem import Problem

Members = dict[str, np.ndarray]


def find_run(text: str) -> Path:
    """The folder of a run; one of that path comes before an operator of that name."""
    path = Path(text)
    # Nothing at all would be the folder one is in.
    if text and path.is_dir():
        if not (path / CONFIG).is_file():
            raise ValueError(f"`{path}` has no {CONFIG}: it is not a run. Name a folder that `edgewise train` wrote.")
        return path
    if text in shipped():
        return folder(text)
    if text and path.exists():
        raise ValueError(f"`{path}` is a file; a run is a folder. Name the folder it lies in.")
    raise ValueError(_no_run(text))


@dataclasses.dataclass(frozen=True)
class Found:
    """A run and its problem. To open it takes seconds: what is asked of it is checked before."""

    path: Path
    name: str | None
    """The problem as `train` takes it."""
    problem: Problem

    def open(self) -> Operator:
        """The operator; what keeps it from being trusted is said on standard error."""
        # Commands are continued by commands.
        theirs, ours = continuation(self.path), f"`{shell_continuation(self.path, self.name)}`"
        try:
            operator = read(self.path, self.problem)
        except FileNotFoundError as error:
            raise FileNotFoundError(str(error).replace(theirs, ours)) from error
        result = dataclasses.replace(operator.result, message=operator.result.message.replace(theirs, ours))
        if not result.ok:
            print(f"Mind: {result}.", file=sys.stderr)
        return dataclasses.replace(operator, result=result)


def find(command: Any) -> Found:
    """The run that a command names; unless it is a preset's, its problem comes from the file that it was trained
    from."""
    path = find_run(command.run)
    origin = read_config(path)["problem"]
    return Found(path, command.problem or name_of(origin), _problem(path, origin, command.problem))


def _problem(path: Path, origin: dict[str, str], given: str | None) -> Problem:
    if given is not None:
        return find_problem(given)[0]
    if origin.get("preset"):
        return preset(origin["preset"])
    where = origin.get("file")
    cure = "Name it: `--problem my_problem.py:problem`."
    if where is None:
        raise ValueError(f"The run `{path}` was trained for a problem of yours, and does not say where that is. {cure}")
    try:
        return find_problem(where)[0]
    except ValueError as error:
        raise ValueError(f"The run `{path}` was trained for `{where}`. {error} Or, if it moved: {cure}") from error


def name_of(origin: dict[str, str]) -> str | None:
    """The problem of a run as `train` takes it; None for one that was handed over in Python."""
    return origin.get("preset") or origin.get("file")


def shell_continuation(path: Path, problem: str | None) -> str:
    return shlex.join(["edgewise", "train", problem or "my_problem.py:problem", "--out", str(path), "--resume"])


def choose_members(texts: Sequence[str], box: Box, *, extrapolate: bool = False) -> tuple[Members, int]:
    """The members of `--at`, checked against the box."""
    members, count = parse_members(texts, box)
    try:
        box.check(members, extrapolate=extrapolate)
    except ValueError as error:
        raise ValueError(str(error).replace("`extrapolate=True`", "`--extrapolate`")) from None
    return members, count


def typical_member(box: Box) -> tuple[Members, int]:
    """The member that is taken where none is asked for, as a batch of one."""
    return {name: spec.typical[None] for name, spec in box.specs}, 1


def at_option(parameters: dict[str, Any]) -> list[str]:
    """One member as commands take it, to the last digit: rounded, a direction is no unit vector.

    >>> at_option({"t": 1.5, "direction": np.array([0.0, 1.0])})
    ['--at', 't=1.5, direction=(0.0, 1.0)']
    """
    listed = ", ".join(f"{name}={written(value)}" for name, value in parameters.items())
    return ["--at", listed] if listed else []


def too_few_nodes(operator: Operator) -> str:
    """Why an operator does not know how wrong an answer is, and what to do."""
    return (
        "the operator has too few nodes for some boundary. Train with more, `--recipe.collocation.nodes "
        f"{2 * operator.recipe.collocation.nodes}`, or have such members refined, `edgewise predict ... --tol 1e-6`"
    )


def problem_option(command: Any) -> list[str]:
    """Where a run's problem is, if that had to be said."""
    return ["--problem", command.problem] if command.problem else []


def describe(parameters: dict[str, Any]) -> str:
    """One member in words: `t = 1.15`."""
    listed = (f"{name} = {_short(value)}" for name, value in parameters.items())
    return ", ".join(listed) or "the only member"


def _short(value: Any) -> str:
    value = np.asarray(value)
    return f"{value:.6g}" if value.ndim == 0 else np.array2string(value, precision=4, threshold=6, separator=", ")


def _no_run(text: str) -> str:
    names = shipped()
    listed = ", ".join(f"`{name}`" for name in names) or "none"
    beside = [entry.name for entry in Path(text).parent.glob("*") if (entry / CONFIG).is_file()] if text else []
    known = [*names, *(str(Path(text).parent / name) for name in beside)]
    return (
        f"No folder and no operator is called `{text}`.{guess(text, known)} Operators that ship: {listed}. "
        "Train one with `edgewise train laplace-star --out runs/laplace`."
    )
