"""Families of surfaces: closed bodies, each an atlas of smooth patches. Derivatives come from autodiff, here only."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from edgewise.base.named import bind
from edgewise.geometry.boundary import Boundary
from edgewise.geometry.family import AbstractFamily
from edgewise.geometry.polyhedra import lattice, triangles, volume, windings

# Squares along a patch's side in the polyhedra that tell inside from outside; even, so that a corner is mid-patch.
_CELLS = 8


class AbstractSurface(AbstractFamily):
    """Closed surfaces in space: smooth patches, each the image of the unit square.

    A patch is smooth up to its sides. Next to an edge of the body it is graded: its points approach the edge like a
    power of the distance of their coordinates, so that density times jacobian is smooth there. Boundary coordinates are
    s = (u, v); patches follow each other in u: [0, 1] is the first, [1, 2] the second and so on.
    """

    dim = 3

    @property
    @abc.abstractmethod
    def bodies(self) -> tuple[int, ...]:
        """The closed bodies that a member consists of: how many patches each has, one body after the other."""

    @abc.abstractmethod
    def atlas(self, s: Float[Array, " 2"], parameters: Mapping[str, Any]) -> Float[Array, "patches 3"]:
        """The point at s in [0, 1]² on every patch. Numbers of this family are bound already.

        ∂x/∂u × ∂x/∂v leaves the body on all patches of it, or on none.
        """

    def meridian(self, s: Float[Array, " 2"]) -> tuple[Array, Array, Array, Array]:
        """Where the point at s is on bodies of revolution: the number of its line, the coordinate in [0, 1] along it,
        in which densities are smooth; one that grows from 0 on the axis like the distance from it; and the angle about
        the axis."""
        raise NotImplementedError(f"`{type(self).__name__}` is no family of bodies of revolution.")

    @property
    def patches(self) -> int:
        return sum(self.bodies)

    def body_at(self, s: Array) -> Int[Array, ""]:
        return jnp.asarray(np.repeat(np.arange(len(self.bodies)), self.bodies))[self.split(s)[0]]

    @property
    def components(self) -> int:
        return len(self.bodies)

    def coordinates(self, grid: np.ndarray) -> np.ndarray:
        return np.concatenate([grid + np.array([patch, 0]) for patch in range(self.patches)])

    def node(self, s: Array, parameters: Mapping[str, Any]) -> Boundary:
        patch, place = self.split(s)
        everywhere = self.boundary(place[None], jnp.ones(1, s.dtype), parameters)
        chosen = jax.tree_util.tree_map(lambda leaf: leaf[patch][None], everywhere)
        return dataclasses.replace(chosen, s=s[None])

    @property
    def curves(self) -> tuple:
        return ()

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        if s.shape != (2,):
            raise ValueError(
                f"A point on a surface has two coordinates, got `s` of shape {s.shape}; expected (2,). Write "
                "`family.point((0.5, 0.5))` for the middle of the first patch, `(1.5, 0.5)` for that of the second."
            )
        patch, place = self.split(s)
        return self.atlas(place, parameters)[patch]

    def split(self, s: Float[Array, " 2"]) -> tuple[Array, Float[Array, " 2"]]:
        """The patch of a boundary coordinate, and the place on it in [0, 1]²."""
        # Where two patches meet in u, the coordinate is the first one's end.
        patch = jnp.clip(jnp.ceil(s[0]).astype(int) - 1, 0, self.patches - 1)
        return patch, jnp.stack([s[0] - patch, s[1]])

    def boundary(
        self, grid: Float[Array, "... m 2"], weight: Float[Array, " m"], parameters: Mapping[str, Any]
    ) -> Boundary:
        """The nodes at `grid`, a rule's coordinates in [0, 1]², on every patch, with the rule's weights.

        A grid of shape (patches, m, 2) has coordinates of each patch's own. Normals leave the bounded domain: of a body
        inside another they point into it.
        """
        bound = bind(self, parameters)

        def everywhere(s):
            return bound.atlas(s, parameters).astype(grid.dtype)

        if grid.ndim == 2:
            x, along_u, along_v = jax.vmap(lambda s: _two_slopes(everywhere, s), out_axes=1)(grid)
        else:
            # An atlas gives all patches at once; of each, one is kept.
            on_patch = jax.vmap(lambda s, patch: _two_slopes(lambda s: everywhere(s)[patch], s), in_axes=(0, None))
            x, along_u, along_v = jax.vmap(on_patch)(grid, jnp.arange(self.patches))
        # Patch by patch, the nodes of each in the order of the grid.
        x, along_u, along_v = (part.reshape(-1, 3) for part in (x, along_u, along_v))
        across = jnp.cross(along_u, along_v)
        jacobian = jnp.linalg.norm(across, axis=-1)
        weights = jnp.tile(weight, self.patches) * jacobian
        patch = np.repeat(np.arange(self.patches), len(weight))
        normal = across / jacobian[:, None]
        normal = normal * bound.signs(parameters, grid.dtype)[patch][:, None]
        s = jnp.broadcast_to(grid, (self.patches, len(weight), 2)).reshape(-1, 2).at[:, 0].add(patch.astype(grid.dtype))
        return Boundary(s, x, normal, jacobian, weights, jnp.zeros_like(weights), components=len(self.bodies))

    def signs(self, parameters: Mapping[str, Any], dtype: Any) -> Float[Array, " patches"]:
        """For every patch +1 where ∂x/∂u × ∂x/∂v leaves the domain, -1 where it enters it. Numbers are bound already.

        By polyhedra, not by the nodes: those of one body would not resolve Gauss's integral at one close to it.
        """
        points = jax.vmap(lambda s: self.atlas(s, parameters), out_axes=1)(jnp.asarray(lattice(_CELLS), dtype))
        points = jax.lax.stop_gradient(points)
        bodies = jnp.split(points, np.cumsum(self.bodies)[:-1])
        faces = [triangles(body) for body in bodies]
        signs = jnp.where(jnp.stack([volume(body) for body in faces]) < 0, -1.0, 1.0)
        if len(bodies) > 1:
            # A hole lies in an odd number of other bodies.
            middle = (_CELLS + 1) ** 2 // 2
            inside = [
                sum(jnp.abs(windings(other, points[0, middle])) for other in faces if other is not own)
                for own, points in zip(faces, bodies, strict=True)
            ]
            signs = signs * jnp.where(jnp.round(jnp.stack(inside)) % 2 == 1, -1.0, 1.0)
        return signs.astype(dtype)[np.repeat(np.arange(len(bodies)), self.bodies)]


def _two_slopes(function, s: Array) -> tuple[Array, Array, Array]:
    one = jnp.eye(2, dtype=s.dtype)
    x, along_u = jax.jvp(function, (s,), (one[0],))
    return x, along_u, jax.jvp(function, (s,), (one[1],))[1]
