"""Where one parameter may lie: between two numbers, on the unit sphere, round the circle; and how its values are written."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from edgewise.base.precision import is_concrete


@dataclasses.dataclass(frozen=True)
class Interval:
    """Numbers between `low` and `high`; arrays of any shape, entry by entry."""

    low: Any
    high: Any
    shape: tuple[int, ...] = ()
    default: None = None

    @classmethod
    def of(cls, name: str, bounds: Any) -> "Interval":
        expected = f"`{name}=(low, high)` with low <= high, for example `Box({name}=(1.0, 2.0))`"
        try:
            low, high = bounds
            low, high = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
        except (TypeError, ValueError):
            raise ValueError(f"`{name}` got {bounds!r}; expected {expected}.") from None
        if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high)) and np.all(low <= high)):
            raise ValueError(f"`{name}` got low = {low.tolist()}, high = {high.tolist()}; expected {expected}, finite.")
        # Nested tuples, not arrays: a box must be hashable to be a static part of a compiled function.
        return cls(_nested_tuple(low), _nested_tuple(high), low.shape)

    def problem_with(self, value: np.ndarray) -> str | None:
        """What is said behind the opening quote and the name; None where nothing is wrong."""
        below, above = value < np.asarray(self.low), value > np.asarray(self.high)
        if not np.any(below | above):
            return None
        first = np.argwhere(below | above)[0]
        entry = tuple(first[first.size - len(self.shape) :])
        low, high = np.asarray(self.low)[entry], np.asarray(self.high)[entry]
        where = f"[{', '.join(map(str, entry))}]" if entry else ""
        return f"{where}` must lie in [{low}, {high}], got {value[tuple(first)]}"

    def sample(self, key: PRNGKeyArray, count: int) -> Array:
        low, high = jnp.asarray(self.low), jnp.asarray(self.high)
        return low + (high - low) * jax.random.uniform(key, (count, *self.shape), dtype=low.dtype)

    @property
    def ends(self) -> str:
        """The range in few digits; of a vector that of its entries, where they share one."""
        low, high = np.unique(self.low), np.unique(self.high)
        if len(low) > 1 or len(high) > 1:
            return str(self)
        return f"[{float(f'{low[0]:.6g}')}, {float(f'{high[0]:.6g}')}]"

    @property
    def in_words(self) -> str:
        """The range in four digits, behind the name."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        vector = f", {low.size} numbers" if low.ndim else ""
        return f"in [{low.min():.4g}, {high.max():.4g}]{vector}"

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        many = f"{self.shape[0]} numbers" if len(self.shape) == 1 else f"numbers of shape {self.shape}"
        return f"{many if self.shape else 'a number'} in {self.ends}"

    def __str__(self) -> str:
        # Runs write it down, and are recognised by it.
        return f"[{self.low}, {self.high}]"


@dataclasses.dataclass(frozen=True)
class Direction:
    """Unit vectors in `dim` dimensions, with a `default` for calls that leave it out."""

    dim: int
    default: tuple[float, ...] | None = None

    def __post_init__(self):
        if self.default is not None:
            given = np.asarray(self.default, float)
            if given.shape != (self.dim,) or not np.linalg.norm(given) > 0:
                raise ValueError(
                    f"`default` of `Direction({self.dim})` must be {self.dim} numbers, not all zero, got {self.default}."
                )
            object.__setattr__(self, "default", tuple(float(v) for v in given / np.linalg.norm(given)))

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def problem_with(self, value: np.ndarray) -> str | None:
        norms = np.linalg.norm(value, axis=-1)
        worst = np.argmax(np.abs(norms - 1))
        if np.abs(norms - 1).flat[worst] <= 1e-6:
            return None
        cure = "divide it by its length" if norms.flat[worst] > 0 else f"it points nowhere, unlike {example(self)}"
        return f"` must be a unit vector, got one of length {norms.flat[worst]:.6g}; {cure}"

    def sample(self, key: PRNGKeyArray, count: int) -> Array:
        normal = jax.random.normal(key, (count, self.dim))
        return normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)

    @property
    def in_words(self) -> str:
        return str(self)

    @property
    def expected(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"a unit vector of {self.dim} components"


@dataclasses.dataclass(frozen=True)
class Angle:
    """An angle in radians; any real number, equal modulo 2π."""

    default: float | None = None
    shape: tuple[int, ...] = ()

    def problem_with(self, value: np.ndarray) -> str | None:
        return None

    def sample(self, key: PRNGKeyArray, count: int) -> Array:
        return jax.random.uniform(key, (count,), maxval=2 * jnp.pi)

    @property
    def in_words(self) -> str:
        return str(self)

    @property
    def expected(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "an angle in radians"


# Where in its range a number lies that is typical: of a vector each entry elsewhere, in turn. With all coefficients in the middle
# a shape may be a circle, and data zero.
SHARES = np.array([0.8, 0.3, 0.6, 0.2])


def typical(spec: Interval | Direction | Angle) -> np.ndarray:
    """The default, or a value that shows something, in few digits; of a single number the middle, unless that is zero.

    >>> typical(Interval(1.0, 2.0)).tolist()
    1.5
    >>> typical(Interval.of("a", ([-0.1] * 4, [0.1] * 4))).tolist()
    [0.06, -0.04, 0.02, -0.06]
    """
    if spec.default is not None:
        return np.asarray(spec.default, float)
    if not isinstance(spec, Interval):
        return np.eye(spec.shape[0])[0] if spec.shape else np.zeros(())
    low, high = np.asarray(spec.low), np.asarray(spec.high)
    shares = np.resize(SHARES, spec.shape) if spec.shape else SHARES[0] if low == -high else 0.5
    width = np.asarray(high - low)
    finest = np.min(width[width > 0], initial=1.0)
    # Ranges of a single number must not be left by rounding.
    return np.clip(np.round(low + shares * width, 2 - int(np.floor(np.log10(finest)))), low, high)


def example(spec: Interval | Direction | Angle) -> str:
    """A value that fits, as one would write it; for messages."""
    return written(typical(spec))


def written(value: Any) -> str:
    """A value to its last digit, as Python and commands take it."""
    return str(_nested_tuple(np.asarray(value, float)))


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


def _nested_tuple(array: np.ndarray) -> Any:
    return float(array) if array.ndim == 0 else tuple(_nested_tuple(row) for row in array)
