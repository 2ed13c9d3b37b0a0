"""`edgewise reproduce sweep`: groups of cells in turn, each kept when it is done; results in words and as a picture."""

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from edgewise import plot
from edgewise.base.files import lock, make_folder, write_text
from edgewise.cli.output import table, to_json
from edgewise.paper.sweep import KINDS, Group, Runner, Sweep, groups_of, seconds_of, summary, sweep_for

Say = Callable[[str], Any]
# Within `--out`: a file for every group that is done.
FOLDER = "groups"
RESULTS = ("results.json", "sweep.png", "results.md")


def run_sweep(command: Any, say: Say) -> dict[str, Any]:
    """Trains what the folder does not hold yet; the report of all."""
    sweep, folder = sweep_for(command.full, command.seed), command.out / FOLDER
    make_folder(folder)
    release = lock(folder)
    try:
        return _go_on(sweep, folder, command.overwrite, say)
    finally:
        release()


def _go_on(sweep: Sweep, folder: Path, overwrite: bool, say: Say) -> dict[str, Any]:
    groups = groups_of(sweep)
    records = {} if overwrite else _stored(sweep, folder)
    left = [group for group in groups if group.name not in records]
    say(_plan(sweep, groups, left))
    if overwrite:
        # Before the first group, so that what an interruption leaves is of one sweep and can be continued.
        for path in (*folder.glob("*.json"), *(folder.parent / name for name in RESULTS)):
            path.unlink(missing_ok=True)
    runner = Runner(sweep) if left else None
    expected, spent, started = 0.0, 0.0, time.perf_counter()
    for number, group in enumerate(left, 1):
        assert runner is not None
        record = runner.run(group)
        records[group.name] = record
        write_text(folder / f"{group.name}.json", to_json({"settings": dataclasses.asdict(sweep), **record}) + "\n")
        expected, spent = expected + seconds_of(group, sweep), time.perf_counter() - started
        ahead = sum(seconds_of(other, sweep) for other in left[number:]) * spent / expected
        errors = ", ".join(_shown(error) for error in record["errors"])
        say(f"{number}/{len(left)} {group}: {errors}; {record['seconds']:.0f} s, about {ahead / 60:.0f} minutes left")
    report = summary(sweep, [records[group.name] for group in groups])
    return {"settings": dataclasses.asdict(sweep), **report}


def _plan(sweep: Sweep, groups: list[Group], left: list[Group]) -> str:
    minutes = sum(seconds_of(group, sweep) for group in left) / 60
    held = (
        f" The folder holds {len(groups) - len(left)} of {len(groups)} groups already."
        if len(left) < len(groups)
        else ""
    )
    return (
        f"About {minutes:.0f} minutes on {jax.devices()[0].device_kind}: {len(sweep.cells)} of the paper's 64 cells, "
        f"{sweep.steps:,} of its 200,000 steps each, with and without Fourier features, and ours.{held}"
    )


def _stored(sweep: Sweep, folder: Path) -> dict[str, dict[str, Any]]:
    """The groups that are done, by name; refuses those of another sweep."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_text())
            settings = record.pop("settings")
            found[path.stem] = {
                name: record[name] for name in ("kind", "cells", "errors", "losses", "lost", "seconds", "device")
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"`{path}` is damaged. Delete it: its cells are trained again.") from None
        mine = json.loads(to_json(dataclasses.asdict(sweep)))
        if settings != mine:
            other = [
                f"{name} {settings.get(name)}, here {mine[name]}" for name in mine if settings.get(name) != mine[name]
            ]
            raise ValueError(
                f"`{folder.parent}` holds a sweep with other settings ({'; '.join(other) or 'of another version'}). "
                "Give the same `--seed` and `--full` or `--quick` as then, name another `--out`, or pass "
                "`--overwrite`."
            )
    return found


def _shown(error: float) -> str:
    """In per cent, or where that would be zero as a power of ten."""
    return f"{error:.2%}" if error >= 1e-4 else f"{error:.0e}"


def words(report: dict[str, Any]) -> str:
    """The results as Markdown."""
    settings, cells, seconds = report["settings"], report["cells"], report["seconds"]
    with_features = _tables(
        cells, lambda c: " / ".join(_shown(c[kind]) for kind in ("printed", "gaussian", "edgewise"))
    )
    without = _tables(cells, lambda c: _shown(c["position"]))
    lost = sum(cell.get("lost", False) for cell in cells)
    few = (
        " So few steps show what they cost, not where they lead: that takes `--full`."
        if settings["steps"] < 2000
        else ""
    )
    taken = "; ".join(f"{KINDS[kind]} {seconds[kind]:,.0f} on {', '.join(report['devices'][kind])}" for kind in KINDS)
    note = f"\n- Of {lost} cells a loss was no longer finite: their weights are those before that step." if lost else ""
    return f"""Relative l2 errors of the field inside at t = 1.15, by layers (down), neurons (to the right) and p.

- The paper's recipe: {settings["steps"]:,} of 200,000 steps of Adam, over the last {settings["settle"]:.0%} of which
  the rate falls to nothing; its field is summed by the rule it was trained with, as the paper measures it.
  {report["within_a_factor_2"]} of {len(cells)} cells are within a factor of 2 of the printed error.{few}
- edgewise: recipe `default` with the sizes of the cell, {settings["our_steps"]} steps of Gauss-Newton.
  {report["edgewise_better"]} of {len(cells)} cells are better than the printed error.
- Seconds of all groups, with compilation: {taken}.{note}

## With Fourier features: the paper / its recipe here / edgewise

{with_features}

## Without Fourier features: the paper's recipe here

The paper prints none.

{without}"""


def _tables(cells: list[dict[str, Any]], shown: Callable[[dict[str, Any]], str]) -> str:
    """One for every p."""
    layers, neurons, codes = (sorted({cell[name] for cell in cells}) for name in ("layers", "neurons", "p"))
    by_size = {(cell["p"], cell["layers"], cell["neurons"]): shown(cell) for cell in cells}
    parts = []
    for p in codes:
        rows = [[str(depth), *(by_size[p, depth, width] for width in neurons)] for depth in layers]
        parts.append(f"p = {p}\n\n" + table(["layers", *(f"{width} neurons" for width in neurons)], rows))
    return "\n\n".join(parts)


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """By the names of their files."""
    return {"sweep.png": plot.sweep_figure(report["cells"])}
