"""The combined field: waves outside a body, at every wavenumber."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from edgewise.geometry import Boundary
from edgewise.geometry.parameters import Parameter, number
from edgewise.kernels import AbstractKernel, Helmholtz, Layer
from edgewise.potentials.conditions import AbstractCondition
from edgewise.potentials.representation import (
    AbstractRepresentation,
    Member,
    Side,
    Strengths,
    double_jump,
    identity_like,
    layers_for,
    row_scale,
    unserved_order,
)


class CombinedField(AbstractRepresentation):
    """u = D φ - iη S φ, the field of Brakhage and Werner: outside, uniquely solvable at every wavenumber.

    A single or a double layer alone is singular where k² is an eigenvalue of the inside, although the problem outside is
    not. Sound-soft bodies have `Dirichlet()` data and an equation of the second kind; sound-hard ones `Neumann()` data and a
    hypersingular one (times jacobian), impedance `Robin(coefficient)`. Inside, the sign of η is turned round.

    Arguments:
        coupling: η; by default the wavenumber, but at least one over the size of the bodies, which keeps the equation
            well-conditioned as k -> 0.
    """

    kernel: AbstractKernel
    coupling: Any

    def __init__(self, kernel: AbstractKernel, coupling: Any = None):
        self.kernel = kernel
        self.coupling = None if coupling is None else number(coupling)
        if not isinstance(self.coupling, Parameter | None) and jnp.shape(self.coupling) != ():
            raise ValueError(f"`coupling` must be one number or a parameter's name, got {coupling!r}.")

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return layers_for(condition, ("single", "double"), ("adjoint_double", "hypersingular"))

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return (1,) if condition.takes_flux else (0,)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if not isinstance(self.kernel, Helmholtz):
            return f"`{self.kernel.name}` has no resonances to cure. Use `SingleLayer(kernel)`"
        if side == "both":
            return "a combined field jumps, so it serves one side at a time. Use `SingleLayer(kernel)`"
        return unserved_order(self.kernel, condition)

    def equation(self, member: Member) -> Array:
        identity, factor = identity_like(member), self._single_factor(member)
        matrix = jnp.zeros((), member.boundary.x.dtype)
        if member.condition.takes_value:
            value = member.layer(self.kernel, "double") + double_jump(member.side) * identity
            value = value + factor * member.layer(self.kernel, "single")
            matrix = matrix + member.value_weight[:, None] * value
        if member.condition.takes_flux:
            adjoint = member.layer(self.kernel, "adjoint_double") - double_jump(member.side) * identity
            matrix = matrix + member.layer(self.kernel, "hypersingular") + factor * adjoint
        return row_scale(member)[:, None] * matrix

    def rhs(self, member: Member) -> Array:
        return row_scale(member) * member.data

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        return unknown

    def strengths(self, member: Member, density: Array, polynomial: Array) -> Strengths:
        return Strengths(self._single_factor(member) * density * member.boundary.jacobian, density, polynomial)

    def unknown(self, member: Member, strengths: Strengths) -> Array:
        assert strengths.double is not None
        return strengths.double

    def _single_factor(self, member: Member) -> Array:
        """-iη outside, iη inside."""
        if self.coupling is None:
            size = jnp.max(jnp.ptp(member.boundary.x, axis=0)) / 2
            coupling = jnp.maximum(jnp.abs(jnp.asarray(self.kernel.wavenumber)), 1 / size)  # pyright: ignore
        else:
            coupling = jnp.asarray(self.coupling)
        return (1j if member.side == "interior" else -1j) * coupling
