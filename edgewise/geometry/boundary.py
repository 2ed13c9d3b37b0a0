"""The nodes of one member: all that a kernel or a rule reads of a geometry."""

import equinox as eqx
from jaxtyping import Array, Float


class Boundary(eqx.Module):
    """Nodes on the boundary of one member, in the order of the rule that placed them.

    In the plane the nodes run counterclockwise, so that normals, which leave the bounded domain, point to the right.
    """

    s: Float[Array, " n"]
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
    """Positive on a circle."""
    anchor: Float[Array, "n d"] | None = None
    """The nearest corner, where a rule is graded to corners."""
    offset: Float[Array, "n d"] | None = None
    """x - anchor, to relative rounding however small."""

    @property
    def measure(self) -> Array:
        """Length of a curve, area of a surface."""
        return self.weight.sum()
