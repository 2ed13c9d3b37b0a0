"""What every kernel is: a fundamental solution, and the four layers that its derivatives make."""

import enum
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from edgewise.kernels.layers import Layer, dot, layer_of, slopes
from edgewise.kernels.nearby import Nearby, Weights, radial_gradient, radial_potential

PointFunction = Callable[[Array], Array]


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

    where both parts are smooth at q = 0. The high-order rules, on the curve and close to it, are built on this split
    alone. In space it states `radial`, which is G itself and singular as 1/|target - source|. The layers follow by
    autodiff:

        single            G
        double           ∂G/∂n(source)
        adjoint_double   ∂G/∂n(target)
        hypersingular    ∂²G/∂n(target)∂n(source)

    A kernel that is not a function of the distance, or has vector values, states its layers themselves: `layer`, in the
    plane with `log_factor`, `limit` and `potential`.
    """

    dim: eqx.AbstractVar[int]
    order: ClassVar[int] = 2
    """Of the differential equation: 2, or 4 where two conditions are prescribed on the boundary."""
    value_shape: ClassVar[tuple[int, ...]] = ()
    """Of G at one point: () for scalar fields, (dim, dim) for vector fields."""
    grows: ClassVar[bool] = False
    """Whether G grows faster than a logarithm, so that fields far away are differences of large numbers."""
    words: ClassVar[str] = ""
    """The equation as one writes it."""
    obeys_maximum: ClassVar[bool] = False
    """Whether solutions take their largest modulus on the boundary."""
    oscillates: ClassVar[bool] = False
    """Whether fields are waves, of a length that `wavenumber` sets; they may decay as well."""
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
        return Singularity.WEAK if self.is_spatial else Singularity.LOG

    @property
    def is_spatial(self) -> bool:
        """Whether it is a kernel of space, whose boundaries are surfaces, and not of the plane."""
        return self.dim == 3

    @property
    def rate(self) -> Any:
        """By how much G decays, per unit of length, where that is what nodes must resolve: e^{-rate |d|}; else 0."""
        return 0.0

    @property
    def has_constants(self) -> bool:
        """Whether constants solve the equation."""
        return self.polynomials > 0

    @property
    def radiates(self) -> bool:
        """Whether fields are waves that reach infinity, where they have a far field."""
        return False

    def operator(self, u: PointFunction) -> PointFunction:
        """L u for a function of one point, real or complex, where G is the fundamental solution of L: L G = δ."""
        raise ValueError(
            f"The equation of `{self.name}` is not known; expected `operator`. For (k² - Δ)u = 0 write "
            "`check_kernel(kernel, lambda u: lambda x: k**2 * u(x) - laplacian(u)(x))`."
        )

    def refusal(self) -> str | None:
        """What is wrong with the kernel's numbers, now that they are known; arrays may hold one a member."""
        return None

    def __call__(self, target: Node, source: Node, layer: Layer = "single") -> Inexact[Array, "*value"]:
        """The layer's kernel for one pair of nodes."""
        return self.layer(layer, displacement(target, source), target.normal, source.normal)

    def layer(self, layer: Layer, d: Array, target_normal: Array, source_normal: Array) -> Inexact[Array, "..."]:
        """The layer's kernel for d = target - source, not 0; linear in the normals, which need not be of length one."""
        return layer_of(self.radial, layer, d, target_normal, source_normal)

    def log_factor(self, layer: Layer, d: Array, target_normal: Array, source_normal: Array) -> Array:
        """In the plane, the factor of log |d|² in the layer; smooth, also at d = 0."""
        return layer_of(self.log_part, layer, d, target_normal, source_normal)

    def regular(self, layer: Layer, d: Array, target_normal: Array, source_normal: Array) -> Array:
        """In the plane, the layer without its pole.

        A hypersingular layer leaves out the hypersingular layer of log_part(0) · log |d|²; the others are complete.
        """
        if layer != "hypersingular":
            return self.layer(layer, d, target_normal, source_normal)
        pole = self.pole(d.dtype)
        return layer_of(lambda q: self.radial(q) - pole * jnp.log(q), layer, d, target_normal, source_normal)

    def limit(self, layer: Layer, normal: Array, jacobian: Array, curvature: Array) -> Array:
        """In the plane, `regular` without log_factor · log(4 sin²((σ - σ')/2)) where the source meets the target."""
        origin = jnp.zeros_like(normal)
        # σ -> σ': log |d|² - log 4 sin² tends to log |x'|², ∂ log|d|²/∂n to the curvature.
        factor = self.log_factor(layer, origin, normal, normal)
        value = layer_of(self.smooth_part, layer, origin, normal, normal) + factor * 2 * jnp.log(jacobian)
        if layer in ("double", "adjoint_double"):
            value = value + self.pole(normal.dtype) * curvature
        if layer == "hypersingular":
            # (A - A(0)) ∂²log|d|²/∂n∂n tends to the second normal derivative of A.
            value = value + factor
        return value

    def pole(self, dtype: Any) -> Inexact[Array, ""]:
        """In the plane, the factor of log |d|² at d = 0, which is that of all stronger singularities."""
        return self.log_part(jnp.zeros((), dtype))

    def potential(self, layers: Nearby, target: Float[Array, " 2"], weights: Weights) -> Inexact[Array, "..."]:
        """In the plane, single plus double layer at one target, however close."""
        return radial_potential(self, layers, target, weights)

    def gradient(self, layers: Nearby, target: Float[Array, " 2"], weights: Weights) -> Inexact[Array, "... 2"]:
        """In the plane, the gradient of single plus double layer at one target, however close."""
        return radial_gradient(self, layers, target, weights)

    @property
    def static(self) -> "AbstractKernel | None":
        """A kernel as singular as this one, whose double layer of density 1 is -1 inside and 0 outside.

        None stands for Laplace's.
        """
        return None

    def in_space(self, layer: Layer, quantity: str, d: Array, area: Array) -> Inexact[Array, "..."]:
        """A single or double layer's kernel for many sources, or its gradient in the target, along a last axis.

        A double layer's is times the area element, by which `area` is longer than the normal.
        """
        if quantity == "potential":
            return self.layer(layer, d, d, area)
        q = dot(d, d)
        if layer == "single":
            return 2 * slopes(self.radial, q, 1)[1][..., None] * d
        _, first, second = slopes(self.radial, q, 2)
        return -2 * first[..., None] * area - 4 * (second * dot(d, area))[..., None] * d

    def sizes(self, distance: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """How large G and its slope are at a distance."""
        value, slope = slopes(self.radial, distance**2, 1)
        return jnp.abs(value), 2 * distance * jnp.abs(slope)

    def in_words(self) -> str:
        """The kernel's name and its equation."""
        return f"{self.name}: {self.words}" if self.words else self.name

    @property
    def name(self) -> str:
        return type(self).__name__


def laplacian(u: PointFunction) -> PointFunction:
    """x -> Δu(x) for a function of one point, real or complex, by autodiff; twice is Δ²."""
    return lambda x: jnp.trace(jax.jacfwd(jax.jacfwd(u))(x))


def displacement(target: Node, source: Node) -> Array:
    """d = target - source; close to a corner from positions relative to it, since x itself is rounded there."""
    if target.anchor is None or target.offset is None or source.anchor is None or source.offset is None:
        return target.x - source.x
    return (target.anchor - source.anchor) + (target.offset - source.offset)


def check_dim(name: str, dim: int, more: str = "", dims: tuple[int, ...] = (2, 3)) -> int:
    if isinstance(dim, bool) or dim not in dims:
        listed = " or ".join(str(d) for d in dims)
        raise ValueError(
            f"`{name}` is available for dim = {listed}, got dim = {dim!r}. Write `{name}(dim={dims[0]}{more})`."
        )
    return dim
