"""What a network sees: the parameters of a member, and a node of its boundary."""

import abc
import itertools
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from edgewise.base.parameters import Box
from edgewise.base.ranges import Angle, Direction, Interval
from edgewise.geometry import Boundary
from edgewise.geometry.union import turn_of


class Fixed(eqx.Module):
    """What belongs to a network and is never trained."""

    value: Any


class ParameterInputs(eqx.Module):
    """Parameters as numbers of size one (`vector`), and as products of polynomials in them (`polynomials`).

    An interval becomes [-1, 1] with Chebyshev's polynomials, where it is seen by octaves that of its logarithm; an angle its
    cosine and sine, with the harmonics; a direction its components. The products have total degree at most `degree`: for one
    parameter a basis in which smooth functions converge geometrically, for many the start of one.

    >>> inputs = ParameterInputs(Box(t=(1.0, 2.0)), degree=2)
    >>> inputs.polynomials({"t": 1.75}).tolist()
    [1.0, 0.5, -0.5]
    """

    box: Box
    degree: int = eqx.field(static=True)
    octaves: tuple[str, ...] = eqx.field(static=True, default=())
    """Positive intervals that are seen by their logarithm."""

    @property
    def size(self) -> int:
        return sum(_width(spec) for _, spec in self.box.specs)

    @property
    def axes(self) -> int:
        """How many numbers vary by themselves."""
        return len(axes_of(self.box))

    @property
    def terms(self) -> tuple[tuple[int, ...], ...]:
        """For every product, which function of each axis it takes."""
        return _terms(tuple(_degrees(spec, self.degree) for spec in axes_of(self.box)), self.degree)

    def vector(self, parameters: Mapping[str, Any]) -> Float[Array, " size"]:
        parts = []
        for name, spec in self.box.specs:
            value = jnp.asarray(parameters[name])
            parts.append(
                jnp.stack([jnp.cos(value), jnp.sin(value)])
                if isinstance(spec, Angle)
                else self._unit(name, spec, value).reshape(-1)
            )
        return jnp.concatenate(parts) if parts else jnp.zeros(0)

    def polynomials(self, parameters: Mapping[str, Any]) -> Float[Array, " terms"]:
        functions = []
        for name, spec in self.box.specs:
            value = jnp.asarray(parameters[name])
            if isinstance(spec, Angle):
                waves = [f(k * value) for k in range(1, self.degree + 1) for f in (jnp.cos, jnp.sin)]
                functions.append(jnp.stack([jnp.ones_like(value), *waves]))
            else:
                functions.extend(chebyshev(z, self.degree) for z in self._unit(name, spec, value).reshape(-1))
        if not functions:
            return jnp.ones(1)
        terms = np.asarray(self.terms)
        chosen = [function[terms[:, axis]] for axis, function in enumerate(functions)]
        return jnp.prod(jnp.stack(chosen), axis=0)

    def _unit(self, name: str, spec: Interval | Direction | Angle, value: Array) -> Array:
        if not isinstance(spec, Interval):
            return value
        low, high = np.asarray(spec.low), np.asarray(spec.high)
        if name in self.octaves:
            value, low, high = jnp.log(value), np.log(low), np.log(high)
        half = np.where(high > low, (high - low) / 2, 1.0)
        return (value - jnp.asarray((low + high) / 2, value.dtype)) / jnp.asarray(half, value.dtype)


def axes_of(box: Box) -> list[Interval | Direction | Angle]:
    """One entry for every number that varies by itself."""
    return [spec for _, spec in box.specs for _ in range(1 if isinstance(spec, Angle) else _width(spec))]


def number_of_terms(box: Box, degree: int) -> int:
    """Of an angle every degree but 0 has two functions; counted without listing them, which for many axes would take long."""
    counts = np.ones(1)
    for spec in axes_of(box):
        own = np.full(degree + 1, 2 if isinstance(spec, Angle) else 1)
        own[0] = 1
        counts = np.convolve(counts, own)[: degree + 1]
    return int(np.sum(counts))


