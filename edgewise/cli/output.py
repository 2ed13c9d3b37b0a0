"""What every command writes: its folder, JSON that any reader takes, Markdown tables."""

import json
from pathlib import Path
from typing import Any


def make_folder(path: Path) -> None:
    """Makes the folder, before anything is computed for it."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"`--out {path}` is a file; expected a folder. Name another one.")
    path.mkdir(parents=True, exist_ok=True)


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
