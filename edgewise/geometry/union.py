"""Several curves or surfaces at once: bodies side by side, domains with holes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.geometry.boundary import Boundary, join
from edgewise.geometry.family import AbstractCurve, AbstractPlaneFamily
from edgewise.geometry.surface import AbstractSurface


def Union(*families: Any) -> "CurveUnion | SurfaceUnion":
    """Curves, or surfaces, that bound one domain together: bodies apart from each other, or an outer one and holes in it.

    One inside another is a hole: normals, which leave the domain, point into it. Boundary coordinates follow each other:
    [0, 2π) on the first curve, [2π, 4π) on the second and so on; patch after patch on surfaces. Parameters are shared by
    name.

    >>> from edgewise.geometry import Ellipse, Sphere, Translate
    >>> bodies = Union(Ellipse(1.0, 1.0), Translate(Ellipse(1.0, 1.0), (3.0, 0.0)))
    >>> bodies.point(0.0).tolist(), bodies.point(2 * jnp.pi).tolist()
    ([1.0, 0.0], [4.0, 0.0])
    >>> Union(Sphere(2.0), Sphere(1.0)).point((6.5, 0.5)).tolist()
    [1.0, 0.0, 0.0]
    """
    given = tuple(families[0]) if len(families) == 1 and isinstance(families[0], list | tuple) else families
    in_space = [isinstance(family, AbstractSurface) for family in given]
    if not any(in_space):
        return CurveUnion(given)
    for family, is_surface in zip(given, in_space, strict=True):
        if not is_surface:
            both = isinstance(family, AbstractPlaneFamily)
            raise TypeError(
                f"A `Union` is made of {'curves or of surfaces, not of both' if both else 'surfaces'}, got {family!r} among "
                "surfaces. Write `Union(Sphere(2.0), Sphere(1.0))`."
            )
    return SurfaceUnion(given)


class CurveUnion(AbstractPlaneFamily):
    """Curves that bound one domain together; `Union` makes it."""

    members: tuple[AbstractCurve, ...]

    def __init__(self, families: tuple[Any, ...]):
        flat = tuple(curve for family in families for curve in _curves(family))
        if len(flat) < 2:
            raise ValueError(
                f"A `Union` needs at least two curves, got {len(flat)}. Write `Union(Kite(), Ellipse(1, 2))`."
            )
        self.members = flat

    @property
    def curves(self) -> tuple[AbstractCurve, ...]:
        return self.members

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        turn = turn_of(s, len(self.members))
        rest = s - 2 * jnp.pi * turn
        return jnp.stack([curve.locate(rest, parameters) for curve in self.members])[turn]

    def boundary(self, grid: Float[Array, " n"], weight: Float[Array, " n"], parameters: Mapping[str, Any]) -> Boundary:
        directions = self.directions(parameters)
        return self.joined(
            [
                curve.boundary(grid, weight, parameters, direction)
                for curve, direction in zip(self.members, directions, strict=True)
            ]
        )

    def joined(self, curves: list[Boundary]) -> Boundary:
        """Coordinates follow each other, one turn after the other."""
        nodes = join(curves)
        turns = np.repeat(np.arange(len(curves)), nodes.s.shape[0] // len(curves))
        return dataclasses.replace(nodes, s=nodes.s + jnp.asarray(2 * np.pi * turns, nodes.s.dtype))

    def directions(self, parameters: Mapping[str, Any]) -> Array:
        """A hole lies in an odd number of other curves."""
        s = jnp.linspace(0, 2 * jnp.pi, 512, endpoint=False)
        points = jnp.stack([jax.vmap(lambda s, c=c: c.point(s, **parameters))(s) for c in self.members])
        z = jax.lax.complex(points[..., 0], points[..., 1])
        # Sums of turning angles, seen from the first point of each curve.
        arms = z[None, :, :] - z[:, None, :1]
        turning = jnp.angle(jnp.roll(arms, -1, axis=-1) * arms.conj()).sum(axis=-1) / (2 * jnp.pi)
        inside = jnp.where(jnp.eye(len(self.members), dtype=bool), 0, jnp.round(jnp.abs(turning)))
        return jnp.where(inside.sum(axis=1) % 2 == 1, -1.0, 1.0)


class SurfaceUnion(AbstractSurface):
    """Surfaces that bound one domain together; `Union` makes it."""

    members: tuple[AbstractSurface, ...]

    def __init__(self, families: tuple[AbstractSurface, ...]):
        if len(families) < 2:
            raise ValueError(
                f"A `Union` needs at least two surfaces, got {len(families)}. Write `Union(Sphere(2.0), Sphere(1.0))`."
            )
        self.members = families

    @property
    def bodies(self) -> tuple[int, ...]:
        return tuple(patches for member in self.members for patches in member.bodies)

    @property
    def has_edges(self) -> bool:
        return any(member.has_edges for member in self.members)

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return jnp.concatenate([member.atlas(s, parameters) for member in self.members])


def turn_of(s: Any, curves: int) -> Array:
    """Which of several curves a boundary coordinate lies on, counted from 0; beyond the ends, the nearest.

    >>> turn_of(jnp.float32(10 * np.pi), 6).tolist()
    5
    """
    turns = jnp.asarray(s, jnp.result_type(s, jnp.float32)) / (2 * np.pi)
    # In single precision 10π lies below five turns: rounding must not put the first node of a curve on the one before.
    nudge = 8 * curves * jnp.finfo(turns.dtype).eps
    return jnp.clip(jnp.floor(turns + nudge).astype(int), 0, curves - 1)


def _curves(family: Any) -> tuple[AbstractCurve, ...]:
    if not isinstance(family, AbstractPlaneFamily):
        raise TypeError(f"A `Union` is made of curves, got {family!r}. Write `Union(Kite(), Ellipse(1.0, 2.0))`.")
    return family.curves
