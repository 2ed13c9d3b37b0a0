"""The command `edgewise`. What a command takes is here; what it does is imported when it runs: help comes at once."""

import dataclasses
import importlib
import os
import sys
from pathlib import Path
from typing import Annotated

import tyro

from edgewise import __version__

DESCRIPTION = """Solve parametric boundary value problems on the boundary alone.

`edgewise --version` prints the version, `edgewise COMMAND --help` what a command takes."""

Json = tyro.conf.FlagCreatePairsOff[bool]


@dataclasses.dataclass(frozen=True)
class Demo:
    """Solve the paper's Laplace problem, compare with the paper, draw it."""

    out: Path = Path("out/demo")
    """Folder for table.md, table.json and laplace-star.png, which are overwritten; nothing else in it is touched."""
    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Say what this machine would use: Python, JAX, devices, precision, extras."""

    json: Json = False
    """Print JSON and nothing else."""


@dataclasses.dataclass(frozen=True)
class List:
    """List the problems that ship with the package."""

    json: Json = False
    """Print JSON and nothing else."""


Command = (
    Annotated[Demo, tyro.conf.subcommand("demo")]
    | Annotated[Doctor, tyro.conf.subcommand("doctor")]
    | Annotated[List, tyro.conf.subcommand("list")]
)
# The module in this folder whose `run(command)` does it.
MODULES = {Demo: "demo", Doctor: "doctor", List: "listing"}


def main(args: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, 1 after a message, 2 for a command line that cannot be read."""
    args = sys.argv[1:] if args is None else args
    if args and args[0] in ("--version", "-V"):
        print(f"edgewise {__version__}")
        return 0
    command = tyro.cli(Command, prog="edgewise", description=DESCRIPTION, args=args or ["--help"])  # pyright: ignore
    try:
        importlib.import_module(f"edgewise.cli.{MODULES[type(command)]}").run(command)
    except BrokenPipeError:
        # The reader went away, as `head` does. Nowhere to flush to, so that Python does not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, RuntimeError, OSError, ImportError) as error:
        print(f"edgewise: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("edgewise: interrupted", file=sys.stderr)
        return 130
    return 0
