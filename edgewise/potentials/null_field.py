"""Waves scattered by sound-soft bodies, by what flows into them."""

from typing import Any, ClassVar

from jaxtyping import Array

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Helmholtz, Layer
from edgewise.potentials.combined import CombinedField, coupling_of
from edgewise.potentials.conditions import AbstractCondition
from edgewise.potentials.representation import AbstractRepresentation, Member, Side, Strengths


class NullField(AbstractRepresentation):
    """u = S φ with φ = -∂(u + incident)/∂n, the flux of the whole field on a sound-soft body in an incident wave.

    The density is a physical quantity. It is near 2 ∂(incident)/∂n where the wave arrives and near 0 in the shadow,
    which makes it much easier to learn than that of a `CombinedField`. Its equation asks that the whole field vanish
    inside, where ∂u/∂n - iη u = 0 has no other solution: S φ + (i/η) (1/2 + K') φ = -(1 + (i/η) ∂/∂n) incident. The
    equation is of the second kind, and uniquely solvable at every wavenumber. The unknown is density times jacobian,
    and the rows are multiplied by the jacobian too.

    Arguments:
        coupling: η; by default as that of `CombinedField`.
    """

    kernel: AbstractKernel
    coupling: Any
    takes_slope: ClassVar[bool] = True

    def __init__(self, kernel: AbstractKernel, coupling: Any = None):
        self.kernel = kernel
        self.coupling = CombinedField(kernel, coupling).coupling

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return ("single", "adjoint_double")

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return (0,)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if not isinstance(self.kernel, Helmholtz):
            return f"`{self.kernel.name}` has no incident waves. Use `SingleLayer(kernel)`"
        if side != "exterior":
            return "it is for waves that arrive from outside. Use `CombinedField(kernel)`"
        if condition.takes_flux:
            return "its field is that of the flux alone, which is for sound-soft bodies. Use `CombinedField(kernel)`"
        return None

    @property
    def for_errors(self) -> AbstractRepresentation:
        return CombinedField(self.kernel, self.coupling)

    def equation(self, member: Member) -> Array:
        single, adjoint = member.layers(self.kernel, "single", "adjoint_double")
        inside = adjoint + 0.5 * member.identity
        matrix = single + self._factor(member) * inside
        return self.row_scale(member)[:, None] * matrix / member.boundary.jacobian

    def rhs(self, member: Member) -> Array:
        assert member.slope is not None, "see `takes_slope`"
        return self.row_scale(member) * member.at_rows(member.data + self._factor(member) * member.slope)

    def row_scale(self, member: Member) -> Array:
        return member.at_rows(member.boundary.jacobian)

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        return unknown / boundary.jacobian

    def strengths(self, member: Member, density: Array, polynomial: Array) -> tuple[Strengths, ...]:
        return (Strengths(density * member.boundary.jacobian, None, polynomial),)

    def unknown(self, member: Member, strengths: tuple[Strengths, ...]) -> Array:
        (layers,) = strengths
        assert layers.single is not None
        return layers.single

    def _factor(self, member: Member) -> Array:
        """i/η."""
        return 1j / coupling_of(self.kernel, self.coupling, member.boundary)
