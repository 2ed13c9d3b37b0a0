"""The combined field: waves outside a body, at every wavenumber."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from edgewise.base.named import positive
from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Difference, Helmholtz, Layer, ModifiedHelmholtz
from edgewise.potentials.conditions import AbstractCondition
from edgewise.potentials.representation import (
    AbstractRepresentation,
    Member,
    Side,
    Strengths,
    double_jump,
    layers_for,
    row_scale,
    unserved_order,
)


class CombinedField(AbstractRepresentation):
    """u = D φ - iη S φ, the field of Brakhage and Werner: outside, uniquely solvable at every wavenumber.

    A single or a double layer alone is singular where k² is an eigenvalue of the inside, although the problem outside
    is not. Sound-soft bodies have `Dirichlet()` data and an equation of the second kind. Sound-hard bodies have
    `Neumann()` data and a hypersingular equation, which is multiplied by the jacobian; an impedance is
    `Robin(coefficient)`. Inside, the sign of η is reversed.

    In space a field with a prescribed flux is regularised instead: u = S φ + 2i D R φ, where R is the single layer of
    e^{-η r} / 4πr, which smooths what the hypersingular layer roughens. The equation is of the second kind, and all its
    kernels are weakly singular.

    Arguments:
        coupling: η > 0. The default is √(k² + 1/a²), where a is the radius of a circle as long as the bodies are on
            average, or of a sphere with their average area. With it the equation is well-conditioned also as k -> 0,
            and η is smooth in every parameter, which networks and interpolation need.
    """

    kernel: AbstractKernel
    coupling: Any

    def __init__(self, kernel: AbstractKernel, coupling: Any = None):
        self.kernel = kernel
        self.coupling = None if coupling is None else positive("`coupling`", coupling, "CombinedField(kernel)")

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        if self._is_regularised(condition):
            return ("single", "double", "adjoint_double")
        return layers_for(condition, ("single", "double"), ("adjoint_double", "hypersingular"))

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return (1,) if condition.takes_flux and not self._is_regularised(condition) else (0,)

    def multiplies_layers(self, condition: AbstractCondition) -> bool:
        return self._is_regularised(condition)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if not isinstance(self.kernel, Helmholtz):
            return f"`{self.kernel.name}` has no resonances to cure. Use `SingleLayer(kernel)`"
        if side == "both":
            return "a combined field jumps, so it serves one side at a time. Use `SingleLayer(kernel)`"
        return unserved_order(self.kernel, condition)

    def equation(self, member: Member) -> Array:
        if self._is_regularised(member.condition):
            return self._regularised(member)
        identity, factor = member.identity, self._single_factor(member)
        matrix = jnp.zeros((), member.boundary.x.dtype)
        if member.condition.takes_value:
            single, double = member.layers(self.kernel, "single", "double")
            value = double + double_jump(member.side) * identity + factor * single
            matrix = matrix + member.at_rows(member.value_weight)[:, None] * value
        if member.condition.takes_flux:
            adjoint = member.layer(self.kernel, "adjoint_double") - double_jump(member.side) * identity
            matrix = matrix + member.layer(self.kernel, "hypersingular") + factor * adjoint
        return row_scale(member)[:, None] * matrix

    def rhs(self, member: Member) -> Array:
        return row_scale(member) * member.at_rows(member.data)

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        return unknown / boundary.jacobian if self._is_regularised(condition) else unknown

    def strengths(self, member: Member, density: Array, polynomial: Array) -> tuple[Strengths, ...]:
        if self._is_regularised(member.condition):
            calm, factor = self._regulariser(member)
            smooth = member.layer(calm, "single") @ density
            return (Strengths(density * member.boundary.jacobian, factor * smooth, polynomial),)
        return (Strengths(self._single_factor(member) * density * member.boundary.jacobian, density, polynomial),)

    def unknown(self, member: Member, strengths: tuple[Strengths, ...]) -> Array:
        (layers,) = strengths
        assert layers.single is not None and layers.double is not None
        return layers.single if self._is_regularised(member.condition) else layers.double

    def _is_regularised(self, condition: AbstractCondition) -> bool:
        return self.kernel.is_spatial and condition.takes_flux

    def _regulariser(self, member: Member) -> tuple[ModifiedHelmholtz, Array]:
        """The kernel of R, and the factor of D R: 2i outside, -2i inside."""
        single = self._single_factor(member)
        return ModifiedHelmholtz(3, jnp.abs(single)), -2 * single / jnp.abs(single)

    def _regularised(self, member: Member) -> Array:
        """∂u/∂n + value_weight · u for u = S φ + c D R φ; unknown and rows times jacobian.

        T R = (T - T_η) R + T_η R, and T_η R = K'_η² - 1/4 (Calderón): the singular parts of T and T_η cancel.
        """
        identity, jump = member.identity, double_jump(member.side)
        calm, factor = self._regulariser(member)
        smooth, calm_adjoint = member.layers(calm, "single", "adjoint_double")
        adjoint = member.layer(self.kernel, "adjoint_double")
        rough = member.layer(Difference(self.kernel, calm), "hypersingular")
        matrix = adjoint - jump * identity
        matrix = matrix + factor * (rough @ smooth + calm_adjoint @ calm_adjoint - identity / 4)
        if member.condition.takes_value:
            single, double = member.layers(self.kernel, "single", "double")
            value = single + factor * (double @ smooth + jump * smooth)
            matrix = matrix + member.value_weight[:, None] * value
        jacobian = member.boundary.jacobian
        return jacobian[:, None] * matrix / jacobian

    def _single_factor(self, member: Member) -> Array:
        """-iη outside, iη inside."""
        return (1j if member.side == "interior" else -1j) * coupling_of(self.kernel, self.coupling, member.boundary)


def coupling_of(kernel: Any, coupling: Any, boundary: Boundary) -> Array:
    """η as it was given, or √(k² + 1/a²), with a the radius of the bodies by their length or area."""
    if coupling is not None:
        return jnp.asarray(coupling)
    # Not by the extent of the nodes: the largest of numbers has kinks in the parameters, and changes with the nodes.
    size = jnp.sum(boundary.weight) / boundary.components
    square = size / (4 * jnp.pi) if kernel.is_spatial else (size / (2 * jnp.pi)) ** 2
    return jnp.sqrt(jnp.abs(jnp.asarray(kernel.wavenumber)) ** 2 + 1 / square)
