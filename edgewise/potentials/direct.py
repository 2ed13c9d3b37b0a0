"""Green's formula: the unknown is the missing trace."""

import jax.numpy as jnp
from jaxtyping import Array

from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.conditions import AbstractCondition, Dirichlet, Neumann
from edgewise.potentials.representation import AbstractRepresentation, Member, Side, Strengths, bordered, double_jump


class Direct(AbstractRepresentation):
    """Green's formula, the paper's equation with the factor 1/2 on the boundary.

    Inside   u = S ∂u/∂n - D u,          u/2 = S ∂u/∂n - D u on the boundary;
    outside  u = D u - S ∂u/∂n + c,      u/2 = D u - S ∂u/∂n + c.

    For Dirichlet data the density is ∂u/∂n, otherwise u; the solution holds physical quantities. Constants and
    constraints as in `AbstractRepresentation`: inside ∫ ∂u/∂n = 0, outside minus the total charge.
    """

    kernel: AbstractKernel

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return ("single", "double")

    def order(self, condition: AbstractCondition) -> int:
        return -1 if isinstance(condition, Dirichlet) else 0

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        # A kernel sampled between the nodes is not quite symmetric in them.
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if side == "both":
            return "Green's formula holds on one side at a time. Use `SingleLayer(kernel)`, which serves both"
        return None

    def equation(self, member: Member) -> Array:
        n = member.boundary.s.shape[0]
        single = member.layer(self.kernel, "single")
        one = jnp.ones_like(member.boundary.s)
        weight = member.boundary.weight
        if isinstance(member.condition, Dirichlet):
            return bordered(single / member.boundary.jacobian, one, one)
        # Robin: ∂u/∂n = data - value_weight · u. Neumann: value_weight = 0.
        identity = jnp.eye(n, dtype=single.dtype)
        matrix = member.layer(self.kernel, "double") - double_jump(member.side) * identity
        if isinstance(member.condition, Neumann):
            if member.side == "exterior":
                # The constant at infinity is free and set to zero.
                return bordered(matrix, one, 0 * weight, corner=1.0)
            return bordered(matrix, one, weight)
        return bordered(matrix + single * member.value_weight, one, weight * member.value_weight)

    def rhs(self, member: Member) -> Array:
        charge = member.charge if member.side == "exterior" else jnp.zeros_like(member.charge)
        if isinstance(member.condition, Dirichlet):
            double = member.layer(self.kernel, "double") @ member.data
            step = 2 * jnp.pi / member.quadrature.num_nodes
            return jnp.append(double - double_jump(member.side) * member.data, -charge / step)
        data = member.layer(self.kernel, "single") @ member.data
        if isinstance(member.condition, Neumann):
            return jnp.append(data, jnp.zeros((), data.dtype))
        return jnp.append(data, member.integral(member.data) + charge)

    def strengths(self, member: Member, density: Array, constant: Array) -> Strengths:
        if isinstance(member.condition, Dirichlet):
            value, flux = member.data, density
            # Inside, S ∂u/∂n + c = (1/2 + D) u; outside the constant enters with the other sign.
            constant = constant if member.side == "interior" else -constant
        else:
            value, flux = density, member.data - member.value_weight * density
            # (D ± 1/2) u + c = S ∂u/∂n; for Neumann data inside, c is the defect of the data, not part of u.
            constant = -constant if member.side == "interior" else constant
            if isinstance(member.condition, Neumann):
                constant = 0 * constant
        sign = 1 if member.side == "interior" else -1
        return Strengths(sign * flux * member.boundary.jacobian, -sign * value, constant)
