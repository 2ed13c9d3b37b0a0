"""Families moved, rotated or scaled. The amounts are numbers, or names of parameters."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.geometry.family import AbstractCurve
from edgewise.geometry.parameters import Parameter, number


class AbstractMoved(AbstractCurve):
    """A family in another place: its corners stay where they are on the curve."""

    family: eqx.AbstractVar[AbstractCurve]

    @property
    def corners(self) -> tuple[float, ...]:
        return self.family.corners

    @property
    def corner_power(self) -> float:
        return self.family.corner_power


class Translate(AbstractMoved):
    """A family moved by `offset`, two numbers or the name of a vector parameter.

    >>> from edgewise.geometry.curves import Ellipse
    >>> Translate(Ellipse(2.0, 1.0), (0.0, 3.0)).point(0.0).tolist()
    [2.0, 3.0]
    """

    family: AbstractCurve
    offset: Any

    def __init__(self, family: AbstractCurve, offset: Any):
        self.family, self.offset = _curve(family), number(offset)
        if not isinstance(self.offset, Parameter) and jnp.shape(self.offset) != (2,):
            raise ValueError(f"`offset` must be two numbers or a parameter's name, got {offset!r}.")

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.family.locate(s, parameters) + jnp.asarray(self.offset)

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        return self.family.from_corner(corner, delta, parameters)


class Rotate(AbstractMoved):
    """A family turned counterclockwise about the origin by `angle` (radians).

    >>> from edgewise.geometry.curves import Ellipse
    >>> Rotate(Ellipse(2.0, 1.0), jnp.pi / 2).point(0.0).round(6).tolist()
    [0.0, 2.0]
    """

    family: AbstractCurve
    angle: Any

    def __init__(self, family: AbstractCurve, angle: Any):
        self.family, self.angle = _curve(family), number(angle)

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self._turn(self.family.locate(s, parameters))

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        return self._turn(self.family.from_corner(corner, delta, parameters))

    def _turn(self, point: Array) -> Array:
        cosine, sine = jnp.cos(self.angle), jnp.sin(self.angle)
        x, y = point
        return jnp.stack([cosine * x - sine * y, sine * x + cosine * y])


class Scale(AbstractMoved):
    """A family scaled about the origin by `factor`.

    >>> from edgewise.geometry.curves import Kite
    >>> Scale(Kite(), "size").point(0.0, size=2.0).tolist()
    [2.0, 0.0]
    """

    family: AbstractCurve
    factor: Any

    def __init__(self, family: AbstractCurve, factor: Any):
        self.family, self.factor = _curve(family), number(factor)
        if isinstance(self.factor, float) and not self.factor > 0:
            raise ValueError(f"`factor` must be positive, got {factor}: `Scale(family, 2.0)`.")

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.factor * self.family.locate(s, parameters)

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        return self.factor * self.family.from_corner(corner, delta, parameters)


def _curve(family: Any) -> AbstractCurve:
    if not isinstance(family, AbstractCurve):
        raise TypeError(f"Expected a family of curves to move, got {family!r}. Write `Scale(Ellipse(2.0, 1.0), 0.5)`.")
    return family
