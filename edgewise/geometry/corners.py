"""Families of closed plane curves with corners."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import is_whole, known, name_of, names_in, number, numbers, positive, shape_with_names
from edgewise.base.precision import is_concrete
from edgewise.geometry.family import AbstractCurve


class Polygon(AbstractCurve):
    """Polygons by their m vertices, in either orientation: vertex i at s = 2πi/m, straight sides between.

    `vertices` are m points, any number of which may be a parameter's name, or the name of a parameter of shape (m, 2)
    together with `num_vertices=m`.

    >>> square = Polygon([(0, 0), (1, 0), (1, 1), (0, 1)])
    >>> square.point(jnp.pi / 4).tolist()
    [0.5, 0.0]
    >>> len(Polygon("vertices", num_vertices=5).corners)
    5
    """

    vertices: Any
    num_vertices: int = eqx.field(static=True)

    def __init__(self, vertices: Any = "vertices", num_vertices: int | None = None):
        self.vertices = numbers(vertices)
        if name_of(self.vertices):
            if num_vertices is None or not is_whole(num_vertices, 3):
                raise ValueError(
                    "`num_vertices` must be the number of vertices, at least 3, where `vertices` names a parameter, "
                    f"got {num_vertices!r}. Write `Polygon({vertices!r}, num_vertices=4)`."
                )
            self.num_vertices = num_vertices
            return
        shape = shape_with_names(self.vertices)
        if len(shape) != 2 or shape[0] < 3 or shape[1] != 2 or num_vertices not in (None, shape[0]):
            wanted = "m >= 3" if num_vertices is None else f"{num_vertices}"
            raise ValueError(
                f"`vertices` have shape {shape}; expected ({wanted}, 2), one point a row. "
                "Write `Polygon([(0, 0), (1, 0), (0, 1)])`."
            )
        self.num_vertices = shape[0]
        if not names_in(self.vertices) and is_concrete(self.vertices):
            points = np.asarray(self.vertices)
            same = np.flatnonzero(np.all(points == np.roll(points, -1, axis=0), axis=1))
            if len(same):
                raise ValueError(
                    f"Vertices {same[0]} and {(same[0] + 1) % len(points)} are the same point, "
                    f"{points[same[0]].tolist()}; expected sides of positive length. Leave one of them out: the last "
                    "need not repeat the first."
                )

    @property
    def corners(self) -> tuple[float, ...]:
        return tuple(2 * np.pi * i / self.num_vertices for i in range(self.num_vertices))

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        vertices = self._checked()
        position = s * (self.num_vertices / (2 * np.pi))
        side = jnp.floor(position)
        start = side.astype(int) % self.num_vertices
        end = (start + 1) % self.num_vertices
        return vertices[start] + (position - side) * (vertices[end] - vertices[start])

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        vertices = self._checked()
        scale = self.num_vertices / (2 * np.pi)
        here = jnp.round(corner * scale).astype(int) % self.num_vertices
        other = jnp.where(delta < 0, here - 1, here + 1) % self.num_vertices
        return jnp.abs(delta) * scale * (vertices[other] - vertices[here])

    def _checked(self) -> Array:
        vertices = jnp.asarray(self.vertices)
        if vertices.shape != (self.num_vertices, 2):
            raise ValueError(
                f"The vertices of a `Polygon` with num_vertices={self.num_vertices} have shape {vertices.shape}; "
                f"expected ({self.num_vertices}, 2), one point a row."
            )
        return vertices


class Teardrop(AbstractCurve):
    """Drops with one corner, at the origin at s = 0, of interior angle α = `angle` in (0, 2π).

    x = (2 cos(α/2) σ + 2 (1 - cos(α/2)) σ³, -(sin(α/2) + (1 - cos(α/2)) σ²) sin s) with σ = sin(s/2): for small α the
    teardrop (2 sin(s/2), -tan(α/2) sin s) up to α², above π a heart whose notch is the corner. Symmetric about the
    first axis, which it leaves at (2, 0).

    >>> Teardrop(jnp.pi / 6).point(jnp.pi).round(6).tolist()
    [2.0, -0.0]
    """

    angle: Any

    def __init__(self, angle: Any = np.pi / 6):
        self.angle = number(angle)
        if not 0 < known(self.angle, 1.0) < 2 * np.pi:
            raise ValueError(f"`angle` must lie between 0 and 2π (radians), got {angle!r}: `Teardrop(jnp.pi / 6)`.")

    @property
    def corners(self) -> tuple[float, ...]:
        return (0.0,)

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        cosine, sine = jnp.cos(self.angle / 2), jnp.sin(self.angle / 2)
        arch = jnp.sin(s / 2)
        across = 2 * (cosine + (1 - cosine) * arch**2) * arch
        return jnp.stack([across, -(sine + (1 - cosine) * arch**2) * jnp.sin(s)])


class Airfoil(AbstractCurve):
    """Kármán-Trefftz airfoils, chord about 4, with the trailing edge as corner at s = 0, at (m, 0).

    z = m ((Z + 1)^m + (Z - 1)^m) / ((Z + 1)^m - (Z - 1)^m), m = 2 - trailing_angle/π, maps the outside of the circle
    through Z = 1 with centre -thickness + i camber to the outside of the airfoil; `s` is the angle on that circle from
    Z = 1. Flows around the airfoil are known in closed form.

    Arguments:
        trailing_angle: Interior angle at the trailing edge in radians, between 0 and π; 10 degrees by default.
        thickness: Positive. The airfoil is about 1.2 · thickness + 0.2 · trailing_angle of its chord thick.
        camber: The mean line rises by about 0.45 · camber of the chord; 0 for a symmetric airfoil.

    >>> Airfoil(jnp.pi / 2).point(0.0).tolist()
    [1.5, 0.0]
    """

    trailing_angle: Any
    thickness: Any
    camber: Any

    def __init__(self, trailing_angle: Any = np.pi / 18, thickness: Any = 0.1, camber: Any = 0.1):
        self.trailing_angle = number(trailing_angle)
        self.thickness = positive("`thickness`", thickness, "Airfoil(thickness=0.1)")
        self.camber = number(camber)
        if not 0 < known(self.trailing_angle, 1.0) < np.pi:
            raise ValueError(
                f"`trailing_angle` must lie between 0 and π (radians), got {trailing_angle!r}: "
                "`Airfoil(trailing_angle=0.17)`."
            )

    @property
    def corners(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def corner_power(self) -> float:
        # m, which may be a parameter, is closest to this for the sharp edges that airfoils have.
        return 2.0

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        trailing_edge = jnp.stack([jnp.asarray(2 - self.trailing_angle / np.pi, s.dtype), jnp.zeros_like(s)])
        return trailing_edge + self.from_corner(jnp.zeros_like(s), s, parameters)

    def from_corner(self, corner: Array, delta: Array, parameters: Mapping[str, Any]) -> Array:
        """z - m = 2m W/(1 - W) with W = ((Z - 1)/(Z + 1))^m, and Z - 1 without a difference: no digit is lost."""
        m = 2 - self.trailing_angle / np.pi
        # R e^{iθ}, the way from the centre to Z = 1.
        arm = jax.lax.complex(*(jnp.asarray(part, delta.dtype) for part in (1 + self.thickness, -self.camber)))
        half = delta / 2
        # e^{iδ} - 1 = 2i sin(δ/2) e^{iδ/2}.
        rise = 2 * jnp.sin(half)
        away = arm * jax.lax.complex(-rise * jnp.sin(half), rise * jnp.cos(half))
        meets = rise == 0
        # The quotient runs through a circle through 0 around 1: in a half plane, where the principal branch holds.
        quotient = jnp.where(meets, 1, away) / (away + 2)
        power = jnp.exp(m * jnp.log(quotient))
        z = jnp.where(meets, 0, 2 * m * power / (1 - jnp.where(meets, 0, power)))
        return jnp.stack([z.real, z.imag])
