"""Boundary conditions: which combination α u + β ∂u/∂n is given. Normals leave the bounded domain, on either side."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.base.named import UserFunction, number, positive
from edgewise.geometry import Boundary

# What is said where it is not positive.
RATIO = "`ratio` (0 makes a hard body, Neumann data; a negative one a plasmon, without a solution for some shapes)"


class AbstractCondition(eqx.Module):
    """The data prescribe value_weight · u + [takes_flux] · ∂u/∂n; where there are two channels, one after the other."""

    takes_value: ClassVar[bool]
    takes_flux: ClassVar[bool]
    channels: ClassVar[int] = 1
    """How many numbers are given at a point; of vector fields, vectors."""
    gives_value: ClassVar[bool] = False
    """Whether u itself is given."""
    jumps: ClassVar[bool] = False
    """Whether the data are jumps between the fields of two regions."""

    @abc.abstractmethod
    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        """The factor of u at the nodes."""

    def rows(self, weight: Array, values: list[Array], fluxes: list[Array]) -> list[Array]:
        """What the condition makes of u and ∂u/∂n at the nodes: one row for each channel.

        `values` and `fluxes` hold u and ∂u/∂n of every region, or nothing where the condition does not take them.
        """
        value, flux = ([parts[0]] if parts else [] for parts in (values, fluxes))
        if self.channels == 2:
            return value + flux
        return [sum(flux, start=weight * value[0]) if value else flux[0]]


class Dirichlet(AbstractCondition):
    """u = data."""

    gives_value = True
    takes_value = True
    takes_flux = False

    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        return jnp.ones_like(boundary.jacobian)


class Clamped(AbstractCondition):
    """u and ∂u/∂n, for equations of fourth order: the data return the two numbers."""

    gives_value = True
    takes_value = True
    takes_flux = True
    channels = 2

    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        return jnp.ones_like(boundary.jacobian)


class Neumann(AbstractCondition):
    """∂u/∂n = data, along the normal that leaves the bounded domain.

    For Laplace's equation inside, the integral of the data must be zero, and the solution whose mean over the boundary
    is zero is returned. Outside, the data alone decide the total charge, which is minus their integral, and the
    solution without a constant at infinity is returned.
    """

    takes_value = False
    takes_flux = True

    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        return jnp.zeros_like(boundary.jacobian)


class Robin(AbstractCondition):
    """∂u/∂n + coefficient · u = data; a number, a parameter's name, or a function of `x` and named parameters.

    A unique solution is certain inside for a positive coefficient, outside for a negative one, since there the normal
    points into the domain.
    """

    takes_value = True
    takes_flux = True
    coefficient: Any

    def __init__(self, coefficient: Any):
        if callable(coefficient):
            self.coefficient = UserFunction(coefficient, "The coefficient of `Robin`", "x")
        else:
            self.coefficient = number(coefficient)
            if isinstance(self.coefficient, float) and self.coefficient == 0:
                raise ValueError(
                    "`Robin(0)` prescribes ∂u/∂n alone; a coefficient other than 0 was expected. Use `Neumann()`."
                )

    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        if isinstance(self.coefficient, UserFunction):
            function = self.coefficient
            values = jax.vmap(lambda x: jnp.asarray(function(x, parameters)))(boundary.x)
            if values.ndim != 1:
                raise ValueError(
                    f"The coefficient of `Robin` has shape {values.shape[1:]} at one point; expected one number, (). "
                    "Write `Robin(lambda x: ...)` with `x[0]`, `x[1]` the coordinates of one point."
                )
            return values
        return jnp.broadcast_to(jnp.asarray(self.coefficient), boundary.jacobian.shape)


class Transmission(AbstractCondition):
    """u goes on, and ∂u/∂n outside = ratio · ∂u/∂n inside, both of the total field, where two media meet.

    Where `data` is a function, it returns two jumps that the fields must have: that of u, and that of ∂u/∂n, which is
    its value outside less `ratio` times its value inside. For dielectrics the ratio is the permittivity inside over
    that outside; for sound it is the density outside over that inside.

    Arguments:
        ratio: Positive, or a parameter's name. A negative ratio is that of a plasmon: it is singular for some shapes.
    """

    takes_value = True
    takes_flux = True
    channels = 2
    jumps = True
    ratio: Any

    def __init__(self, ratio: Any = 1.0):
        self.ratio = positive(RATIO, ratio, "Transmission(2.0)")

    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        return jnp.ones_like(boundary.jacobian)

    def rows(self, weight: Array, values: list[Array], fluxes: list[Array]) -> list[Array]:
        return [values[0] - values[1], fluxes[0] - self.ratio * fluxes[1]]
