"""What every representation is: u from a density, and the equation for that density, on one object."""

import abc
import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.conditions import AbstractCondition
from edgewise.quadrature import AbstractDiscretisation, Side, Strengths
from edgewise.quadrature.surfaces.operators import AbstractOperator, Dyad


class Member(eqx.Module):
    """One member of a problem on the nodes of one rule: all that an equation reads."""

    on: AbstractDiscretisation
    condition: AbstractCondition
    side: Side = eqx.field(static=True)
    value_weight: Inexact[Array, " n"]
    """The factor of u in the condition."""
    data: Inexact[Array, "... n"]
    """What the condition prescribes; where that is several numbers, each in a row."""
    representation: "AbstractRepresentation"
    """That of the problem, with its numbers known."""
    slope: Inexact[Array, " n"] | None
    """Minus ∂/∂n of the incident wave, where the representation takes it beside the data."""
    charge: Inexact[Array, ""]
    """Total charge of an exterior field, u ~ charge · G + constant."""
    body: Int[Array, " n"]
    """The number of the curve or body that each node lies on."""

    @property
    def boundary(self) -> Boundary:
        return self.on.boundary

    def placed(self, boundary: Boundary) -> "Member":
        """The same equation and data on another boundary."""
        return dataclasses.replace(self, on=dataclasses.replace(self.on, boundary=boundary))

    def layer(self, kernel: AbstractKernel, layer: Layer, *, sampling: int = 2) -> Any:
        """The layer on the boundary as a matrix: density at the nodes in, principal value there out."""
        return self.on.layers(kernel, layer, sampling=sampling)[0]

    def layers(self, kernel: AbstractKernel, *layers: Layer) -> tuple[Any, ...]:
        """Several at once, which on a surface cost little more than one; large ones as operators, not arrays."""
        return self.on.layers(kernel, *layers)

    def at_rows(self, values: Inexact[Array, " n"]) -> Inexact[Array, " m"]:
        """What the rows of the equation have of values at the nodes; some rows may be left out."""
        return self.on.at_rows(values)

    @property
    def identity(self) -> Any:
        return self.on.identity()

    def integral(self, values: Array) -> Array:
        return jnp.sum(self.boundary.weight * values)

    def mean_of_bodies(self) -> Float[Array, "n n"]:
        """The matrix that takes values at the nodes to their mean over the body that each node lies on."""
        same = self.body[:, None] == self.body
        weights = same * self.boundary.weight
        return weights / jnp.sum(weights, axis=1, keepdims=True)

    def average(self, values: Array) -> Array:
        return self.integral(values) / self.boundary.measure

    @property
    def imbalance(self) -> Float[Array, ""]:
        """|∫ g| / ∫ |g| where a solution exists only if that is 0, else 0.

        For Laplace's equation inside with Neumann data g is those data; for a flow inside it is the velocity along the
        normal.
        """
        data = self.data
        if self.representation.kernel.value_shape and self.side == "interior":
            data = jnp.sum(data * self.boundary.normal.T, axis=0)
        elif not self.has_free_constant:
            return jnp.zeros((), self.boundary.x.dtype)
        amount = self.integral(jnp.abs(data))
        return jnp.abs(self.integral(data)) / jnp.where(amount > 0, amount, 1)

    @property
    def has_free_constant(self) -> bool:
        """Whether a solution stays one with a constant added: Neumann data of Laplace's equation, inside."""
        kernel = self.representation.kernel
        return kernel.has_constants and self.side == "interior" and not self.condition.takes_value

    @property
    def step(self) -> Float[Array, " n"]:
        """The rule's own weights: Σ step · (density · jacobian) is the integral of the density."""
        return self.boundary.weight / self.boundary.jacobian

    def polynomials(self, count: int) -> tuple[Float[Array, "n p"], Float[Array, "n p"]]:
        """The first `count` of 1, x, y at the nodes, and their derivatives along the normal."""
        one, zero = jnp.ones_like(self.step)[:, None], jnp.zeros_like(self.step)[:, None]
        value = jnp.concatenate([one, self.boundary.x], axis=1)
        slope = jnp.concatenate([zero, self.boundary.normal], axis=1)
        return value[:, :count], slope[:, :count]


