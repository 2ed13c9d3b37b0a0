"""What a person sees while something takes long: a bar in a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from tqdm import tqdm

# Seconds between two plain lines.
PAUSE = 5.0
Part = TypeVar("Part")


class Progress:
    """Shows on standard error how many steps are done, loss and misfit where there are any, and the time left."""

    def __init__(self, total: int, done: int, show: bool | None, words: str = "", unit: str = "step"):
        """`words` are said before the first step, where anything is shown."""
        self.total, self.unit = total, unit
        self.trains = unit == "step"
        # Training says at once that it goes on, and may end before its last step; the rest is silent when it is short.
        self.start, self.first, self.last = time.perf_counter(), done, -PAUSE if self.trains else 0.0
        self.sure = "at most" if self.trains else "about"
        is_terminal = sys.stderr.isatty()
        options: dict[str, Any] = {} if self.trains else {"leave": False}
        self.bar = (
            tqdm(total=total, initial=done, unit=unit, dynamic_ncols=True, **options)
            if show is not False and is_terminal
            else None
        )
        # Asked for explicitly, lines are shown also where nobody seems to look.
        self.lines = bool(show) and not is_terminal
        if words and (self.lines or self.bar is not None):
            tqdm.write(words, file=sys.stderr)

    def update(self, record: dict[str, Any]) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(_words(record))
            self.bar.update(record["step"] - self.bar.n)
        elif self.lines:
            now = time.perf_counter() - self.start
            is_last = record["step"] >= self.total
            if (self.trains and is_last) or (not is_last and now - self.last >= PAUSE):
                self.last = now
                print(self.line(record), file=sys.stderr, flush=True)

    def line(self, record: dict[str, Any]) -> str:
        spent = time.perf_counter() - self.start
        done = record["step"] - self.first
        left = spent / done * (self.total - record["step"]) if done else 0
        words = "".join(f", {part}" for part in [_words(record)] if part)
        return f"{self.unit} {record['step']}/{self.total}{words}, {spent:.0f} s, {self.sure} {left:.0f} s left"

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def watched(
    parts: Iterable[Part], total: int, show: bool, unit: str, size: Callable[[Part], int] = len
) -> Iterator[Part]:
    """The parts one by one, which are `total` things together; shown is how many are done.

    >>> [sum(part) for part in watched([[1, 2], [3]], 3, False, "number")]
    [3, 3]
    """
    shown, done = Progress(total, 0, show, unit=unit), 0
    try:
        for part in parts:
            yield part
            done = min(done + size(part), total)
            shown.update({"step": done})
    finally:
        shown.close()


def _words(record: dict[str, Any]) -> str:
    return ", ".join(f"{name} {record[name]:.2e}" for name in ("loss", "misfit") if name in record)
