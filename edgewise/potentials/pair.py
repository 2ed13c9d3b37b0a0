"""Two densities, for equations of fourth order."""

import jax.numpy as jnp
from jaxtyping import Array

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.conditions import AbstractCondition
from edgewise.potentials.representation import AbstractRepresentation, Member, Side, Strengths, bordered


class LayerPair(AbstractRepresentation):
    """u = S φ + D ψ + p, for equations of fourth order with u and ∂u/∂n prescribed (`Clamped`).

    p = a + b·x is linear, and three moments of the densities are zero: ∫ (φ q + ψ ∂q/∂n) = 0 for q = 1, x, y. Without p
    and these moments the pair is singular on curves of certain sizes, such as the circle of radius 1/e. Nothing jumps,
    so one pair of densities serves both sides. Outside, the field is p + O(log |x|), the only one whose energy
    ∫ |∇∇u|² is finite. `solution.at_infinity` holds (a, b₁, b₂).
    """

    kernel: AbstractKernel

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return ("single", "double", "adjoint_double", "hypersingular")

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return (-3, -1)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if self.kernel.order != 4:
            return f"`{self.kernel.name}` is of order {self.kernel.order}. Use `SingleLayer(kernel)`"
        if condition.channels != 2:
            return "an equation of fourth order needs u and ∂u/∂n. Use `condition=Clamped()`"
        return None

    def equation(self, member: Member) -> Array:
        jacobian, n = member.boundary.jacobian, member.boundary.s.shape[0]
        single, double, adjoint, hyper = (member.layer(self.kernel, layer) for layer in self.layers(member.condition))
        matrix = jnp.zeros((2 * n, 2 * n), single.dtype)
        matrix = matrix.at[:n, :n].set(single / jacobian).at[:n, n:].set(double)
        matrix = matrix.at[n:, :n].set(adjoint / jacobian).at[n:, n:].set(hyper)
        value, slope = member.polynomials(self.kernel.polynomials)
        rows = jnp.concatenate([value * member.step[:, None], slope * member.boundary.weight[:, None]])
        return bordered(matrix, jnp.concatenate([value, slope]), rows.T)

    def rhs(self, member: Member) -> Array:
        return jnp.append(member.data.reshape(-1), jnp.zeros(self.kernel.polynomials, member.data.dtype))

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        single, double = unknown.reshape(2, -1)
        return jnp.stack([single / boundary.jacobian, double])

    def strengths(self, member: Member, density: Array, polynomial: Array) -> tuple[Strengths, ...]:
        return (Strengths(density[0] * member.boundary.jacobian, density[1], polynomial),)

    def unknown(self, member: Member, strengths: tuple[Strengths, ...]) -> Array:
        (layers,) = strengths
        assert layers.single is not None and layers.double is not None
        return jnp.concatenate([layers.single, layers.double, layers.polynomial])
