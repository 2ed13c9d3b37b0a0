"""Integrals over one panel of a surface for a target on it or close to it, by nodes centred on the target.

A panel is the image of [-1, 1]² under a polynomial, which is known by its values at Gauss nodes. Triangles lead from
the point of the panel that is closest to the target to its four sides. With coordinates ρ along a triangle and τ along
the side, the area element is a multiple of ρ dρ dτ (Duffy), which cancels the 1/r of a target on the panel. The
function sinh spreads out what is left close to singular: in ρ from the scale on which the panel leaves the target
behind, in τ from the narrowest width in which rays pass by the target. Both scales are read off the panel itself, at
powers of 1/2 of the way to its sides, since a panel that is graded to an edge has no linear part next to it. The rule
then converges geometrically for targets at every distance. Nodes of equal ρ share a coordinate, so that interpolation
to them, and back to the nodes of a density, takes no more than a few operations for each of the nodes along a side.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.kernels import AbstractKernel, Layer
from edgewise.special import differentiation, gauss, lagrange

NEWTON_STEPS = 12
# A target this close to a panel, in its sizes, is on it.
ON_PANEL = 1e-11
# Distances below this share of the way across a panel are not told apart. Next to an edge, nodes are as close as that
# to the other face.
FINEST = 1e-10
# Rays pass a target in no narrower width than this.
NARROWEST = 1e-7
# Intervals of nodes beyond this length are long.
LONG = 8.0
# Shares of the way to a side at which the panel is looked at.
HALVINGS = 0.5 ** np.arange(24)[::-1]


class Panels(eqx.Module):
    """Panels of a surface, along a first axis that the functions below do not have; g Gauss nodes along a side."""

    jet: Float[Array, "p g g 6 3"]
    """At the nodes: the position x(a, b) and its derivatives in a, b, aa, ab and bb."""
    area: Float[Array, "p g g 3"]
    """There, the outward normal times the area element: ±∂x/∂a × ∂x/∂b."""
    radius: Float[Array, " p"]
    """The largest distance of a node from the middle."""

    def __init__(self, x: Float[Array, "p g g 3"], outward: Float[Array, "p g g 3"]):
        slope = jnp.asarray(differentiation(x.shape[1]), x.dtype)

        def in_a(values):
            return jnp.einsum("ai,pijk->pajk", slope, values)

        def in_b(values):
            return jnp.einsum("bj,pijk->pibk", slope, values)

        a, b = in_a(x), in_b(x)
        self.jet = jnp.stack([x, a, b, in_a(a), in_b(a), in_b(b)], axis=-2)
        across = jnp.cross(a, b)
        sign = jnp.sign(jnp.sum(across * outward, axis=(1, 2, 3), keepdims=True))
        self.area = jax.lax.stop_gradient(sign) * across
        middle = jnp.mean(x, axis=(1, 2), keepdims=True)
        self.radius = jax.lax.stop_gradient(jnp.max(jnp.linalg.norm(x - middle, axis=-1), axis=(1, 2)))

    @property
    def x(self) -> Float[Array, "p g g 3"]:
        return self.jet[..., 0, :]


class Samples(NamedTuple):
    """What the rule looks at: for the two coordinates in which triangles lead, two triangles each, ρ and τ."""

    along: Float[Array, "2 2 r g"]
    """Weights of values at the panel's nodes in the coordinate that ρ alone decides: the first, then the second."""
    across: Float[Array, "2 2 r t g"]
    """The same in the other coordinate."""
    d: Float[Array, "2 2 r t 3"]
    """Target less source."""
    area: Float[Array, "2 2 r t 3"]
    """Normal times area element."""
    weight: Float[Array, "2 2 r t"]


def at(values: Inexact[Array, "g g ..."], place: Float[Array, " 2"]) -> Inexact[Array, "..."]:
    """A polynomial on a panel at one place of [-1, 1]²."""
    first, second = lagrange(values.shape[0], place)
    return jnp.einsum("i,j,ij...->...", first, second, values)


def normal_at(panel: Panels, place: Float[Array, " 2"]) -> Float[Array, " 3"]:
    """The unit normal of the polynomial: with any other, d·n would not vanish as |d|² does."""
    across = at(panel.area, place)
    return across / jnp.linalg.norm(across)


