"""Green's formula: the unknown is the missing trace."""

import jax.numpy as jnp
from jaxtyping import Array

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.conditions import AbstractCondition
from edgewise.potentials.representation import (
    AbstractRepresentation,
    Member,
    Side,
    Strengths,
    balanced,
    bordered,
    but_for_defects,
    double_jump,
    scalar_only,
    unserved_order,
    with_mean,
)


class Direct(AbstractRepresentation):
    """Green's formula, the paper's equation with the factor 1/2 on the boundary.

    Inside   u = S ∂u/∂n - D u,          u/2 = S ∂u/∂n - D u on the boundary;
    outside  u = D u - S ∂u/∂n + c,      u/2 = D u - S ∂u/∂n + c, with c for Laplace alone.

    For Dirichlet data the density is ∂u/∂n, otherwise it is u: the solution holds physical quantities. Constants and
    constraints are those of `AbstractRepresentation`: ∫ ∂u/∂n is zero inside, and minus the total charge outside. For
    waves outside the equation is singular at the resonances of the inside; use `CombinedField`, which is not.
    """

    kernel: AbstractKernel

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return ("single", "double")

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return (0,) if condition.takes_flux else (-1,)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        # A kernel sampled between the nodes is not quite symmetric in them.
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if side == "both":
            return "Green's formula holds on one side at a time. Use `SingleLayer(kernel)`, which serves both"
        return scalar_only(self.kernel) or unserved_order(self.kernel, condition)

    def equation(self, member: Member) -> Array:
        single = member.layer(self.kernel, "single")
        one = jnp.ones_like(member.boundary.jacobian)
        weight = member.boundary.weight
        if not member.condition.takes_flux:
            return self._bordered(single / member.boundary.jacobian, one, one)
        # Robin: ∂u/∂n = data - value_weight · u. Neumann: value_weight = 0.
        matrix = member.layer(self.kernel, "double") - double_jump(member.side) * member.identity
        if not member.condition.takes_value:
            if member.side == "exterior":
                # The constant at infinity is free and set to zero.
                return self._bordered(matrix, one, 0 * weight, corner=1.0)
            if not self.kernel.polynomials and self.kernel.has_constants:
                return with_mean(member, matrix, member.at_rows(one))
            return self._bordered(matrix, one, weight)
        return self._bordered(matrix + single * member.value_weight, one, weight * member.value_weight)

    def rhs(self, member: Member) -> Array:
        charge = member.charge if member.side == "exterior" else jnp.zeros_like(member.charge)
        if not member.condition.takes_flux:
            double = member.layer(self.kernel, "double") @ member.data
            data, total = double - double_jump(member.side) * member.at_rows(member.data), -charge / member.step[0]
        else:
            data = member.layer(self.kernel, "single") @ member.data
            total = member.integral(member.data) + charge
            if not member.condition.takes_value:
                total = jnp.zeros((), data.dtype)
        return jnp.append(data, total) if self.kernel.polynomials else data

    def row_scale(self, member: Member) -> Array:
        return jnp.ones_like(member.boundary.jacobian)

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        return unknown if condition.takes_flux else unknown / boundary.jacobian

    def strengths(self, member: Member, density: Array, polynomial: Array) -> tuple[Strengths, ...]:
        if not member.condition.takes_flux:
            value, flux = member.data, density
            # Inside, S ∂u/∂n + c = (1/2 + D) u; outside the constant enters with the other sign.
            polynomial = polynomial if member.side == "interior" else -polynomial
        else:
            value, flux = density, member.data - member.value_weight * density
            # (D ± 1/2) u + c = S ∂u/∂n; for Neumann data inside, c is the defect of the data, not part of u.
            polynomial = -polynomial if member.side == "interior" else polynomial
            if not member.condition.takes_value:
                polynomial = 0 * polynomial
        sign = 1 if member.side == "interior" else -1
        return (Strengths(sign * flux * member.boundary.jacobian, -sign * value, polynomial),)

    def charged(self, member: Member, unknown: Array) -> Array:
        laplacian = self.kernel.polynomials > 0
        if not laplacian or member.side == "interior" or member.condition.takes_flux:
            return unknown
        n = member.boundary.x.shape[0]
        return unknown.at[:n].set(balanced(member, unknown[:n], -member.charge))

    def unknown(self, member: Member, strengths: tuple[Strengths, ...]) -> Array:
        (layers,) = strengths
        assert layers.single is not None and layers.double is not None
        sign = 1 if member.side == "interior" else -1
        polynomial = but_for_defects(member, layers.polynomial)
        if not member.condition.takes_flux:
            return jnp.append(sign * layers.single, sign * polynomial)
        return jnp.append(-sign * layers.double, -sign * polynomial)

    def _bordered(self, matrix: Array, column: Array, row: Array, corner: float = 0.0) -> Array:
        return bordered(matrix, column[:, None], row[None, :], corner) if self.kernel.polynomials else matrix
