"""What every range of a parameter answers: to checks, about members, about what networks see of it, and in words."""

import abc
import math
from collections.abc import Iterator
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from edgewise.base.values import written


class AbstractRange(abc.ABC):
    """Where one parameter may lie: its checks, its members, its words, and the functions of it that networks see.

    A range is hashable, since a `Box` is a static part of compiled functions, and its `str` is stored with a run.
    """

    shape: Any
    """The shape of one value."""
    default: Any
    """What is taken where a call leaves the parameter out; None where it must be given."""
    is_linear: ClassVar[bool] = False
    """Whether values may be added and multiplied by numbers, and still mean something outside the range."""
    units: ClassVar[str] = ""

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[float, float]:
        """No entry of a value is below the first number, or above the second."""

    @property
    def ratio(self) -> float:
        """How many times its low end the high end of an entry is, at most; 1 where values need not be positive."""
        return 1.0

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, count: int) -> Array:
        """`count` values, drawn uniformly."""

    # Checks.

    @abc.abstractmethod
    def problem_with(self, value: np.ndarray) -> str | None:
        """What is wrong with a value, as said behind the opening quote and the name; None where nothing is."""

    def rounded(self, value: np.ndarray, dtype: Any) -> np.ndarray:
        """The value, moved into the range where it misses it by a rounding to this precision."""
        return value

    def holds(self, values: Float[Array, "count ..."]) -> Bool[Array, " count"] | bool:
        """Which values lie in the range, also while JAX traces; one that is outside by a rounding still does."""
        return True

    # Members.

    @property
    @abc.abstractmethod
    def typical(self) -> np.ndarray:
        """The default, or a value that shows something, in few digits."""

    def with_ends(self, draws: Float[Array, "count ..."]) -> Float[Array, "count ..."]:
        """The values, the first two of them replaced by the ends of the range where it has ends."""
        return draws

    def toward_ends(self, draws: Float[Array, "count ..."]) -> Float[Array, "count ..."]:
        """Uniform draws, moved closer to the ends of the range where it has ends: the density of Chebyshev's nodes."""
        return draws

    def moved(self, values: Array, steps: Float[Array, " count"], parts: float) -> Array:
        """The values, moved by so many steps but no further than the ends of the range, which is `parts` steps wide."""
        return values

    def spread(self, lattice: Float[np.ndarray, "count axes"], logarithmic: bool = False) -> np.ndarray:
        """Values from points of the unit cube, denser to the ends of the range where it has ends."""
        return np.asarray(self.sample(jax.random.key(0), len(lattice)))

    def steps(self, shares: Iterator[Float[np.ndarray, " count"]], count: int) -> np.ndarray:
        """Values that take even steps through the range where it has ends: of every entry the next of these shares."""
        return np.asarray(self.sample(jax.random.key(0), count))

    # What networks see.

    @property
    def axes(self) -> int:
        """How many numbers vary by themselves."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """How many numbers `unit` gives."""
        return self.axes

    def unit(self, value: Array, logarithmic: bool = False) -> Float[Array, " size"]:
        """The value as numbers between -1 and 1."""
        return value.reshape(-1)

    def functions(self, value: Array, degree: int, logarithmic: bool = False) -> list[Float[Array, " functions"]]:
        """For every axis the values of its basis functions: Chebyshev's polynomials of `unit`."""
        return [chebyshev(z, degree) for z in self.unit(value, logarithmic)]

    def degrees(self, degree: int) -> tuple[int, ...]:
        """The degree of each basis function of an axis."""
        return tuple(range(degree + 1))

    # Words.

    @property
    def argument(self) -> str:
        """What makes the range in a `Box`."""
        return repr(self)

    @property
    def example(self) -> str:
        """A value that fits, as one would write it."""
        return written(self.typical)

    @property
    def run(self) -> str:
        """The ends of the range of a single number, as commands take them."""
        return "{}:{}".format(*self.bounds)

    @property
    def in_words(self) -> str:
        """The range in four digits, behind the name."""
        return str(self)

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return str(self)


def chebyshev(z: Array, degree: int) -> Array:
    """T_0 to T_degree by their recurrence, which also holds outside [-1, 1]."""
    values = [jnp.ones_like(z), z]
    for _ in range(degree - 1):
        values.append(2 * z * values[-1] - values[-2])
    return jnp.stack(values[: degree + 1])
