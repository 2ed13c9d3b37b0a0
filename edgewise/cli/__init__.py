"""The command `edgewise`. What a command takes is here; what it does is imported when it runs: help comes at once."""

import dataclasses
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import tyro

from edgewise import __version__
from edgewise.cli.grammar import complaint

DESCRIPTION = """Solve parametric boundary value problems on the boundary alone.

Begin with `edgewise demo`; `edgewise COMMAND --help` says what a command takes."""

Json = tyro.conf.FlagCreatePairsOff[bool]


At = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="MEMBER")]
Flag = tyro.conf.FlagCreatePairsOff[bool]
Run = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
Own = Annotated[str | None, tyro.conf.arg(metavar="FILE.py:NAME")]


def _numbers(read: Callable[[str], Any], metavar: str, expected: str) -> tyro.constructors.PrimitiveConstructorSpec:
    """How numbers are read: those of Python's own messages that mean little to others are said in words."""

    def from_words(words: list[str]) -> Any:
        try:
            return read(words[0])
        except ValueError:
            raise ValueError(f"expected {expected}, got `{words[0]}`") from None

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=from_words,
        is_instance=lambda value: True,
        str_from_instance=lambda value: [str(value)],
    )


Whole = Annotated[int, _numbers(int, "INT", "a whole number such as 200"), tyro.conf.arg(metavar="INT")]
Count = Annotated[int | None, _numbers(int, "INT", "a whole number such as 200"), tyro.conf.arg(metavar="INT")]
Error = Annotated[float | None, _numbers(float, "ERROR", "a number such as 1e-6"), tyro.conf.arg(metavar="ERROR")]


@dataclasses.dataclass(frozen=True)
class Completion:
    """Print a script that completes commands, options, presets, runs and files: `eval "$(edgewise completion bash)"`, for zsh the
    same, for fish `edgewise completion fish | source`."""

    shell: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="bash|zsh|fish")]
    """Which shell."""


