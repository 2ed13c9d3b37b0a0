"""Families moved, rotated or scaled. The amounts are numbers, or names of parameters."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import Parameter, number, numbers, shape_with_names
from edgewise.base.precision import is_concrete
from edgewise.geometry.family import AbstractCurve, AbstractFamily
from edgewise.geometry.surface import AbstractSurface


def Translate(family: AbstractFamily, offset: Any) -> AbstractCurve | AbstractSurface:
    """A family moved by `offset`: two numbers for curves, three for surfaces, each or all of them by a parameter's name.

    >>> from edgewise.geometry import Ellipse, Sphere
    >>> Translate(Ellipse(2.0, 1.0), (0.0, 3.0)).point(0.0).tolist()
    [2.0, 3.0]
    >>> Translate(Ellipse(2.0, 1.0), (0.0, "height")).point(0.0, height=3.0).tolist()
    [2.0, 3.0]
    >>> Translate(Sphere(), "offset").point((0.5, 0.5), offset=jnp.array([0.0, 0.0, 3.0])).tolist()
    [1.0, 0.0, 3.0]
    """
    amount = numbers(offset)
    in_space = isinstance(family, AbstractSurface)
    moved = TranslatedSurface(family, amount) if in_space else TranslatedCurve(_curve(family), amount)
    if not isinstance(amount, Parameter) and shape_with_names(amount) != (moved.dim,):
        count, example = ("three", (0.0, 0.0, "height")) if in_space else ("two", ("gap", 0.0))
        raise ValueError(
            f"`offset` must be {count} numbers, or names of parameters, got {offset!r}. Write `Translate(family, {example})`."
        )
    return moved


def Rotate(family: AbstractFamily, angle: Any, axis: Any = None) -> AbstractCurve | AbstractSurface:
    """A family turned by `angle` (radians) about the origin: counterclockwise in the plane, in space about `axis`.

    `axis` is three numbers of any length, or a parameter's name; (0, 0, 1) unless given. Seen from its tip, the turn is
    counterclockwise.

    >>> from edgewise.geometry import Ellipse, Sphere
    >>> Rotate(Ellipse(2.0, 1.0), jnp.pi / 2).point(0.0).round(6).tolist()
    [0.0, 2.0]
    >>> Rotate(Sphere(), jnp.pi / 2, axis=(0, 1, 0)).point((0.5, 0.5)).round(6).tolist()
    [0.0, 0.0, -1.0]
    """
    angle = number(angle)
    if not isinstance(family, AbstractSurface):
        if axis is not None:
            raise ValueError(
                f"`axis` is for surfaces, got {axis!r}; curves turn in their plane. Leave it out: `Rotate(family, angle)`."
            )
        return RotatedCurve(_curve(family), angle)
    about = number((0.0, 0.0, 1.0) if axis is None else axis)
    known = not isinstance(about, Parameter)
    if known and (jnp.shape(about) != (3,) or (is_concrete(about) and not np.any(np.asarray(about)))):
        raise ValueError(
            f"`axis` must be three numbers, not all zero, or a parameter's name, got {axis!r}. "
            "Write `Rotate(family, angle, axis=(0, 0, 1))`."
        )
    return RotatedSurface(family, angle, about)


def Scale(family: AbstractFamily, factor: Any) -> AbstractCurve | AbstractSurface:
    """A family scaled about the origin by `factor`.

    >>> from edgewise.geometry import Cuboid, Kite
    >>> Scale(Kite(), "size").point(0.0, size=2.0).tolist()
    [2.0, 0.0]
    >>> Scale(Cuboid(), 4.0).point((0.5, 0.5)).tolist()
    [2.0, 0.0, 0.0]
    """
    amount = number(factor)
    if isinstance(amount, float) and not amount > 0:
        raise ValueError(f"`factor` must be positive, got {factor}: `Scale(family, 2.0)`.")
    in_space = isinstance(family, AbstractSurface)
    return ScaledSurface(family, amount) if in_space else ScaledCurve(_curve(family), amount)


class AbstractMoved(AbstractCurve):
    """Curves in another place: their corners stay where they are on the curve."""

    family: eqx.AbstractVar[AbstractCurve]

    @property
    def corners(self) -> tuple[float, ...]:
        return self.family.corners

    @property
    def corner_power(self) -> float:
        return self.family.corner_power


class TranslatedCurve(AbstractMoved):
    """Moved curves; `Translate` makes them."""

    family: AbstractCurve
    offset: Any

    def __init__(self, family: AbstractCurve, offset: Any):
        self.family, self.offset = family, offset

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.family.locate(s, parameters) + jnp.asarray(self.offset)

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        return self.family.from_corner(corner, delta, parameters)


class RotatedCurve(AbstractMoved):
    """Turned curves; `Rotate` makes them."""

    family: AbstractCurve
    angle: Any

    def __init__(self, family: AbstractCurve, angle: Any):
        self.family, self.angle = family, angle

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self._turn(self.family.locate(s, parameters))

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        return self._turn(self.family.from_corner(corner, delta, parameters))

    def _turn(self, point: Array) -> Array:
        cosine, sine = jnp.cos(self.angle), jnp.sin(self.angle)
        x, y = point
        return jnp.stack([cosine * x - sine * y, sine * x + cosine * y])


class ScaledCurve(AbstractMoved):
    """Scaled curves; `Scale` makes them."""

    family: AbstractCurve
    factor: Any

    def __init__(self, family: AbstractCurve, factor: Any):
        self.family, self.factor = family, factor

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.factor * self.family.locate(s, parameters)

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        return self.factor * self.family.from_corner(corner, delta, parameters)


class AbstractMovedSurface(AbstractSurface):
    """Surfaces in another place: the same patches."""

    family: eqx.AbstractVar[AbstractSurface]

    @property
    def bodies(self) -> tuple[int, ...]:
        return self.family.bodies

    @property
    def has_edges(self) -> bool:
        return self.family.has_edges


class TranslatedSurface(AbstractMovedSurface):
    """Moved surfaces; `Translate` makes them."""

    family: AbstractSurface
    offset: Any

    def __init__(self, family: AbstractSurface, offset: Any):
        self.family, self.offset = family, offset

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.family.atlas(s, parameters) + jnp.asarray(self.offset, s.dtype)


class RotatedSurface(AbstractMovedSurface):
    """Turned surfaces; `Rotate` makes them."""

    family: AbstractSurface
    angle: Any
    axis: Any

    def __init__(self, family: AbstractSurface, angle: Any, axis: Any):
        self.family, self.angle, self.axis = family, angle, axis

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        x = self.family.atlas(s, parameters)
        axis = jnp.asarray(self.axis, s.dtype)
        axis = axis / jnp.linalg.norm(axis)
        cosine, sine = jnp.cos(self.angle), jnp.sin(self.angle)
        # Rodrigues: what lies along the axis stays.
        return cosine * x + sine * jnp.cross(axis, x) + (1 - cosine) * (x @ axis)[:, None] * axis


class ScaledSurface(AbstractMovedSurface):
    """Scaled surfaces; `Scale` makes them."""

    family: AbstractSurface
    factor: Any

    def __init__(self, family: AbstractSurface, factor: Any):
        self.family, self.factor = family, factor

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.factor * self.family.atlas(s, parameters)


def _curve(family: Any) -> AbstractCurve:
    if not isinstance(family, AbstractCurve):
        raise TypeError(
            f"Expected a family of curves or surfaces to move, got {family!r}. Write `Scale(Ellipse(2.0, 1.0), 0.5)`."
        )
    return family
