"""What every kernel is: a fundamental solution, and the four layers that its derivatives make."""

import abc
import enum
from typing import Literal, Protocol, get_args

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
    """A point and the unit normal there; one node of a `Boundary` is one, with `anchor` and `offset` near a corner."""

    @property
    def x(self) -> Array: ...
    @property
    def normal(self) -> Array: ...
    @property
    def anchor(self) -> Array | None: ...
    @property
    def offset(self) -> Array | None: ...


class AbstractKernel(eqx.Module):
    """A fundamental solution G(d), d = target - source, that depends on the length of d alone.

    A kernel sees points and normals, never a curve. It states `fundamental`; the layers follow by autodiff:

        single            G
        double           ∂G/∂n(source)
        adjoint_double   ∂G/∂n(target)
        hypersingular    ∂²G/∂n(target)∂n(source)

    In the plane it also states its split G(d) = log_part(d) · log |d|² + smooth_part(d), both parts smooth at d = 0.
    High-order rules, on the curve and close to it, are built on this split alone.
    """

    dim: eqx.AbstractVar[int]

    @abc.abstractmethod
    def fundamental(self, d: Float[Array, " dim"]) -> Inexact[Array, ""]:
        """G(d) for d not 0."""

    @abc.abstractmethod
    def log_part(self, d: Float[Array, " dim"]) -> Inexact[Array, ""]:
        """The factor of log |d|²; smooth, also at 0."""

    @abc.abstractmethod
    def smooth_part(self, d: Float[Array, " dim"]) -> Inexact[Array, ""]:
        """What is left; smooth, also at 0."""

    @abc.abstractmethod
    def singularity(self, layer: Layer) -> Singularity:
        """What a rule must resolve on a smooth boundary."""

    def __call__(self, target: Node, source: Node, layer: Layer = "single") -> Inexact[Array, ""]:
        """The layer's kernel for one pair of nodes."""
        return layer_of(self.fundamental, layer, displacement(target, source), target.normal, source.normal)

    @property
    def name(self) -> str:
        return type(self).__name__


def displacement(target: Node, source: Node) -> Array:
    """d = target - source; close to a corner from positions relative to it, since x itself is rounded there."""
    if target.anchor is None or target.offset is None or source.anchor is None or source.offset is None:
        return target.x - source.x
    return (target.anchor - source.anchor) + (target.offset - source.offset)


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


def log_square(d: Array) -> Array:
    """log |d|²."""
    # Components, not a sum over them: XLA fuses no reduction, and matrices of pairs would be held in memory.
    return jnp.log(d[0] * d[0] + d[1] * d[1])
