"""Several curves or surfaces at once: bodies side by side, domains with holes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.base.named import listed
from edgewise.geometry.boundary import Boundary, join
from edgewise.geometry.family import AbstractCurve, AbstractPlaneFamily, turn_of
from edgewise.geometry.surface import AbstractSurface


def Union(*families: Any) -> "CurveUnion | SurfaceUnion":
    """Curves, or surfaces, that bound one domain together: bodies apart from each other, or an outer one and holes in
    it.

    One inside another is a hole: normals, which leave the domain, point into it. Boundary coordinates follow each
    other: [0, 2π) on the first curve, [2π, 4π) on the second and so on; patch after patch on surfaces. Parameters are
    shared by name.

    >>> from edgewise.geometry import Ellipse, Sphere, Translate
    >>> bodies = Union(Ellipse(1.0, 1.0), Translate(Ellipse(1.0, 1.0), (3.0, 0.0)))
    >>> bodies.point(0.0).tolist(), bodies.point(2 * jnp.pi).tolist()
    ([1.0, 0.0], [4.0, 0.0])
    >>> Union(Sphere(2.0), Sphere(1.0)).point((6.5, 0.5)).tolist()
    [1.0, 0.0, 0.0]
    """
    given = listed(families)
    flat = [family for family in given if not isinstance(family, AbstractSurface)]
    if len(flat) == len(given):
        return CurveUnion(given)
    if flat:
        both = "curves or of surfaces, not of both" if _curves(flat[0]) else "surfaces"
        raise TypeError(
            f"A `Union` is made of {both}, got {flat[0]!r} among surfaces. Write `Union(Sphere(2.0), Sphere(1.0))`."
        )
    return SurfaceUnion(given)


class CurveUnion(AbstractPlaneFamily):
    """Curves that bound one domain together; `Union` makes it."""

    members: tuple[AbstractCurve, ...]

    def __init__(self, families: tuple[Any, ...]):
        wrong = [family for family in families if not _curves(family)]
        if wrong:
            raise TypeError(f"A `Union` is made of curves, got {wrong[0]!r}. Write `Union(Kite(), Ellipse(1.0, 2.0))`.")
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

    def node(self, s: Array, parameters: Mapping[str, Any]) -> Boundary:
        turn = turn_of(s, len(self.members))
        grid, one = (s - 2 * jnp.pi * turn)[None], jnp.ones_like(s)[None]
        directions = self.directions(parameters)
        nodes = [c.boundary(grid, one, parameters, d) for c, d in zip(self.members, directions, strict=True)]
        chosen = jax.tree_util.tree_map(lambda *leaves: jnp.stack(leaves)[turn], *nodes)
        return dataclasses.replace(chosen, s=s[None])

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


def _curves(family: Any) -> tuple[AbstractCurve, ...]:
    """The curves of a family of the plane; none of anything else."""
    return family.curves if isinstance(family, AbstractPlaneFamily) else ()
