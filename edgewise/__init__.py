"""Edgewise: boundary value problems, solved and learned on the boundary alone.

`edgewise.api` lists the public names. It is imported when the first of them is used, so that the command line answers
before JAX is loaded.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from edgewise import plot as plot
    from edgewise import testing as testing
    from edgewise.api import *  # noqa: F403
    from edgewise.base import precision as precision

_MODULES = {"plot": "plot", "precision": "base.precision", "testing": "testing"}


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"edgewise.{_MODULES[name]}")
    # Python itself asks for names in underscores, such as `__path__`; they are not in the list.
    if name == "__all__":
        return __dir__()
    if not name.startswith("_"):
        api = importlib.import_module("edgewise.api")
        if hasattr(api, name):
            return getattr(api, name)
        raise AttributeError(f"edgewise has no name `{name}`; it has {', '.join(__dir__()[1:])}.")
    raise AttributeError(f"edgewise has no name `{name}`.")


def __dir__() -> list[str]:
    listed = vars(importlib.import_module("edgewise.api"))
    return ["__version__", *sorted(name for name in listed if not name.startswith("_"))]
