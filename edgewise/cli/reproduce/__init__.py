"""`edgewise reproduce`: the paper's experiments, its recipe and ours in one run, with tables and pictures."""

import dataclasses
import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from edgewise import __version__, plot
from edgewise.base.files import make_folder, write_text
from edgewise.base.precision import enable_x64
from edgewise.cli.members import check_seed
from edgewise.cli.output import table, to_json
from edgewise.cli.plotting import save
from edgewise.cli.progress import interruptible, try_next
from edgewise.cli.reproduce import space, sweep
from edgewise.learn.operator import Operator
from edgewise.paper.reproduction import EXPERIMENTS, MEMBERS, minutes, recipes_for, run_experiment

TITLES = {
    "laplace": "2D Laplace equation",
    "biharmonic": "2D biharmonic equation",
    "helmholtz": "3D Helmholtz equation, two half-balls",
    "sweep": "2D Laplace equation, networks of 64 sizes",
}
STARTS_AGAIN = "what was begun is not kept; the same command begins again."


def run(command: Any) -> None:
    enable_x64()
    check_seed(command.seed)
    if command.quick and command.full:
        raise ValueError("`--quick` and `--full` exclude each other; got both. Leave one out.")
    out = command.out or Path(f"out/reproduce-{command.experiment}")
    make_folder(out)
    if (out / "results.md").exists() and not command.overwrite:
        raise FileExistsError(f"`{out}` holds results already. Name another `--out`, or pass `--overwrite`.")
    kept = (
        "what is done is kept: the same command, without `--overwrite`, goes on."
        if command.experiment == "sweep"
        else STARTS_AGAIN
    )
    with interruptible(kept):
        _run(dataclasses.replace(command, out=out))


def _run(command: Any) -> None:
    out = command.out
    say = (lambda text: None) if command.json else (lambda text: print(text, file=sys.stderr, flush=True))
    make = {"helmholtz": _in_space, "sweep": _swept}.get(command.experiment, _in_the_plane)
    report, text, figures = make(command, say)
    mode = " --full" if command.full else ""
    report |= {
        "experiment": command.experiment,
        "command": f"edgewise reproduce {command.experiment}{mode} --seed {command.seed}",
        "date": datetime.date.today().isoformat(),
        "device": jax.devices()[0].device_kind,
        "version": __version__,
        "jax": jax.__version__,
    }
    pictures, missing = _draw(figures, out)
    report["written"] = [str(out / name) for name in ("results.md", "results.json", *pictures)]
    text = _page(report, text, pictures)
    write_text(out / "results.md", text)
    write_text(out / "results.json", to_json(report) + "\n")
    if command.json:
        print(to_json(report))
        return
    print(f"{text}\nWrote {', '.join(report['written'])}.")
    if missing:
        print(f"No pictures: {missing}")
    print(try_next(*_next(command)))


def _next(command: Any) -> list[list[str]]:
    """What ships, measured; or all steps of the paper's recipe."""
    preset = {"biharmonic": "biharmonic-star", "helmholtz": "helmholtz-halfballs"}.get(
        command.experiment, "laplace-star"
    )
    full = (
        [] if command.full else [["reproduce", command.experiment, "--full", "--out", f"out/full-{command.experiment}"]]
    )
    return [["evaluate", preset], *full]


Figures = Callable[[], dict[str, Any]]


def _in_the_plane(command: Any, say: Callable[[str], Any]) -> tuple[dict[str, Any], str, Figures]:
    """The report, its words, and what draws its pictures."""
    experiment = EXPERIMENTS[command.experiment]
    theirs = recipes_for(experiment, command.full)[0]
    say(
        f"About {minutes(experiment, command.full):.0f} minutes on {jax.devices()[0].device_kind}: "
        f"{theirs.optimiser.steps:,} of the paper's 200,000 steps, then ours."
    )
    report = run_experiment(experiment, command.full, command.seed, _sparsely(say))
    operators = report.pop("operators")
    return report, words(report), lambda: _figures(report, operators)


