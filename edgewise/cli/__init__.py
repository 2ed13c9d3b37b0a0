"""The command `edgewise`. What a command takes is here; what it does is imported when it runs: help comes at once."""

import dataclasses
import importlib
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from edgewise import __version__
from edgewise.cli.grammar import complaint
from edgewise.cli.helping import help_of, overview

Flag = tyro.conf.FlagCreatePairsOff[bool]
Run = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
At = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="MEMBER")]
Own = Annotated[str | None, tyro.conf.arg(metavar="FILE.py:NAME")]
Folder = Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
File = Annotated[Path, tyro.conf.arg(metavar="FILE")]
Whole = Annotated[int, tyro.conf.arg(metavar="N")]
Count = Annotated[int | None, tyro.conf.arg(metavar="N")]
Error = Annotated[float | None, tyro.conf.arg(metavar="ERROR")]


# What help prints: of a command its docstring, the examples behind its first paragraph; of a field the string below it.
@dataclasses.dataclass(frozen=True)
class Demo:
    """Learn the paper's Laplace problem, compare with the paper and with the classical solve, draw it: a minute on two
    cores.

    edgewise demo
    """

    out: Folder = Path("out/demo")
    """Where table.md, table.json, laplace-star.png, training.png and the run itself, run/, go: these are overwritten,
    nothing else there is touched. out/demo if left out."""
    json: Flag = False
    """Print JSON and nothing else, for programs."""


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Say what this machine would use: Python, JAX, devices, precision, extras.

    edgewise doctor
    """

    json: Flag = False
    """Print JSON and nothing else, for programs."""


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Measure the errors of an operator against the exact field or a classical solve, up to the boundary.

    edgewise evaluate laplace-star --at t=1.15 --at t=1.35
    edgewise evaluate runs/mine --random 50
    """

    run: Run
    """The folder that `edgewise train` wrote, or the name of an operator that ships (`edgewise list`)."""
    at: At = ()
    """Values of the parameters, `t=1.15`, or fifty from 1 to 2, `t=1:2:50`; may be given again. If left out, the
    paper's, or typical ones."""
    random: Whole = 0
    """Measure at so many random values of the parameters too."""
    seed: Whole = 0
    """Decides which random values: 0 if left out."""
    grid: Count = None
    """Points along the longest side of the grid on which fields are compared: 160 if left out, in space 7."""
    printed_formula: Flag = False
    """Show also what the formula gives that the paper prints, which has no square root; the paper's numbers have
    one."""
    extrapolate: Flag = False
    """Allow values of the parameters that the operator was not trained for."""
    problem: Own = None
    """Where your own problem is that a run was trained for, if the file moved: `my_problem.py:problem`."""
    json: Flag = False
    """Print JSON and nothing else, for programs."""


@dataclasses.dataclass(frozen=True)
class Info:
    """Say what a run is: problem, ranges of its parameters, recipe, network, result, files.

    edgewise info laplace-star
    """

    run: Run
    """The folder that `edgewise train` wrote, or the name of an operator that ships (`edgewise list`)."""
    json: Flag = False
    """Print JSON and nothing else, for programs."""


