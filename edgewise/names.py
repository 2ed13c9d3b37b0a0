"""Names that are not quite right: which one was meant."""

import difflib
from collections.abc import Iterable


def guess(name: str, known: Iterable[str], before: str = "") -> str:
    """A sentence with the known name that is nearest, `before` in front of it; nothing where none is near.

    >>> guess("helmholtz-shape", ["laplace-star", "helmholtz-shapes"])
    ' Did you mean `helmholtz-shapes`?'
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean `{before}{close[0]}`?" if close else ""
