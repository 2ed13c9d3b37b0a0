"""Penetrable bodies: one medium outside, another inside."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import Parameter
from edgewise.base.precision import is_concrete
from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Difference, Layer
from edgewise.potentials.conditions import AbstractCondition
from edgewise.potentials.representation import AbstractRepresentation, Member, Region
from edgewise.quadrature import Side, Strengths


class TwoMedia(AbstractRepresentation):
    """Fields on both sides of penetrable bodies, by Müller's equations.

    A problem has `side="both"` and `condition=Transmission(ratio)`. With ρ the ratio, one pair of densities makes both
    fields,

        outside  u = ρ D ψ - S φ   with the kernel outside,
        inside   u =   D ψ - S φ   with the kernel inside.

    The equations for the jumps of u and of ∂u/∂n, divided by (1 + ρ)/2, are

        ψ + 2/(1 + ρ) [(ρ K_out - K_in) ψ - (S_out - S_in) φ] = jump of u,
        φ + 2/(1 + ρ) [ρ (T_out - T_in) ψ - (K'_out - ρ K'_in) φ] = jump of ∂u/∂n.

    Both are of the second kind, since the singular parts of the hypersingular T cancel. They are uniquely solvable at
    every wavenumber for a positive ratio, also at corners. For Laplace's equation on both sides, a dielectric, they
    decouple. There two completions keep them well conditioned at every contrast, by identities that hold on every body:
    inside, where D 1 = -1, D takes ψ + (ρ - 1)/2 · (mean of ψ); and the charge of φ is that of the data.

    Arguments:
        outside: The kernel outside the bodies, in which waves arrive.
        inside: The kernel inside; its wavenumber may be complex, for a medium that absorbs.

    Reference: R. Kress and G. F. Roach, "Transmission problems for the Helmholtz equation", J. Math. Phys. 19 (1978).
    """

    outside: AbstractKernel
    inside: AbstractKernel

    def __init__(self, outside: AbstractKernel, inside: AbstractKernel):
        for name, kernel in (("outside", outside), ("inside", inside)):
            if not isinstance(kernel, AbstractKernel):
                raise TypeError(f"`{name}` must be a kernel, got {kernel!r}. Write `{name}=Helmholtz(2, 1.5)`.")
            if kernel.order != 2 or kernel.value_shape:
                raise ValueError(
                    f"`{name}` is `{kernel.name}`; expected a scalar equation of second order: "
                    "`Laplace(2)`, `Helmholtz(2, 1.5)`."
                )
        if outside.dim != inside.dim:
            raise ValueError(
                f"`outside` has dimension {outside.dim}, `inside` dimension {inside.dim}; expected the same. Write "
                f"`{inside.name}(dim={outside.dim}, ...)`."
            )
        self.outside, self.inside = outside, inside

    @property
    def kernel(self) -> AbstractKernel:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the medium outside, in which waves arrive and far fields are seen."""
        return self.outside

    def regions(self, side: Side) -> tuple[Region, ...]:
        return Region("exterior", self.outside), Region("interior", self.inside)

    @property
    def rate(self) -> Any:
        return jnp.maximum(jnp.asarray(self.outside.rate), jnp.asarray(self.inside.rate))

    def unknowns(self, condition: AbstractCondition) -> int:
        return 2

    def layers(self, condition: AbstractCondition) -> tuple[Layer, ...]:
        return ("single", "double", "adjoint_double")

    def multiplies_layers(self, condition: AbstractCondition) -> bool:
        return True

    def orders(self, condition: AbstractCondition) -> tuple[int, ...]:
        return (0, 0)

    def is_symmetric(self, condition: AbstractCondition) -> bool:
        return False

    def refusal(self, condition: AbstractCondition, side: Side) -> str | None:
        if not condition.jumps:
            return "two media meet where u and a multiple of ∂u/∂n go on. Use `condition=Transmission(ratio)`"
        if self._are_one(condition):
            return "the two media are one, which scatters nothing. Give the inside another kernel, or another `ratio`"
        if side != "both":
            return 'there is a field on either side. Use `side="both"`'
        return None

    def _are_one(self, condition: Any) -> bool:
        ratio = condition.ratio
        known = not isinstance(ratio, Parameter) and is_concrete(ratio) and bool(np.all(np.asarray(ratio) == 1))
        return known and bool(eqx.tree_equal(self.outside, self.inside))

    def equation(self, member: Member) -> Array:
        ratio, jacobian = _ratio(member), member.boundary.jacobian
        single, double, adjoint = member.layers(self.outside, "single", "double", "adjoint_double")
        inner_single, inner_double, inner_adjoint = member.layers(self.inside, "single", "double", "adjoint_double")
        rough = member.layer(Difference(self.outside, self.inside), "hypersingular")
        scale = 2 / (1 + ratio)
        # The means of a body's nodes, by which the two completions act.
        mean = member.mean_of_bodies() if self._is_static else jnp.zeros((), jacobian.dtype)
        contrast, identity = (ratio - 1) / (ratio + 1), member.identity
        value = (
            identity + scale * (ratio * double - inner_double) + contrast * mean,
            -scale * (single - inner_single) / jacobian,
        )
        flux = (
            jacobian[:, None] * (scale * ratio * rough),
            identity - jacobian[:, None] * (scale * (adjoint - ratio * inner_adjoint) - contrast * mean) / jacobian,
        )
        return jnp.concatenate([jnp.concatenate(row, axis=1) for row in (value, flux)])

    def rhs(self, member: Member) -> Array:
        ratio = _ratio(member)
        value, flux = 2 / (1 + ratio) * member.data
        if self._is_static:
            flux = flux + (ratio - 1) / (ratio + 1) * (member.mean_of_bodies() @ member.data[1])
        return jnp.concatenate([value, member.boundary.jacobian * flux])

    def row_scale(self, member: Member) -> Array:
        jacobian = member.boundary.jacobian
        return 2 / (1 + _ratio(member)) * jnp.concatenate([jnp.ones_like(jacobian), jacobian])

    def density(self, boundary: Boundary, condition: AbstractCondition, unknown: Array) -> Array:
        double, single = unknown.reshape(2, -1)
        return jnp.stack([double, single / boundary.jacobian])

    def strengths(self, member: Member, density: Array, polynomial: Array) -> tuple[Strengths, ...]:
        ratio, double, single = _ratio(member), density[0], -density[1] * member.boundary.jacobian
        inner = double
        if self._is_static:
            inner = double + (ratio - 1) / 2 * (member.mean_of_bodies() @ double)
        return Strengths(single, ratio * double, polynomial), Strengths(single, inner, polynomial)

    def unknown(self, member: Member, strengths: tuple[Strengths, ...]) -> Array:
        outside = strengths[0]
        assert outside.single is not None and outside.double is not None
        return jnp.concatenate([outside.double / _ratio(member), -outside.single])

    @property
    def _is_static(self) -> bool:
        return self.outside.has_constants and self.inside.has_constants


def _ratio(member: Member) -> Any:
    return jnp.asarray(member.condition.ratio)  # pyright: ignore[reportAttributeAccessIssue]
