"""Multipliers g(p) of a member: the answer is linear in them, so they multiply what is learned and no network sees
them."""

import abc
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.base.abstract_range import chebyshev
from edgewise.base.parameters import Box


class AbstractAmounts(eqx.Module):
    """The multipliers g of a member: its data are Σ_j g_j times data that do not depend on what g is made of."""

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """How many numbers there are."""

    @property
    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """The parameters that they are made of."""

    @abc.abstractmethod
    def __call__(self, parameters: Mapping[str, Any], dtype: Any) -> Float[Array, " count"]:
        """The numbers of one member."""

    @abc.abstractmethod
    def settings(self, box: Box, dtype: Any) -> tuple[dict[str, Array], Float[np.ndarray, "settings count"]]:
        """Sample values of the parameters, and weights w such that Σ_i w_ij data(setting i) is the data of g_j = 1
        alone."""


class Superposition(AbstractAmounts):
    """Parameters that the data are linear in, times cosines and sines of another one; g = 1 where there are none.

    Data that depend on a number as a trigonometric polynomial, such as the flux of a stream of any angle, have as
    numbers g the products of each linear parameter and each harmonic of that number. Values at nodes become their own
    harmonics along the boundary, each of which has one order under rotations of the plane.
    """

    linear: tuple[str, ...] = eqx.field(static=True, default=())
    """The parameters that the data are linear in."""
    around: str | None = eqx.field(static=True, default=None)
    """The parameter of which the data are a trigonometric polynomial."""
    orders: tuple[int, ...] = eqx.field(static=True, default=(0,))
    """The orders of that polynomial."""
    are_values: bool = eqx.field(static=True, default=False)
    """Whether the linear parameter holds values at nodes."""
    numbers: int = eqx.field(static=True, default=1)
    """How many numbers the data are linear in."""
    unused: tuple[str, ...] = eqx.field(static=True, default=())
    """Parameters that nothing depends on."""

    @property
    def count(self) -> int:
        return self.numbers * sum(2 if order else 1 for order in self.orders)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.linear, *([self.around] if self.around else []), *self.unused)

    def __call__(self, parameters: Mapping[str, Any], dtype: Any) -> Float[Array, " count"]:
        given = [jnp.asarray(parameters[name], dtype) for name in self.linear]
        if self.are_values:
            given = [_harmonics_of(values) for values in given]
        numbers = jnp.concatenate([part.reshape(-1) for part in given]) if given else jnp.ones(1, dtype)
        if self.around is None:
            return numbers
        waves = _waves(jnp.asarray(parameters[self.around]), self.orders).astype(dtype)
        return (numbers[:, None] * waves).reshape(-1)

    def settings(self, box: Box, dtype: Any) -> tuple[dict[str, Array], Float[np.ndarray, "settings count"]]:
        """Unit vectors of the linear numbers, each at enough angles for exact means over them."""
        shapes = [dict(box.specs)[name].shape for name in self.linear]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        angles, waves = _round(self.orders)
        each = np.split(np.repeat(np.eye(self.numbers), len(angles), axis=0), ends[:-1], axis=1) if shapes else []
        values = {name: part.reshape(-1, *shape) for name, part, shape in zip(self.linear, each, shapes, strict=True)}
        if self.are_values:
            values = {name: part @ _waves_at_nodes(part.shape[-1]) for name, part in values.items()}
        if self.around is not None:
            values[self.around] = np.tile(angles, self.numbers)
        shares = np.kron(np.eye(self.numbers), waves / np.sum(waves**2, axis=0))
        return {name: jnp.asarray(value, dtype) for name, value in values.items()}, shares


def _waves(angle: Any, orders: tuple[int, ...]) -> Any:
    """cos qα for all orders q, then sin qα for those above 0."""
    xp = jnp if isinstance(angle, jax.Array) else np
    turning = np.array([order for order in orders if order], int)
    return xp.concatenate([xp.cos(np.array(orders) * angle), xp.sin(turning * angle)])


