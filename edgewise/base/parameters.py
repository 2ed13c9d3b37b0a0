"""The parameters of a problem, each with the range it may lie in: `Box`."""

from collections.abc import Collection, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray

from edgewise.base.abstract_range import AbstractRange
from edgewise.base.precision import is_concrete
from edgewise.base.ranges import Interval

# What `solve`, `fit` and a data function already mean by these words.
RESERVED = frozenset(
    {
        "problem",
        "quadrature",
        "method",
        "tol",
        "chunk",
        "dtype",
        "extrapolate",
        "normal",
        "body",
        "x",
        "s",
        "points",
        "outside",
    }
)


class Box(eqx.Module):
    """Named parameters and where each may lie.

    Each is `(low, high)` (scalars, or arrays for a vector), a `Direction` or an `Angle`. One with a default may be left
    out of a call. A leading axis on a value makes a batch.

    >>> from edgewise.base.ranges import Direction
    >>> box = Box(t=(1.0, 2.0), direction=Direction(3, default=(0, 0, 1)))
    >>> box.names
    ('t', 'direction')
    >>> box.check({"t": 2.3})
    Traceback (most recent call last):
    ...
    ValueError: `t` must lie in [1.0, 2.0], got 2.3. Pass `extrapolate=True` to go outside the box.
    """

    specs: tuple[tuple[str, AbstractRange], ...] = eqx.field(static=True)

    def __init__(self, *unnamed: Any, **ranges: Any):
        if unnamed:
            raise TypeError(
                f"Ranges are given by name, got {unnamed[0]!r}. Write `Box(t=(1.0, 2.0))`, or `Box(**ranges)`."
            )
        for name in ranges:
            if name in RESERVED:
                raise ValueError(f"`{name}` cannot name a parameter: it means something else in calls. Rename it.")
        self.specs = tuple(
            (name, spec if isinstance(spec, AbstractRange) else Interval.of(name, spec))
            for name, spec in ranges.items()
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.specs)

    def in_order(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values in the order of the box: what JAX has mapped is sorted by name."""
        return {name: values[name] for name in self.names}

    def in_words(self) -> str:
        """The names and where each may lie, vectors by their first entry."""
        return ", ".join(f"{name} {spec.in_words}" for name, spec in self.specs) or "none"

    def arguments(self) -> list[str]:
        """What makes the box; for messages."""
        return [f"{name}={spec.argument}" for name, spec in self.specs]

    def call(self, caller: str) -> str:
        """A call that begins so and has a value for every parameter; for messages."""
        written = ", ".join(f"{name}={spec.example}" for name, spec in self.specs)
        return f"`{f'{caller}{written}'.rstrip(', ')})`"

    def without(self, names: Collection[str]) -> "Box":
        """The box of the other parameters."""
        return Box(**{name: spec for name, spec in self.specs if name not in names})

    def check_named(self, unnamed: tuple[Any, ...], caller: str) -> None:
        """Refuses values without a name in a call that begins so."""
        if unnamed:
            raise TypeError(f"Parameters are given by name, got {unnamed[0]!r} without one. Write {self.call(caller)}.")

    def check(
        self, given: Mapping[str, Any], *, extrapolate: bool = False, dtype: Any = None, caller: str = "solve(problem, "
    ) -> tuple[dict[str, Array], frozenset[str]]:
        """The parameters as arrays, defaults filled in, and the names of those with a leading batch axis.

        `caller` is how the call begins that messages say to write.
        """
        call = f"Write {self.call(caller)}."
        unknown = [name for name in given if name not in self.names]
        if unknown:
            raise ValueError(
                f"Unknown parameter{'s' * (len(unknown) > 1)} {_ticked(unknown)}; this problem has "
                f"{_ticked(self.names) or 'none'}. {call}"
            )
        values, batched, lengths = {}, set(), {}
        for name, spec in self.specs:
            if name not in given and spec.default is None:
                raise ValueError(f"Parameter `{name}` is missing; expected {spec.expected}. {call}")
            value = given.get(name, spec.default)
            try:
                value = jnp.asarray(None if isinstance(value, str) else value, dtype)
            except (TypeError, ValueError):
                raise ValueError(
                    f"`{name}` must be {spec.expected}, got {given[name]!r}. Write `{name}={spec.example}`."
                ) from None
            rank = len(spec.shape)
            if value.shape != spec.shape and not (value.ndim == rank + 1 and value.shape[1:] == spec.shape):
                batch = f"({', '.join(map(str, ('members', *spec.shape)))}{',' * (rank == 0)})"
                raise ValueError(
                    f"`{name}` has shape {value.shape}; expected {spec.shape}, or {batch} for a batch. "
                    f"Write `{name}={spec.example}`."
                )
            if value.ndim > rank:
                batched.add(name)
                lengths[name] = value.shape[0]
            if is_concrete(value):
                concrete = np.asarray(value, float)
                if not np.all(np.isfinite(concrete)):
                    raise ValueError(
                        f"`{name}` must be finite, {spec.expected}, got {concrete.tolist()}. Write "
                        f"`{name}={spec.example}`."
                    )
                # A direction is a unit vector, whatever the box.
                is_free = extrapolate and spec.is_linear
                complaint = None if is_free else spec.problem_with(spec.rounded(concrete, value.dtype))
                if complaint:
                    cure = " Pass `extrapolate=True` to go outside the box." if spec.is_linear else ""
                    raise ValueError(f"`{name}{complaint}.{cure}")
            values[name] = value
        if len(set(lengths.values())) > 1:
            raise ValueError(f"Batched parameters must have equally many members, got {lengths}.")
        if 0 in lengths.values():
            raise ValueError(f"A batch needs at least one member, got {lengths}. Pass at least one value.")
        return values, frozenset(batched)

    def members(
        self, given: Mapping[str, Any], *, extrapolate: bool = False, dtype: Any = None, caller: str = "solve(problem, "
    ) -> tuple[dict[str, Array], int, bool]:
        """The parameters, each with a member axis; how many members; whether the caller gave a batch.

        From here on one member is a batch of one: there is one case.
        """
        values, batched = self.check(given, extrapolate=extrapolate, dtype=dtype, caller=caller)
        count = next((values[name].shape[0] for name in batched), 1)
        values = {n: v if n in batched else jnp.broadcast_to(v, (count, *v.shape)) for n, v in values.items()}
        return values, count, bool(batched)

    def holds(self, values: Mapping[str, Array], count: int) -> Bool[Array, " members"]:
        """Which of `count` members lie in the box, also while JAX traces; a rounding outside is still inside."""
        inside = jnp.ones(count, bool)
        for name, spec in self.specs:
            inside &= spec.holds(values[name])
        return inside

    def sample(self, key: PRNGKeyArray, count: int) -> dict[str, Array]:
        """`count` members drawn uniformly."""
        keys = jax.random.split(key, max(len(self.specs), 1))
        return {name: spec.sample(k, count) for (name, spec), k in zip(self.specs, keys, strict=False)}

    def extremes(self, key: PRNGKeyArray, count: int) -> dict[str, Array]:
        """`count` members, the first two at the ends of every interval, the others drawn uniformly."""
        draws = self.sample(key, count)
        return {name: spec.with_ends(draws[name]) for name, spec in self.specs}


def _ticked(names) -> str:
    return ", ".join(f"`{name}`" for name in names)
