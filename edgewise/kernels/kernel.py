"""What every kernel is: a fundamental solution, and the four layers that its derivatives make."""

import enum
from typing import Any, ClassVar, Literal, Protocol, get_args

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
    """A fundamental solution G that depends on the distance of target and source alone.

    A kernel sees points and normals, never a curve. In the plane it states its split, with q = |target - source|²,

        G = log_part(q) · log q + smooth_part(q),

    both parts smooth at q = 0: high-order rules, on the curve and close to it, are built on this split alone. In space it
    states `radial`, G itself, which is singular as 1/|target - source|. The layers follow by autodiff:

        single            G
        double           ∂G/∂n(source)
        adjoint_double   ∂G/∂n(target)
        hypersingular    ∂²G/∂n(target)∂n(source)
    """

    dim: eqx.AbstractVar[int]
    order: ClassVar[int] = 2
    """Of the differential equation: 2, or 4 where two conditions are prescribed on the boundary."""
    words: ClassVar[str] = ""
    """The equation as one writes it."""
    polynomials: ClassVar[int] = 0
    """How many of 1, x, y solve the equation and must be told apart from layers: in the plane 1 for Laplace, 3 for the
    biharmonic; in space none, where fields of layers vanish at infinity."""

    def log_part(self, q: Float[Array, ""]) -> Inexact[Array, ""]:
        """In the plane, the factor of log q; smooth, also at 0."""
        raise NotImplementedError(f"`{self.name}` states no `log_part`, which kernels in the plane must.")

    def smooth_part(self, q: Float[Array, ""]) -> Inexact[Array, ""]:
        """In the plane, what is left; smooth, also at 0."""
        raise NotImplementedError(f"`{self.name}` states no `smooth_part`, which kernels in the plane must.")

    def radial(self, q: Float[Array, ""]) -> Inexact[Array, ""]:
        """G as a function of q > 0, the square of the distance."""
        return self.log_part(q) * jnp.log(q) + self.smooth_part(q)

    def fundamental(self, d: Float[Array, "... dim"]) -> Inexact[Array, "..."]:
        """G(d) for d = target - source, not 0."""
        d = jnp.asarray(d)
        return self.radial(dot(d, d))

    def singularity(self, layer: Layer) -> Singularity:
        """What a rule must resolve on a smooth boundary."""
        if layer == "hypersingular":
            return Singularity.HYPERSINGULAR
        return Singularity.LOG if self.dim == 2 else Singularity.WEAK

    @property
    def rate(self) -> Any:
        """By how much G decays, per unit of length, where that is what nodes must resolve: e^{-rate |d|}; else 0."""
        return 0.0

    @property
    def has_constants(self) -> bool:
        """Whether constants solve the equation."""
        return self.polynomials > 0

    def refusal(self) -> str | None:
        """What is wrong with the kernel's numbers, now that they are known; arrays may hold one a member."""
        return None

    def __call__(self, target: Node, source: Node, layer: Layer = "single") -> Inexact[Array, ""]:
        """The layer's kernel for one pair of nodes."""
        return layer_of(self.radial, layer, displacement(target, source), target.normal, source.normal)

    def in_words(self) -> str:
        """The kernel's name and its equation."""
        return f"{self.name}: {self.words}" if self.words else self.name

    @property
    def name(self) -> str:
        return type(self).__name__


def displacement(target: Node, source: Node) -> Array:
    """d = target - source; close to a corner from positions relative to it, since x itself is rounded there."""
    if target.anchor is None or target.offset is None or source.anchor is None or source.offset is None:
        return target.x - source.x
    return (target.anchor - source.anchor) + (target.offset - source.offset)


def layer_of(function, layer: Layer, d: Array, target_normal: Array, source_normal: Array) -> Array:
    """The derivative that `layer` takes of a function of |d|², d = target - source."""
    q = dot(d, d)
    if layer == "single":
        return function(q)
    if layer == "double":
        return -2 * slopes(function, q, 1)[1] * dot(d, source_normal)
    if layer == "adjoint_double":
        return 2 * slopes(function, q, 1)[1] * dot(d, target_normal)
    if layer == "hypersingular":
        _, first, second = slopes(function, q, 2)
        return -4 * second * dot(d, target_normal) * dot(d, source_normal) - 2 * first * dot(
            target_normal, source_normal
        )
    raise ValueError(f"`layer` must be one of {', '.join(LAYERS)}, got {layer!r}.")


def slopes(function, q: Array, order: int) -> tuple[Array, ...]:
    """A function of one number and its first derivatives."""
    one = jnp.ones_like(q)
    if order == 0:
        return (function(q),)
    if order == 1:
        return jax.jvp(function, (q,), (one,))
    value = function(q)
    first, second = jax.jvp(lambda q: jax.jvp(function, (q,), (one,))[1], (q,), (one,))
    return value, first, second


def dot(a: Array, b: Array) -> Array:
    """a·b in the plane or in space."""
    # Components, not a sum over them: XLA fuses no reduction, and matrices of pairs would be held in memory.
    plane = a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1]
    return plane + a[..., 2] * b[..., 2] if a.shape[-1] == 3 else plane


def check_dim(name: str, dim: int, more: str = "", dims: tuple[int, ...] = (2, 3)) -> int:
    if isinstance(dim, bool) or dim not in dims:
        listed = " or ".join(str(d) for d in dims)
        raise ValueError(
            f"`{name}` is available for dim = {listed}, got dim = {dim!r}. Write `{name}(dim={dims[0]}{more})`."
        )
    return dim