@dataclasses.dataclass(frozen=True)
class List:
    """List the problems that ship with the package, and which have a trained operator.

    edgewise list
    """

    json: Flag = False
    """Print JSON and nothing else, for programs."""


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draw what an operator answers, in space on the slice y = 0, or how it was trained; as a picture or as a film.

    edgewise plot laplace-star --at t=1.15 --out field.png
    edgewise plot laplace-star --at t=1:2:24 --out film.gif
    edgewise plot laplace-star --history --out training.png
    """

    run: Run
    """The folder that `edgewise train` wrote, or the name of an operator that ships (`edgewise list`)."""
    out: File
    """The picture, a .png, .pdf or .svg file; or a film, a .gif file, with a frame a member or of a wave in time."""
    at: At = ()
    """Values of the parameters, `t=1.15`, or three from 1 to 2, `t=1:2:3`; may be given again. If left out, typical
    ones."""
    what: Literal["field", "total", "wave", "far-field", "density", "boundary", "history"] = "field"
    """`field`: truth, prediction and error. `total`: an incident wave and what becomes of it, without the truth.
    `wave`: the same over one period, a film. `far-field`, `density`, `boundary`: a line a member, in space surfaces.
    `history`: loss and misfit over the steps of training."""
    history: Flag = False
    """The same as `--what history`."""
    resolution: Count = None
    """Points along the longer side of the picture's grid: 200 if left out, in space 100; of a film 140, in space 70."""
    box: Annotated[str | None, tyro.conf.arg(metavar="CORNERS")] = None
    """What is shown of `field`, `total` and `wave`: the lower left and the upper right corner, `"(-3,-2),(3,2)"`, in
    space x and z. By default around the boundaries."""
    extrapolate: Flag = False
    """Allow values of the parameters that the operator was not trained for."""
    overwrite: Flag = False
    """Replace the file if it exists."""
    problem: Own = None
    """Where your own problem is that a run was trained for, if the file moved: `my_problem.py:problem`."""
    json: Flag = False
    """Print JSON and nothing else, for programs."""


@dataclasses.dataclass(frozen=True)
class Predict:
    """Write the field of an operator at points of a file or of a grid, for ParaView, xarray or a spreadsheet.

    edgewise predict laplace-star --at t=1.15 --grid 50 --out field.csv
    edgewise predict laplace-star --at t=1:2:5 --points points.csv --out u.npz
    """

    run: Run
    """The folder that `edgewise train` wrote, or the name of an operator that ships (`edgewise list`)."""
    out: File
    """The file to write. Its ending decides: .csv for a spreadsheet, .npz for NumPy, .vtu for ParaView, .nc for xarray.
    Its columns are x, y[, z], u (or u_re, u_im) and error. docs/files.md has the rest."""
    at: At = ()
    """Values of the parameters, `t=1.15`, or fifty from 1 to 2, `t=1:2:50`; may be given again."""
    points: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Points to read: a .csv file with the columns x, y[, z], or an .npz, .vtu or .nc file."""
    grid: Count = None
    """Instead of `--points`: a grid around the boundary with so many points along its longer side."""
    boundary: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the boundary with its density too, to a file with one of the endings of `--out`."""
    tol: Error = None
    """The error that is allowed, in the unit of the field: answers that are estimated to be worse are improved by a
    classical solve."""
    extrapolate: Flag = False
    """Allow values of the parameters that the operator was not trained for."""
    overwrite: Flag = False
    """Replace the file if it exists."""
    problem: Own = None
    """Where your own problem is that a run was trained for, if the file moved: `my_problem.py:problem`."""
    json: Flag = False
    """Print JSON and nothing else, for programs."""


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run an experiment of the paper with its recipe and with ours, side by side.

    edgewise reproduce laplace
    edgewise reproduce sweep --full
    """

    experiment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="laplace|biharmonic|helmholtz|sweep")]
    """Which one: the three problems of the paper, or the `sweep` over the sizes of its network."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Where results.md, results.json and the pictures go: out/reproduce-EXPERIMENT if left out. A `sweep` that was
    interrupted goes on from what is there."""
    quick: Flag = False
    """The first steps of the paper's recipe alone, minutes on two cores; it says how many. So it is, too, if `--full`
    is left out."""
    full: Flag = False
    """All 200,000 steps of the paper's recipe, of `helmholtz` and `sweep` 20,000, and training of ours: for a GPU."""
    seed: Whole = 0
    """Decides everything random: 0 if left out."""
    overwrite: Flag = False
    """Replace the results that the folder holds."""
    json: Flag = False
    """Print JSON and nothing else, for programs."""


