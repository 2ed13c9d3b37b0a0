"""How values of parameters are written: to the last digit for programs, in few digits for people."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewise.base.precision import is_concrete


def written(value: Any) -> str:
    """A value to its last digit, as Python and commands take it."""
    return str(nested_tuple(np.asarray(value, float)))


def in_words(parameters: Mapping[str, Any]) -> list[str]:
    """One member's parameters, each in a few words and digits.

    >>> in_words({"t": 1.15, "a": np.array([0.1, -0.03125])})
    ['t = 1.15', 'a = (0.1, -0.031)']
    """
    return [f"{name} = {_few_digits(np.asarray(value))}" for name, value in parameters.items()]


def members_in_words(parameters: Mapping[str, Any], batched: bool) -> str:
    """One member's values; of a batch the range of each."""
    if not is_concrete(*parameters.values()):
        return ", ".join(parameters)
    if not batched:
        return ", ".join(in_words(parameters))
    return ", ".join(_span(name, np.asarray(value)) for name, value in parameters.items())


def _span(name: str, value: np.ndarray) -> str:
    if np.all(value == value[:1]):
        return in_words({name: value[0]})[0]
    vector = f", {value[0].size} numbers" if value.ndim > 1 else ""
    return f"{name} from {value.min():.4g} to {value.max():.4g}{vector}"


def _few_digits(value: np.ndarray) -> str:
    if value.ndim == 0:
        return f"{value:.4g}"
    entries = [f"{entry:.3g}" for entry in np.round(value.ravel(), 3)]
    return f"({', '.join(entries if len(entries) <= 6 else [*entries[:3], '...', entries[-1]])})"


def nested_tuple(array: np.ndarray) -> Any:
    return float(array) if array.ndim == 0 else tuple(nested_tuple(row) for row in array)
