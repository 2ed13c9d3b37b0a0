"""Fields of surfaces, and their gradients, at points anywhere in space; far fields.

Panels away from a point take their own nodes, those beside it take finer nodes, and those close to it take the rule
centred on it. A double layer is computed without the value φ₀ of its density at the point of the surface next to the
target: D φ = D (φ - φ₀) + φ₀ D 1. For Laplace's kernel D 1 is known, -1 inside and 0 outside, so that the sum for D 1
over the same panels tells by how much the sum for D φ errs.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.base.precision import is_concrete
from edgewise.kernels import AbstractKernel, Laplace, Layer
from edgewise.quadrature.curves.field import PAIRS
from edgewise.quadrature.discretisation import AbstractField, Quantity, Side, Strengths
from edgewise.quadrature.surfaces.centred import Panels, View, at, counts_for, normal_at, samples, view
from edgewise.quadrature.surfaces.close_rows import fine_nodes
from edgewise.quadrature.surfaces.far import far_of
from edgewise.quadrature.surfaces.neighbours import SORTS, Neighbours, Pairs, in_pieces, neighbours, pick, sorts
from edgewise.special import interpolation, on_sphere, to_coefficients

# Pairs of point and panel that are worked on at once.
NEAR_PAIRS = 256
# Closer to the surface than this, in sizes of its largest panel, gradients are extrapolated from points at multiples of
# that distance. In a corner where three faces meet, those points are extrapolated themselves, at most so many times.
TOO_CLOSE, OFFSETS, EXTRAPOLATIONS = 1e-3, np.arange(1, 6), 3


# Rings of directions for a body smaller than a wave; pairs of node and direction that are worked on at once.
LEAST_DIRECTIONS, FAR_PAIRS = 20, 2**21


class Nodes(NamedTuple):
    """What panels are summed by for targets away from them; m nodes on each."""

    x: Float[Array, "p m 3"]
    area: Float[Array, "p m 3"]
    """Normal times area element times weight."""
    single: Inexact[Array, "p ... m"] | None
    """Density times area element times weight; of vector fields each component."""
    double: Inexact[Array, "p ... m"] | None
    """Density."""

    def sums(self, kernel: AbstractKernel, target: Float[Array, " 3"], quantity: Quantity) -> tuple[Array, Array]:
        """What one panel, picked before, adds to the quantity, and to D 1 of the static kernel."""
        d = target - self.x
        value = _zero(kernel, quantity, d)
        if self.single is not None:
            value = value + _dot(self.single, kernel.in_space("single", quantity, d, self.area))
        if self.double is not None:
            value = value + _dot(self.double, kernel.in_space("double", quantity, d, self.area))
        return value, jnp.sum(_static(kernel).in_space("double", quantity, d, self.area), axis=0)


class SurfaceField(AbstractField):
    """The layers of one member on the panels of its surface."""

    kernel: AbstractKernel
    panels: Panels
    coarse: Nodes
    """The nodes of the densities."""
    fine: Nodes
    """More, for targets beside a panel."""
    single: Inexact[Array, "p ... nn"] | None
    """Density times jacobian of the panel's own coordinates."""
    double: Inexact[Array, "p ... nn"] | None
    polynomial: Inexact[Array, " c"]
    """A constant, or nothing."""
    side: Side = eqx.field(static=True)
    num_nodes: int = eqx.field(static=True)

    def __init__(self, kernel: AbstractKernel, on: Any, side: Side, strengths: Strengths):
        assert strengths.single is not None or strengths.double is not None, "a field is made of at least one layer"
        rule, boundary, self.panels = on.rule, on.boundary, on.panels
        size, stretch = rule.num_nodes**2, (2 * rule.panels) ** 2

        def of_panels(values):
            return jnp.moveaxis(values.reshape(*values.shape[:-1], -1, size), -2, 0)

        self.single = None if strengths.single is None else of_panels(strengths.single) / stretch
        self.double = None if strengths.double is None else of_panels(strengths.double)
        weight = jnp.asarray(rule.grid()[1][:size] * stretch, boundary.x.dtype)
        self.coarse = Nodes(
            boundary.x.reshape(-1, size, 3),
            (boundary.weight[:, None] * boundary.normal).reshape(-1, size, 3),
            None if self.single is None else self.single * weight,
            self.double,
        )
        fine = fine_nodes(self.panels, rule.num_nodes)

        def finer(values):
            return rule.spread_to(values, fine.weight.shape[0]).reshape(*values.shape[:-1], -1)

        self.fine = Nodes(
            fine.x.reshape(len(fine.x), -1, 3),
            fine.area.reshape(len(fine.x), -1, 3),
            None if self.single is None else finer(self.single) * fine.weight.ravel(),
            None if self.double is None else finer(self.double),
        )
        self.kernel, self.polynomial, self.side = kernel, strengths.polynomial, side
        self.num_nodes = rule.num_nodes

    def of_members(
        self, points: Float[Array, "m 3"], quantity: Quantity, chunk: int | None = None
    ) -> tuple[Inexact[Array, "b m ..."], Bool[Array, "b m"]]:
        return evaluate_space(self, points, quantity, chunk)

    def far_of_members(self, directions: Float[Array, "m 3"]) -> Inexact[Array, "b m"]:
        return far_of_members(self, directions)

    @property
    def blur(self) -> Float[Array, " p"]:
        """How far each panel may be from the surface that it stands for, as its highest two degrees tell.

        A point within that distance is on the surface.
        """
        g = self.panels.x.shape[-2]
        transform = jnp.asarray(to_coefficients(g), self.panels.x.dtype)
        amounts = jnp.abs(jnp.einsum("ai,bj,pijk->pabk", transform, transform, self.panels.x))
        return jnp.max(amounts[:, np.maximum(*np.indices((g, g))) >= g - 2], axis=(1, 2))

    def away(self, target: Float[Array, " 3"], quantity: Quantity) -> tuple[Inexact[Array, "p ..."], Array]:
        """By the panels' own nodes: what each adds to the quantity, and to D 1 of the static kernel."""
        return jax.vmap(lambda nodes: nodes.sums(self.kernel, target, quantity))(self.coarse)

    def beside(self, target: Float[Array, " 3"], index: Array, quantity: Quantity) -> tuple[Array, Array]:
        """The same for one panel, by its finer nodes."""
        return pick(self.fine, index).sums(self.kernel, target, quantity)

    def near(
        self, target: Float[Array, " 3"], index: Array, seen_from: View, quantity: Quantity, counts: tuple[int, int]
    ) -> tuple[Inexact[Array, "..."], Array, Array, Array, Array]:
        """The same for one panel, by the rule centred on the target.

        Also the point of the panel that is closest, and there the normal and the density of the double layer.
        """
        panel, single, double = pick((self.panels, self.single, self.double), index)
        n, place = self.num_nodes, seen_from.centre
        seen = samples(panel, target, seen_from, counts)
        finer = jnp.asarray(interpolation(n, seen.along.shape[-1]), seen.d.dtype)
        kernel = self.kernel
        value, there = _zero(kernel, quantity, seen.d), jnp.zeros(kernel.value_shape[1:], seen.d.dtype)
        layers: tuple[tuple[Layer, Any], ...] = (("single", single), ("double", double))
        for layer, strengths in layers:
            if strengths is None:
                continue
            square = finer @ strengths.reshape(*strengths.shape[:-1], n, n) @ finer.T
            both = jnp.stack([square, square.swapaxes(-1, -2)])
            spread = jnp.einsum("osrtj,osri,o...ij->...osrt", seen.across, seen.along, both) * seen.weight
            values = kernel.in_space(layer, quantity, seen.d, seen.area)
            flat = spread.reshape(*spread.shape[:-4], -1)
            value = value + _dot(flat, values.reshape(-1, *values.shape[4:]))
            there = _at_each(square, place) if layer == "double" else there
        closed = jnp.tensordot(seen.weight, _static(kernel).in_space("double", quantity, seen.d, seen.area), 4)
        foot = at(panel.x, place)
        return value, closed, foot, normal_at(panel, place), there

    def whole(self, quantity: Quantity, value: Array, closed: Array, density: Array, on: Array) -> tuple[Array, Array]:
        """The quantity from the panels' sums, and whether the target is on the right side.

        `closed` is the sum for D 1, that of the potential also where a gradient is asked for. `density` is the density
        of the double layer next to the target; `on` says whether the target is on the surface.
        """
        size = closed.shape[0] if closed.ndim else 1
        inside = (jnp.trace(closed) / size if closed.ndim else closed) < -0.5
        right = {"both": jnp.ones_like(inside), "interior": inside, "exterior": ~inside}[self.side] | on
        if quantity == "potential" and self.double is not None:
            exact = -1.0 if self.side == "interior" else 0.0
            if closed.ndim:
                value = value - (closed - exact * jnp.eye(size, dtype=closed.dtype)) @ density
            else:
                value = value - density * (closed - exact)
        if quantity == "potential" and self.polynomial.size:
            value = value + (self.polynomial if closed.ndim else self.polynomial[0])
        return value, right


