"""Numbers in which the answer is linear: they multiply what is learned, and no network sees them."""

import abc
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.geometry import Box


class AbstractAmounts(eqx.Module):
    """The numbers g of a member: its data are Σ_j g_j times data that are the same for all that differ in g alone."""

    count: eqx.AbstractVar[int]
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
        """Values of these parameters, and what to multiply the data that each gives by for their sum to be those of each number."""


class Superposition(AbstractAmounts):
    """Parameters of the data themselves; where there are none, g = 1."""

    linear: tuple[str, ...] = eqx.field(static=True, default=())
    """Parameters that the data are linear in."""
    count: int = eqx.field(static=True, default=1)

    @property
    def names(self) -> tuple[str, ...]:
        return self.linear

    def __call__(self, parameters: Mapping[str, Any], dtype: Any) -> Float[Array, " count"]:
        if not self.linear:
            return jnp.ones(1, dtype)
        return jnp.concatenate([jnp.asarray(parameters[name], dtype).reshape(-1) for name in self.linear])

    def settings(self, box: Box, dtype: Any) -> tuple[dict[str, Array], Float[np.ndarray, "settings count"]]:
        """One of each number, none of the others."""
        shapes = [dict(box.specs)[name].shape for name in self.linear]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        each = np.split(np.eye(self.count), ends[:-1], axis=1) if self.linear else []
        values = {
            name: jnp.asarray(part.reshape(-1, *shape), dtype)
            for name, part, shape in zip(self.linear, each, shapes, strict=True)
        }
        return values, np.eye(self.count)


class AngleHarmonics(AbstractAmounts):
    """1, √2 cos qα, √2 sin qα up to q = `highest`, with α the angle that a plane wave goes at.

    A plane wave is a sum of them times waves round the origin, e^{ikr cos(θ-α)} = Σ i^q J_q(kr) e^{iq(θ-α)}, which ends soon
    after q = kr. Over all angles they are orthonormal.
    """

    direction: str = eqx.field(static=True)
    """The parameter that is the direction, or the angle, of the wave."""
    highest: int = eqx.field(static=True)
    count: int = eqx.field(static=True)

    def __init__(self, direction: str, highest: int):
        self.direction, self.highest, self.count = direction, highest, 2 * highest + 1

    @property
    def names(self) -> tuple[str, ...]:
        return (self.direction,)

    def __call__(self, parameters: Mapping[str, Any], dtype: Any) -> Float[Array, " count"]:
        phase = np.arange(1, self.highest + 1) * direction_angle(parameters[self.direction])
        waves = 2**0.5 * jnp.concatenate([jnp.cos(phase), jnp.sin(phase)])
        return jnp.concatenate([jnp.ones(1, dtype), waves.astype(dtype)])

    def settings(self, box: Box, dtype: Any) -> tuple[dict[str, Array], Float[np.ndarray, "settings count"]]:
        """As many angles as numbers: means over them are exact."""
        angles = 2 * np.pi * np.arange(self.count) / self.count
        is_vector = bool(dict(box.specs)[self.direction].shape)
        values = np.stack([np.cos(angles), np.sin(angles)], axis=-1) if is_vector else angles
        phase = np.outer(angles, np.arange(1, self.highest + 1))
        waves = np.column_stack([np.ones(self.count), 2**0.5 * np.cos(phase), 2**0.5 * np.sin(phase)])
        return {self.direction: jnp.asarray(values, dtype)}, waves / self.count


def direction_angle(direction: Any) -> Float[Array, ""]:
    """From the first axis; of an angle itself."""
    value = jnp.asarray(direction)
    return value if value.ndim == 0 else jnp.arctan2(value[1], value[0])
