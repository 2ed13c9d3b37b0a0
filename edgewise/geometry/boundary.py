"""The nodes of one member: all that a kernel or a rule reads of a geometry."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Boundary(eqx.Module):
    """Nodes on the boundary of one member, in the order of the rule that placed them.

    In the plane the nodes run with the domain on their left, so that normals, which leave it, point to the right:
    counterclockwise, and clockwise round a hole. The nodes of several curves follow each other, equally many on each.
    """

    s: Float[Array, "n ..."]
    """Boundary coordinate, as `point` takes it."""
    x: Float[Array, "n d"]
    """Position."""
    normal: Float[Array, "n d"]
    """Outward unit normal."""
    jacobian: Float[Array, " n"]
    """Length (area) per unit of the rule's own coordinate."""
    weight: Float[Array, " n"]
    """Rule weight times jacobian; the sum is the length (area)."""
    curvature: Float[Array, " n"]
    """The curvature of a plane curve, positive on a circle; 0 on a surface, where no rule reads it."""
    anchor: Float[Array, "n d"] | None = None
    """The nearest corner, where a rule is graded to corners."""
    offset: Float[Array, "n d"] | None = None
    """x - anchor, to relative rounding however small."""
    components: int = eqx.field(static=True, default=1)
    """How many curves, or bodies, there are."""

    @property
    def measure(self) -> Array:
        """Length of a curve, area of a surface."""
        return self.weight.sum()

    @property
    def velocity(self) -> Float[Array, "n 2"]:
        """The velocity along a plane curve, per unit of the rule's coordinate: the normal turned by +π/2, times
        jacobian."""
        return self.jacobian[:, None] * jnp.stack([-self.normal[:, 1], self.normal[:, 0]], axis=-1)

    def holds(self, point: Float[Array, " d"]) -> Bool[Array, ""]:
        """Whether a point lies inside: by Gauss's integral, for points farther from the nodes than these are apart."""
        d = self.x - point
        dim = d.shape[-1]
        around = {2: 2 * jnp.pi, 3: 4 * jnp.pi}[dim]
        seen = jnp.sum(self.weight * jnp.sum(d * self.normal, axis=-1) / jnp.sum(d**2, axis=-1) ** (dim / 2))
        return seen > around / 2

    def split(self) -> "Boundary":
        """The curves one by one, along a new first axis."""
        split = jax.tree_util.tree_map(lambda leaf: leaf.reshape(self.components, -1, *leaf.shape[1:]), self)
        return dataclasses.replace(split, components=1)


def join(curves: list[Boundary]) -> Boundary:
    """The nodes of several curves, one after the other."""
    joined = jax.tree_util.tree_map(lambda *leaves: jnp.concatenate(leaves), *curves)
    return dataclasses.replace(joined, components=len(curves))