@eqx.filter_jit
def far_of_members(fields: SurfaceField, directions: Float[Array, "m 3"]) -> Inexact[Array, "b m"]:
    """See `far_of`; some directions at a time."""
    nodes = fields.coarse.x.shape[1] * fields.coarse.x.shape[2]
    step, count = max(1, min(len(directions), FAR_PAIRS // nodes)), len(directions)
    some = np.arange(-(-count // step) * step).reshape(-1, step) % count

    def one(member):
        kernel, coarse = member
        single, double = (None if part is None else part.reshape(-1) for part in (coarse.single, coarse.double))
        x, area = coarse.x.reshape(-1, 3), coarse.area.reshape(-1, 3)

        def part(index):
            return far_of(kernel.wavenumber, x, area, single, double, directions[index])

        return jax.lax.map(part, jnp.asarray(some)).reshape(-1)[:count]

    return jax.lax.map(one, (fields.kernel, fields.coarse))


def on_sphere_of(kernel: Any, x: Float[Array, "... 3"]) -> tuple[np.ndarray, np.ndarray]:
    """Directions and weights that integrate |u_inf|² of layers at x.

    |u_inf|² has no waves faster than twice k times the radius of the layers.
    """
    count = LEAST_DIRECTIONS + 28
    if is_concrete(x, kernel.wavenumber):
        box = np.ptp(np.asarray(x).reshape(len(x), -1, 3), axis=1)
        waves = np.max(np.abs(np.asarray(kernel.wavenumber))) * np.max(np.linalg.norm(box, axis=-1))
        count = LEAST_DIRECTIONS + int(waves)
    return on_sphere(count)


def evaluate_space(
    fields: SurfaceField, points: Float[Array, "m 3"], quantity: Quantity, chunk: int | None = None
) -> tuple[Inexact[Array, "b m ..."], Bool[Array, "b m"]]:
    """Values of many members at shared points, and which points are on the right side of which member.

    Every array has a leading axis for the members. No more than `chunk` points are taken at once; by default as many as
    keep the number of pairs of point and node within bounds.
    """
    members, panels, size = fields.coarse.x.shape[:3]
    step = chunk or max(1, min(len(points), PAIRS // (panels * size)))
    each = [jax.tree_util.tree_map(lambda leaf, i=i: leaf[i], fields) for i in range(members)]
    read = _read if is_concrete(points, *jax.tree_util.tree_leaves(fields)) else _read_traced
    pieces = [[read(field, points[i : i + step], quantity) for i in range(0, len(points), step)] for field in each]
    values, right = (jnp.stack([jnp.concatenate([piece[part] for piece in row]) for row in pieces]) for part in (0, 1))
    return values, right


def _read(
    field: SurfaceField, points: Any, quantity: Quantity, rounds: int = EXTRAPOLATIONS
) -> tuple[np.ndarray, np.ndarray]:
    """With values at hand: only the pairs that are close pay for it."""
    at_points = np.asarray(points)
    close, others = neighbours(field.panels, at_points)
    apart = np.full(len(at_points), np.inf)
    np.minimum.at(apart, close.target, close.view.distance)
    touching = apart < TOO_CLOSE * np.max(np.asarray(field.panels.radius))
    if quantity == "gradient" and rounds and np.any(touching):
        return _with_extrapolated(field, at_points, close, touching, rounds)
    value, closed = _apart(field, at_points, others, quantity)
    side = closed if quantity == "potential" else _apart(field, at_points, others, "potential")[1]
    nearest = np.full(len(at_points), np.inf)
    density = np.zeros((len(at_points), *field.kernel.value_shape[1:]), value.dtype)
    on = np.zeros(len(at_points), bool)
    on[close.target[close.view.distance <= np.asarray(field.blur)[close.panel]]] = True
    for pairs, lengths in zip(sorts(close), SORTS, strict=True):
        if not len(pairs.target):
            continue
        point, panel = pairs.target, pairs.panel
        value[point, panel], closed[point, panel], _, _, there = _near_values(
            field, at_points, pairs, quantity, lengths
        )
        if quantity == "gradient":
            side[point, panel] = _near_values(field, at_points, pairs, "potential", lengths)[1]
        # The last written is the nearest.
        distance = pairs.view.distance
        order = np.argsort(-distance, kind="stable")
        order = order[distance[order] <= nearest[point[order]]]
        nearest[point[order]], density[point[order]] = distance[order], there[order]
    if quantity == "gradient" and field.double is not None:
        value = value - _unit_part(closed, density[:, None])
    sums = (jnp.asarray(part) for part in (value.sum(axis=1), side.sum(axis=1), density, on))
    total, right = jax.vmap(lambda *parts: field.whole(quantity, *parts))(*sums)
    return np.asarray(total), np.asarray(right)


def _with_extrapolated(
    field: SurfaceField, points: np.ndarray, close: Neighbours, touching: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients where some points are next to the surface: there by a polynomial along the normal."""
    dtype = jnp.result_type(*(part for part in (field.single, field.double) if part is not None))
    gradient = np.zeros((len(points), *field.kernel.value_shape[1:], 3), dtype)
    right = np.zeros(len(points), bool)
    if not np.all(touching):
        gradient[~touching], right[~touching] = _read(field, points[~touching], "gradient")
    right[touching] = _read(field, points[touching], "potential")[1]
    # Of each such point the pair that is closest.
    order = np.lexsort((close.view.distance, close.target))
    order = order[touching[close.target[order]]]
    _, first = np.unique(close.target[order], return_index=True)
    nearest = close.only(order[first])
    pairs = Pairs(nearest.target, nearest.panel, nearest.view)
    _, _, foot, normal, _ = _near_values(field, points, pairs, "potential", SORTS[0])
    at_points = points[touching]
    # On which side, where the domain has both.
    sign = np.where(np.sum((at_points - foot) * normal, axis=-1) < 0, -1.0, 1.0)
    sign = {"interior": -np.ones_like(sign), "exterior": np.ones_like(sign), "both": sign}[field.side]
    # The same on every panel: a place that has left one must not be too close for the size of the next.
    step = 1.01 * TOO_CLOSE * np.max(np.asarray(field.panels.radius))
    places = foot[:, None] + (sign * step)[:, None, None] * OFFSETS[:, None] * normal[:, None]
    values = _read(field, places.reshape(-1, 3), "gradient", rounds - 1)[0]
    values = values.reshape(len(at_points), len(OFFSETS), *values.shape[1:])
    there = (nearest.view.distance / step)[:, None, None]
    others = np.array([np.delete(OFFSETS, i) for i in range(len(OFFSETS))])
    weights = np.prod((there - others) / (OFFSETS[:, None] - others), axis=-1)
    gradient[touching] = np.einsum("mo,mo...->m...", weights, values)
    return gradient, right


def _near_values(
    field: SurfaceField, points: np.ndarray, pairs: Pairs, quantity: Quantity, lengths: tuple[float, float]
) -> tuple:
    arrays = (points[pairs.target], pairs.panel, pairs.view)
    return in_pieces(_near, NEAR_PAIRS, field, arrays, quantity, counts_for(field.num_nodes, lengths))


@eqx.filter_jit
def _near(
    field: SurfaceField, points: Array, panel: Array, views: View, quantity: Quantity, counts: tuple[int, int]
) -> tuple:
    one = lambda pair: field.near(*pair, quantity=quantity, counts=counts)
    return jax.lax.map(one, (points, panel, views), batch_size=16)


def _apart(field: SurfaceField, points: np.ndarray, beside: Pairs, quantity: Quantity) -> tuple[np.ndarray, np.ndarray]:
    """What each panel adds at each point, right where the point is not close to it."""
    value, closed = (np.array(part) for part in _away(field, jnp.asarray(points), quantity))
    index = beside.target, beside.panel
    value[index], closed[index] = in_pieces(_beside, NEAR_PAIRS, field, (points[index[0]], index[1]), quantity)
    return value, closed


@eqx.filter_jit
def _beside(field: SurfaceField, points: Array, panel: Array, quantity: Quantity) -> tuple[Array, Array]:
    return jax.lax.map(lambda pair: field.beside(pair[0], pair[1], quantity), (points, panel), batch_size=16)


@eqx.filter_jit
def _away(field: SurfaceField, points: Array, quantity: Quantity) -> tuple[Array, Array]:
    return jax.lax.map(lambda point: field.away(point, quantity), points, batch_size=32)


@eqx.filter_jit
def _read_traced(field: SurfaceField, points: Array, quantity: Quantity) -> tuple[Array, Array]:
    """While JAX traces, every panel takes the rule centred on the point."""
    counts = counts_for(field.num_nodes, SORTS[1])

    def one(point):
        def on_panel(pair):
            index, panel = pair
            seen_from = view(panel, point)
            return seen_from.distance, *field.near(point, index, seen_from, quantity, counts)

        every = (jnp.arange(len(field.panels.x)), field.panels)
        distance, value, closed, _, _, there = jax.lax.map(on_panel, every)
        side = closed if quantity == "potential" else field.away(point, "potential")[1]
        density = there[jnp.argmin(distance)]
        if quantity == "gradient" and field.double is not None:
            value = value - _unit_part(closed, density)
        return field.whole(quantity, value.sum(axis=0), side.sum(axis=0), density, jnp.any(distance <= field.blur))

    return jax.lax.map(one, points)


def _dot(density: Inexact[Array, "... m"], values: Inexact[Array, "m ..."]) -> Inexact[Array, "..."]:
    """The sum over nodes of a kernel's values times a density; of vector fields over its components too."""
    if density.ndim == 1:
        return density @ values
    return jnp.einsum("cm,mvc...->v...", density, values)


def _static(kernel: AbstractKernel) -> AbstractKernel:
    return kernel.static or Laplace(3)


def _unit_part(closed: Any, density: Any) -> Any:
    """The gradient of D φ₀ for the constant density φ₀, from that of D 1."""
    if closed.ndim == density.ndim + 1:
        return density[..., None] * closed
    return (closed.swapaxes(-1, -2) * density[..., None, None, :]).sum(axis=-1)


def _at_each(square: Inexact[Array, "... n n"], place: Array) -> Inexact[Array, "..."]:
    return at(jnp.moveaxis(square, (-2, -1), (0, 1)), place)


def _zero(kernel: AbstractKernel, quantity: Quantity, d: Array) -> Array:
    return jnp.zeros((*kernel.value_shape[1:], *(() if quantity == "potential" else (3,))), d.dtype)
