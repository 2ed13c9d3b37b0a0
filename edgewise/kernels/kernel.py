"""What every kernel is: a fundamental solution, and the four layers that its derivatives make."""

import abc
import enum
from typing import ClassVar, Literal, Protocol, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

Layer = Literal["single", "double", "adjoint_double", "hypersingular"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


class Singularity(enum.IntEnum):
    """How a kernel behaves as target and source meet on a smooth boundary, from harmless to worst."""

    SMOOTH = 0
    LOG = 1
    WEAK = 2
    PRINCIPAL_VALUE = 3
    HYPERSINGULAR = 4

    def __str__(self) -> str:
        return {
            Singularity.SMOOTH: "smooth",
            Singularity.LOG: "log",
            Singularity.WEAK: "weak",
            Singularity.PRINCIPAL_VALUE: "principal value",
            Singularity.HYPERSINGULAR: "hypersingular",
        }[self]


class Node(Protocol):
    """A point and the unit normal there; one node of a `Boundary` is one."""

    @property
    def x(self) -> Array: ...
    @property
    def normal(self) -> Array: ...


class AbstractKernel(eqx.Module):
    """A fundamental solution G(d), d = target - source, that depends on the length of d alone.

    A kernel sees points and normals, never a curve. In the plane it states its split

        G(d) = log_part(d) · log |d|² + smooth_part(d),

    both parts smooth at d = 0. High-order rules, on the curve and close to it, are built on this split alone, and the
    layers follow by autodiff:

        single            G
        double           ∂G/∂n(source)
        adjoint_double   ∂G/∂n(target)
        hypersingular    ∂²G/∂n(target)∂n(source)
    """

    dim: eqx.AbstractVar[int]
    order: ClassVar[int] = 2
    """Of the differential equation: 2, or 4 where two conditions are prescribed on the boundary."""
    polynomials: ClassVar[int] = 0
    """How many of 1, x, y solve the equation and must be told apart from layers: 1 for Laplace, 3 for the biharmonic."""

    @abc.abstractmethod
    def log_part(self, d: Float[Array, " dim"]) -> Inexact[Array, ""]:
        """The factor of log |d|²; smooth, also at 0."""

    @abc.abstractmethod
    def smooth_part(self, d: Float[Array, " dim"]) -> Inexact[Array, ""]:
        """What is left; smooth, also at 0."""

    def fundamental(self, d: Float[Array, " dim"]) -> Inexact[Array, ""]:
        """G(d) for d not 0."""
        return self.log_part(d) * log_square(d) + self.smooth_part(d)

    def singularity(self, layer: Layer) -> Singularity:
        """What a rule must resolve on a smooth boundary."""
        return Singularity.HYPERSINGULAR if layer == "hypersingular" else Singularity.LOG

    def refusal(self) -> str | None:
        """What is wrong with the kernel's numbers, now that they are known; arrays may hold one a member."""
        return None

    def __call__(self, target: Node, source: Node, layer: Layer = "single") -> Inexact[Array, ""]:
        """The layer's kernel for one pair of nodes."""
        return layer_of(self.fundamental, layer, target.x - source.x, target.normal, source.normal)

    @property
    def name(self) -> str:
        return type(self).__name__


def layer_of(function, layer: Layer, d: Array, target_normal: Array, source_normal: Array) -> Array:
    """The derivative that `layer` takes of a function of d = target - source."""

    def along_target(d):
        return jax.jvp(function, (d,), (target_normal,))[1]

    if layer == "single":
        return function(d)
    if layer == "double":
        return jax.jvp(function, (d,), (-source_normal,))[1]
    if layer == "adjoint_double":
        return along_target(d)
    if layer == "hypersingular":
        return jax.jvp(along_target, (d,), (-source_normal,))[1]
    raise ValueError(f"`layer` must be one of {', '.join(LAYERS)}, got {layer!r}.")


def square(d: Array) -> Array:
    """|d|² in the plane."""
    # Components, not a sum over them: XLA fuses no reduction, and matrices of pairs would be held in memory.
    return d[0] * d[0] + d[1] * d[1]


def log_square(d: Array) -> Array:
    """log |d|²."""
    return jnp.log(square(d))


def check_dim(name: str, dim: int) -> int:
    if dim != 2:
        raise ValueError(f"`{name}` is available for dim = 2, got dim = {dim!r}. Write `dim=2`.")
    return dim