class Region(eqx.Module):
    """Where a field is made of layers of one kernel."""

    side: Side = eqx.field(static=True)
    kernel: AbstractKernel


class AbstractRepresentation(eqx.Module):
    """How a field is made from a density, and the equation that the density must satisfy.

    An equation has one or two rows for each node. Where polynomials solve the differential equation, it has one more
    unknown and one more row for each of them: the coefficient of the polynomial, and a moment of the density. For
    Laplace's equation these are a constant and the total of the density. They make every equation here uniquely
    solvable on curves of every size, also at the degenerate scales: for Laplace's equation that is a logarithmic
    capacity of 1, where a bare single layer is singular. For Neumann data the column of the constant measures instead
    by how much the data miss their compatibility condition.

    In space the fields of layers vanish at infinity, and polynomials are not among the unknowns. Where an equation
    still has a null space, a multiple of the mean of the density fills it (`with_mean`).
    """

    kernel: eqx.AbstractVar[AbstractKernel]
    takes_slope: ClassVar[bool] = False
    """Whether the right-hand side has the normal derivative of the incident wave in it; then there must be one."""

    def regions(self, side: Side) -> tuple[Region, ...]:
        """The regions of a problem on this side, one after the other, as `strengths` has them."""
        return (Region(side, self.kernel),)

    @property
    def rate(self) -> Any:
        """By how much kernels decay, per unit of length, where that is what nodes must resolve; else 0."""
        return jnp.asarray(self.kernel.rate)

    def unknowns(self, condition: AbstractCondition) -> int:
        """How many unknown functions on the boundary there are, and rows a node."""
        return condition.channels * (self.kernel.value_shape or (1,))[0]

    def multiplies_layers(self, condition: AbstractCondition) -> bool:
        """Whether the equation has products of layers, which have no rows without all rows of their factors."""
        return False

    @property
    def for_errors(self) -> "AbstractRepresentation":
        """What represents an error, whose data are a misfit: the same, unless that has to be a wave's."""
        return self

    @abc.abstractmethod
    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        """The layers the equation is made of; the rule must resolve them."""

    @abc.abstractmethod
    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        """By how many derivatives each row is rougher than its unknown: -1 (first kind), 0 (second kind), +1, ..."""

    @abc.abstractmethod
    def is_symmetric(self, condition: AbstractCondition) -> bool:
        """Whether the equation's matrix is symmetric, up to rounding."""

    @abc.abstractmethod
    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        """Why this representation cannot serve the problem, with what to use instead; None if it can."""

    @abc.abstractmethod
    def equation(self, member: Member) -> Inexact[Array, "cn+p cn+p"]:
        """The matrix of the equation for (unknowns at the nodes, polynomial), jump included."""

    @abc.abstractmethod
    def rhs(self, member: Member) -> Inexact[Array, " cn+p"]:
        """The right-hand side of `equation`."""

    def row_scale(self, member: Member) -> Inexact[Array, " m"]:
        """By what the rows are multiplied, beside what the condition asks for."""
        return jnp.tile(row_scale(member), (self.kernel.value_shape or (1,))[0])

    @abc.abstractmethod
    def density(
        self, boundary: Boundary, condition: AbstractCondition, unknown: Inexact[Array, " cn"]
    ) -> Inexact[Array, "... n"]:
        """The density at the nodes, from the unknowns of the equation there; a pair of densities has two rows."""

    @abc.abstractmethod
    def strengths(self, member: Member, density: Array, polynomial: Array) -> tuple[Strengths, ...]:
        """The layers and the polynomial that make the field of every region."""

    def charged(self, member: Member, unknown: Inexact[Array, " cn+p"]) -> Inexact[Array, " cn+p"]:
        """Unknowns that need not satisfy the equation, with the total charge that the problem prescribes outside.

        What is missed of it grows with the distance, as no other error does.
        """
        return unknown

    @abc.abstractmethod
    def unknown(self, member: Member, strengths: tuple[Strengths, ...]) -> Inexact[Array, " cn+p"]:
        """The unknowns of `equation` behind these strengths.

        The unknown for the defect of Neumann data is zero, since the strengths do not hold it.
        """