def _width(spec: Interval | Direction | Angle) -> int:
    return 2 if isinstance(spec, Angle) else math.prod(spec.shape)


def _degrees(spec: Interval | Direction | Angle, degree: int) -> tuple[int, ...]:
    if isinstance(spec, Angle):
        return tuple((k + 1) // 2 for k in range(2 * degree + 1))
    return tuple(range(degree + 1))


def _terms(degrees: tuple[tuple[int, ...], ...], most: int) -> tuple[tuple[int, ...], ...]:
    """Choices of one function an axis whose degrees add up to `most` or less, the lowest first."""
    found: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for axis in degrees:
        found = [
            (total + d, (*term, i))
            for (total, term), (i, d) in itertools.product(found, enumerate(axis))
            if total + d <= most
        ]
    return tuple(term for _, term in sorted(found, key=lambda one: (one[0], tuple(-i for i in one[1]))))


def chebyshev(z: Array, degree: int) -> Array:
    """T_0 to T_degree by their recurrence, which also holds outside [-1, 1]."""
    values = [jnp.ones_like(z), z]
    for _ in range(degree - 1):
        values.append(2 * z * values[-1] - values[-2])
    return jnp.stack(values[: degree + 1])


class AbstractSight(eqx.Module):
    """How a network sees a node."""

    is_shared: ClassVar[bool]
    """Whether the features depend on the boundary coordinate alone, so that all members share them."""

    @abc.abstractmethod
    def __call__(self, node: Boundary) -> Float[Array, " size"]:
        """The features of one node."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many there are."""


class Position(AbstractSight):
    """The position itself."""

    dim: int = eqx.field(static=True)
    is_shared: ClassVar[bool] = False

    @property
    def size(self) -> int:
        return self.dim

    def __call__(self, node: Boundary) -> Float[Array, " size"]:
        return node.x


class Placed(AbstractSight):
    """Position and normal: faces that are close to each other have almost equal positions."""

    dim: int = eqx.field(static=True)
    is_shared: ClassVar[bool] = False

    @property
    def size(self) -> int:
        return 2 * self.dim

    def __call__(self, node: Boundary) -> Float[Array, " size"]:
        return jnp.concatenate([node.x, node.normal])


class GaussianFourier(AbstractSight):
    """Cosines and sines of the position, at random frequencies that stay as they were drawn: the paper's choice.

    `size` is even; the frequencies are normal with standard deviation `scale`.
    """

    frequencies: Fixed
    is_shared: ClassVar[bool] = False

    def __init__(self, dim: int, size: int, scale: float, dtype: Any, key: PRNGKeyArray):
        self.frequencies = Fixed(scale * jax.random.normal(key, (size // 2, dim), dtype))

    @property
    def size(self) -> int:
        return 2 * self.frequencies.value.shape[0]

    def __call__(self, node: Boundary) -> Float[Array, " size"]:
        # All digits, also where layers of a network are content with three: a phase is many times 2π.
        phase = jnp.matmul(self.frequencies.value, node.x, precision="highest")
        return jnp.concatenate([jnp.cos(phase), jnp.sin(phase)])


class Harmonics(AbstractSight):
    """1, cos ks, sin ks of the boundary coordinate up to k = `count`, for each of several curves apart."""

    count: int = eqx.field(static=True)
    curves: int = eqx.field(static=True)
    is_shared: ClassVar[bool] = True

    @property
    def size(self) -> int:
        return self.curves * (2 * self.count + 1)

    def __call__(self, node: Boundary) -> Float[Array, " size"]:
        phase = np.arange(1, self.count + 1) * node.s
        waves = jnp.concatenate([jnp.ones_like(node.s)[None], jnp.cos(phase), jnp.sin(phase)])
        if self.curves == 1:
            return waves
        own = turn_of(node.s, self.curves) == jnp.arange(self.curves)
        return (own[:, None] * waves).reshape(-1)
