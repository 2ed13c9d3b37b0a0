"""Fields of curves and their gradients at points anywhere, for many members at once; far fields.

Points away from the curves take the plain rule, those close to one its rule for close points. With values at hand the
close ones are picked out and only they pay for it; while JAX traces, every point takes both and keeps one.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.base.precision import is_concrete
from edgewise.kernels import AbstractKernel
from edgewise.kernels.nearby import Weights, scaled_normal
from edgewise.quadrature.curves import close, source
from edgewise.quadrature.discretisation import AbstractField, Quantity, Side, Strengths
from edgewise.special import derivative

# Target-source pairs held at once; a pair takes some 30 bytes.
PAIRS = 2**22


class CurveField(AbstractField):
    """The layers of one member, on a finer grid than that of the solve.

    The geometry is exact on this grid, and the densities are interpolated to it.
    """

    kernel: AbstractKernel
    layers: source.Layers
    """Of every curve, along a first axis."""
    polynomial: Inexact[Array, " p"]
    side: Side = eqx.field(static=True)

    def __init__(self, kernel: AbstractKernel, sources: source.AbstractSource, side: Side, strengths: Strengths):
        assert strengths.single is not None or strengths.double is not None, "a field is made of at least one layer"
        count = sources.step.shape[0]

        def of_curves(values):
            return jnp.moveaxis(values.reshape(*values.shape[:-1], count, -1), -2, 0)

        single, double = (None if part is None else of_curves(part) for part in (strengths.single, strengths.double))
        slope = None if double is None else jax.vmap(lambda values: source.by_rows(derivative, values))(double)
        spread = (
            None if part is None else jax.vmap(source.spread_rows)(sources, part) for part in (single, double, slope)
        )
        self.layers = source.Layers(sources, *spread)
        self.kernel, self.polynomial, self.side = kernel, strengths.polynomial, side

    def of_members(
        self, points: Float[Array, "m 2"], quantity: Quantity, chunk: int | None = None
    ) -> tuple[Inexact[Array, "b m ..."], Bool[Array, "b m"]]:
        return evaluate(self, points, quantity, chunk)

    def far_of_members(self, directions: Float[Array, "m 2"]) -> Inexact[Array, "b m"]:
        return _far_fields(self, directions)

    def at_points(self, x: Float[Array, "m 2"], *quantities: Quantity) -> tuple[Inexact[Array, "m ..."], ...]:
        """As `anywhere`, at many points of one member; in pieces, so that memory stays small."""
        piece = max(1, min(len(x), PAIRS // (8 * self.layers.source.step.size)))
        return jax.lax.map(lambda point: self.anywhere(point, *quantities), x, batch_size=piece)

    def away(self, target: Float[Array, " 2"], quantity: Quantity) -> tuple[Inexact[Array, "..."], Array, Array]:
        """By the plain rule: the value, whether the point is on the right side, and whether it may be too close."""
        if self.kernel.value_shape and quantity == "gradient":
            value = jax.jacfwd(lambda x: self.away(x, "potential")[0])(target)
            return value, *self.away(target, "potential")[1:]

        def one(layers):
            weights = source.plain_weights(layers.source, target)
            winding = source.winding_number(layers.source, target)
            return self._layer(quantity, layers, target, weights), winding, layers.source.may_be_close(target)

        value, winding, suspect = jax.vmap(lambda layers: one(layers.plain()))(self.layers)
        return self._whole(quantity, value, target), self._is_right(winding), jnp.any(suspect)

    def anywhere(self, target: Float[Array, " 2"], *quantities: Quantity) -> tuple[Inexact[Array, "..."], ...]:
        """By the rule that each curve needs: each quantity, and at last whether the point is on the right side."""
        if self.kernel.value_shape and "gradient" in quantities:
            # Weights are differentiable in the target, and the velocity is what the kernel states.
            slope = jax.jacfwd(lambda x: self.anywhere(x, "potential")[0])(target)
            others: list[Quantity] = [quantity for quantity in quantities if quantity != "gradient"]
            rest = iter(self.anywhere(target, *others))
            found = [slope if quantity == "gradient" else next(rest) for quantity in quantities]
            return *found, next(rest)

        def one(layers):
            weights, winding, on_boundary = layers.source.weights(target, self.side != "exterior")
            return [self._layer(quantity, layers, target, weights) for quantity in quantities], winding, on_boundary

        values, winding, on_boundary = jax.vmap(one)(self.layers)
        wholes = [self._whole(quantity, value, target) for quantity, value in zip(quantities, values, strict=True)]
        return *wholes, jnp.any(on_boundary) | self._is_right(winding)

    def far(self, direction: Float[Array, " 2"]) -> Inexact[Array, ""]:
        """u_inf with u ~ e^{ikr}/√r · u_inf: G(x - y) ~ e^{iπ/4}/√(8πk) · e^{ikr}/√r · e^{-ik x̂·y}."""
        k = self.kernel.wavenumber  # pyright: ignore[reportAttributeAccessIssue]

        def one(layers):
            nodes = layers.source
            wave = jnp.exp(-1j * k * (nodes.x @ direction)) * nodes.step
            total = jnp.zeros((), wave.dtype)
            if layers.single is not None:
                total += jnp.sum(wave * layers.single)
            if layers.double is not None:
                total += jnp.sum(wave * layers.double * (scaled_normal(nodes) @ direction) * -1j * k)
            return total

        sums = jax.vmap(lambda layers: one(layers.plain()))(self.layers)
        return jnp.exp(0.25j * jnp.pi) / jnp.sqrt(8 * jnp.pi * k) * jnp.sum(sums)

    def _layer(self, quantity: Quantity, layers: source.Layers, target: Array, weights: Weights) -> Array:
        if self.kernel.grows:
            weights = self._in_own_unit(layers.source, target, weights)
        return getattr(self.kernel, quantity)(layers, target, weights)

    def _in_own_unit(self, nodes: source.AbstractSource, target: Array, weights: Weights) -> Weights:
        """Far away, weights of log |d|²/R², R the distance from the curves' middle: fields do not cancel in this unit.

        |d|² log |d|² grows while its integral does not, since moments of the densities are zero: for the same reason
        |d|² log R² may be taken away but for a term that depends on R alone (`_whole`).
        """
        middle, square, is_far = self._seen_from(target)
        arm = nodes.x - middle
        # |d|² = R² - 2 (target - middle)·arm + |arm|².
        ratio = (jnp.sum(arm**2, axis=-1) - 2 * arm @ (target - middle)) / square
        far = nodes.step * jnp.log1p(jnp.where(is_far, ratio, 0))
        return weights._replace(log=jnp.where(is_far, far, weights.log))

    def _seen_from(self, target: Array) -> tuple[Array, Array, Array]:
        """The middle of the curves; R², the square of the target's distance from it; and whether the target is far.

        R² is set to 1 where the target is not far.
        """
        x = self.layers.source.x
        middle = jnp.mean(x, axis=(0, 1))
        square = jnp.sum((target - middle) ** 2)
        is_far = square > 16 * jnp.max(jnp.sum((x - middle) ** 2, axis=-1))
        return middle, jnp.where(is_far, square, 1), is_far

    def _second_moment(self) -> Array:
        """∫ (φ + ψ ∂/∂n) |y|²/16π about the middle, for the single layer φ and the double layer ψ of every curve."""
        nodes = self.layers.source
        arm = nodes.x - jnp.mean(nodes.x, axis=(0, 1))
        total = jnp.zeros((), nodes.x.dtype)
        if self.layers.single is not None:
            total += jnp.sum(nodes.step * self.layers.single * jnp.sum(arm**2, axis=-1))
        if self.layers.double is not None:
            normal = jax.vmap(scaled_normal)(nodes)
            total += jnp.sum(nodes.step * self.layers.double * 2 * jnp.sum(arm * normal, axis=-1))
        return total / (16 * jnp.pi)

    def _whole(self, quantity: Quantity, values: Array, target: Array) -> Array:
        total = jnp.sum(values, axis=0)
        if self.kernel.grows and quantity == "potential":
            total = total + jnp.log(self._seen_from(target)[1]) * self._second_moment()
        if not self.polynomial.size:
            return total
        if self.kernel.value_shape:
            # Of vector fields the polynomial is a constant for each component, without pressure.
            return total + self.polynomial if quantity == "potential" else total
        linear = self.polynomial[1:] if self.polynomial.size > 1 else jnp.zeros_like(target)
        return total + (linear if quantity == "gradient" else self.polynomial[0] + linear @ target)

    def _is_right(self, winding: Float[Array, " c"]) -> Array:
        inside = jnp.sum(winding) > 0.5
        if self.side == "both":
            return jnp.ones_like(inside)
        return inside if self.side == "interior" else ~inside


def evaluate(
    fields: CurveField, points: Float[Array, "m 2"], quantity: Quantity, chunk: int | None = None
) -> tuple[Inexact[Array, "b m ..."], Bool[Array, "b m"]]:
    """Values of many members at shared points, and which points are on the right side of which member.

    Every array of `fields` has a leading axis for the members. No more than `chunk` points are taken at once; by
    default as many as keep the number of pairs of point and node within bounds.
    """
    members, curves, nodes = fields.layers.source.step.shape
    if not is_concrete(points, *jax.tree_util.tree_leaves(eqx.filter(fields, eqx.is_array))):
        return _traced(fields, points, quantity)
    if isinstance(fields.layers.source, close.SmoothSource):
        fields = eqx.tree_at(lambda f: f.layers.source, fields, close.with_few_modes(fields.layers.source))
    # Picked out and cut up by numpy: JAX would compile that anew for every number of close points.
    at = np.asarray(points)
    step = min(len(at), chunk or max(1, PAIRS // (members * curves * nodes)))
    parts = [_away(fields, jnp.asarray(chunk), quantity) for chunk in _chunks(at, step)]
    value, right, suspect = (
        np.concatenate([np.asarray(p) for p in part], axis=1)[:, : len(at)] for part in zip(*parts, strict=True)
    )
    member, point = np.nonzero(suspect)
    if len(member):
        step = max(1, min(_bucket(len(member)), PAIRS // (8 * curves * nodes)))
        pairs = zip(_chunks(member, step), _chunks(at[point], step), strict=True)
        parts = [_anywhere(fields, jnp.asarray(m), jnp.asarray(p), quantity) for m, p in pairs]
        near, near_right = (
            np.concatenate([np.asarray(p) for p in part])[: len(member)] for part in zip(*parts, strict=True)
        )
        value[member, point] = near
        right[member, point] = near_right
    return jnp.asarray(value), jnp.asarray(right)


@eqx.filter_jit
def _far_fields(fields: CurveField, directions: Float[Array, "m 2"]) -> Inexact[Array, "b m"]:
    """The far fields of many members in shared directions."""

    def one(field):
        return jax.lax.map(field.far, directions, batch_size=max(1, min(len(directions), 64)))

    return _over_members(one, fields)


@eqx.filter_jit
def _away(fields: CurveField, points: Array, quantity: Quantity) -> tuple[Array, ...]:
    return _over_members(lambda field: jax.vmap(lambda p: field.away(p, quantity))(points), fields)


@eqx.filter_jit
def _anywhere(fields: CurveField, member: Array, points: Array, quantity: Quantity) -> tuple[Array, ...]:
    arrays, rest = eqx.partition(fields, eqx.is_array)

    def one(index, point):
        field = eqx.combine(jax.tree_util.tree_map(lambda leaf: leaf[index], arrays), rest)
        return field.anywhere(point, quantity)

    return jax.vmap(one)(member, points)


def _traced(fields: CurveField, points: Array, quantity: Quantity) -> tuple[Array, Array]:
    _, curves, nodes = fields.layers.source.step.shape
    step = max(1, min(len(points), PAIRS // (8 * curves * nodes)))
    chunks = jnp.stack(_chunks(points, step))

    def one_member(field):
        value, right = jax.lax.map(lambda chunk: jax.vmap(lambda p: field.anywhere(p, quantity))(chunk), chunks)
        return value.reshape(-1, *value.shape[2:])[: len(points)], right.reshape(-1)[: len(points)]

    return _over_members(one_member, fields)


def _over_members(function, fields: CurveField) -> Any:
    arrays, rest = eqx.partition(fields, eqx.is_array)
    return jax.vmap(lambda arrays: function(eqx.combine(arrays, rest)))(arrays)


def _chunks(array: Any, step: int) -> list[Any]:
    """Equal pieces of `step` rows; the last is filled up with its first row."""
    missing = -len(array) % step
    if missing:
        xp = np if isinstance(array, np.ndarray) else jnp
        array = xp.concatenate([array, xp.broadcast_to(array[:1], (missing, *array.shape[1:]))])
    return [array[i : i + step] for i in range(0, len(array), step)]


def _bucket(count: int) -> int:
    """The next power of two: a function compiled for it serves many counts."""
    return 1 << (count - 1).bit_length()
