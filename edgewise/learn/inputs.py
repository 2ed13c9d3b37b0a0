"""What a network sees: the parameters of a member, and a node of its boundary."""

import abc
import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from edgewise.base.abstract_range import AbstractRange
from edgewise.base.parameters import Box
from edgewise.geometry import Boundary
from edgewise.geometry.family import turn_of


class Fixed(eqx.Module):
    """A part of a network that is never trained."""

    value: Any


class ParameterInputs(eqx.Module):
    """Parameters as numbers of size one (`vector`), and as products of polynomials in them (`polynomials`).

    An interval becomes [-1, 1] with Chebyshev's polynomials, where it is seen by octaves that of its logarithm; an
    angle its cosine and sine, with the harmonics; a direction its components. The products have total degree at most
    `degree`: for one parameter a basis in which smooth functions converge geometrically, for many the start of one.

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
        return sum(spec.size for _, spec in self.box.specs)

    @property
    def axes(self) -> int:
        """How many numbers vary by themselves."""
        return len(axes_of(self.box))

    @property
    def terms(self) -> tuple[tuple[int, ...], ...]:
        """For every product, which function of each axis it takes."""
        return _terms(tuple(spec.degrees(self.degree) for spec in axes_of(self.box)), self.degree)

    def vector(self, parameters: Mapping[str, Any]) -> Float[Array, " size"]:
        parts = [spec.unit(jnp.asarray(parameters[n]), n in self.octaves) for n, spec in self.box.specs]
        return jnp.concatenate(parts) if parts else jnp.zeros(0)

    def polynomials(self, parameters: Mapping[str, Any]) -> Float[Array, " terms"]:
        functions = []
        for name, spec in self.box.specs:
            functions += spec.functions(jnp.asarray(parameters[name]), self.degree, name in self.octaves)
        if not functions:
            return jnp.ones(1)
        terms = np.asarray(self.terms)
        chosen = [function[terms[:, axis]] for axis, function in enumerate(functions)]
        return jnp.prod(jnp.stack(chosen), axis=0)


def axes_of(box: Box) -> list[AbstractRange]:
    """One entry for every number that varies by itself."""
    return [spec for _, spec in box.specs for _ in range(spec.axes)]


def number_of_terms(box: Box, degree: int) -> int:
    """How many products `ParameterInputs` has, counted without listing them, which for many axes would take long."""
    counts = np.ones(1)
    for spec in axes_of(box):
        counts = np.convolve(counts, np.bincount(spec.degrees(degree)))[: degree + 1]
    return int(np.sum(counts))


def _terms(degrees: tuple[tuple[int, ...], ...], most: int) -> tuple[tuple[int, ...], ...]:
    """All choices of one function per axis whose degrees add up to at most `most`, the lowest first."""
    found: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for axis in degrees:
        found = [
            (total + d, (*term, i))
            for (total, term), (i, d) in itertools.product(found, enumerate(axis))
            if total + d <= most
        ]
    return tuple(term for _, term in sorted(found, key=lambda one: (one[0], tuple(-i for i in one[1]))))


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
        """The number of features."""


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