def total_charge(member: Member) -> Array:
    """The total charge: given, or, for Neumann data outside, the data's own. Inside it is zero."""
    if member.side == "interior":
        return jnp.zeros((), member.data.dtype)
    if not member.condition.takes_value:
        return -member.integral(member.data) if member.side == "exterior" else jnp.zeros((), member.data.dtype)
    return member.charge.astype(member.data.dtype)


def with_mean(member: Member, matrix: Any, column: Array) -> Any:
    """The matrix plus `column` times the mean of the density: for an equation that leaves that mean open."""
    mean = member.boundary.weight / member.boundary.measure
    return matrix + (Dyad(column, mean) if isinstance(matrix, AbstractOperator) else column[:, None] * mean)


def balanced(member: Member, unknown: Inexact[Array, " n"], total: Array) -> Inexact[Array, " n"]:
    """Density times jacobian, shifted so that its integral is `total`."""
    return unknown + (total - jnp.sum(member.step * unknown)) / jnp.sum(member.step)


def but_for_defects(member: Member, polynomial: Array) -> Array:
    """The polynomial as unknowns of the equation.

    For Neumann data these unknowns are the defect of the data instead, which is zero at best.
    """
    return polynomial if member.condition.takes_value else jnp.zeros_like(polynomial)


def layers_for(condition: AbstractCondition, value: tuple[Layer, ...], flux: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Those that make u, those that make ∂u/∂n, or both, as the condition takes them."""
    return (value if condition.takes_value else ()) + (flux if condition.takes_flux else ())


def row_scale(member: Member) -> Array:
    """What the rows of an equation are multiplied by.

    For a hypersingular equation, which is large where nodes crowd, this is the jacobian; for others it is 1.
    """
    jacobian = member.at_rows(member.boundary.jacobian)
    return jacobian if member.condition.takes_flux else jnp.ones_like(jacobian)


def double_jump(side: Side) -> float:
    """Double layer on the boundary: principal value plus this times the density."""
    return {"interior": -0.5, "exterior": 0.5, "both": 0.0}[side]


def bordered(matrix: Array, columns: Array, rows: Array, corner: float = 0.0) -> Array:
    """The matrix with p more columns (n, p) and rows (p, n), and `corner` on the diagonal of what is new."""
    n, p = columns.shape
    # Written into place: XLA would not vectorise a matrix that it computes inside a concatenation.
    whole = jnp.zeros((n + p, n + p), matrix.dtype).at[:n, :n].set(matrix)
    whole = whole.at[:n, n:].set(columns.astype(matrix.dtype)).at[n:, :n].set(rows.astype(matrix.dtype))
    return whole.at[n:, n:].set(corner * jnp.eye(p, dtype=matrix.dtype)) if corner else whole


def constant_column(member: Member) -> Array:
    """What the unknown constant adds to the condition.

    For Neumann data it would add nothing; there the column stands for the defect of the data.
    """
    if not member.condition.takes_value:
        return jnp.ones_like(member.boundary.jacobian)
    return member.value_weight


def scalar_only(kernel: AbstractKernel) -> str | None:
    """Why a representation of scalar fields cannot serve a flow."""
    return f"`{kernel.name}` has vector values. Use `DoubleLayer(kernel)`" if kernel.value_shape else None


def unserved_order(kernel: AbstractKernel, condition: AbstractCondition) -> str | None:
    """Why one density cannot serve an equation of fourth order, nor two conditions one of second."""
    if kernel.order != 2:
        return f"`{kernel.name}` is of order {kernel.order}. Use `LayerPair(kernel)` with `condition=Clamped()`"
    if condition.jumps:
        return "`Transmission` is for two media. Use `TwoMedia(outside, inside)`"
    if condition.channels != 1:
        return "`Clamped` prescribes two numbers, for equations of order four. Use `Dirichlet()` or `Neumann()`"
    return None
