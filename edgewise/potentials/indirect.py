"""Fields made of one layer of an unknown density."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.conditions import AbstractCondition, Neumann
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
    identity_like,
    layers_for,
    row_scale,
    unserved_order,
    with_mean,
)


class SingleLayer(AbstractRepresentation):
    """u = S φ, for Laplace plus a constant c, with ∫ φ = total charge (0 unless the problem says otherwise).

    Continuous across the boundary, so one density serves both sides at once for Dirichlet data: the paper's global problem.
    There its equation is of the first kind (it amplifies rounding by the number of nodes, no more); for Neumann and Robin
    data of the second. The unknown is density times jacobian, which is smooth also where nodes crowd into a corner.

    `cure=False` leaves out constant and constraint: u = S φ, the paper's own form, singular on a curve of
    logarithmic capacity 1, such as the unit circle.

    Waves outside: singular at the resonances of the inside. Use `CombinedField`, which is not.
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
        if side == "both" and condition.takes_flux:
            return "a single layer's ∂u/∂n jumps, so it cannot meet one flux on both sides. Use `DoubleLayer(kernel)`"
        if not self.cure and condition.takes_flux:
            return "`cure=False` is for Dirichlet data. Use `SingleLayer(kernel)`"
        return unserved_order(self.kernel, condition)

    def equation(self, member: Member) -> Array:
        jacobian = member.boundary.jacobian
        if not member.condition.takes_flux:
            # One sample of the kernel a node: half the arithmetic, and `stats` says where it is not enough.
            matrix = member.layer(self.kernel, "single", sampling=1) / jacobian
            one = jnp.ones_like(jacobian)
            return bordered(matrix, one[:, None], one[None, :]) if self._bordered else matrix
        matrix = member.layer(self.kernel, "adjoint_double") - double_jump(member.side) * identity_like(member)
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
        return jnp.append(data, _total(member) / (1.0 if flux else member.step[0]))

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        return unknown / boundary.jacobian

    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        if member.has_free_constant:
            polynomial = -_mean(member, density, self.kernel, "single")[None]
        elif self._bordered and isinstance(member.condition, Neumann):
            polynomial = 0 * polynomial
        return Strengths(density * member.boundary.jacobian, None, polynomial)

    def charged(self, member: Member, unknown: Array) -> Array:
        if not self._bordered or member.side == "interior" or isinstance(member.condition, Neumann):
            return unknown
        n = member.boundary.x.shape[0]
        return unknown.at[:n].set(balanced(member, unknown[:n], _total(member)))

    def unknown(self, member: Member, strengths: Strengths) -> Array:
        assert strengths.single is not None
        if not self._bordered:
            return strengths.single
        return jnp.append(strengths.single, but_for_defects(member, strengths.polynomial))

    @property
    def _bordered(self) -> bool:
        return self.cure and self.kernel.polynomials > 0


class DoubleLayer(AbstractRepresentation):
    """u = D φ, for Laplace plus a constant, with ∫ φ = 0; a prescribed charge is spread over the boundary as a single layer.

    For Dirichlet data its equation is of the second kind. For Neumann data it is hypersingular, and multiplied by the
    jacobian, since it is large where nodes crowd into a corner.

    In space a double layer has no charge: outside, u = D φ + (mean of φ) S 1 for Laplace.
    """

    kernel: AbstractKernel

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return layers_for(condition, ("double",), ("hypersingular",))

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return (1,) if condition.takes_flux else (0,)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if side == "both" and condition.takes_value:
            return "a double layer jumps, so it cannot meet one boundary value on both sides. Use `SingleLayer(kernel)`"
        if self.kernel.dim == 3 and condition.takes_flux:
            return "the flux of a double layer is hypersingular, which no rule for surfaces resolves. Use `SingleLayer(kernel)`"
        return unserved_order(self.kernel, condition)

    def equation(self, member: Member) -> Array:
        if self._lacks_charge(member):
            single, double = member.layers(self.kernel, "single", "double")
            matrix = double + double_jump(member.side) * identity_like(member)
            return with_mean(member, matrix, single @ jnp.ones_like(member.boundary.jacobian))
        matrix = jnp.zeros((), member.boundary.x.dtype)
        if member.condition.takes_value:
            value = member.layer(self.kernel, "double") + double_jump(member.side) * identity_like(member)
            matrix = matrix + member.at_rows(member.value_weight)[:, None] * value
        if member.condition.takes_flux:
            matrix = matrix + member.layer(self.kernel, "hypersingular")
        scale = row_scale(member)
        matrix = scale[:, None] * matrix
        if not self.kernel.polynomials:
            return matrix
        return bordered(matrix, (scale * constant_column(member))[:, None], member.boundary.weight[None, :])

    def rhs(self, member: Member) -> Array:
        data = member.data
        if not self.kernel.polynomials:
            return row_scale(member) * member.at_rows(data)
        if member.side == "exterior":
            even = self._even_charge(member)
            if member.condition.takes_value:
                data = data - member.value_weight * (member.layer(self.kernel, "single") @ even)
            if member.condition.takes_flux:
                data = data - (member.layer(self.kernel, "adjoint_double") @ even - even / 2)
        return jnp.append(row_scale(member) * data, jnp.zeros((), data.dtype))

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        return unknown

    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        if self._lacks_charge(member):
            return Strengths(_average(member, density) * member.boundary.jacobian, density, polynomial)
        if not self.kernel.polynomials:
            return Strengths(None, density, polynomial)
        if isinstance(member.condition, Neumann):
            inside = member.side == "interior"
            mean = _mean(member, density, self.kernel, "double") - _average(member, density) / 2 if inside else 0.0
            polynomial = 0 * polynomial - mean
        single = self._even_charge(member) * member.boundary.jacobian if member.side == "exterior" else None
        return Strengths(single, density, polynomial)

    def unknown(self, member: Member, strengths: Strengths) -> Array:
        assert strengths.double is not None
        return jnp.append(strengths.double, but_for_defects(member, strengths.polynomial))

    def _lacks_charge(self, member: Member) -> bool:
        return self.kernel.dim == 3 and self.kernel.has_constants and member.side == "exterior"

    def _even_charge(self, member: Member) -> Array:
        """The charge spread evenly in the coordinate, so that density times jacobian is a constant."""
        return _total(member) / (jnp.sum(member.step) * member.boundary.jacobian)


def _total(member: Member) -> Array:
    """The total charge: given, or, for Neumann data outside, the data's own. Inside it is zero."""
    if member.side == "interior":
        return jnp.zeros((), member.data.dtype)
    if isinstance(member.condition, Neumann):
        return -member.integral(member.data) if member.side == "exterior" else jnp.zeros((), member.data.dtype)
    return member.charge.astype(member.data.dtype)


def _average(member: Member, values: Array) -> Array:
    return member.integral(values) / member.boundary.measure


def _mean(member: Member, density: Array, kernel: AbstractKernel, layer: Layer) -> Array:
    """Mean over the boundary of the layer's principal value."""
    return _average(member, member.layer(kernel, layer) @ density)
