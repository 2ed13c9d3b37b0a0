"""Fields of surfaces, and their gradients, at points anywhere in space; far fields.

Panels away from a point take their own nodes, those beside it finer ones, those close to it the rule centred on it. A double layer is computed without
its value φ₀ at the point of the surface next to the target: D φ = D (φ - φ₀) + φ₀ D 1, where for Laplace's kernel D 1 is -1
inside and 0 outside, so that the same sums that give φ their error tell it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.base.named import bind
from edgewise.base.precision import is_concrete
from edgewise.geometry import AbstractFamily
from edgewise.kernels import AbstractKernel, Laplace
from edgewise.kernels.kernel import dot, layer_of, slopes
from edgewise.potentials.evaluate import PAIRS, Quantity
from edgewise.potentials.far_space import far_of
from edgewise.potentials.representation import Side, Strengths
from edgewise.quadrature import Duffy
from edgewise.quadrature.centred import Panels, View, at, counts_for, normal_at, samples, view
from edgewise.quadrature.close_rows import fine_nodes
from edgewise.quadrature.neighbours import SORTS, Neighbours, Pairs, in_pieces, neighbours, pick, sorts
from edgewise.special import interpolation, on_sphere, to_coefficients

# Pairs of point and panel that are worked on at once.
NEAR_PAIRS = 256
# Closer to the surface than this, in sizes of its largest panel, gradients are extrapolated from points at multiples of it; in a
# corner where three faces meet, from points that are extrapolated themselves, so often at the most.
TOO_CLOSE, OFFSETS, EXTRAPOLATIONS = 1e-3, np.arange(1, 6), 3


# Rings of directions for a body smaller than a wave.
LEAST_DIRECTIONS = 20


class Nodes(NamedTuple):
    """What panels are summed by for targets away from them; m nodes on each."""

    x: Float[Array, "p m 3"]
    area: Float[Array, "p m 3"]
    """Normal times area element times weight."""
    single: Inexact[Array, "p m"] | None
    """Density times area element times weight."""
    double: Inexact[Array, "p m"] | None
    """Density."""

    def sums(self, kernel: AbstractKernel, target: Float[Array, " 3"], quantity: Quantity) -> tuple[Array, Array]:
        """What one panel, picked before, adds to the quantity, and to D 1 of Laplace's kernel."""
        d = target - self.x
        value = _zero(quantity, d)
        if self.single is not None:
            value = value + self.single @ _kernels(kernel, "single", quantity, d, self.area)
        if self.double is not None:
            value = value + self.double @ _kernels(kernel, "double", quantity, d, self.area)
        return value, jnp.sum(_kernels(Laplace(3), "double", quantity, d, self.area), axis=0)


