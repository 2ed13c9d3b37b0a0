"""What a rule makes of one member: its nodes, layers on them, and the field of densities that live there."""

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer

Side = Literal["interior", "exterior", "both"]
Quantity = Literal["potential", "gradient", "pressure"]
Preconditioner = Callable[[Array], Array]


class Strengths(eqx.Module):
    """What the field of one region is made of: layers at the nodes, and a polynomial.

    Of a kernel with vector values a density has a row for each component.
    """

    single: Inexact[Array, "... n"] | None
    """Density of the single layer times jacobian, which is smoother than the density."""
    double: Inexact[Array, "... n"] | None
    polynomial: Inexact[Array, " p"]
    """Coefficients of the first p of 1, x, y; of a vector field of as many constants as it has components."""


def densities_of(strengths: Sequence[Strengths]) -> list[Inexact[Array, "... n"]]:
    """All densities of all regions."""
    return [part for one in strengths for part in (one.single, one.double) if part is not None]


def map_densities(function: Callable[[Array], Array], strengths: tuple[Strengths, ...]) -> tuple[Strengths, ...]:
    """A function of the values of one scalar density at all nodes, applied to each."""

    def each(part):
        if part is None or part.ndim == 1:
            return None if part is None else function(part)
        return jnp.stack([function(component) for component in part])

    return tuple(Strengths(each(one.single), each(one.double), one.polynomial) for one in strengths)


class AbstractField(eqx.Module):
    """The field of one region of one member. Methods named for members take a leading axis on every array."""

    kernel: eqx.AbstractVar[AbstractKernel]
    side: eqx.AbstractVar[Side]
    polynomial: eqx.AbstractVar[Array]

    @abc.abstractmethod
    def of_members(
        self, points: Float[Array, "m d"], quantity: Quantity, chunk: int | None = None
    ) -> tuple[Inexact[Array, "b m ..."], Bool[Array, "b m"]]:
        """Values of many members at shared points, and which points are on the right side.

        No more than `chunk` points are looked at together; by default as many as memory is meant for.
        """

    @abc.abstractmethod
    def far_of_members(self, directions: Float[Array, "m d"]) -> Inexact[Array, "b m"]:
        """Far fields of many members in shared directions."""


class Resolution(eqx.Module):
    """What a solve looks at before it trusts its nodes."""

    missed: Float[Array, ""]
    """What the nodes leave out, of densities and of kernels that are narrower than they, relative to the data."""
    growth: Float[Array, ""]
    """By how much the densities exceed the data, which a well-posed problem keeps within a few orders."""


class AbstractDiscretisation(eqx.Module):
    """One member on the nodes of one rule."""

    rule: eqx.AbstractVar[Any]
    boundary: eqx.AbstractVar[Boundary]
    needs_pairs: ClassVar[bool] = False
    """Whether layers can be computed only when it is known which nodes are close to which panels: see `with_pairs`."""
    in_pieces: ClassVar[bool] = False
    """Whether, with values at hand, layers compile pieces that serve every member; a whole would be compiled anew."""
    loses_digits: ClassVar[bool] = False
    """Whether elimination loses digits on its equations that the matrix has; one step of refinement restores them."""

    @abc.abstractmethod
    def layers(self, kernel: AbstractKernel, *layers: Layer, sampling: int = 2) -> tuple[Any, ...]:
        """Layers of one kernel as matrices or operators: density at the nodes in, principal value there out.

        The matrices of a kernel of value shape (v, c) have (v, c) blocks, component after component. `sampling` is the
        number of samples of the kernel that a node may take, 1 or 2, where the rule has the choice.
        """

    @abc.abstractmethod
    def field(self, kernel: AbstractKernel, side: Side, strengths: Strengths) -> AbstractField:
        """The field of these layers on one side; the discretisation must have been made for fields."""

    @abc.abstractmethod
    def resolution(self, member: Any, strengths: Sequence[Strengths]) -> Resolution:
        """How far the densities of the member's regions have settled on the nodes."""

    @abc.abstractmethod
    def preconditioner(self, matrix: Any, orders: tuple[int, ...]) -> Preconditioner:
        """An approximate inverse of an equation whose rows have these orders."""

    def identity(self, components: int = 1) -> Any:
        """The identity on values at the nodes, as the layers are given: a matrix or an operator."""
        return jnp.eye(components * len(self.boundary.x), dtype=self.boundary.x.dtype)

    def at_rows(self, values: Inexact[Array, " n"]) -> Inexact[Array, " m"]:
        """What the rows of the equation have of values at the nodes; some rows may be left out."""
        return values

    @property
    def couples_unsymmetrically(self) -> bool:
        """Whether matrices of symmetric layers are not symmetric in their last digits."""
        return False

    def with_pairs(self, seen: Self, rows: int | None) -> Self:
        """Members along a first axis, with the pairs of node and panel that are close on any of the members in `seen`.

        `rows` is how many rows of the equation are computed at once where it is not held as a whole.
        """
        return self

    def without_pairs(self) -> Self:
        """For functions that need not know the pairs: compiled with them, they would be so anew for every member."""
        return self


def blocks(matrix: Inexact[Array, "*value m n"]) -> Inexact[Array, "vm cn"]:
    """A matrix of scalars as it is; of vectors component after component."""
    *value, m, n = matrix.shape
    if not value:
        return matrix
    v, c = value
    return matrix.transpose(0, 2, 1, 3).reshape(v * m, c * n)
