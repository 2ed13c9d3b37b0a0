"""How objects look in notebooks: one late hook, because pictures are drawn by `show`, above the objects."""

import functools
import importlib
from typing import Any


@functools.singledispatch
def _card(thing: Any) -> str:
    raise NotImplementedError(f"No card is registered for {type(thing).__name__}.")


register = _card.register
"""`show.notebook` registers the card of each class with this."""


def html(thing: Any) -> str:
    """A problem, operator or solution as a notebook shows it."""
    importlib.import_module("edgewise.show.notebook")
    return _card(thing)