def _in_space(command: Any, say: Callable[[str], Any]) -> tuple[dict[str, Any], str, Figures]:
    time, what = space.plan(command.full)
    say(f"About {time:.0f} minutes on {jax.devices()[0].device_kind}: {what}")
    report = space.run_experiment(command.full, command.seed, say)
    parts = report.pop("operators"), report.pop("references")
    return report, space.words(report), lambda: space.figures(*parts)


def _swept(command: Any, say: Callable[[str], Any]) -> tuple[dict[str, Any], str, Figures]:
    report = sweep.run_sweep(command, say)
    return report, sweep.words(report), lambda: sweep.figures(report)


def _sparsely(say: Any) -> Any:
    """Every line of a short run, every tenth of a long one."""
    count = 0

    def said(text):
        nonlocal count
        count += 1
        if count <= 5 or count % 10 == 0:
            say(text)

    return said


def _page(report: dict[str, Any], text: str, pictures: list[str]) -> str:
    shown = "\n".join(f"![{name}]({name})\n" for name in pictures)
    return f"""# {TITLES[report["experiment"]]}: the paper and edgewise

{text}

{report["date"]}, {report["device"]}, edgewise {report["version"]}, jax {report["jax"]}; `{report["command"]}`.

{shown}"""


def words(report: dict[str, Any]) -> str:
    """The results as Markdown."""
    theirs, ours, race = report["paper"], report["edgewise"], report["race"]
    rows = [
        [f"{t}", f"{printed:.2%}", f"{by_rule:.2%}", f"{read:.2%}", f"{error:.1e}", f"{largest:.1e}"]
        for t, printed, by_rule, read, error, largest in zip(
            report["members"],
            report["printed"],
            theirs["relative_l2_by_its_rule"],
            theirs["relative_l2"],
            ours["relative_l2"],
            ours["max_error"],
            strict=True,
        )
    ]
    header = ["t", "the paper", "its recipe here", "the same, integrated exactly", "edgewise", "its largest error"]
    sooner = race["sooner_at_4_percent"]
    raced = (
        "it does not come to 4 % in these steps"
        if sooner is None
        else f"it takes {theirs['seconds_to_4_percent']:.2g} s to 4 %, edgewise "
        f"{ours['seconds_to_4_percent']:.2g} s: {sooner:.0f} times less"
    )
    return f"""Relative l2 errors of the field inside.

{table(header, rows)}

- The paper's recipe: {theirs["steps"]:,} of 200,000 steps of Adam, {theirs["seconds"]:.1f} s; {raced}. "Its recipe
  here" is the field by the rule it was trained with, as the paper measures it; "integrated exactly" reads the same
  density with an accurate rule.
- edgewise: recipe `{ours["recipe"]}`, {ours["steps"]} steps of Gauss-Newton, {ours["seconds"]:.2g} s; largest errors
  are absolute, up to the boundary.
- After equal time, {race["equal_seconds"]:.2g} s, the error of edgewise is {race["smaller_after_equal_time"]:.1e} times
  smaller; at the end of both {race["smaller_at_the_end"]:.1e} times.

Seconds leave out compilation."""


def _figures(report: dict[str, Any], operators: dict[str, Operator]) -> dict[str, Any]:
    t = jnp.array(MEMBERS)
    return {
        "race.png": plot.race_figure(report["paper"]["path"], report["edgewise"]["path"]),
        "paper.png": plot.field_figure(operators["paper"](t=t), name="prediction"),
        "edgewise.png": plot.field_figure(operators["edgewise"](t=t), name="prediction"),
    }


def _draw(figures: Figures, out: Path) -> tuple[list[str], str | None]:
    """The pictures; without matplotlib none, and what to do."""
    try:
        made = figures()
    except ImportError as error:
        return [], str(error)
    for name, figure in made.items():
        save(figure, out / name)
    return list(made), None