class SurfaceField(eqx.Module):
    """The layers of one member on the panels of its surface."""

    kernel: AbstractKernel
    panels: Panels
    coarse: Nodes
    """The nodes of the densities."""
    fine: Nodes
    """More, for targets beside a panel."""
    single: Inexact[Array, "p nn"] | None
    """Density times jacobian of the panel's own coordinates."""
    double: Inexact[Array, "p nn"] | None
    polynomial: Inexact[Array, " c"]
    """A constant, or nothing."""
    side: Side = eqx.field(static=True)
    num_nodes: int = eqx.field(static=True)

    def __init__(
        self,
        kernel: AbstractKernel,
        family: AbstractFamily,
        quadrature: Duffy,
        side: Side,
        parameters: Mapping[str, Any],
        strengths: Strengths,
    ):
        known = strengths.single if strengths.single is not None else strengths.double
        assert known is not None, "a field is made of at least one layer"
        dtype = known.real.dtype
        size = quadrature.num_nodes**2
        boundary = quadrature.place(family, parameters, dtype)
        self.panels = quadrature.source(family, parameters, dtype)
        stretch = (2 * quadrature.panels) ** 2
        self.single = None if strengths.single is None else strengths.single.reshape(-1, size) / stretch
        self.double = None if strengths.double is None else strengths.double.reshape(-1, size)
        weight = jnp.asarray(quadrature.grid()[1][:size] * stretch, dtype)
        self.coarse = Nodes(
            boundary.x.reshape(-1, size, 3),
            (boundary.weight[:, None] * boundary.normal).reshape(-1, size, 3),
            None if self.single is None else self.single * weight,
            self.double,
        )
        fine = fine_nodes(self.panels, quadrature.num_nodes)

        def finer(values):
            return quadrature.spread(values, fine.weight.shape[0]).reshape(len(fine.x), -1)

        self.fine = Nodes(
            fine.x.reshape(len(fine.x), -1, 3),
            fine.area.reshape(len(fine.x), -1, 3),
            None if self.single is None else finer(self.single) * fine.weight.ravel(),
            None if self.double is None else finer(self.double),
        )
        self.kernel, self.polynomial, self.side = bind(kernel, parameters), strengths.polynomial, side
        self.num_nodes = quadrature.num_nodes

    @property
    def blur(self) -> Float[Array, " p"]:
        """How far each panel may be from the surface that it stands for, as its highest two degrees tell: within that, a point is
        on it."""
        g = self.panels.x.shape[-2]
        transform = jnp.asarray(to_coefficients(g), self.panels.x.dtype)
        amounts = jnp.abs(jnp.einsum("ai,bj,pijk->pabk", transform, transform, self.panels.x))
        return jnp.max(amounts[:, np.maximum(*np.indices((g, g))) >= g - 2], axis=(1, 2))

    def away(self, target: Float[Array, " 3"], quantity: Quantity) -> tuple[Inexact[Array, "p ..."], Array]:
        """By the panels' own nodes: what each adds to the quantity, and to D 1 of Laplace's kernel."""
        return jax.vmap(lambda nodes: nodes.sums(self.kernel, target, quantity))(self.coarse)

    def beside(self, target: Float[Array, " 3"], index: Array, quantity: Quantity) -> tuple[Array, Array]:
        """The same for one panel, by its finer nodes."""
        return pick(self.fine, index).sums(self.kernel, target, quantity)

    def near(
        self, target: Float[Array, " 3"], index: Array, seen_from: View, quantity: Quantity, counts: tuple[int, int]
    ) -> tuple[Inexact[Array, "..."], Array, Array, Array, Array]:
        """The same for one panel by the rule centred on the target; and the point of it that is closest, the normal there, and
        the density of the double layer there."""
        panel, single, double = pick((self.panels, self.single, self.double), index)
        n, place = self.num_nodes, seen_from.centre
        seen = samples(panel, target, seen_from, counts)
        finer = jnp.asarray(interpolation(n, seen.along.shape[-1]), seen.d.dtype)
        value, there = _zero(quantity, seen.d), jnp.zeros((), seen.d.dtype)
        for layer, strengths in (("single", single), ("double", double)):
            if strengths is None:
                continue
            square = finer @ strengths.reshape(n, n) @ finer.T
            both = jnp.stack([square, square.T])
            spread = jnp.einsum("osrtj,osri,oij->osrt", seen.across, seen.along, both) * seen.weight
            value = value + jnp.tensordot(spread, _kernels(self.kernel, layer, quantity, seen.d, seen.area), 4)
            there = at(square, place) if layer == "double" else there
        closed = jnp.tensordot(seen.weight, _kernels(Laplace(3), "double", quantity, seen.d, seen.area), 4)
        foot = at(panel.x, place)
        return value, closed, foot, normal_at(panel, place), there

    def whole(self, quantity: Quantity, value: Array, closed: Array, density: Array, on: Array) -> tuple[Array, Array]:
        """The quantity from the panels' sums, and whether the target is on the right side.

        `closed` is the sum for D 1, of a potential also where a gradient is asked for; `density` that of the double layer next
        to the target; `on` says that the target is on the surface.
        """
        inside = closed < -0.5
        right = {"both": jnp.ones_like(inside), "interior": inside, "exterior": ~inside}[self.side] | on
        if quantity == "potential" and self.double is not None:
            exact = -1.0 if self.side == "interior" else 0.0
            value = value - density * (closed - exact)
        if quantity == "potential" and self.polynomial.size:
            value = value + self.polynomial[0]
        return value, right

    def far(self, direction: Float[Array, " 3"]) -> Inexact[Array, ""]:
        """See `far_of`."""
        k, nodes = self.kernel.wavenumber, self.coarse  # pyright: ignore[reportAttributeAccessIssue]
        single, double = (None if part is None else part.reshape(-1) for part in (nodes.single, nodes.double))
        return far_of(k, nodes.x.reshape(-1, 3), nodes.area.reshape(-1, 3), single, double, direction[None])[0]


