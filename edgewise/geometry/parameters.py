"""Named parameters: where they may lie (`Box`), and how functions and numbers refer to them by name."""

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray

from edgewise.precision import is_concrete

# What `solve`, `fit` and a data function already mean by these words.
RESERVED = frozenset(
    {"problem", "quadrature", "method", "tol", "chunk", "dtype", "extrapolate", "normal", "x", "s", "points", "outside"}
)


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
    def expected(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "an angle in radians"


class Box(eqx.Module):
    """Named parameters and where each may lie.

    Each is `(low, high)` (scalars, or arrays for a vector), a `Direction` or an `Angle`. One with a default may be left
    out of a call. A leading axis on a value makes a batch.

    >>> box = Box(t=(1.0, 2.0), direction=Direction(3, default=(0, 0, 1)))
    >>> box.names
    ('t', 'direction')
    >>> box.check({"t": 2.3})
    Traceback (most recent call last):
    ...
    ValueError: `t` must lie in [1.0, 2.0], got 2.3. Pass `extrapolate=True` to go outside the box.
    """

    specs: tuple[tuple[str, Interval | Direction | Angle], ...] = eqx.field(static=True)

    def __init__(self, **ranges: Any):
        for name in ranges:
            if name in RESERVED:
                raise ValueError(f"`{name}` cannot name a parameter: it means something else in calls. Rename it.")
        self.specs = tuple(
            (name, spec if isinstance(spec, Direction | Angle) else Interval.of(name, spec))
            for name, spec in ranges.items()
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.specs)

    def in_order(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values in the order of the box: what JAX has mapped is sorted by name."""
        return {name: values[name] for name in self.names}

    def arguments(self) -> list[str]:
        """What makes the box; for messages."""
        return [f"{n}={(s.low, s.high) if isinstance(s, Interval) else s!r}" for n, s in self.specs]

    def call(self, caller: str) -> str:
        """A call that begins so and has a value for every parameter; for messages."""
        written = ", ".join(f"{name}={example(spec)}" for name, spec in self.specs)
        return f"`{f'{caller}{written}'.rstrip(', ')})`"

    def without(self, names: Collection[str]) -> "Box":
        """The box of the other parameters."""
        kept = {name: spec for name, spec in self.specs if name not in names}
        return Box(**{n: (s.low, s.high) if isinstance(s, Interval) else s for n, s in kept.items()})

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
                    f"`{name}` must be {spec.expected}, got {given[name]!r}. Write `{name}={example(spec)}`."
                ) from None
            rank = len(spec.shape)
            if value.shape != spec.shape and not (value.ndim == rank + 1 and value.shape[1:] == spec.shape):
                batch = f"({', '.join(map(str, ('members', *spec.shape)))}{',' * (rank == 0)})"
                raise ValueError(
                    f"`{name}` has shape {value.shape}; expected {spec.shape}, or {batch} for a batch. "
                    f"Write `{name}={example(spec)}`."
                )
            if value.ndim > rank:
                batched.add(name)
                lengths[name] = value.shape[0]
            if is_concrete(value):
                concrete = np.asarray(value, float)
                if not np.all(np.isfinite(concrete)):
                    raise ValueError(
                        f"`{name}` must be finite, {spec.expected}, got {concrete.tolist()}. Write `{name}={example(spec)}`."
                    )
                # A direction is a unit vector, whatever the box.
                is_free = extrapolate and isinstance(spec, Interval)
                complaint = None if is_free else spec.problem_with(_but_for_rounding(spec, concrete, value.dtype))
                if complaint:
                    cure = " Pass `extrapolate=True` to go outside the box." if isinstance(spec, Interval) else ""
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
            if isinstance(spec, Interval):
                low, high = jnp.asarray(spec.low), jnp.asarray(spec.high)
                room = 4 * jnp.finfo(values[name].dtype).eps * jnp.maximum(jnp.abs(low), jnp.abs(high))
                fits = (values[name] >= low - room) & (values[name] <= high + room)
                inside &= jnp.all(fits.reshape(count, -1), axis=1)
        return inside

    def sample(self, key: PRNGKeyArray, count: int) -> dict[str, Array]:
        """`count` members drawn uniformly."""
        keys = jax.random.split(key, max(len(self.specs), 1))
        return {name: spec.sample(k, count) for (name, spec), k in zip(self.specs, keys, strict=False)}

    def extremes(self, key: PRNGKeyArray, count: int) -> dict[str, Array]:
        """`count` members, the first two at the ends of every interval, the others drawn uniformly."""
        draws = self.sample(key, count)
        for name, spec in self.specs:
            if isinstance(spec, Interval):
                draws[name] = draws[name].at[:2].set(jnp.stack([jnp.asarray(spec.low), jnp.asarray(spec.high)]))
        return draws


class Parameter(eqx.Module):
    """A number that is not known yet: the parameter of that name."""

    name: str = eqx.field(static=True)
    positive: str = eqx.field(static=True, default="")
    """What it is, in words, where it must be positive; empty where any number will do."""


def number(value: Any) -> Any:
    """A field that holds a number or, given a string, the name of the parameter that will supply it."""
    if isinstance(value, str):
        return Parameter(value)
    if isinstance(value, Parameter):
        return value
    if isinstance(value, int | float | np.floating | np.integer):
        value = float(value)
    try:
        made = value if isinstance(value, float | complex) or eqx.is_array(value) else jnp.asarray(value)
    except (TypeError, ValueError):
        raise TypeError(f"Expected a number or a parameter's name, got {value!r}.") from None
    if is_concrete(made) and not np.all(np.isfinite(np.asarray(made))):
        raise ValueError(f"Expected a finite number or a parameter's name, got {value!r}.")
    return made


def positive(what: str, value: Any, example: str) -> Any:
    """As `number`, one that must be positive: refused at once where it is known, by `check_positive` where it has a name."""
    value = number(value)
    if isinstance(value, Parameter):
        return Parameter(value.name, what)
    if getattr(value, "shape", ()) != ():
        raise ValueError(
            f"{what} must be one number or a parameter's name, got an array of shape {value.shape}: `{example}`. Many members "
            "at once are given to `solve`, as an array of a named parameter."
        )
    if is_concrete(value) and (np.iscomplexobj(value) or not np.asarray(value) > 0):
        raise ValueError(f"{what} must be positive, got {value}: `{example}`.")
    return value


def check_positive(tree: Any, values: Mapping[str, Any]) -> None:
    """Refuses members in which a parameter is not positive that must be, as part of `tree`."""
    leaves = jax.tree_util.tree_leaves(tree, is_leaf=lambda node: isinstance(node, Parameter))
    for parameter in (leaf for leaf in leaves if isinstance(leaf, Parameter) and leaf.positive):
        given = np.asarray(values[parameter.name]).ravel()
        if not np.all(given > 0):
            raise ValueError(f"{parameter.positive} must be positive, got {parameter.name} = {given[~(given > 0)][0]}.")


class UserFunction(eqx.Module):
    """A function a user wrote: one point first, then by keyword whatever it names."""

    function: Any
    names: tuple[str, ...] = eqx.field(static=True)
    optional: tuple[str, ...] = eqx.field(static=True)
    takes_all: bool = eqx.field(static=True)
    role: str = eqx.field(static=True)

    def __init__(self, function: Callable, role: str, first: str):
        self.role = role
        if not callable(function):
            raise TypeError(f"{role} must be a function of `{first}` and named parameters, got {function!r}.")
        # A plain function is not an array: it must be static, or a solution could not leave `jax.jit`.
        self.function = function if isinstance(function, eqx.Module) else _Static(function)
        signature = inspect.signature(function).parameters.values()  # pyright: ignore[reportArgumentType]
        positional = [p for p in signature if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if not positional and not any(p.kind is p.VAR_POSITIONAL for p in signature):
            raise TypeError(f"{role} must take the point `{first}` first: `lambda {first}, ...: ...`.")
        named = [*positional[1:], *(p for p in signature if p.kind is p.KEYWORD_ONLY)]
        # An argument with a default belongs to the function itself, unless a parameter bears its name.
        self.names = tuple(p.name for p in named if p.default is p.empty)
        self.optional = tuple(p.name for p in named if p.default is not p.empty)
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in signature)

    def __call__(self, point: Array, known: Mapping[str, Any]) -> Any:
        wanted = [*self.names, *(name for name in self.optional if name in known)]
        given = known if self.takes_all else {name: known[name] for name in wanted}
        try:
            return self.function(point, **given)
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise TypeError(
                f"{self.role} asks for numbers while JAX traces it. Write `jnp.sin` of `jax.numpy` instead of `np.sin` or "
                "`math.sin`, and `jnp.where(condition, a, b)` instead of `if`."
            ) from error
        except IndexError as error:
            raise TypeError(
                f"{self.role} sees one point, of shape {np.shape(point)}, not many at once: {error}. Write `x[0]`, not `x[:, 0]`."
            ) from error


class _Static(eqx.Module):
    function: Callable = eqx.field(static=True)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def _but_for_rounding(spec: Any, value: np.ndarray, dtype: Any) -> np.ndarray:
    """The value, moved to the end of an interval that it misses by a rounding to this precision."""
    if not isinstance(spec, Interval):
        return value
    low, high = np.asarray(spec.low), np.asarray(spec.high)
    room = 4 * np.finfo(dtype).eps * np.maximum(np.abs(low), np.abs(high)) if np.issubdtype(dtype, np.floating) else 0
    nearest = np.clip(value, low, high)
    return np.where(np.abs(value - nearest) <= room, nearest, value)


def names_in(tree: Any) -> frozenset[str]:
    """Every parameter name that numbers and functions in `tree` refer to."""

    def is_named(node):
        return isinstance(node, Parameter | UserFunction)

    found: set[str] = set()
    for node in jax.tree_util.tree_leaves(tree, is_leaf=is_named):
        if isinstance(node, Parameter):
            found.add(node.name)
        elif isinstance(node, UserFunction):
            found.update(node.names)
            found.update(names_in(node.function))
    return frozenset(found)


def bind(tree: Any, parameters: Mapping[str, Any]) -> Any:
    """`tree` with every `Parameter` replaced by its value."""

    def is_parameter(node):
        return isinstance(node, Parameter)

    return jax.tree_util.tree_map(
        lambda node: parameters[node.name] if is_parameter(node) else node, tree, is_leaf=is_parameter
    )


def in_words(parameters: Mapping[str, Any]) -> list[str]:
    """One member's parameters, each in a few words and digits.

    >>> in_words({"t": 1.15, "a": np.array([0.1, -0.03125])})
    ['t = 1.15', 'a = (0.1, -0.031)']
    """
    return [f"{name} = {_few_digits(np.asarray(value))}" for name, value in parameters.items()]


def _few_digits(value: np.ndarray) -> str:
    if value.ndim == 0:
        return f"{value:.4g}"
    entries = [f"{entry:.3g}" for entry in np.round(value.ravel(), 3)]
    return f"({', '.join(entries if len(entries) <= 6 else [*entries[:3], '...', entries[-1]])})"


def _nested_tuple(array: np.ndarray) -> Any:
    return float(array) if array.ndim == 0 else tuple(_nested_tuple(row) for row in array)


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


def _ticked(names) -> str:
    return ", ".join(f"`{name}`" for name in names)
