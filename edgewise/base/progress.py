"""What a person sees while something takes long: a bar in a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from tqdm import tqdm

# Seconds between two plain lines, where they were asked for and where they were not.
PAUSE, QUIET = 5.0, 30.0
# Said once, before the word appears.
MISFIT = "misfit: how far the boundary equation is missed, relatively, the worst of members it is not trained on"
ENDS = "; training ends when that no longer falls"
Part = TypeVar("Part")


class Progress:
    """Shows on standard error the steps done, loss and misfit where there are any, and the time left where it is
    known."""

    def __init__(
        self, total: int, done: int, show: bool | None, words: str = "", unit: str = "step", ends_early: bool = False
    ):
        """`words` are said before the first step, unless nothing is to be shown; what ends early, by how the misfit
        falls, is not said to have any time left."""
        self.total, self.unit, self.ends_early = total, unit, ends_early
        self.trains = unit == "step"
        # Training that is to be shown says at once that it goes on; the rest is silent when it is short.
        self.start, self.last = time.perf_counter(), -PAUSE if self.trains and show else 0.0
        self.pause, self.asked = PAUSE if show else QUIET, bool(show)
        # From where on the pace counts.
        self.mark = (done, self.start)
        is_terminal = sys.stderr.isatty()
        options: dict[str, Any] = {} if self.trains else {"leave": False}
        if ends_early:
            options["bar_format"] = "step {n_fmt} of at most {total_fmt}, {elapsed}{postfix}"
        self.bar = (
            tqdm(total=total, initial=done, unit=unit, dynamic_ncols=True, **options)
            if show is not False and is_terminal
            else None
        )
        # Also where nobody seems to look: whoever waits for long wants to know for how long.
        self.lines = show is not False and not is_terminal
        # Before the word is read.
        self.explained = f"{MISFIT}{ENDS * ends_early}." if self.trains else ""
        if words and show is not False:
            tqdm.write(words, file=sys.stderr)
        if self.asked or self.bar is not None:
            self._explain()

    def update(self, record: dict[str, Any]) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(_words(record))
            self.bar.update(record["step"] - self.bar.n)
        elif self.lines:
            now = time.perf_counter() - self.start
            is_last = record["step"] >= self.total
            if (self.trains and is_last and self.asked) or (not is_last and now - self.last >= self.pause):
                self.last = now
                self._explain()
                print(self.line(record), file=sys.stderr, flush=True)
        if self.trains and self.mark[1] == self.start:
            # The first steps were compiled too.
            self.mark = (record["step"], time.perf_counter())

    def line(self, record: dict[str, Any]) -> str:
        now = time.perf_counter()
        done, since = record["step"] - self.mark[0], now - self.mark[1]
        words = "".join(f", {part}" for part in [_words(record)] if part)
        of = " of at most " if self.ends_early else "/"
        # Nothing is known before a step that was not compiled.
        left = since / done * (self.total - record["step"]) if done > 0 and not self.ends_early else None
        ahead = "" if left is None else f", about {left:.0f} s left"
        return f"{self.unit} {record['step']}{of}{self.total}{words}, {now - self.start:.0f} s{ahead}"

    def _explain(self) -> None:
        if self.explained:
            tqdm.write(self.explained, file=sys.stderr)
        self.explained = ""

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
