"""The ranges of parameters: between two numbers, on the unit sphere, round the circle."""

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from edgewise.base.abstract_range import AbstractRange
from edgewise.base.values import nested_tuple

# The typical value of a symmetric interval lies at this share of it; of a vector each entry takes the next share in
# turn. With every coefficient in the middle a shape may be a circle, and data zero.
SHARES = np.array([0.8, 0.3, 0.6, 0.2])


@dataclasses.dataclass(frozen=True)
class Interval(AbstractRange):
    """Numbers between `low` and `high`; arrays of any shape, entry by entry."""

    low: Any
    high: Any
    shape: tuple[int, ...] = ()
    default: None = None
    is_linear: ClassVar[bool] = True

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
        return cls(nested_tuple(low), nested_tuple(high), low.shape)

    @property
    def bounds(self) -> tuple[float, float]:
        return float(np.min(self.low)), float(np.max(self.high))

    @property
    def ratio(self) -> float:
        return float(np.max(np.asarray(self.high) / np.asarray(self.low))) if np.min(self.low) > 0 else 1.0

    def sample(self, key: PRNGKeyArray, count: int) -> Array:
        low, high = jnp.asarray(self.low), jnp.asarray(self.high)
        return low + (high - low) * jax.random.uniform(key, (count, *self.shape), dtype=low.dtype)

    def problem_with(self, value: np.ndarray) -> str | None:
        below, above = value < np.asarray(self.low), value > np.asarray(self.high)
        if not np.any(below | above):
            return None
        first = np.argwhere(below | above)[0]
        entry = tuple(first[first.size - len(self.shape) :])
        low, high = np.asarray(self.low)[entry], np.asarray(self.high)[entry]
        where = f"[{', '.join(map(str, entry))}]" if entry else ""
        return f"{where}` must lie in [{low}, {high}], got {value[tuple(first)]}"

    def rounded(self, value: np.ndarray, dtype: Any) -> np.ndarray:
        nearest = np.clip(value, self.low, self.high)
        room = self._room(dtype) if np.issubdtype(dtype, np.floating) else 0
        return np.where(np.abs(value - nearest) <= room, nearest, value)

    def holds(self, values: Float[Array, "count ..."]) -> Bool[Array, " count"]:
        room = self._room(values.dtype)
        fits = (values >= jnp.asarray(self.low) - room) & (values <= jnp.asarray(self.high) + room)
        return jnp.all(fits.reshape(len(values), -1), axis=1)

    def _room(self, dtype: Any) -> np.ndarray:
        """What rounding to this precision may do to the ends."""
        return 4 * float(jnp.finfo(dtype).eps) * np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def typical(self) -> np.ndarray:
        """In few digits; of a single number the middle, unless that is zero.

        >>> Interval(1.0, 2.0).typical.tolist()
        1.5
        >>> Interval.of("a", ([-0.1] * 4, [0.1] * 4)).typical.tolist()
        [0.06, -0.04, 0.02, -0.06]
        """
        low, high = np.asarray(self.low), np.asarray(self.high)
        shares = np.resize(SHARES, self.shape) if self.shape else SHARES[0] if low == -high else 0.5
        width = np.asarray(high - low)
        finest = np.min(width[width > 0], initial=1.0)
        # Ranges of a single number must not be left by rounding.
        return np.clip(np.round(low + shares * width, 2 - int(np.floor(np.log10(finest)))), low, high)

    def with_ends(self, draws: Float[Array, "count ..."]) -> Float[Array, "count ..."]:
        return draws.at[:2].set(jnp.stack([jnp.asarray(self.low), jnp.asarray(self.high)]))

    def toward_ends(self, draws: Float[Array, "count ..."]) -> Float[Array, "count ..."]:
        low, high = jnp.asarray(self.low), jnp.asarray(self.high)
        share = (draws - low) / jnp.where(high > low, high - low, 1)
        return low + (high - low) * (1 - jnp.cos(np.pi * share)) / 2

    def moved(self, values: Array, steps: Float[Array, " count"], parts: float) -> Array:
        low, high = jnp.asarray(self.low), jnp.asarray(self.high)
        return jnp.clip(values + (high - low) / parts * steps.reshape(-1, *[1] * len(self.shape)), low, high)

    def spread(self, lattice: Float[np.ndarray, "count axes"], logarithmic: bool = False) -> np.ndarray:
        low, high = np.asarray(self.low), np.asarray(self.high)
        share = (1 - np.cos(np.pi * lattice.reshape(-1, *self.shape))) / 2
        return low * (high / low) ** share if logarithmic else low + (high - low) * share

    def steps(self, shares: Iterator[Float[np.ndarray, " count"]], count: int) -> np.ndarray:
        own = np.stack([next(shares) for _ in range(self.axes)], axis=-1).reshape(count, *self.shape)
        return np.asarray(self.low) + own * (np.asarray(self.high) - np.asarray(self.low))

    def unit(self, value: Array, logarithmic: bool = False) -> Float[Array, " size"]:
        low, high = np.asarray(self.low), np.asarray(self.high)
        if logarithmic:
            value, low, high = jnp.log(value), np.log(low), np.log(high)
        half = np.where(high > low, (high - low) / 2, 1.0)
        return ((value - jnp.asarray((low + high) / 2, value.dtype)) / jnp.asarray(half, value.dtype)).reshape(-1)

    @property
    def argument(self) -> str:
        return str((self.low, self.high))

    @property
    def ends(self) -> str:
        """The range in few digits; of a vector that of its entries, where they share one."""
        low, high = np.unique(self.low), np.unique(self.high)
        if len(low) > 1 or len(high) > 1:
            return str(self)
        return f"[{float(f'{low[0]:.6g}')}, {float(f'{high[0]:.6g}')}]"

    @property
    def in_words(self) -> str:
        low, high = self.bounds
        return f"in [{low:.4g}, {high:.4g}]" + f", {self.axes} numbers" * bool(self.shape)

    @property
    def expected(self) -> str:
        many = f"{self.shape[0]} numbers" if len(self.shape) == 1 else f"numbers of shape {self.shape}"
        return f"{many if self.shape else 'a number'} in {self.ends}"

    def __str__(self) -> str:
        # Runs write it down, and are recognised by it.
        return f"[{self.low}, {self.high}]"


