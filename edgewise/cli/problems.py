"""The problem a command is about: a preset by name, or one in a Python file of the user's."""

import contextlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from edgewise.base.words import guess
from edgewise.presets import PRESETS, preset
from edgewise.problem import Problem


def find_problem(text: str) -> tuple[Problem, dict[str, str]]:
    """The problem, and how a run writes down which one it is: `{"preset": text}` or `{"file": text}`.

    `text` is a preset's name or `file.py:name`, where `name` is a `Problem` or a function without arguments that
    returns one. The file is run, as `import` would, so ask for double precision before.

    >>> problem, origin = find_problem("laplace-star")
    >>> origin
    {'preset': 'laplace-star'}
    """
    if text in PRESETS:
        return preset(text), {"preset": text}
    if text.endswith(".py"):
        raise ValueError(
            f"`{text}` is a file; expected a problem in it. Write `{text}:problem`, with the problem's name."
        )
    # From the right: a drive of Windows has a colon too.
    file, colon, name = text.rpartition(":")
    if not colon:
        raise ValueError(_no_preset(text))
    path = Path(file)
    if path.suffix != ".py" or not name:
        raise ValueError(f"`{text}` is not a Python file and a name in it. Write it like `my_problem.py:problem`.")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ValueError(
            f"The file `{file}` {what} (looked for in {Path.cwd()}). Write its path, as in "
            "`folder/my_problem.py:problem`."
        )
    return _load(path, name), {"file": text}


def _no_preset(text: str) -> str:
    known = ", ".join(f"`{name}`" for name in sorted(PRESETS))
    return (
        f"No preset is called `{text}`.{guess(text.lower(), PRESETS)} There are {known}; `edgewise list` describes "
        "them. For a problem of your own, write `my_problem.py:problem`."
    )


def _load(path: Path, name: str) -> Problem:
    with _on_path(path):
        module = _run(path)
        if name not in vars(module):
            raise ValueError(f"`{path}` has no `{name}`; {_choices(path, module)}")
        value = getattr(module, name)
        if isinstance(value, Problem):
            return value
        if not inspect.isroutine(value):
            raise ValueError(f"`{name}` in `{path}` is of type `{type(value).__name__}`; {_choices(path, module)}")
        needed = _required(value)
        if needed:
            raise ValueError(
                f"`{name}` in `{path}` is a function of {', '.join(f'`{one}`' for one in needed)}; expected one "
                f"without arguments that returns a Problem. Give them defaults, or write `problem = {name}(...)` in "
                "the file and name that."
            )
        try:
            made = value()
        except (Exception, SystemExit) as error:
            raise ValueError(_blame(path, error, f"Correct `{name}` there")) from error
    if not isinstance(made, Problem):
        raise ValueError(
            f"`{name}()` in `{path}` returned `{type(made).__name__}`; expected a Problem. "
            f"End the function with `return ew.Problem(...)`."
        )
    return made


@contextlib.contextmanager
def _on_path(path: Path) -> Iterator[None]:
    """The file's folder where `import` looks first, as when Python runs the file."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        # What the file prints must not get between the lines of a command that prints JSON.
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        # By name: the file may have put folders of its own there, and functions in it may import later.
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


def _run(path: Path) -> ModuleType:
    # A name that no package has: a file called `numpy.py` must not become numpy.
    spec = importlib.util.spec_from_file_location(f"edgewise_file_{path.stem}", path.resolve())
    assert spec is not None and spec.loader is not None, "a path that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up the module they are defined in.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        cure = f"Correct the file; `python {path}` shows the whole traceback"
        raise ValueError(_blame(path, error, cure)) from error
    return module


def _blame(path: Path, error: BaseException, cure: str) -> str:
    """Which line of the file raised, or called what raised."""
    file = str(path.resolve())
    if isinstance(error, SyntaxError) and error.filename == file:
        line, said = error.lineno, error.msg
    else:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        line, said = (lines[-1] if lines else None), str(error)
    where = f", line {line}" if line else ""
    return f"`{path}`{where} raised {type(error).__name__}{': ' * bool(said)}{said.rstrip('.')}. {cure}."


def _required(function: Any) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        given = inspect.signature(function).parameters.values()
    except ValueError:
        # Some built-in functions do not say what they take; the call will.
        return []
    return [one.name for one in given if one.default is one.empty and one.kind not in kinds]


def _choices(path: Path, module: ModuleType) -> str:
    found = [name for name, value in vars(module).items() if isinstance(value, Problem)]
    if not found:
        return (
            "expected a Problem, or a function without arguments that returns one. Write `problem = ew.Problem(...)` "
            f"in the file and `{path}:problem` here."
        )
    listed = ", ".join(f"`{name}`" for name in found)
    return f"expected a Problem, of which the file has {listed}. Write `{path}:{found[0]}`."
