"""Fields and gradients at points anywhere, for many members at once.

Points away from the curve take the plain rule, those close to it the rule of `quadrature.close`. With values at hand the
close ones are picked out and only they pay for it; while JAX traces, every point takes both and keeps one.
"""

from collections.abc import Mapping
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.geometry import AbstractFamily
from edgewise.geometry.parameters import bind
from edgewise.kernels import AbstractKernel
from edgewise.potentials.representation import Side, Strengths
from edgewise.precision import is_concrete
from edgewise.quadrature import Trapezoid, close
from edgewise.special import derivative, resample

Quantity = Literal["potential", "gradient"]

# Products of density and geometry have more modes than either. The plain rule errs by the first mode it cannot tell from a
# constant, the rule for close points by the first above half of that: it needs twice the nodes for the same accuracy.
PLAIN_OVERSAMPLING = 2
CLOSE_OVERSAMPLING = 4
# Target-source pairs held at once; a pair takes some 30 bytes.
PAIRS = 2**22


class Field(eqx.Module):
    """The layers of one member, on a finer grid than that of the solve: geometry is exact there, densities interpolated."""

    kernel: AbstractKernel
    layers: close.Layers
    constant: Inexact[Array, ""]
    side: Side = eqx.field(static=True)

    def __init__(
        self,
        kernel: AbstractKernel,
        family: AbstractFamily,
        side: Side,
        parameters: Mapping[str, Any],
        strengths: Strengths,
    ):
        known = strengths.single if strengths.single is not None else strengths.double
        assert known is not None, "a field is made of at least one layer"
        count = CLOSE_OVERSAMPLING * known.shape[0]
        boundary = Trapezoid(count).place(family, parameters, known.real.dtype)
        single, double, slope = (
            None if part is None else resample(part, count)
            for part in (
                strengths.single,
                strengths.double,
                None if strengths.double is None else derivative(strengths.double),
            )
        )
        velocity = boundary.jacobian[:, None] * jnp.stack([-boundary.normal[:, 1], boundary.normal[:, 0]], axis=-1)
        self.layers = close.Layers(
            boundary.x, velocity, single, double, slope, close.curve_modes(boundary.x[::CLOSE_OVERSAMPLING])
        )
        self.kernel = bind(kernel, parameters)
        self.constant = strengths.constant
        self.side = side

    def away(self, target: Float[Array, " 2"], quantity: Quantity) -> tuple[Inexact[Array, "..."], Array, Array]:
        """By the plain rule: the value, whether the point is on the right side, whether it may be too close for this."""
        layers = self.layers.thinned(CLOSE_OVERSAMPLING // PLAIN_OVERSAMPLING)
        value = self._value(quantity, layers, target, close.plain_weights(layers, target))
        distance = jnp.min(close.parameter_distance(layers, target))
        inside = close.winding_number(layers, target) > 0.5
        return value, self._is_right(inside), distance < close.SUSPECT * self._reach

    def near(self, target: Float[Array, " 2"], quantity: Quantity) -> tuple[Inexact[Array, "..."], Array, Array]:
        """By the rule for close points: the value, whether on the right side, whether this rule applies."""
        tau, applies = close.preimage(self.layers, target, self._reach)
        # Within rounding of the curve a point belongs to either side, and takes the limit from the one asked for.
        size, speed = jnp.max(jnp.abs(self.layers.x)), jnp.min(jnp.linalg.norm(self.layers.velocity, axis=-1))
        rounding = 64 * jnp.finfo(self.layers.x.dtype).eps * size / speed
        on_boundary = jnp.abs(tau.imag) < rounding
        inside = jnp.where(on_boundary, self.side != "exterior", tau.imag > 0)
        weights = close.close_weights(self.layers, target, tau, inside)
        return self._value(quantity, self.layers, target, weights), on_boundary | self._is_right(inside), applies

    def anywhere(self, target: Float[Array, " 2"], quantity: Quantity) -> tuple[Inexact[Array, "..."], Array]:
        """Both rules and a choice between them: what can be traced."""
        near, near_right, applies = self.near(target, quantity)
        # Moved away where it is not used: at a node the plain rule divides by zero, and so would its derivatives.
        far, far_right, _ = self.away(
            jnp.where(applies, target + 1e3 * jnp.max(jnp.abs(self.layers.x)), target), quantity
        )
        return jnp.where(applies, near, far), jnp.where(applies, near_right, far_right)

    @property
    def _reach(self) -> float:
        """Beyond this Im τ the plain rule is exact to rounding."""
        return close.REACH * CLOSE_OVERSAMPLING / PLAIN_OVERSAMPLING / self.layers.x.shape[0]

    def _value(self, quantity: Quantity, layers: close.Layers, target: Array, weights: close.Weights) -> Array:
        if quantity == "gradient":
            return close.gradient(self.kernel, layers, target, weights)
        return close.potential(self.kernel, layers, target, weights) + self.constant

    def _is_right(self, inside: Array) -> Array:
        if self.side == "both":
            return jnp.ones_like(inside)
        return inside if self.side == "interior" else ~inside


def evaluate(
    fields: Field, points: Float[Array, "m 2"], quantity: Quantity
) -> tuple[Inexact[Array, "b m ..."], Bool[Array, "b m"]]:
    """Values of many members (a leading axis on every array of `fields`) at shared points, and who is on the right side."""
    members, nodes = fields.layers.x.shape[:2]
    if not is_concrete(points, *jax.tree_util.tree_leaves(eqx.filter(fields, eqx.is_array))):
        return _traced(fields, points, quantity)
    # A curve with few modes has its close points found in a fraction of the time.
    count = close.significant_modes(np.asarray(fields.layers.modes))
    modes = fields.layers.modes
    low = jnp.concatenate([modes[:, : count // 2], modes[:, modes.shape[1] - count // 2 :]], axis=1)
    fields = eqx.tree_at(lambda f: f.layers.modes, fields, low)
    step = max(1, min(len(points), PAIRS // (members * nodes)))
    parts = [_away(fields, chunk, quantity) for chunk in _chunks(points, step)]
    value, right, suspect = (
        np.concatenate([np.asarray(p) for p in part], axis=1)[:, : len(points)] for part in zip(*parts, strict=True)
    )
    member, point = np.nonzero(suspect)
    if len(member):
        step = max(1, min(_bucket(len(member)), PAIRS // (8 * nodes)))
        pairs = zip(_chunks(jnp.asarray(member), step), _chunks(points[point], step), strict=True)
        parts = [_near(fields, m, p, quantity) for m, p in pairs]
        near, near_right, applies = (
            np.concatenate([np.asarray(p) for p in part])[: len(member)] for part in zip(*parts, strict=True)
        )
        value[member[applies], point[applies]] = near[applies]
        right[member[applies], point[applies]] = near_right[applies]
    return jnp.asarray(value), jnp.asarray(right)


@eqx.filter_jit
def _away(fields: Field, points: Array, quantity: Quantity) -> tuple[Array, ...]:
    return _over_members(lambda field: jax.vmap(lambda p: field.away(p, quantity))(points), fields)


@eqx.filter_jit
def _near(fields: Field, member: Array, points: Array, quantity: Quantity) -> tuple[Array, ...]:
    arrays, rest = eqx.partition(fields, eqx.is_array)

    def one(index, point):
        field = eqx.combine(jax.tree_util.tree_map(lambda leaf: leaf[index], arrays), rest)
        return field.near(point, quantity)

    return jax.vmap(one)(member, points)


def _traced(fields: Field, points: Array, quantity: Quantity) -> tuple[Array, Array]:
    nodes = fields.layers.x.shape[1]
    step = max(1, min(len(points), PAIRS // (8 * nodes)))
    chunks = jnp.stack(_chunks(points, step))

    def one_member(field):
        value, right = jax.lax.map(lambda chunk: jax.vmap(lambda p: field.anywhere(p, quantity))(chunk), chunks)
        return value.reshape(-1, *value.shape[2:])[: len(points)], right.reshape(-1)[: len(points)]

    return _over_members(one_member, fields)


def _over_members(function, fields: Field) -> Any:
    arrays, rest = eqx.partition(fields, eqx.is_array)
    return jax.vmap(lambda arrays: function(eqx.combine(arrays, rest)))(arrays)


def _chunks(array: Array, step: int) -> list[Array]:
    """Equal pieces of `step` rows; the last is filled up with its first row."""
    missing = -len(array) % step
    if missing:
        array = jnp.concatenate([array, jnp.broadcast_to(array[:1], (missing, *array.shape[1:]))])
    return [array[i : i + step] for i in range(0, len(array), step)]


def _bucket(count: int) -> int:
    """The next power of two: a function compiled for it serves many counts."""
    return 1 << (count - 1).bit_length()
