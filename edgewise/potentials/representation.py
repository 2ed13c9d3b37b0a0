"""What every representation is: u from a density, and the equation for that density, on one object."""

import abc
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.potentials.conditions import AbstractCondition, Neumann
from edgewise.quadrature import AbstractQuadrature, Duffy
from edgewise.quadrature.centred import Panels
from edgewise.quadrature.operators import AbstractOperator, Dyad, Identity
from edgewise.quadrature.sampled import Sampled
from edgewise.quadrature.several import block_matrix
from edgewise.quadrature.source import AbstractSource

Side = Literal["interior", "exterior", "both"]


class Member(eqx.Module):
    """One member of a problem on the nodes of one rule: all that an equation reads."""

    boundary: Boundary
    quadrature: AbstractQuadrature
    condition: AbstractCondition
    side: Side = eqx.field(static=True)
    value_weight: Inexact[Array, " n"]
    """The factor of u in the condition."""
    data: Inexact[Array, "... n"]
    """What the condition prescribes; where it has two channels, two rows."""
    representation: "AbstractRepresentation"
    """That of the problem, with its numbers known."""
    slope: Inexact[Array, " n"] | None
    """Minus ∂/∂n of the incident wave, where the representation takes it beside the data."""
    charge: Inexact[Array, ""]
    """Total charge of an exterior field, u ~ charge · G + constant."""
    sources: AbstractSource | Panels | None
    """Where there are several curves: each as the source of a field on the others. Of a surface: its panels."""

    def layer(self, kernel: AbstractKernel, layer: Layer, *, sampling: int = 2) -> Inexact[Array, "n n"]:
        """The layer on the boundary as a matrix: density at the nodes in, principal value there out."""
        if isinstance(self.sources, Panels):
            return self.layers(kernel, layer)[0]
        if self.sources is None:
            return self.quadrature.matrix(kernel, layer, self.boundary, sampling=sampling)
        return block_matrix(kernel, layer, self.quadrature, self.boundary, self.sources, sampling)

    def layers(self, kernel: AbstractKernel, *layers: Layer) -> tuple[Any, ...]:
        """Several at once, which on a surface cost little more than one; large ones as operators, not arrays."""
        if isinstance(self.sources, Panels) and isinstance(self.quadrature, Duffy | Sampled):
            return self.quadrature.matrices(kernel, layers, self.boundary, self.sources)
        return tuple(self.layer(kernel, layer) for layer in layers)

    def at_rows(self, values: Inexact[Array, " n"]) -> Inexact[Array, " m"]:
        """What the rows of the equation have of values at the nodes: on a surface some may be left out."""
        return values[self.quadrature.targets] if isinstance(self.quadrature, Sampled) else values

    def integral(self, values: Array) -> Array:
        return jnp.sum(self.boundary.weight * values)

    @property
    def imbalance(self) -> Float[Array, ""]:
        """|∫ data| / ∫ |data| where a solution exists only if that is 0: Neumann data of Laplace's equation, inside. Else 0."""
        if not self.has_free_constant:
            return jnp.zeros((), self.boundary.x.dtype)
        amount = self.integral(jnp.abs(self.data))
        return jnp.abs(self.integral(self.data)) / jnp.where(amount > 0, amount, 1)

    @property
    def has_free_constant(self) -> bool:
        """Whether a solution stays one with a constant added: Neumann data of Laplace's equation, inside."""
        kernel = self.representation.kernel
        return kernel.has_constants and self.side == "interior" and isinstance(self.condition, Neumann)

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


class Strengths(eqx.Module):
    """What a field is made of: layers at the nodes, and a polynomial."""

    single: Inexact[Array, " n"] | None
    """Density of the single layer times jacobian, which is smoother than the density."""
    double: Inexact[Array, " n"] | None
    polynomial: Inexact[Array, " p"]
    """Coefficients of the first p of 1, x, y."""