def on_sphere_of(kernel: Any, x: Float[Array, "... 3"]) -> tuple[np.ndarray, np.ndarray]:
    """Directions and weights that integrate |u_inf|² of layers at x: it has no faster waves than twice k times their radius."""
    count = LEAST_DIRECTIONS + 28
    if is_concrete(x, kernel.wavenumber):
        box = np.ptp(np.asarray(x).reshape(len(x), -1, 3), axis=1)
        waves = np.max(np.abs(np.asarray(kernel.wavenumber))) * np.max(np.linalg.norm(box, axis=-1))
        count = LEAST_DIRECTIONS + int(waves)
    return on_sphere(count)


def evaluate_space(
    fields: SurfaceField, points: Float[Array, "m 3"], quantity: Quantity, chunk: int | None = None
) -> tuple[Inexact[Array, "b m ..."], Bool[Array, "b m"]]:
    """Values of many members (a leading axis on every array) at shared points, and who is on the right side.

    No more than `chunk` points are looked at together; by default as many as keep the pairs of point and node within bounds.
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
    nearest, density = np.full(len(at_points), np.inf), np.zeros(len(at_points), value.dtype)
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
        value = value - density[:, None, None] * closed
    sums = (jnp.asarray(part) for part in (value.sum(axis=1), side.sum(axis=1), density, on))
    total, right = field.whole(quantity, *sums)
    return np.asarray(total), np.asarray(right)


def _with_extrapolated(
    field: SurfaceField, points: np.ndarray, close: Neighbours, touching: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients where some points are next to the surface: there by a polynomial along the normal."""
    dtype = jnp.result_type(*(part for part in (field.single, field.double) if part is not None))
    gradient = np.zeros((len(points), 3), dtype)
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
    values = _read(field, places.reshape(-1, 3), "gradient", rounds - 1)[0].reshape(len(at_points), len(OFFSETS), 3)
    there = (nearest.view.distance / step)[:, None, None]
    others = np.array([np.delete(OFFSETS, i) for i in range(len(OFFSETS))])
    weights = np.prod((there - others) / (OFFSETS[:, None] - others), axis=-1)
    gradient[touching] = np.einsum("mo,mok->mk", weights, values)
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
    return jax.lax.map(lambda pair: field.near(*pair, quantity, counts), (points, panel, views), batch_size=16)  # pyright: ignore


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
            value = value - density * closed
        return field.whole(quantity, value.sum(axis=0), side.sum(axis=0), density, jnp.any(distance <= field.blur))

    return jax.lax.map(one, points)


def _kernels(kernel: AbstractKernel, layer: str, quantity: Quantity, d: Array, area: Array) -> Array:
    """A layer's kernel for many sources at once, or its gradient in the target; a double layer's times the area element."""
    if quantity == "potential":
        return layer_of(kernel.radial, layer, d, d, area)  # pyright: ignore[reportArgumentType]
    q = dot(d, d)
    if layer == "single":
        return 2 * slopes(kernel.radial, q, 1)[1][..., None] * d
    _, first, second = slopes(kernel.radial, q, 2)
    return -2 * first[..., None] * area - 4 * (second * dot(d, area))[..., None] * d


def _zero(quantity: Quantity, d: Array) -> Array:
    return jnp.zeros(() if quantity == "potential" else 3, d.dtype)
