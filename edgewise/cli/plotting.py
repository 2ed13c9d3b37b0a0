"""`edgewise plot`: pictures and films of an operator's answers, or of its training."""

import re
import shlex
from typing import Any

import jax.numpy as jnp
import numpy as np

from edgewise import plot
from edgewise.base.files import write
from edgewise.base.precision import enable_x64
from edgewise.cli.members import write_range
from edgewise.cli.output import check_file, to_json
from edgewise.cli.progress import say_what_space_costs, try_next
from edgewise.cli.runs import at_option, choose_members, find, find_run, problem_option, typical_member
from edgewise.evaluation import reference
from edgewise.geometry.grids import read_corners
from edgewise.learn.runs import read_history
from edgewise.problem import Problem
from edgewise.show.animation import member_film, wave_film
from edgewise.show.style import matplotlib_or_words
from edgewise.solution import Solution

FILM = ".gif"
SUFFIXES = (".png", ".pdf", ".svg", FILM)
# Rows of panels, lines of one panel, frames.
MOST_MEMBERS, MOST_LINES, MOST_FRAMES = 8, 100, 200
# The frames of a film that a message proposes.
FRAMES = 24
# Points along the longer side of a picture, by dimension: a field in space is read more slowly.
RESOLUTION = {2: 200, 3: 100}
RESOLUTION_OF_FILMS = {2: 140, 3: 70}


def run(command: Any) -> None:
    enable_x64()
    matplotlib_or_words()
    check_file(command.out, SUFFIXES, command.overwrite, "field.png")
    if not 10 <= (command.resolution or 10) <= 2000:
        raise ValueError(
            f"`--resolution` must lie from 10 to 2000, got {command.resolution}. Write `--resolution 200`."
        )
    what, box = _what(command), _box(command)
    film = command.out.suffix.lower() == FILM
    chosen = ""
    if what == "history":
        save(_history(command), command.out)
    else:
        solution = _answer(command, what, film)
        if solution.parameters and not command.at:
            option = at_option({name: value[0] for name, value in solution.parameters.items()})
            chosen = f" No member was asked for; this is `{shlex.join(option)}`."
        if film:
            _film(solution, what, command, box)
        else:
            save(_picture(solution, what, command.resolution, box), command.out)
    if command.json:
        print(to_json({"run": command.run, "written": str(command.out)}))
        return
    print(f"Wrote {command.out}.{chosen}")
    print(try_next(["evaluate", command.run, *problem_option(command), "--random", "50"]))


def save(figure: Any, path: Any) -> None:
    kind = path.suffix.lower().removeprefix(".")
    extra = {"pil_kwargs": {"optimize": True}} if kind == "png" else {}
    write(path, lambda file: figure.savefig(file, format=kind, dpi=100, **extra))


def _what(command: Any) -> str:
    """What is to be drawn, refused where the file or the other options do not go with it."""
    film = command.out.suffix.lower() == FILM
    what = "history" if command.history else command.what
    if command.history and command.what not in ("field", "history"):
        raise ValueError(f"`--history` and `--what {command.what}` ask for two pictures. Leave one of them out.")
    if what == "history" and command.at:
        raise ValueError("`--history` is about the training of all members, and got `--at`. Leave one of them out.")
    if what == "history" and film:
        raise ValueError(f"`--history` is one picture, and `{command.out}` a film. Write `--out history.png`.")
    if what == "wave" and not film:
        raise ValueError(
            f"`--what wave` is a film of one period, and `{command.out}` a picture. Write `--out wave.gif`."
        )
    if command.box is not None and what not in ("field", "total", "wave"):
        raise ValueError(
            f"`--box` says what is shown of a field, and `--what {what}` is none. Leave `--box` out, or write "
            "`--what field`."
        )
    return what