@dataclasses.dataclass(frozen=True)
class Direction(AbstractRange):
    """Unit vectors in `dim` dimensions, with a `default` for calls that leave it out."""

    dim: int
    default: tuple[float, ...] | None = None

    def __post_init__(self):
        if self.default is not None:
            given = np.asarray(self.default, float)
            if given.shape != (self.dim,) or not np.linalg.norm(given) > 0:
                raise ValueError(
                    f"`default` of `Direction({self.dim})` must be {self.dim} numbers, not all zero, got "
                    f"{self.default}."
                )
            object.__setattr__(self, "default", tuple(float(v) for v in given / np.linalg.norm(given)))

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def sample(self, key: PRNGKeyArray, count: int) -> Array:
        normal = jax.random.normal(key, (count, self.dim))
        return normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)

    def problem_with(self, value: np.ndarray) -> str | None:
        norms = np.linalg.norm(value, axis=-1)
        worst = np.argmax(np.abs(norms - 1))
        if np.abs(norms - 1).flat[worst] <= 1e-6:
            return None
        cure = "divide it by its length" if norms.flat[worst] > 0 else f"it points nowhere, unlike {self.example}"
        return f"` must be a unit vector, got one of length {norms.flat[worst]:.6g}; {cure}"

    @property
    def typical(self) -> np.ndarray:
        return np.eye(self.dim)[0] if self.default is None else np.asarray(self.default, float)

    def __str__(self) -> str:
        return f"a unit vector of {self.dim} components"


@dataclasses.dataclass(frozen=True)
class Angle(AbstractRange):
    """An angle in radians; any real number, equal modulo 2π."""

    default: float | None = None
    shape: tuple[int, ...] = ()
    units: ClassVar[str] = "rad"

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 2 * np.pi

    def sample(self, key: PRNGKeyArray, count: int) -> Array:
        return jax.random.uniform(key, (count,), maxval=2 * jnp.pi)

    def problem_with(self, value: np.ndarray) -> str | None:
        return None

    @property
    def typical(self) -> np.ndarray:
        return np.asarray(0.0 if self.default is None else self.default, float)

    def spread(self, lattice: Float[np.ndarray, "count axes"], logarithmic: bool = False) -> np.ndarray:
        return 2 * np.pi * lattice[:, 0]

    @property
    def size(self) -> int:
        return 2

    def unit(self, value: Array, logarithmic: bool = False) -> Float[Array, " size"]:
        return jnp.stack([jnp.cos(value), jnp.sin(value)])

    def functions(self, value: Array, degree: int, logarithmic: bool = False) -> list[Float[Array, " functions"]]:
        """The harmonics, of which every degree but 0 has two."""
        waves = [f(k * value) for k in range(1, degree + 1) for f in (jnp.cos, jnp.sin)]
        return [jnp.stack([jnp.ones_like(value), *waves])]

    def degrees(self, degree: int) -> tuple[int, ...]:
        return tuple((k + 1) // 2 for k in range(2 * degree + 1))

    @property
    def run(self) -> str:
        return "0:6.28"

    def __str__(self) -> str:
        return "an angle in radians"