class AbstractRepresentation(eqx.Module):
    """How a field is made from a density, and the equation that the density must satisfy.

    An equation has one or two rows a node and, where polynomials solve the differential equation, one more unknown and one
    more row for each of them: its coefficient, and a moment of the density. For Laplace these are a constant and the total
    of the density. They make every equation here uniquely solvable on curves of every size, the degenerate scales (for
    Laplace logarithmic capacity 1, where a bare single layer is singular) included. For Neumann data the constant column
    measures instead by how much the data miss their compatibility condition.

    In space fields of layers vanish at infinity and polynomials are no unknowns. Where an equation has a null space all the
    same, a multiple of the mean of the density fills it (`with_mean`).
    """

    kernel: eqx.AbstractVar[AbstractKernel]
    takes_slope: ClassVar[bool] = False
    """Whether the right-hand side has the normal derivative of the incident wave in it; then there must be one."""

    @property
    def of_errors(self) -> "AbstractRepresentation":
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
        return row_scale(member)

    @abc.abstractmethod
    def density(
        self, boundary: Boundary, condition: AbstractCondition, unknown: Inexact[Array, " cn"]
    ) -> Inexact[Array, "... n"]:
        """The density at the nodes, from the unknowns of the equation there; a pair of densities has two rows."""

    @abc.abstractmethod
    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        """The layers and the polynomial that make the field."""

    def charged(self, member: Member, unknown: Inexact[Array, " cn+p"]) -> Inexact[Array, " cn+p"]:
        """Unknowns that need not satisfy the equation, with the total charge that the problem prescribes outside.

        What is missed of it grows with the distance, as no other error does.
        """
        return unknown

    @abc.abstractmethod
    def unknown(self, member: Member, strengths: Strengths) -> Inexact[Array, " cn+p"]:
        """The unknowns of `equation` behind these strengths; zero for the defect of Neumann data, which they do not have."""


def with_mean(member: Member, matrix: Any, column: Array) -> Any:
    """The matrix plus `column` times the mean of the density: for an equation that leaves that mean open."""
    mean = member.boundary.weight / member.boundary.measure
    return matrix + (Dyad(column, mean) if isinstance(matrix, AbstractOperator) else column[:, None] * mean)


def balanced(member: Member, unknown: Inexact[Array, " n"], total: Array) -> Inexact[Array, " n"]:
    """Density times jacobian, shifted so that its integral is `total`."""
    return unknown + (total - jnp.sum(member.step * unknown)) / jnp.sum(member.step)


def but_for_defects(member: Member, polynomial: Array) -> Array:
    """The polynomial as unknowns of the equation: for Neumann data these are the data's defect instead, zero at best."""
    return jnp.zeros_like(polynomial) if isinstance(member.condition, Neumann) else polynomial


def layers_for(condition: AbstractCondition, value: tuple[Layer, ...], flux: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Those that make u, those that make ∂u/∂n, or both, as the condition takes them."""
    return (value if condition.takes_value else ()) + (flux if condition.takes_flux else ())


def row_scale(member: Member) -> Array:
    """What a hypersingular equation is multiplied by: the jacobian, since it is large where nodes crowd; 1 for others."""
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
    """What the unknown constant adds to the condition; for Neumann data, where it adds nothing, the defect of the data."""
    if isinstance(member.condition, Neumann):
        return jnp.ones_like(member.boundary.jacobian)
    return member.value_weight


def identity_like(member: Member) -> Any:
    if isinstance(member.quadrature, Duffy) and member.quadrature.rows is not None:
        return Identity()
    numbers = jnp.arange(member.boundary.x.shape[0])
    return (member.at_rows(numbers)[:, None] == numbers).astype(member.boundary.x.dtype)


def unserved_order(kernel: AbstractKernel, condition: AbstractCondition) -> str | None:
    """Why one density cannot serve an equation of fourth order, nor two conditions one of second."""
    if kernel.order != 2:
        return f"`{kernel.name}` is of order {kernel.order}. Use `LayerPair(kernel)` with `condition=Clamped()`"
    if condition.channels != 1:
        return "`Clamped` prescribes two numbers, for equations of order four. Use `Dirichlet()` or `Neumann()`"
    return None