def _round(orders: tuple[int, ...]) -> tuple[Float[np.ndarray, " a"], Float[np.ndarray, "a waves"]]:
    """Enough angles for exact means over them, and the waves there."""
    count = 2 * max(orders) + 1
    angles = 2 * np.pi * np.arange(count) / count
    return angles, np.stack([_waves(angle, orders) for angle in angles])


def _harmonics_of(values: Float[Array, "... n"]) -> Float[Array, "... n"]:
    """From values at s = 2πj/n to the coefficients of 1, cos s, sin s, ... of their trigonometric interpolant."""
    waves = _waves_at_nodes(values.shape[-1])
    return values @ jnp.asarray((waves / np.sum(waves**2, axis=1, keepdims=True)).T, values.dtype)


def _waves_at_nodes(count: int) -> Float[np.ndarray, "count count"]:
    """1, cos s, sin s, ..., a row each."""
    s = 2 * np.pi * np.arange(count) / count
    rows = [np.ones(count)]
    for m in range(1, count // 2 + 1):
        rows += [np.cos(m * s)] if 2 * m == count else [np.cos(m * s), np.sin(m * s)]
    return np.stack(rows)


class AngleHarmonics(AbstractAmounts):
    """1, √2 cos qα, √2 sin qα up to q = `highest`, with α the angle that a plane wave goes at.

    A plane wave is a sum of them times waves round the origin, e^{ikr cos(θ-α)} = Σ i^q J_q(kr) e^{iq(θ-α)}, which ends
    soon after q = kr. Over all angles they are orthonormal.
    """

    direction: str = eqx.field(static=True)
    """The parameter that is the direction, or the angle, of the wave."""
    highest: int = eqx.field(static=True)

    @property
    def count(self) -> int:
        return 2 * self.highest + 1

    @property
    def names(self) -> tuple[str, ...]:
        return (self.direction,)

    def __call__(self, parameters: Mapping[str, Any], dtype: Any) -> Float[Array, " count"]:
        return (self._sizes * _waves(direction_angle(parameters[self.direction]), self._orders)).astype(dtype)

    def settings(self, box: Box, dtype: Any) -> tuple[dict[str, Array], Float[np.ndarray, "settings count"]]:
        """As many angles as numbers: means over them are exact."""
        angles, waves = _round(self._orders)
        is_vector = bool(dict(box.specs)[self.direction].shape)
        values = np.stack([np.cos(angles), np.sin(angles)], axis=-1) if is_vector else angles
        return {self.direction: jnp.asarray(values, dtype)}, self._sizes * waves / self.count

    @property
    def _orders(self) -> tuple[int, ...]:
        return tuple(range(self.highest + 1))

    @property
    def _sizes(self) -> Float[np.ndarray, " count"]:
        return np.sqrt(np.where(np.arange(self.count) > 0, 2, 1))


class Chebyshev(AbstractAmounts):
    """1, T_1, T_2, ... of one number that nothing but the data depends on, such as a coordinate of a source."""

    name: str = eqx.field(static=True)
    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)
    highest: int = eqx.field(static=True)

    @property
    def count(self) -> int:
        return self.highest + 1

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def __call__(self, parameters: Mapping[str, Any], dtype: Any) -> Float[Array, " count"]:
        z = (2 * jnp.asarray(parameters[self.name], dtype) - self.low - self.high) / (self.high - self.low)
        return chebyshev(z, self.highest)

    def settings(self, box: Box, dtype: Any) -> tuple[dict[str, Array], Float[np.ndarray, "settings count"]]:
        """As many nodes as numbers: polynomials are known by their values there."""
        angles = np.pi * (np.arange(self.count) + 0.5) / self.count
        values = (self.low + self.high) / 2 + (self.high - self.low) / 2 * np.cos(angles)
        waves = np.cos(np.outer(angles, np.arange(self.count)))
        return {self.name: jnp.asarray(values, dtype)}, waves / np.sum(waves**2, axis=0)


def direction_angle(direction: Any) -> Float[Array, ""]:
    """The angle of a vector from the first axis; an angle is its own."""
    value = jnp.asarray(direction)
    return value if value.ndim == 0 else jnp.arctan2(value[1], value[0])
