"""Names that are not quite right: which one was meant."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def guess(name: str, known: Iterable[str], before: str = "") -> str:
    """A sentence with the known name that is nearest, `before` in front of it; nothing where none is near.

    >>> guess("helmholtz-shape", ["laplace-star", "helmholtz-shapes"])
    ' Did you mean `helmholtz-shapes`?'
    """
    close = nearest(name, known)
    return f" Did you mean `{before}{close}`?" if close else ""