@dataclasses.dataclass(frozen=True)
class Train:
    """Train the operator of a problem: a network that answers for every value of its parameters. Any choice of a recipe
    can be changed: `--recipe.optimiser.steps 500`.

    edgewise train laplace-star --out runs/star
    edgewise train my_problem.py:problem --out runs/mine --recipe best
    """

    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """The name of a problem that ships (`edgewise list`), or a Python file and the name in it of a problem of yours:
    `my_problem.py:problem`."""
    out: Folder
    """Where the run goes: a new folder, unless `--resume` is given."""
    recipe: Annotated[str | None, tyro.conf.arg(metavar="default|best|paper|paper-random")] = None
    """How to train: `default` (a minute or two on two cores), `best` (minutes on a GPU), or as the paper did. `default`
    if left out, or as the run that is continued."""
    resume: Flag = False
    """Continue the run in the folder where it was interrupted."""
    seed: Count = None
    """Decides everything random: 0 if left out, or that of the run that is continued."""
    json: Flag = False
    """Print JSON and nothing else, for programs."""
    changes: tyro.conf.Suppress[tuple[tuple[str, str], ...]] = ()


@dataclasses.dataclass(frozen=True)
class Completion:
    """Print a script by which a shell completes commands, options, presets, runs and files.

    eval "$(edgewise completion bash)"
    eval "$(edgewise completion zsh)"
    edgewise completion fish | source
    """

    shell: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="bash|zsh|fish")]
    """Which shell."""


# In the order in which a newcomer may want them.
COMMANDS: dict[str, type] = {
    kind.__name__.lower(): kind
    for kind in (Demo, List, Info, Train, Evaluate, Predict, Plot, Reproduce, Doctor, Completion)
}
# The module in this folder whose `run(command)` does it, where it has another name; it may return an exit status.
MODULES = {"list": "listing", "plot": "plotting"}
HELP = {"-h", "--help"}


def main(args: list[str] | None = None) -> int:
    """Runs one command; returns 0, 1 after a message, 2 for a command line that cannot be read, 130 after Ctrl-C."""
    args = sys.argv[1:] if args is None else args
    if args and args[0] in ("--version", "-V"):
        print(f"edgewise {__version__}")
        return 0
    try:
        if not args or args[0] in HELP:
            print(overview(COMMANDS))
            return 0
        if args[0] in COMMANDS and HELP & set(args):
            print(help_of(args[0], COMMANDS[args[0]]))
            return 0
        args, changes = _take_recipe_options(args)
        refused = complaint(args, COMMANDS)
        if refused:
            print(f"edgewise: {refused}", file=sys.stderr)
            return 2
        command = tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="edgewise", args=args)
        if changes:
            command = dataclasses.replace(command, changes=changes)
        return importlib.import_module(f"edgewise.cli.{MODULES.get(args[0], args[0])}").run(command) or 0
    except BrokenPipeError:
        # The reader went away, as `head` does. Nowhere to flush to, so that Python does not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, RuntimeError, OSError, ImportError) as error:
        print(f"edgewise: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        # The last note is the command's own.
        kept = getattr(stopped, "__notes__", ["nothing was written."])[-1]
        print(f"\nedgewise: interrupted; {kept}", file=sys.stderr)
        return 130


def _take_recipe_options(args: list[str]) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    """The options `--recipe.part.field value` of `train` and the rest: what fields there are, only a recipe knows."""
    if not args or args[0] != "train":
        return args, ()
    rest, changes, left = [], [], list(args)
    while left:
        word = left.pop(0)
        if not word.startswith("--recipe."):
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        if not equals:
            if not left or left[0].startswith("--"):
                raise ValueError(f"`{name}` has no value. Write it behind, as in `--recipe.optimiser.steps 500`.")
            value = left.pop(0)
        changes.append((name.removeprefix("--recipe."), value))
    return rest, tuple(changes)
