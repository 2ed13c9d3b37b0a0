"""Incident waves: boundary data for scattering, with the gradient that a flux needs."""

import abc
import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.base.named import Parameter, number, numbers, shape_with_names
from edgewise.base.precision import is_concrete
from edgewise.base.values import in_words
from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Helmholtz


class AbstractWave(eqx.Module):
    """A field that meets a body. As `data` it asks for the scattered field: the condition holds for the sum of both."""

    is_wave: ClassVar[bool] = True
    has_source: ClassVar[bool] = False
    """Whether it comes from a point, which a body may hold."""

    @abc.abstractmethod
    def value(self, x: Float[Array, " d"], kernel: AbstractKernel) -> Inexact[Array, ""]:
        """The wave at one point; it travels in the medium that the kernel describes."""

    @abc.abstractmethod
    def refusal(self, kernel: AbstractKernel) -> str | None:
        """Why there is no such wave for this kernel; None if there is. Parameters are bound already."""

    def comes_from_inside(self, boundary: Boundary) -> Bool[Array, ""]:
        """Whether its source lies inside the boundary."""
        return jnp.zeros((), bool)

    def in_words(self) -> str:
        """The wave as one writes it."""
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        named = [f"{name} = {value.name!r}" for name, value in given.items() if isinstance(value, Parameter)]
        known = {
            name: value for name, value in given.items() if is_concrete(value) and np.asarray(value).dtype.kind in "if"
        }
        return f"{type(self).__name__}({', '.join([*named, *in_words(known)])})"

    def gradient(self, x: Float[Array, " d"], kernel: AbstractKernel) -> Inexact[Array, " d"]:
        return jax.jacfwd(lambda x: self.value(x, kernel))(x)


class PlaneWave(AbstractWave):
    """e^{ik d·x}, with the wavenumber of the problem's kernel.

    Arguments:
        direction: The unit vector d, or in the plane its angle; numbers, or the name of a `Direction` or an `Angle`.

    >>> import jax.numpy as jnp
    >>> from edgewise.kernels import Helmholtz
    >>> abs(PlaneWave(0.0).value(jnp.array([1.0, 2.0]), Helmholtz(2, 3.0)) - jnp.exp(3j)) < 1e-6
    Array(True, dtype=bool)
    """

    direction: Any

    def __init__(self, direction: Any):
        self.direction = number(direction)
        if isinstance(self.direction, Parameter):
            return
        shape = jnp.shape(self.direction)
        if shape not in ((), (2,), (3,)):
            raise ValueError(
                f"`direction` has shape {shape}; expected a unit vector, an angle or a parameter's name: "
                "`PlaneWave((1.0, 0.0))`, `PlaneWave(jnp.pi / 4)`, `PlaneWave('direction')`."
            )
        if shape and is_concrete(self.direction):
            length = float(np.linalg.norm(np.asarray(self.direction)))
            if abs(length - 1) > 1e-6:
                example = (1.0,) + (0.0,) * (shape[0] - 1)
                cure = "Divide it by that" if length > 0 else f"It points nowhere: write `PlaneWave({example})`"
                raise ValueError(f"`direction` must be a unit vector, got one of length {length:.6g}. {cure}.")

    @property
    def vector(self) -> Float[Array, " d"]:
        """The unit vector d."""
        direction = jnp.asarray(self.direction)
        return direction if direction.ndim else jnp.stack([jnp.cos(direction), jnp.sin(direction)])

    def value(self, x: Array, kernel: AbstractKernel) -> Array:
        return jnp.exp(1j * kernel.wavenumber * (self.vector @ x))  # pyright: ignore[reportAttributeAccessIssue]

    def refusal(self, kernel: AbstractKernel) -> str | None:
        if not isinstance(kernel, Helmholtz):
            return (
                f"a plane wave needs a wavenumber and `{kernel.name}` has none. Use "
                f"`Helmholtz(dim={kernel.dim}, wavenumber=...)`"
            )
        shape = jnp.shape(self.direction)
        if (shape or (2,)) != (kernel.dim,):
            given = (
                f"`direction` has {shape[0]} components" if shape else "`direction` is an angle, which is for the plane"
            )
            example = (1.0, *[0.0] * (kernel.dim - 1))
            return f"{given}; in {kernel.dim} dimensions expected {kernel.dim} components. Write `PlaneWave({example})`"
        return None


class UniformField(AbstractWave):
    """direction · x, the potential of a uniform field: for Laplace's equation, the field that polarises a body.

    Arguments:
        direction: A vector of any length: numbers, or the name of a parameter.
    """

    direction: Any

    def __init__(self, direction: Any):
        self.direction = numbers(direction)
        if not isinstance(self.direction, Parameter) and shape_with_names(self.direction) not in ((2,), (3,)):
            raise ValueError(
                f"`direction` must be one vector or a parameter's name, got {direction!r}: `UniformField((1.0, 0.0))`."
            )

    def value(self, x: Array, kernel: AbstractKernel) -> Array:
        return jnp.asarray(self.direction, x.dtype) @ x

    def refusal(self, kernel: AbstractKernel) -> str | None:
        if not kernel.has_constants or kernel.order != 2 or kernel.value_shape:
            return f"a uniform field is none of `{kernel.name}`. Use `Laplace(dim={kernel.dim})`, or a `PlaneWave`"
        shape = shape_with_names(self.direction)
        if shape != (kernel.dim,):
            example = (1.0, *[0.0] * (kernel.dim - 1))
            return (
                f"`direction` has shape {shape}; in {kernel.dim} dimensions expected {kernel.dim} components. "
                f"Write `UniformField({example})`"
            )
        return None


class PointSource(AbstractWave):
    """G(x - position), the field of a unit source.

    Arguments:
        position: A point off the boundary: numbers, any of which may be a parameter's name, or the name of a vector
            parameter.
    """

    position: Any
    has_source: ClassVar[bool] = True

    def __init__(self, position: Any):
        self.position = numbers(position)
        if not isinstance(self.position, Parameter) and len(shape_with_names(self.position)) != 1:
            raise ValueError(
                f"`position` must be one point or a parameter's name, got {position!r}: `PointSource((2.0, 0.0))`."
            )

    def value(self, x: Array, kernel: AbstractKernel) -> Array:
        return kernel.fundamental(x - jnp.asarray(self.position))

    def comes_from_inside(self, boundary: Boundary) -> Bool[Array, ""]:
        return boundary.holds(jnp.asarray(self.position, boundary.x.dtype))

    def refusal(self, kernel: AbstractKernel) -> str | None:
        shape = shape_with_names(self.position)
        if shape != (kernel.dim,):
            given = f"{shape[0]} components" if shape else "a single number"
            example = (2.0, *[0.0] * (kernel.dim - 1))
            return (
                f"`position` has {given}; in {kernel.dim} dimensions expected {kernel.dim}. "
                f"Write `PointSource({example})`"
            )
        return None