def closest(panel: Panels, target: Float[Array, " 3"]) -> tuple[Float[Array, " 2"], Float[Array, ""]]:
    """The place on a panel that is nearest to the target, and how far away it is; 0 for a target on it.

    Newton's method starts from the nearest node, and moves along the sides where those hold it back. The result is not
    differentiated, since the integral does not depend on where its rule is centred.
    """
    panel, target = jax.lax.stop_gradient((panel, target))
    g = panel.jet.shape[0]
    nodes = jnp.asarray(gauss(g)[0], target.dtype)
    nearest = jnp.argmin(jnp.sum((panel.x - target) ** 2, axis=-1))
    start = jnp.stack([nodes[nearest // g], nodes[nearest % g]])

    def step(_, place):
        x, a, b, aa, ab, bb = at(panel.jet, place)
        d = x - target
        force = jnp.stack([a @ d, b @ d])
        metric = jnp.stack([a @ a, a @ b, b @ b])
        full = metric + jnp.stack([aa @ d, ab @ d, bb @ d])
        # Where the distance is not convex, the metric alone still leads downhill.
        convex = (full[0] > 0) & (_determinant(full) > 0.1 * _determinant(metric))
        matrix = jnp.where(convex, full, metric)
        held = ((place >= 1) & (force < 0)) | ((place <= -1) & (force > 0))
        matrix = matrix.at[1].multiply(~jnp.any(held))
        force = jnp.where(held, 0, force)
        turned = jnp.stack([matrix[2] * force[0] - matrix[1] * force[1], matrix[0] * force[1] - matrix[1] * force[0]])
        move = -turned / _positive(_determinant(matrix))
        move = move * jnp.minimum(1, 0.5 / _positive(jnp.max(jnp.abs(move))))
        return jnp.clip(place + move, -1, 1)

    place = jax.lax.fori_loop(0, NEWTON_STEPS, step, start)
    distance = jnp.linalg.norm(at(panel.x, place) - target)
    return place, jnp.where(distance < ON_PANEL * panel.radius, 0, distance)


class View(NamedTuple):
    """How one target sees one panel. Not differentiated: the integral does not depend on where its rule is centred."""

    centre: Float[Array, " 2"]
    """The place on the panel that is closest."""
    distance: Float[Array, ""]
    """0 for a target on the panel."""
    stretch: "Stretch"


def view(panel: Panels, target: Float[Array, " 3"], own: Float[Array, " 2"] | None = None) -> View:
    """Of a target anywhere, or of the panel's own point at a place `own`, unless that is not a number."""
    centre, distance = closest(panel, target)
    if own is not None:
        known = ~jnp.isnan(own[0])
        centre, distance = jnp.where(known, own, centre), jnp.where(known, 0, distance)
    return View(centre, distance, scales(panel, centre, distance))


def samples(panel: Panels, target: Float[Array, " 3"], seen_from: View, counts: tuple[int, int]) -> Samples:
    """The rule for one target, with `counts` nodes in ρ and τ on each of four triangles.

    At distance 0 the target is taken to be the panel's own point at the centre, to the last digit.
    """
    centre, distance, stretches = jax.lax.stop_gradient(seen_from)
    target = jnp.where(distance == 0, at(panel.x, centre), target)
    geometry = jnp.concatenate([panel.x - target, panel.area], axis=-1)
    both = jnp.stack([geometry, geometry.swapaxes(0, 1)])
    centres = jnp.stack([centre, centre[::-1]])
    nodes = jax.vmap(jax.vmap(lambda stretch, place: _triangle(stretch, place, counts), in_axes=(0, None)))
    first, second, weight = nodes(stretches, centres)
    along, across = lagrange(panel.jet.shape[0], first), lagrange(panel.jet.shape[0], second)
    lines = jnp.einsum("osri,oijk->osrjk", along, both)
    found = jnp.einsum("osrtj,osrjk->osrtk", across, lines)
    return Samples(along, across, -found[..., :3], found[..., 3:], weight)


def rows_of(
    kernel: AbstractKernel, layers: tuple[Layer, ...], seen: Samples, normal: Float[Array, " 3"]
) -> Inexact[Array, "l *value g g"]:
    """Weights with which each layer takes values at the panel's nodes.

    The values are density times jacobian, or the density itself where `of_normal(layer)`.
    """
    found = []
    for layer in layers:
        values = values_first(values_of(kernel, layer, seen, normal), 4) * seen.weight
        first = jnp.einsum("...osrt,osrtj->...osrj", values, seen.across)
        both = jnp.einsum("osri,...osrj->...oij", seen.along, first)
        found.append(both[..., 0, :, :] + both[..., 1, :, :].swapaxes(-1, -2))
    return jnp.stack(found)


def values_of(kernel: AbstractKernel, layer: Layer, seen: Samples, normal: Array) -> Inexact[Array, "2 2 r t *value"]:
    """A layer's kernel at the nodes of the rule; where it takes the source's normal, times the area element."""
    return kernel.layer(layer, seen.d, normal, seen.area)


def values_first(values: Inexact[Array, "..."], nodes: int) -> Inexact[Array, "..."]:
    """The axes of a kernel's value before those of `nodes`."""
    if values.ndim == nodes:
        return values
    return jnp.moveaxis(values, tuple(range(nodes)), tuple(range(-nodes, 0)))


def of_normal(layer: Layer) -> bool:
    """Whether a layer takes the source's normal: then its nodal values are densities, without jacobian."""
    return layer in ("double", "hypersingular")


class Stretch(NamedTuple):
    """How a triangle is stretched, for the two coordinates in which triangles lead and the two sides of each."""

    side: Float[Array, "2 2"]
    """1 or -1: where the triangle leads."""
    middle: Float[Array, "2 2"]
    """Where, along the side, rays pass closest to the target."""
    width: Float[Array, "2 2"]
    """The narrowest width in τ."""
    scale: Float[Array, "2 2"]
    """The smallest scale in ρ."""

    def lengths(self, centre: Float[Array, " 2"]) -> Float[Array, "2 2 2"]:
        """How long the intervals of Gauss nodes are, in ρ and in τ; of triangles without area 0."""
        empty = jnp.stack([jnp.stack([jnp.abs(side - place) for side in (1.0, -1.0)]) for place in centre]) < 1e-14
        low, high = self.ends()
        return jnp.where(empty, 0, jnp.stack([jnp.arcsinh(1 / self.scale), high - low]))

    def ends(self) -> tuple[Array, Array]:
        return jnp.arcsinh((-1 - self.middle) / self.width), jnp.arcsinh((1 - self.middle) / self.width)


def scales(panel: Panels, centre: Float[Array, " 2"], distance: Array) -> Stretch:
    """Read off the panel along its two lines through the centre; not differentiated."""
    panel, centre = jax.lax.stop_gradient((panel, centre))
    jet = at(panel.jet, centre)
    sides = jnp.asarray([1.0, -1.0], centre.dtype)
    paths, reaches = [], []
    for coordinate in (0, 1):
        line = jnp.tensordot(lagrange(panel.jet.shape[0], centre[1 - coordinate]), panel.x, (0, 1 - coordinate))
        reach = sides - centre[coordinate]
        places = centre[coordinate] + reach[:, None] * jnp.asarray(HALVINGS, centre.dtype)
        paths.append(lagrange(line.shape[0], places) @ line - jet[0])
        reaches.append(reach)
    stretches = [_stretch(jet, paths, reaches, distance, coordinate, centre[1 - coordinate]) for coordinate in (0, 1)]
    return Stretch(jnp.stack([sides, sides]), *(jnp.stack(part) for part in zip(*stretches, strict=True)))


def _stretch(
    jet: Array, paths: list[Array], reaches: list[Array], distance: Array, coordinate: int, here: Array
) -> tuple[Array, ...]:
    """Middle, width and scale of the two triangles that lead in one coordinate, a.

    `here` is the other coordinate, b, of the centre.
    """
    halvings = jnp.asarray(HALVINGS, jet.dtype)
    a, b = jet[1 + coordinate], jet[2 - coordinate]
    bend_a, bend_b = jet[3 + 2 * coordinate], jet[5 - 2 * coordinate]
    ab, bb = a @ b, b @ b
    # How far the panel goes along b, to its farther end; never falling, so that it can be inverted.
    longest = jnp.max(jnp.abs(reaches[1 - coordinate]))
    along_b = _rising(jnp.max(jnp.linalg.norm(paths[1 - coordinate], axis=-1), axis=0))
    unit = b / _positive(jnp.sqrt(bb))

    def one(path, reach):
        size = _rising(jnp.linalg.norm(path, axis=-1))
        beside = _rising(jnp.linalg.norm(path - (path @ unit)[:, None] * unit, axis=-1))
        # At a share ρ of the way, rays within this much of τ pass the target as closely as the middle one.
        closest_there = jnp.maximum(beside, distance)
        width = jnp.min(longest * jnp.minimum(_invert(closest_there, along_b, halvings), 1) / halvings)
        reached = _invert(distance, jnp.maximum(size, along_b), halvings)
        # On the panel the target has no distance, and the scale is that on which the metric changes.
        change_a = jnp.linalg.norm(a) / _positive(jnp.linalg.norm(bend_a) * jnp.abs(reach))
        change_b = jnp.sqrt(bb) / _positive(jnp.linalg.norm(bend_b) * longest)
        scale = jnp.where(distance > 0, reached, jnp.minimum(change_a, change_b))
        middle = here - ab * reach / _positive(bb)
        return middle, jnp.clip(width, NARROWEST, 1e3), jnp.clip(scale, FINEST, 1e3)

    middle, width, scale = jax.vmap(one)(paths[coordinate], reaches[coordinate])
    return middle, width, scale


def _rising(values: Array) -> Array:
    return jax.lax.cummax(values)


def _invert(value: Array, table: Float[Array, " h"], halvings: Array) -> Array:
    """Where a rising table reaches the value, by powers between its entries; beyond its ends by the power there."""
    tiny = jnp.finfo(table.dtype).tiny ** 0.5
    logs, at_logs = jnp.log(jnp.maximum(table, tiny)), jnp.log(halvings)
    # Entries must differ to be divided by.
    logs = logs + 1e-9 * jnp.arange(len(logs), dtype=logs.dtype)
    wanted = jnp.log(jnp.maximum(value, tiny))
    inside = jnp.interp(wanted, logs, at_logs)
    above = at_logs[-1] + jnp.maximum(wanted - logs[-1], 0)
    return jnp.exp(jnp.where(wanted > logs[-1], above, inside))


def _triangle(stretch: Stretch, centre: Float[Array, " 2"], counts: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Places and weights on the triangle from the centre to one side in the first coordinate."""
    (rho_nodes, rho_weights), (tau_nodes, tau_weights) = (
        tuple(jnp.asarray(part, centre.dtype) for part in gauss(count)) for count in counts
    )
    reach = stretch.side - centre[0]
    low, high = stretch.ends()
    w = low + (high - low) * (tau_nodes + 1) / 2
    tau = stretch.middle + stretch.width * jnp.sinh(w) - centre[1]
    tau_weight = stretch.width * jnp.cosh(w) * tau_weights * (high - low) / 2
    far = jnp.arcsinh(1 / stretch.scale)
    rho = stretch.scale * jnp.sinh(far * (rho_nodes + 1) / 2)
    rho_weight = stretch.scale * jnp.cosh(far * (rho_nodes + 1) / 2) * rho_weights * far / 2
    weight = jnp.abs(reach) * (rho * rho_weight)[:, None] * tau_weight
    return centre[0] + rho * reach, centre[1] + rho[:, None] * tau, weight


def counts_for(num_nodes: int, lengths: tuple[float, float]) -> tuple[int, int]:
    """Nodes in ρ and τ on intervals of these lengths, for densities on `num_nodes` a side.

    The integrand has its singularities about π/2 off the interval, so that the number of nodes grows with the length.
    On spheres, tori and half-balls, a fifth fewer nodes were measured not to change the error that `num_nodes` leave,
    and a third fewer to double it. Long intervals, which belong to targets next to an edge and the face across it, take
    some more nodes: on cuboids that leaves a third of the error.
    """
    first, second = (
        round((num_nodes + 3) * (0.8 + 0.18 * length))
        if length > LONG
        else round(num_nodes * (0.8 + 0.18 * length)) + 2
        for length in lengths
    )
    return first, second


def _determinant(matrix: Float[Array, " 3"]) -> Array:
    """Of a symmetric matrix, by its entries 00, 01, 11."""
    return matrix[0] * matrix[2] - matrix[1] ** 2


def _positive(value: Array) -> Array:
    return jnp.where(value > 0, value, 1)
