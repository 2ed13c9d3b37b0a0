"""Families moved, rotated or scaled. The amounts are numbers, or names of parameters."""

import abc
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.base.named import known, name_of, number, numbers, shape_with_names
from edgewise.base.precision import is_concrete
from edgewise.geometry.family import AbstractCurve, AbstractFamily
from edgewise.geometry.surface import AbstractSurface
from edgewise.geometry.union import CurveUnion


def Translate(family: AbstractFamily, offset: Any) -> AbstractFamily:
    """A family moved by `offset`: two numbers for curves, three for surfaces, each or all of them by a parameter's
    name.

    >>> from edgewise.geometry import Ellipse, Sphere
    >>> Translate(Ellipse(2.0, 1.0), (0.0, 3.0)).point(0.0).tolist()
    [2.0, 3.0]
    >>> Translate(Ellipse(2.0, 1.0), (0.0, "height")).point(0.0, height=3.0).tolist()
    [2.0, 3.0]
    >>> Translate(Sphere(), "offset").point((0.5, 0.5), offset=jnp.array([0.0, 0.0, 3.0])).tolist()
    [1.0, 0.0, 3.0]
    """
    amount, moved = numbers(offset), _family(family)
    if name_of(amount) is None and shape_with_names(amount) != (moved.dim,):
        count, example = {2: ("two", ("gap", 0.0)), 3: ("three", (0.0, 0.0, "height"))}[moved.dim]
        raise ValueError(
            f"`offset` must be {count} numbers, or names of parameters, got {offset!r}. "
            f"Write `Translate(family, {example})`."
        )
    return _moved(moved, Translation(amount))


def Rotate(family: AbstractFamily, angle: Any, axis: Any = None) -> AbstractFamily:
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
    if _family(family).curves:
        if axis is not None:
            raise ValueError(
                f"`axis` is for surfaces, got {axis!r}; curves turn in their plane. "
                "Leave it out: `Rotate(family, angle)`."
            )
        return _moved(family, PlaneRotation(angle))
    about = number((0.0, 0.0, 1.0) if axis is None else axis)
    if name_of(about) is None and (jnp.shape(about) != (3,) or (is_concrete(about) and not np.any(np.asarray(about)))):
        raise ValueError(
            f"`axis` must be three numbers, not all zero, or a parameter's name, got {axis!r}. "
            "Write `Rotate(family, angle, axis=(0, 0, 1))`."
        )
    return _moved(family, Rotation(angle, about))


def Scale(family: AbstractFamily, factor: Any) -> AbstractFamily:
    """A family scaled about the origin by `factor`.

    >>> from edgewise.geometry import Cuboid, Kite
    >>> Scale(Kite(), "size").point(0.0, size=2.0).tolist()
    [2.0, 0.0]
    >>> Scale(Cuboid(), 4.0).point((0.5, 0.5)).tolist()
    [2.0, 0.0, 0.0]
    """
    amount = number(factor)
    if not known(amount, 1.0) > 0:
        raise ValueError(f"`factor` must be positive, got {factor}: `Scale(family, 2.0)`.")
    return _moved(_family(family), Scaling(amount))


class AbstractMotion(eqx.Module):
    """A map of the plane, or of space, onto itself: linear, or linear after a translation."""

    def __call__(self, x: Float[Array, "... d"]) -> Float[Array, "... d"]:
        """The images of points."""
        return self.linear(x)

    @abc.abstractmethod
    def linear(self, x: Float[Array, "... d"]) -> Float[Array, "... d"]:
        """The images of differences of points."""


class Translation(AbstractMotion):
    """x + offset."""

    offset: Any

    def __call__(self, x: Float[Array, "... d"]) -> Float[Array, "... d"]:
        return x + jnp.asarray(self.offset, x.dtype)

    def linear(self, x: Float[Array, "... d"]) -> Float[Array, "... d"]:
        return x


class PlaneRotation(AbstractMotion):
    """A turn about the origin of the plane, counterclockwise."""

    angle: Any

    def linear(self, x: Float[Array, " 2"]) -> Float[Array, " 2"]:
        cosine, sine = jnp.cos(self.angle), jnp.sin(self.angle)
        return jnp.stack([cosine * x[0] - sine * x[1], sine * x[0] + cosine * x[1]])


class Rotation(AbstractMotion):
    """A turn about an axis through the origin of space, by Rodrigues' formula."""

    angle: Any
    axis: Any

    def linear(self, x: Float[Array, "m 3"]) -> Float[Array, "m 3"]:
        axis = jnp.asarray(self.axis, x.dtype)
        axis = axis / jnp.linalg.norm(axis)
        cosine, sine = jnp.cos(self.angle), jnp.sin(self.angle)
        # What lies along the axis stays.
        return cosine * x + sine * jnp.cross(axis, x) + (1 - cosine) * (x @ axis)[:, None] * axis


class Scaling(AbstractMotion):
    """factor · x."""

    factor: Any

    def linear(self, x: Float[Array, "... d"]) -> Float[Array, "... d"]:
        return self.factor * x


class MovedCurve(AbstractCurve):
    """Curves in another place: their corners stay where they are on the curve."""

    family: AbstractCurve
    motion: AbstractMotion

    def __init__(self, family: AbstractCurve, motion: AbstractMotion):
        self.family, self.motion = family, motion

    @property
    def corners(self) -> tuple[float, ...]:
        return self.family.corners

    @property
    def corner_power(self) -> float:
        return self.family.corner_power

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.motion(self.family.locate(s, parameters))

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        return self.motion.linear(self.family.from_corner(corner, delta, parameters))


class MovedSurface(AbstractSurface):
    """Surfaces in another place: the same patches."""

    family: AbstractSurface
    motion: AbstractMotion

    def __init__(self, family: AbstractSurface, motion: AbstractMotion):
        self.family, self.motion = family, motion

    @property
    def bodies(self) -> tuple[int, ...]:
        return self.family.bodies

    @property
    def has_edges(self) -> bool:
        return self.family.has_edges

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.motion(self.family.atlas(s, parameters))


def _moved(family: AbstractFamily, motion: AbstractMotion) -> AbstractFamily:
    """The family, of several curves each, after the motion."""
    curves = tuple(MovedCurve(curve, motion) for curve in family.curves)
    if len(curves) > 1:
        return CurveUnion(curves)
    return curves[0] if curves else MovedSurface(family, motion)  # pyright: ignore[reportArgumentType]


def _family(family: Any) -> AbstractFamily:
    if not isinstance(family, AbstractFamily):
        raise TypeError(
            f"Expected a family of curves or surfaces to move, got {family!r}. Write `Scale(Ellipse(2.0, 1.0), 0.5)`."
        )
    return family
