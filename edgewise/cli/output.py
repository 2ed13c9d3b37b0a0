"""What every command writes: whole files or none, JSON that any reader takes, Markdown tables."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO


def make_folder(path: Path) -> None:
    """Makes the folder, before anything is computed for it."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"`--out {path}` is a file; expected a folder. Name another one.")
    path.mkdir(parents=True, exist_ok=True)


def write(path: Path, save: Callable[[BinaryIO], Any]) -> None:
    """Writes next to `path` and moves the result there: a reader finds the old file or the new one, never half."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            save(file)
            file.flush()
            os.fsync(file.fileno())
        # A temporary file is private; this one is to be as readable as any other.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_text(path: Path, text: str) -> None:
    write(path, lambda file: file.write(text.encode()))


def to_json(value: Any) -> str:
    # NaN is not JSON: better an error here than in the reader.
    return json.dumps(value, indent=2, allow_nan=False)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, its columns aligned so that it reads in a terminal too."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]

    def line(cells):
        return "| " + " | ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])
