"""What every command writes: its folder, JSON that any reader takes, Markdown tables."""

import ast
import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.base.files import UNFINISHED, make_folder, with_words
from edgewise.base.ranges import Interval


def check_file(path: Path, suffixes: tuple[str, ...], overwrite: bool, example: str, option: str = "--out") -> None:
    """Refuses a file that could not or must not be written, and makes its folder: before anything is computed for it.

    Arguments:
        option: The one that names the file.
    """
    if path.suffix.lower() not in suffixes:
        listed = f"{', '.join(suffixes[:-1])} and {suffixes[-1]}"
        raise ValueError(f"`{path}` has an unknown ending; supported are {listed}. Write `{option} {example}`.")
    if path.is_dir():
        raise ValueError(f"`{option} {path}` is a folder; expected a file. Write `{option} {path / example}`.")
    if path.exists() and not overwrite:
        raise ValueError(f"`{option} {path}` exists already. Name another file, or pass --overwrite.")
    make_folder(path.parent)
    try:
        # Whether this will work, nothing tells but trying.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", suffix=UNFINISHED):
            pass
    except OSError as error:
        raise with_words(
            error,
            f"Nothing can be written to the folder `{path.parent}` of `{option} {path}`: {error.strerror or error}. "
            "Name a file in another.",
        ) from error


def to_json(value: Any) -> str:
    return json.dumps(_plain(value), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """Python's own numbers and lists; what is not finite is null, since JSON has no NaN."""
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(np.asarray(value).tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def ranges_in_words(box: Mapping[str, Any]) -> str:
    """What parameters may be: intervals they are in, the rest is said in words already.

    >>> ranges_in_words({"t": "[1.0, 2.0]", "direction": "a unit vector of 3 components"})
    't in [1.0, 2.0], direction a unit vector of 3 components'
    """
    return ", ".join(f"{name} {_range(str(spec))}" for name, spec in box.items())


def _range(text: str) -> str:
    if not text.startswith("["):
        return text
    spec = Interval.of("", ast.literal_eval(text))
    return f"in {spec.ends}" + f" ({np.size(spec.low)} numbers)" * bool(spec.shape)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, its columns aligned so that it reads in a terminal too."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]

    def line(cells):
        return "| " + " | ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])
