"""Fields made of one layer of an unknown density."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.completion import completion_of
from edgewise.potentials.conditions import AbstractCondition
from edgewise.potentials.representation import (
    AbstractRepresentation,
    Member,
    Side,
    Strengths,
    balanced,
    bordered,
    but_for_defects,
    constant_column,
    double_jump,
    layers_for,
    row_scale,
    scalar_only,
    total_charge,
    unserved_order,
    with_mean,
)


class SingleLayer(AbstractRepresentation):
    """u = S φ, for Laplace plus a constant c, with ∫ φ = total charge (0 unless the problem says otherwise).

    The field is continuous across the boundary, so one density serves both sides at once for Dirichlet data: this is
    the paper's global problem. For Dirichlet data the equation is of the first kind, which amplifies rounding by the
    number of nodes and no more; for Neumann and Robin data it is of the second kind. The unknown is density times
    jacobian, which is smooth also where nodes crowd into a corner.

    `cure=False` leaves out constant and constraint: u = S φ, the paper's own form, singular on a curve of
    logarithmic capacity 1, such as the unit circle.

    For waves outside the equation is singular at the resonances of the inside. Use `CombinedField`, which is not.
    """

    kernel: AbstractKernel
    cure: bool = eqx.field(static=True, default=True)

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return layers_for(condition, ("single",), ("adjoint_double",))

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return (0,) if condition.takes_flux else (-1,)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        return not condition.takes_flux

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        unserved = scalar_only(self.kernel) or unserved_order(self.kernel, condition)
        if unserved:
            return unserved
        if side == "both" and condition.takes_flux:
            return "a single layer's ∂u/∂n jumps, so it cannot meet one flux on both sides. Use `DoubleLayer(kernel)`"
        if not self.cure and condition.takes_flux:
            return "`cure=False` is for Dirichlet data. Use `SingleLayer(kernel)`"
        return None

    def equation(self, member: Member) -> Array:
        jacobian = member.boundary.jacobian
        if not member.condition.takes_flux:
            # One sample of the kernel a node: half the arithmetic, and `stats` says where it is not enough.
            matrix = member.layer(self.kernel, "single", sampling=1) / jacobian
            one = jnp.ones_like(jacobian)
            return bordered(matrix, one[:, None], one[None, :]) if self._bordered else matrix
        matrix = member.layer(self.kernel, "adjoint_double") - double_jump(member.side) * member.identity
        if member.condition.takes_value:
            matrix = matrix + member.at_rows(member.value_weight)[:, None] * member.layer(self.kernel, "single")
        if member.has_free_constant and not self._bordered:
            matrix = with_mean(member, matrix, member.at_rows(jnp.ones_like(jacobian)))
        matrix = member.at_rows(jacobian)[:, None] * matrix / jacobian
        column = jacobian * constant_column(member)
        return bordered(matrix, column[:, None], member.step[None, :]) if self._bordered else matrix

    def rhs(self, member: Member) -> Array:
        flux = member.condition.takes_flux
        data = member.boundary.jacobian * member.data if flux else member.data
        if not self._bordered:
            return member.at_rows(data)
        # The first kind has ones for its row, to be symmetric: the total over the step between nodes.
        return jnp.append(data, total_charge(member) / (1.0 if flux else member.step[0]))

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        return unknown / boundary.jacobian

    def strengths(self, member: Member, density: Array, polynomial: Array) -> tuple[Strengths, ...]:
        if member.has_free_constant:
            polynomial = -_mean(member, density, self.kernel, "single")[None]
        elif self._bordered and not member.condition.takes_value:
            polynomial = 0 * polynomial
        return (Strengths(density * member.boundary.jacobian, None, polynomial),)

    def charged(self, member: Member, unknown: Array) -> Array:
        if not self._bordered or member.side == "interior" or not member.condition.takes_value:
            return unknown
        n = member.boundary.x.shape[0]
        return unknown.at[:n].set(balanced(member, unknown[:n], total_charge(member)))

    def unknown(self, member: Member, strengths: tuple[Strengths, ...]) -> Array:
        (layers,) = strengths
        assert layers.single is not None
        if not self._bordered:
            return layers.single
        return jnp.append(layers.single, but_for_defects(member, layers.polynomial))

    @property
    def _bordered(self) -> bool:
        return self.cure and self.kernel.polynomials > 0


class DoubleLayer(AbstractRepresentation):
    """u = D φ, and beside it what a double layer lacks.

    For Laplace's equation in the plane that is a constant, with ∫ φ = 0, and a prescribed charge, which is spread over
    the boundary as a single layer. For Laplace's equation outside a body in space it is (mean of φ) S 1. For Stokes's
    equations it is a single layer, which carries force and torque and makes the completed double layer.

    For Dirichlet data its equation is of the second kind. For Neumann data it is hypersingular, and multiplied by the
    jacobian, since it is large where nodes crowd into a corner.
    """

    kernel: AbstractKernel

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return layers_for(condition, ("double",), ("hypersingular",))

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return ((1,) if condition.takes_flux else (0,)) * self.unknowns(condition)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if side == "both" and condition.takes_value:
            return "a double layer jumps, so it cannot meet one boundary value on both sides. Use `SingleLayer(kernel)`"
        if self.kernel.value_shape and condition.takes_flux:
            return (
                "the traction of its double layer is not available. "
                "Use `condition=Dirichlet()`, with velocities as data"
            )
        if self.kernel.is_spatial and condition.takes_flux:
            return (
                "the flux of a double layer is hypersingular, which no rule for surfaces resolves. "
                "Use `SingleLayer(kernel)`"
            )
        return unserved_order(self.kernel, condition)

    def equation(self, member: Member) -> Array:
        completion = completion_of(self.kernel, member)
        scale = row_scale(member)
        if not member.condition.takes_flux:
            double, *others = member.layers(self.kernel, "double", *completion.layers)
            # Nothing is multiplied by one: large layers are operators.
            identity = member.on.identity(self.unknowns(member.condition))
            matrix = double + double_jump(member.side) * identity
            return completion.equation(member, matrix, scale, tuple(others))
        matrix = member.layer(self.kernel, "hypersingular")
        if member.condition.takes_value:
            value = member.layer(self.kernel, "double") + double_jump(member.side) * member.identity
            matrix = matrix + member.at_rows(member.value_weight)[:, None] * value
        return completion.equation(member, scale[:, None] * matrix, scale, ())

    def rhs(self, member: Member) -> Array:
        return completion_of(self.kernel, member).rhs(member, row_scale(member))

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        return unknown.reshape(*self.kernel.value_shape[1:], -1)

    def strengths(self, member: Member, density: Array, polynomial: Array) -> tuple[Strengths, ...]:
        return (completion_of(self.kernel, member).strengths(member, density, polynomial),)

    def unknown(self, member: Member, strengths: tuple[Strengths, ...]) -> Array:
        return completion_of(self.kernel, member).unknown(member, strengths[0])


def _mean(member: Member, density: Array, kernel: AbstractKernel, layer: Layer) -> Array:
    """Mean over the boundary of the layer's principal value."""
    return member.average(member.layer(kernel, layer) @ density)
