"""`edgewise plot`: pictures of an operator's fields, or of its training."""

from typing import Any

import jax.numpy as jnp

from edgewise import plot, plot_space, plot_training
from edgewise.cli.output import check_file, to_json
from edgewise.cli.progress import say_what_space_costs, try_next
from edgewise.cli.runs import choose_members, find_run, middle, open_run
from edgewise.evaluation import reference
from edgewise.files import write
from edgewise.learn.runs import read_history
from edgewise.precision import enable_x64

SUFFIXES = (".png", ".pdf", ".svg")
MOST_MEMBERS = 8
# Points along the longer side of a picture, by dimension: a field in space is read more slowly.
RESOLUTION = {2: 200, 3: 100}


def run(command: Any) -> None:
    enable_x64()
    check_file(command.out, SUFFIXES, command.overwrite, "field.png")
    if not 10 <= (command.resolution or 10) <= 2000:
        raise ValueError(
            f"`--resolution` must lie from 10 to 2000, got {command.resolution}. Write `--resolution 200`."
        )
    figure = _history(command) if command.history else _field(command)
    save(figure, command.out)
    if command.json:
        print(to_json({"run": command.run, "written": str(command.out)}))
        return
    print(f"Wrote {command.out}.")
    print(try_next(["evaluate", command.run, "--random", "50"]))


def save(figure: Any, path: Any) -> None:
    kind = path.suffix.lower().removeprefix(".")
    extra = {"pil_kwargs": {"optimize": True}} if kind == "png" else {}
    write(path, lambda file: figure.savefig(file, format=kind, dpi=100, **extra))


def _history(command: Any) -> Any:
    if command.at:
        raise ValueError("`--history` is about the training of all members, and got `--at`. Leave one of them out.")
    history = read_history(find_run(command.run))
    if not history:
        raise ValueError(f"The run `{command.run}` has no record of its training in metrics.jsonl. Train it again.")
    return plot_training.training_figure(history)


def _field(command: Any) -> Any:
    operator = open_run(command.run, command.problem)
    box = operator.problem.parameters
    members, count = choose_members(command.at, box, extrapolate=command.extrapolate) if command.at else middle(box)
    if count > MOST_MEMBERS:
        raise ValueError(f"`--at` asks for {count} members; a picture shows at most {MOST_MEMBERS}. Ask for fewer.")
    given: dict[str, Any] = {name: jnp.asarray(value) for name, value in members.items()}
    solution = operator(extrapolate=True, **given)
    if not command.json:
        say_what_space_costs(operator, count)
    truth = reference(solution) if operator.problem.exact is None else None
    dim = operator.problem.family.dim
    options: dict[str, Any] = {
        "resolution": command.resolution or RESOLUTION[dim],
        "truth": truth,
        "name": "prediction",
    }
    return (
        plot_space.slice_figure(solution, box=None, **options) if dim == 3 else plot.field_figure(solution, **options)
    )