def _box(command: Any) -> np.ndarray | None:
    if command.box is None:
        return None
    numbers = re.sub(r"[()\[\]]", " ", command.box).split(",")
    found = read_corners([numbers[:2], numbers[2:]])
    if found is None:
        raise ValueError(
            f"`--box` must be the lower left and the upper right corner of what is shown, got `{command.box}`. Write "
            '`--box "(-3,-2),(3,2)"`.'
        )
    return found


def _history(command: Any) -> Any:
    history = read_history(find_run(command.run))
    if not history:
        raise ValueError(f"The run `{command.run}` has no record of its training in metrics.jsonl. Train it again.")
    return plot.training_figure(history)


def _answer(command: Any, what: str, film: bool) -> Solution:
    """The operator's answer for the members asked for, as many as the picture can hold."""
    found = find(command)
    problem = found.problem
    _check_problem(problem, what, film)
    box = problem.parameters
    members, count = (
        choose_members(command.at, box, extrapolate=command.extrapolate) if command.at else typical_member(box)
    )
    lines = what in ("far-field", "density", "boundary") and not problem.family.in_space
    most = 1 if what == "wave" else MOST_FRAMES if film else MOST_LINES if lines else MOST_MEMBERS
    if count > most:
        kind = "`--what wave`" if what == "wave" else "a film" if film else "a picture"
        more = "" if film or lines else ", a film, `--out film.gif`, more"
        raise ValueError(f"`--at` asks for {count} members; {kind} shows at most {most}{more}. Ask for fewer.")
    if film and what != "wave" and count < 2:
        raise ValueError(f"A film has a frame a member, and this is one member. {_film_hint(problem)}")
    given: dict[str, Any] = {name: jnp.asarray(value) for name, value in members.items()}
    operator = found.open()
    if what == "field" and not film and not command.json:
        say_what_space_costs(operator, count)
    return operator(extrapolate=True, **given)


def _film_hint(problem: Problem) -> str:
    """How to ask for many members, and where there is a wave, for one in time."""
    in_time = ", or for the wave in time `--what wave`" if problem.data.is_wave else ""
    return f"{write_range(problem.parameters, FRAMES)}{in_time}."


def _check_problem(problem: Problem, what: str, film: bool) -> None:
    if what in ("total", "wave") and not problem.data.is_wave:
        raise ValueError(
            f"`--what {what}` is for incident waves, of which this problem has none. Write `--what field`."
        )
    kernel = problem.representation.kernel
    if what == "far-field" and (not kernel.radiates or problem.side == "interior"):
        raise ValueError(
            f"`--what far-field` is for waves outside; this problem is {kernel.name}'s, {problem.side}. Write "
            "`--what field`."
        )
    if film and problem.family.in_space and what in ("far-field", "density", "boundary"):
        raise ValueError(f"Films in space are of fields, on a slice; got `--what {what}`. Write `--what field`.")


def _film(solution: Solution, what: str, command: Any, box: Any) -> None:
    resolution = command.resolution or RESOLUTION_OF_FILMS[solution.problem.family.dim]
    if what == "wave":
        wave_film(solution, command.out, resolution=resolution, box=box)
    else:
        shown: Any = "field" if what == "total" else what
        member_film(solution, command.out, what=shown, resolution=resolution, box=box)


def _picture(solution: Solution, what: str, resolution: int | None, box: Any) -> Any:
    space = solution.problem.family.in_space
    if what == "density":
        return plot.density_figure(solution)
    if what == "boundary":
        return plot.boundary_figure(solution)
    if what == "far-field":
        return plot.far_field_sphere_figure(solution) if space else plot.far_field_figure(solution)
    truth = reference(solution) if what == "field" and solution.problem.exact is None else None
    options: dict[str, Any] = {
        "resolution": resolution or RESOLUTION[solution.problem.family.dim],
        "box": box,
        "truth": truth,
        "name": "prediction",
    }
    return (plot.slice_figure if space else plot.field_figure)(solution, **options)
