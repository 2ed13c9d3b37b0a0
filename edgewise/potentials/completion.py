"""What is added to a double layer, which cannot make every field by itself: not that of a charge, for example."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.representation import (
    Member,
    bordered,
    but_for_defects,
    constant_column,
    total_charge,
    with_mean,
)
from edgewise.quadrature import Side, Strengths


class AbstractCompletion(eqx.Module):
    """What stands beside D φ, so that the equation for φ has one solution."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that its equation takes beside the double layer's own."""
        return ()

    @abc.abstractmethod
    def equation(self, member: Member, matrix: Any, scale: Array, layers: tuple[Any, ...]) -> Any:
        """The whole equation, from that of D φ alone, whose rows are multiplied by `scale`."""

    @abc.abstractmethod
    def rhs(self, member: Member, scale: Array) -> Array:
        """The right-hand side."""

    @abc.abstractmethod
    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        """The layers of the field."""

    def unknown(self, member: Member, layers: Strengths) -> Array:
        """The unknowns behind these layers."""
        assert layers.double is not None
        return layers.double.reshape(-1)


class Nothing(AbstractCompletion):
    """u = D φ: equations without constants, and Laplace's equation inside a body in space."""

    def equation(self, member: Member, matrix: Any, scale: Array, layers: tuple[Any, ...]) -> Any:
        return matrix

    def rhs(self, member: Member, scale: Array) -> Array:
        return scale * member.at_rows(member.data)

    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        return Strengths(None, density, polynomial)


class Constant(AbstractCompletion):
    """u = D φ + S q + c with ∫ φ = 0, for Laplace's equation in the plane.

    The constant c is unknown; q is the prescribed charge, spread evenly.
    """

    def equation(self, member: Member, matrix: Any, scale: Array, layers: tuple[Any, ...]) -> Any:
        return bordered(matrix, (scale * constant_column(member))[:, None], member.boundary.weight[None, :])

    def rhs(self, member: Member, scale: Array) -> Array:
        data, kernel = member.data, member.representation.kernel
        if member.side == "exterior":
            even = self._even_charge(member)
            if member.condition.takes_value:
                data = data - member.value_weight * (member.layer(kernel, "single") @ even)
            if member.condition.takes_flux:
                data = data - (member.layer(kernel, "adjoint_double") @ even - even / 2)
        return jnp.append(scale * data, jnp.zeros((), data.dtype))

    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        if not member.condition.takes_value:
            mean = 0.0
            if member.side == "interior":
                principal = member.layer(member.representation.kernel, "double") @ density
                mean = member.average(principal) - member.average(density) / 2
            polynomial = 0 * polynomial - mean
        single = self._even_charge(member) * member.boundary.jacobian if member.side == "exterior" else None
        return Strengths(single, density, polynomial)

    def unknown(self, member: Member, layers: Strengths) -> Array:
        return jnp.append(super().unknown(member, layers), but_for_defects(member, layers.polynomial))

    def _even_charge(self, member: Member) -> Array:
        """The charge spread evenly in the coordinate, so that density times jacobian is a constant."""
        return total_charge(member) / (jnp.sum(member.step) * member.boundary.jacobian)


class MeanCharge(AbstractCompletion):
    """u = D φ + (mean of φ) S 1, for Laplace's equation outside a body in space: a double layer has no charge."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        return ("single",)

    def equation(self, member: Member, matrix: Any, scale: Array, layers: tuple[Any, ...]) -> Any:
        (single,) = layers
        return with_mean(member, matrix, single @ jnp.ones_like(member.boundary.jacobian))

    def rhs(self, member: Member, scale: Array) -> Array:
        return scale * member.at_rows(member.data)

    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        return Strengths(member.average(density) * member.boundary.jacobian, density, polynomial)


class Flow(AbstractCompletion):
    """For Stokes's equations: u = D φ + S φ outside, which carries force and torque, and u = D φ inside.

    In the plane a constant is added outside, with ∫ φ = 0. Inside, D φ alone leaves one condition on the data: what
    flows in must flow out. A multiple of the normal is added to the equation to make it uniquely solvable; it is zero
    for data that meet the condition. Where there are holes, u = D φ - S φ inside.
    """

    has_force: bool = eqx.field(static=True)
    """Whether the single layer is there: outside, and where there are holes."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        return ("single",) if self.has_force else ()

    def equation(self, member: Member, matrix: Any, scale: Array, layers: tuple[Any, ...]) -> Any:
        if layers:
            matrix = matrix + _sign(member) * layers[0]
        if member.side == "interior":
            normal = member.boundary.normal.T.reshape(-1)
            weight = jnp.tile(member.boundary.weight, member.boundary.x.shape[-1]) / member.boundary.measure
            return matrix + normal[:, None] * (normal * weight)
        if member.representation.kernel.is_spatial:
            return matrix
        dim, n = 2, len(member.boundary.weight)
        columns = jnp.kron(jnp.eye(dim), jnp.ones((n, 1)))
        return bordered(matrix, columns, jnp.kron(jnp.eye(dim), member.boundary.weight[None, :]))

    def rhs(self, member: Member, scale: Array) -> Array:
        data = member.data.reshape(-1)
        free = 2 if member.side == "exterior" and not member.representation.kernel.is_spatial else 0
        return jnp.append(data, jnp.zeros(free, data.dtype))

    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        single = _sign(member) * density * member.boundary.jacobian if self.has_force else None
        return Strengths(single, density, polynomial)

    def unknown(self, member: Member, layers: Strengths) -> Array:
        return jnp.append(super().unknown(member, layers), layers.polynomial)


def _sign(member: Member) -> float:
    return -1.0 if member.side == "interior" else 1.0


def completion_of(kernel: AbstractKernel, member: Member) -> AbstractCompletion:
    """What the double layer of this kernel lacks for this problem."""
    side: Side = member.side
    if kernel.value_shape:
        return Flow(has_force=side == "exterior" or member.boundary.components > 1)
    if kernel.polynomials:
        return Constant()
    return MeanCharge() if kernel.has_constants and side == "exterior" else Nothing()
