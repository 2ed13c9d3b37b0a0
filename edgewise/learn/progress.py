"""What a person sees while a network trains: a bar in a terminal, plain lines elsewhere."""

import sys
import time
from typing import Any

from tqdm import tqdm

# Seconds between two plain lines.
PAUSE = 5.0


class Progress:
    """Shows step, loss, misfit and time left on standard error."""

    def __init__(self, total: int, done: int, show: bool | None, words: str = ""):
        """`words` are said before the first step, where anything is shown."""
        self.total = total
        self.start, self.first, self.last = time.perf_counter(), done, -PAUSE
        is_terminal = sys.stderr.isatty()
        self.bar = (
            tqdm(total=total, initial=done, unit="step", dynamic_ncols=True)
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
            if now - self.last >= PAUSE or record["step"] >= self.total:
                self.last = now
                print(self.line(record), file=sys.stderr, flush=True)

    def line(self, record: dict[str, Any]) -> str:
        spent = time.perf_counter() - self.start
        done = record["step"] - self.first
        left = spent / done * (self.total - record["step"]) if done else 0
        return f"step {record['step']}/{self.total}, {_words(record)}, {spent:.0f} s, at most {left:.0f} s left"

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _words(record: dict[str, Any]) -> str:
    return f"loss {record['loss']:.2e}, misfit {record['misfit']:.2e}"
