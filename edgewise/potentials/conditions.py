"""Boundary conditions: which combination α u + β ∂u/∂n is given. Normals leave the bounded domain, on either side."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.base.named import UserFunction, number
from edgewise.geometry import Boundary


class AbstractCondition(eqx.Module):
    """The data prescribe value_weight · u + [takes_flux] · ∂u/∂n; where there are two channels, one after the other."""

    takes_value: ClassVar[bool]
    takes_flux: ClassVar[bool]
    channels: ClassVar[int] = 1
    """How many numbers are given at a point."""

    @abc.abstractmethod
    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        """The factor of u at the nodes."""


class Dirichlet(AbstractCondition):
    """u = data."""

    takes_value = True
    takes_flux = False

    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        return jnp.ones_like(boundary.jacobian)


class Clamped(AbstractCondition):
    """u and ∂u/∂n, for equations of fourth order: the data return the two numbers."""

    takes_value = True
    takes_flux = True
    channels = 2

    def value_weight(self, boundary: Boundary, parameters: Mapping[str, Any]) -> Array:
        return jnp.ones_like(boundary.jacobian)


class Neumann(AbstractCondition):
    """∂u/∂n = data, along the normal that leaves the bounded domain.

    For Laplace's equation the data inside must have integral zero, and the solution with mean zero on the boundary is returned. Outside, the data
    alone decides the total charge, minus its integral, and the solution without a constant at infinity is returned.
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
