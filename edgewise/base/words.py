"""Words of messages: which name was meant, and how many there are of what."""

import difflib
from collections.abc import Iterable
from typing import Any


def nearest(name: str, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def guess(name: str, known: Iterable[str], before: str = "") -> str:
    """A sentence with the known name that is nearest, `before` in front of it; nothing where none is near.

    >>> guess("helmholtz-shape", ["laplace-star", "helmholtz-shapes"])
    ' Did you mean `helmholtz-shapes`?'
    """
    close = nearest(name, known)
    return f" Did you mean `{before}{close}`?" if close else ""


def is_text(value: Any) -> bool:
    """Whether a value is a dictionary of texts, as files may hold."""
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def counted(number: int, what: str) -> str:
    """
    >>> counted(1, "step"), counted(2, "step")
    ('1 step', '2 steps')
    """
    return f"{number} {what}{'s' * (number != 1)}"