@dataclasses.dataclass(frozen=True)
class Demo:
    """Learn the paper's Laplace problem, compare with the paper and with the classical solve, draw it."""

    out: Path = Path("out/demo")
    """Folder for table.md, table.json, laplace-star.png, training.png and the run itself, run/: these are overwritten; nothing
    else in it is touched."""
    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Say what this machine would use: Python, JAX, devices, precision, extras."""

    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Measure the errors of an operator, up to the boundary."""

    run: Run
    """The folder of a run, or the name of an operator that ships."""
    at: At = ()
    """A member, `t=1.15`, or several, `t=1:2:50`; may be given again. By default the paper's, or the middle of the box."""
    random: Whole = 0
    """Measure so many random members too."""
    seed: Whole = 0
    """Decides the random members."""
    grid: Count = None
    """Points along the longest side of the grid on which fields are compared: 160 if left out, in space 7."""
    printed_formula: Flag = False
    """Also the formula that the paper prints, which has no square root; its numbers have one."""
    extrapolate: Flag = False
    """Allow members outside the box that the operator was trained on."""
    problem: Own = None
    """For a run of your own problem: `my_problem.py:problem`, if it is no longer where it was."""
    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class Info:
    """Say what a run is: problem, box, recipe, network, result, files."""

    run: Run
    """The folder of a run, or the name of an operator that ships."""
    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class List:
    """List the problems that ship with the package, and which have a trained operator."""

    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draw what an operator answers, in space on the slice y = 0, or how it was trained; as a picture or as a film."""

    run: Run
    """The folder of a run, or the name of an operator that ships."""
    out: Path
    """The picture, a .png, .pdf or .svg file; or a film, a .gif file, with a frame a member or of a wave in time."""
    at: At = ()
    """A member, `t=1.15`, or several, `t=1:2:3`; may be given again. By default the middle of the box."""
    what: Literal["field", "total", "wave", "far-field", "density", "boundary", "history"] = "field"
    """`field`: truth, prediction and error. `total`: an incident wave and what becomes of it, without the truth. `wave`: the same
    over one period, a film. `far-field`, `density`, `boundary`: a line a member, in space surfaces. `history`: loss and misfit
    over the steps of training."""
    history: Flag = False
    """The same as `--what history`."""
    resolution: Count = None
    """Points along the longer side of the picture's grid: 200 if left out, in space 100; of a film 140, in space 70."""
    box: Annotated[str | None, tyro.conf.arg(metavar="CORNERS")] = None
    """What is shown of `field`, `total` and `wave`: the lower left and the upper right corner, `"(-3,-2),(3,2)"`, in space x and z.
    By default around the boundaries."""
    extrapolate: Flag = False
    """Allow members outside the box that the operator was trained on."""
    overwrite: Flag = False
    """Replace the file if it exists."""
    problem: Own = None
    """For a run of your own problem: `my_problem.py:problem`, if it is no longer where it was."""
    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class Predict:
    """Write the field of an operator at points of a file or of a grid, for ParaView, xarray or a spreadsheet."""

    run: Run
    """The folder of a run, or the name of an operator that ships."""
    out: Path
    """The file to write: .vtu for ParaView, of several members a .pvd with a .vtu each; .nc for xarray; .csv or .npz with columns x, y[, z],
    u (or u_re, u_im), error, and the parameters first where there are several members. Of a grid, .npz has its `shape` too:
    `u.reshape(shape)` has y along its rows."""
    at: At = ()
    """A member, `t=1.15`, or several, `t=1:2:50`; may be given again."""
    points: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Points to read: a .csv file with the columns x, y[, z], an .npz file, a .vtu file, whose cells a .vtu file to write keeps, or an
    .nc file."""
    grid: Count = None
    """Instead of points: a grid around the boundary with so many along its longer side."""
    boundary: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the boundary with its density too, to a file with one of the endings of `--out`."""
    tol: Error = None
    """The error that is allowed, in the unit of the field: members whose estimate is above it are refined."""
    extrapolate: Flag = False
    """Allow members outside the box that the operator was trained on."""
    overwrite: Flag = False
    """Replace the file if it exists."""
    problem: Own = None
    """For a run of your own problem: `my_problem.py:problem`, if it is no longer where it was."""
    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run an experiment of the paper with its recipe and with ours, side by side: `laplace`, `biharmonic`, `helmholtz`, or the
    `sweep` over the sizes of its network."""

    experiment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="laplace|biharmonic|helmholtz|sweep")]
    """Which one."""
    out: Path | None = None
    """Folder for results.md, results.json and the pictures; by default out/reproduce-EXPERIMENT. A `sweep` that was interrupted goes
    on from what its folder holds."""
    quick: Flag = False
    """The first steps of the paper's recipe alone, minutes on two cores; so it is without `--full` too. How many it says before it starts."""
    full: Flag = False
    """All 200,000 steps of the paper's recipe, of `helmholtz` and `sweep` 20,000, and training of ours: for a GPU."""
    seed: Whole = 0
    """Decides everything random."""
    overwrite: Flag = False
    """Replace the results that the folder holds."""
    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class Train:
    """Train the operator of a problem. Any choice of a recipe can be changed: `--recipe.optimiser.steps 500`."""

    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """A preset (`edgewise list`), or `my_problem.py:problem`."""
    out: Path
    """The run's folder; a new one, unless `--resume` is given."""
    recipe: Annotated[str | None, tyro.conf.arg(metavar="default|best|paper|paper-random")] = None
    """How to train: `default` if left out, or what the run has that is continued."""
    resume: Flag = False
    """Continue the run in the folder where it was interrupted."""
    seed: Count = None
    """Decides everything random: 0 if left out, or what the run has that is continued."""
    json: Json = False
    """Print JSON and nothing else."""
    changes: tyro.conf.Suppress[tuple[tuple[str, str], ...]] = ()


Command = (
    Annotated[Completion, tyro.conf.subcommand("completion")]
    | Annotated[Demo, tyro.conf.subcommand("demo")]
    | Annotated[Doctor, tyro.conf.subcommand("doctor")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Info, tyro.conf.subcommand("info")]
    | Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Plot, tyro.conf.subcommand("plot")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[Train, tyro.conf.subcommand("train")]
)
COMMANDS: dict[str, type] = {kind.__name__.lower(): kind for kind in (get_args(one)[0] for one in get_args(Command))}
# The module in this folder whose `run(command)` does it; it may return an exit status.
MODULES = {
    Completion: "completion",
    Demo: "demo",
    Doctor: "doctor",
    Evaluate: "evaluate",
    Info: "info",
    List: "listing",
    Plot: "plotting",
    Predict: "predict",
    Reproduce: "reproduce",
    Train: "train",
}


def main(args: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, 1 after a message, 2 for a command line that cannot be read, 130 after Ctrl-C."""
    args = sys.argv[1:] if args is None else args
    if args and args[0] in ("--version", "-V"):
        print(f"edgewise {__version__}")
        return 0
    try:
        args, changes = _take_recipe_options(args)
        refused = complaint(args, COMMANDS)
        if refused:
            print(f"edgewise: {refused}", file=sys.stderr)
            return 2
        command = tyro.cli(Command, prog="edgewise", description=DESCRIPTION, args=args or ["--help"])  # pyright: ignore
        if changes:
            command = dataclasses.replace(command, changes=changes)
        return importlib.import_module(f"edgewise.cli.{MODULES[type(command)]}").run(command) or 0
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
