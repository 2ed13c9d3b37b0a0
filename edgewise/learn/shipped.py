"""Operators that ship with the package: one for every preset."""

from importlib import resources
from pathlib import Path

from edgewise.learn.operator import Operator
from edgewise.learn.runs import load
from edgewise.presets import PRESETS


def pretrained(name: str, *, dtype: str | None = None) -> Operator:
    """The operator of a preset, trained already: no training, no network access.

    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> operator = ew.pretrained("laplace-star")
    >>> bool(abs(operator(t=1.15)([0.3, 0.2]) - 0.26817) < 1e-5)
    True
    """
    if name not in shipped():
        known = ", ".join(f'"{known}"' for known in shipped())
        raise ValueError(f'No operator called {name!r} ships; there are {known}. Write `pretrained("laplace-star")`.')
    return load(folder(name), dtype=dtype)


def shipped() -> tuple[str, ...]:
    """The presets that have an operator."""
    return tuple(name for name in PRESETS if (folder(name) / "config.json").is_file())


def folder(name: str) -> Path:
    return Path(str(resources.files("edgewise"))) / "operators" / name
