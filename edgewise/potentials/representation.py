"""What every representation is: u from a density, and the equation for that density, on one object."""

import abc
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.conditions import AbstractCondition, Neumann
from edgewise.quadrature import AbstractQuadrature

Side = Literal["interior", "exterior", "both"]


class Member(eqx.Module):
    """One member of a problem on the nodes of one rule: all that an equation reads."""

    boundary: Boundary
    quadrature: AbstractQuadrature
    condition: AbstractCondition
    side: Side = eqx.field(static=True)
    value_weight: Float[Array, " n"]
    """The factor of u in the condition."""
    data: Inexact[Array, " n"]
    representation: "AbstractRepresentation"
    """That of the problem, with its numbers known."""
    charge: Inexact[Array, ""]
    """Total charge of an exterior field, u ~ charge · G + constant."""

    def layer(self, kernel: AbstractKernel, layer: Layer, *, sampling: int = 2) -> Inexact[Array, "n n"]:
        return self.quadrature.matrix(kernel, layer, self.boundary, sampling=sampling)

    def integral(self, values: Array) -> Array:
        return jnp.sum(self.boundary.weight * values)


class Strengths(eqx.Module):
    """What a field is made of: layers at the nodes, and a constant."""

    single: Inexact[Array, " n"] | None
    """Density of the single layer times jacobian, which is smoother than the density."""
    double: Inexact[Array, " n"] | None
    constant: Inexact[Array, ""]


class AbstractRepresentation(eqx.Module):
    """How a field is made from a density, and the equation that the density must satisfy.

    An equation has n rows on the boundary and, in the plane, one more unknown and one more row: a constant, and the
    total of the density. That pair makes every equation here uniquely solvable on curves of every size, the degenerate
    scale (logarithmic capacity 1, where a bare single layer is singular) included. For Neumann data the constant column
    measures instead by how much the data miss their compatibility condition.
    """

    kernel: eqx.AbstractVar[AbstractKernel]

    @abc.abstractmethod
    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        """The layers the equation is made of; the rule must resolve them."""

    @abc.abstractmethod
    def order(self, condition: AbstractCondition) -> int:
        """By how many derivatives the equation is rougher than its unknown: -1, 0 (second kind) or +1.

        An equation of order -1 has density times jacobian for its unknown.
        """

    @abc.abstractmethod
    def is_symmetric(self, condition: AbstractCondition) -> bool:
        """Whether the equation's matrix is symmetric, up to rounding."""

    @abc.abstractmethod
    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        """Why this representation cannot serve the problem, with what to use instead; None if it can."""

    @abc.abstractmethod
    def equation(self, member: Member) -> Inexact[Array, "n+p n+p"]:
        """The matrix of the equation for (density, constant), jump included."""

    def density(self, member: Member, unknown: Array) -> Array:
        """The density at the nodes, from the unknown of the equation there."""
        return unknown / member.boundary.jacobian if self.order(member.condition) == -1 else unknown

    @abc.abstractmethod
    def rhs(self, member: Member) -> Inexact[Array, " n+p"]:
        """The right-hand side of `equation`."""

    @abc.abstractmethod
    def strengths(self, member: Member, density: Array, constant: Array) -> Strengths:
        """The layers and the constant that make the field."""


def double_jump(side: Side) -> float:
    """Double layer on the boundary: principal value plus this times the density."""
    return {"interior": -0.5, "exterior": 0.5, "both": 0.0}[side]


def bordered(matrix: Array, column: Array, row: Array, corner: float = 0.0) -> Array:
    """The matrix with one more column, row and corner."""
    n = matrix.shape[0]
    # Written into place: XLA would not vectorise a matrix that it computes inside a concatenation.
    whole = jnp.zeros((n + 1, n + 1), matrix.dtype).at[:n, :n].set(matrix)
    return whole.at[:n, n].set(column.astype(matrix.dtype)).at[n, :n].set(row.astype(matrix.dtype)).at[n, n].set(corner)


def constant_column(member: Member) -> Array:
    """What the unknown constant adds to the condition; for Neumann data, where it adds nothing, the defect of the data."""
    if isinstance(member.condition, Neumann):
        return jnp.ones_like(member.boundary.s)
    return member.value_weight
