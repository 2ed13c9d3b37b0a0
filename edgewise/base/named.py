"""Numbers and functions that refer to parameters by name."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.precision import is_concrete


class Parameter(eqx.Module):
    """A number that is not known yet: the parameter of that name."""

    name: str = eqx.field(static=True)
    positive: str = eqx.field(static=True, default="")
    """What it is, in words, where it must be positive; empty where any number will do."""

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({self.name})


def number(value: Any) -> Any:
    """A field that holds a number or, given a string, the name of the parameter that will supply it."""
    if isinstance(value, str):
        return Parameter(value)
    if _is_parameter(value):
        return value
    if is_number(value):
        value = float(value)
    try:
        made = value if isinstance(value, float | complex) or eqx.is_array(value) else jnp.asarray(value)
    except (TypeError, ValueError):
        raise TypeError(f"Expected a number or a parameter's name, got {value!r}.") from None
    if is_concrete(made) and not np.all(np.isfinite(np.asarray(made))):
        raise ValueError(f"Expected a finite number or a parameter's name, got {value!r}.")
    return made


def numbers(value: Any) -> Any:
    """As `number`; given tuples or lists, any of their entries may be the name of one number."""
    if not isinstance(value, list | tuple) or not any(isinstance(leaf, str | Parameter) for leaf in _leaves(value)):
        return number(value)
    made = tuple(numbers(entry) for entry in value)
    if len({shape_with_names(entry) for entry in made}) > 1:
        raise ValueError(
            f"Expected points with as many numbers each, where a name stands for one number; got {value!r}."
        )
    return made


def shape_with_names(value: Any) -> tuple[int, ...]:
    """The shape of what `numbers` made, or of what `bind` made of that, with entries in place of names."""
    if not isinstance(value, tuple):
        return np.shape(value)
    return (len(value), *shape_with_names(value[0]))


def name_of(value: Any) -> str | None:
    """The parameter's name, where a number is still one; else None."""
    return value.name if _is_parameter(value) else None


def known(value: Any, otherwise: float) -> float:
    """A number that is known already; what has a name, is an array or is traced counts as the other one."""
    return value if isinstance(value, float) else otherwise


def is_whole(value: Any, least: int = 0) -> bool:
    """Whether a value is a whole number, not below `least`; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def is_number(value: Any) -> bool:
    """Whether a value is one real number; True and False are none."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.complexfloating)


def listed(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """What was given one by one, or as one list."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given


def stacked(value: Any) -> Array:
    """An array from one, or from a tuple or list of numbers that may be traced."""
    return jnp.stack(value) if isinstance(value, tuple | list) else jnp.asarray(value)


def _leaves(value: Any) -> list:
    return jax.tree_util.tree_leaves(value, is_leaf=_is_parameter)


def _is_parameter(node: Any) -> bool:
    return isinstance(node, Parameter)


def positive(what: str, value: Any, example: str) -> Any:
    """As `number`, and positive: refused at once where it is known, by `check_positive` where it has a name."""
    value = number(value)
    if _is_parameter(value):
        return Parameter(value.name, what)
    if getattr(value, "shape", ()) != ():
        raise ValueError(
            f"{what} must be one number or a parameter's name, got an array of shape {value.shape}: `{example}`. "
            "Many members at once are given to `solve`, as an array of a named parameter."
        )
    if is_concrete(value) and (np.iscomplexobj(value) or not np.asarray(value) > 0):
        raise ValueError(f"{what} must be positive, got {value}: `{example}`.")
    return value


def check_positive(tree: Any, values: Mapping[str, Any]) -> None:
    """Refuses members in which a parameter is not positive that must be, as part of `tree`."""
    for parameter in (leaf for leaf in _leaves(tree) if _is_parameter(leaf) and leaf.positive):
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
    first: str = eqx.field(static=True)
    is_wave: ClassVar[bool] = False
    """Boundary data may be a function, values at nodes or an incident wave."""

    def __init__(self, function: Callable, role: str, first: str):
        self.role, self.first = role, first
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
                f"{self.role} asks for numbers while JAX traces it. Write `jnp.sin` of `jax.numpy` instead of `np.sin` "
                "or `math.sin`, and `jnp.where(condition, a, b)` instead of `if`."
            ) from error
        except IndexError as error:
            raise TypeError(
                f"{self.role} sees one point, of shape {np.shape(point)}, not many at once: {error}. "
                "Write `x[0]`, not `x[:, 0]`."
            ) from error

    def array(self, point: Array, known: Mapping[str, Any], expected: str, shape: tuple[int, ...], cure: str) -> Array:
        """The value as an array of this shape, which is refused in any other; `expected` says what it holds."""
        value = stacked(self(point, known))
        if value.shape != shape:
            raise ValueError(
                f"{self.role} returned shape {value.shape} for one `{self.first}`; expected {expected}, {shape}. "
                f"Write {cure}."
            )
        return value

    @property
    def reads(self) -> frozenset[str]:
        return names_in(self.function).union(self.names)


class _Static(eqx.Module):
    function: Callable = eqx.field(static=True)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def names_in(tree: Any) -> frozenset[str]:
    """Every parameter name that numbers and functions in `tree` refer to."""

    def is_named(node):
        return isinstance(node, Parameter | UserFunction)

    leaves = jax.tree_util.tree_leaves(tree, is_leaf=is_named)
    return frozenset().union(*(leaf.reads for leaf in leaves if is_named(leaf)))


def bind(tree: Any, parameters: Mapping[str, Any]) -> Any:
    """`tree` with every `Parameter` replaced by its value."""
    return jax.tree_util.tree_map(
        lambda node: parameters[node.name] if _is_parameter(node) else node, tree, is_leaf=_is_parameter
    )
