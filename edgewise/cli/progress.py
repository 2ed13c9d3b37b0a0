"""What long commands say: how long they take, what was kept when they are interrupted, what to try at the end."""

import contextlib
import shlex
import sys
from collections.abc import Iterator

from edgewise.learn.operator import Operator

# Seconds on one core of the first member in space, compilation included, and of each after it, by whether it has edges:
# to estimate its error, and to solve it and compare as well. Measured on the ellipsoids and half-balls that ship.
ESTIMATED = {False: (60, 10), True: (120, 20)}
SOLVED = {False: (80, 30), True: (180, 110)}


def say_what_space_costs(operator: Operator, count: int, solved: bool = True) -> None:
    """In the plane a bar moves soon enough; in space the first member alone takes long."""
    family = operator.problem.family
    if not family.in_space:
        return
    first, other = (SOLVED if solved else ESTIMATED)[family.has_edges]
    seconds = first + (count - 1) * other
    what = (
        "solved with more nodes than the operator has, and its error estimated" if solved else "estimated in its error"
    )
    told = f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds} s"
    print(
        f"In space every member is {what}: about {told} on one core for {count} member{'s' * (count > 1)}.",
        file=sys.stderr,
        flush=True,
    )


@contextlib.contextmanager
def interruptible(words: str) -> Iterator[None]:
    """Ctrl-C says these words: what was kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        stopped.add_note(words)
        raise


def try_next(*commands: list[str]) -> str:
    """The last lines of a command.

    >>> print(try_next(["list"], ["info", "my run"]))
    <BLANKLINE>
    Try next:
      edgewise list
      edgewise info 'my run'
    """
    return "\n".join(["\nTry next:", *(f"  {shlex.join(['edgewise', *command])}" for command in commands)])
