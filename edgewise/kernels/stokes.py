"""Stokes's equations: slow viscous flow, whose unknown is a vector, the velocity, and beside it a pressure."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from edgewise.kernels.kernel import (
    AbstractKernel,
    Singularity,
    check_dim,
)
from edgewise.kernels.layers import LAYERS, Layer, dot
from edgewise.kernels.nearby import Nearby, Weights


class Stokes(AbstractKernel):
    """-Δu + ∇p = δ f and ∇·u = 0, the viscosity being 1; the stress is σ = -p I + ∇u + ∇uᵀ.

    Values are matrices: row i is the component of the velocity, column j that of the density. With d = target - source,
    r = |d|, and n and m the unit normals at source and target, which leave the domain,

                         in the plane                             in space
        single           (-log r I + d⊗d / r²) / 4π               (I / r + d⊗d / r³) / 8π
        double           d⊗d (d·n) / πr⁴                          3 d⊗d (d·n) / 4πr⁵
        adjoint_double   -d⊗d (d·m) / πr⁴                         -3 d⊗d (d·m) / 4πr⁵

    and the pressures, rows to be multiplied by the density and zero at infinity, are

        single           d / 2πr²                                 d / 4πr³
        double           (2 d (d·n) / r² - n) / πr²               (3 d (d·n) / r² - n) / 2πr³

    The signs are those of Laplace. The double layer of a constant vector e is -e inside a closed boundary, -e/2 on it
    and 0 outside. From the inside to the outside its velocity jumps by the density, and its traction σm does not jump.
    The velocity of the single layer does not jump; its traction is the adjoint double layer, plus half the density
    inside and minus half of it outside. The adjoint double layer is the transpose of the double layer with target and
    source exchanged. A solution inside is u = S σn - D u. In the plane the single layer grows like log r unless its
    density integrates to zero.

    On a smooth closed plane curve the double layer and its adjoint are smooth, the single layer has a logarithm.
    Densities are real. The hypersingular layer, the traction of the double layer, is not available.

    >>> import jax.numpy as jnp
    >>> Stokes(dim=3).fundamental(jnp.array([1.0, 0.0, 0.0])).round(4).tolist()
    [[0.0796, 0.0, 0.0], [0.0, 0.0398, 0.0], [0.0, 0.0, 0.0398]]

    Reference: C. Pozrikidis, Boundary Integral and Singularity Methods for Linearized Viscous Flow, chapters 2 to 4.
    """

    dim: int = eqx.field(static=True)
    words = "-Δu + ∇p = 0, ∇·u = 0"

    def __init__(self, dim: int):
        self.dim = check_dim("Stokes", dim)

    @property
    def value_shape(self) -> tuple[int, int]:
        """Rows for the components of the velocity, columns for those of the density."""
        return self.dim, self.dim

    @property
    def polynomials(self) -> int:
        return 0 if self.is_spatial else 1

    @property
    def static(self) -> "Stokes":
        return self

    def in_space(self, layer: Layer, quantity: str, d: Array, area: Array) -> Array:
        if quantity == "pressure":
            return self.pressure_layer(layer, d, area)
        return self.gradient_layer(layer, d, area) if quantity == "gradient" else self.layer(layer, d, d, area)

    def sizes(self, distance: Array) -> tuple[Array, Array]:
        if not self.is_spatial:
            return (jnp.abs(jnp.log(distance)) + 1) / (4 * math.pi), 1 / (math.pi * distance)
        return 1 / (4 * math.pi * distance), 3 / (4 * math.pi * distance**2)

    @property
    def has_constants(self) -> bool:
        """Every constant velocity, with pressure 0, solves the equations."""
        return True

    def singularity(self, layer: Layer) -> Singularity:
        if not self.is_spatial and layer in ("double", "adjoint_double"):
            return Singularity.SMOOTH
        return super().singularity(layer)

    def fundamental(self, d: Float[Array, "... dim"]) -> Float[Array, "... dim dim"]:
        d = jnp.asarray(d)
        return self.layer("single", d, d, d)

    def layer(
        self,
        layer: Layer,
        d: Float[Array, "... dim"],
        target_normal: Float[Array, "... dim"],
        source_normal: Float[Array, "... dim"],
    ) -> Float[Array, "... dim dim"]:
        """A layer's kernel for d = target - source, not 0; linear in the normal that it takes."""
        if layer == "single":
            q = dot(d, d)
            if not self.is_spatial:
                return _identity(-0.5 * jnp.log(q), d) / (4 * math.pi) + self.rest(
                    layer, d, target_normal, source_normal
                )
            return (_identity(1 / jnp.sqrt(q), d) + _outer(d, d) * _entries(q**-1.5)) / (8 * math.pi)
        return self._stresslet(d, self._normal(layer, target_normal, source_normal))

    def pressure_layer(
        self, layer: Layer, d: Float[Array, "... dim"], source_normal: Float[Array, "... dim"]
    ) -> Float[Array, "... dim"]:
        """The row that takes a density to the pressure of its single or double layer."""
        _check_field(layer, "pressure")
        q = dot(d, d)[..., None]
        around = 4 * math.pi if self.is_spatial else 2 * math.pi
        power = q * jnp.sqrt(q) if self.is_spatial else q
        if layer == "single":
            return d / (around * power)
        # Minus twice the normal derivative, in the target, of the single layer's.
        return 2 * (self.dim * (dot(d, source_normal)[..., None] / q) * d - source_normal) / (around * power)

    def gradient_layer(
        self, layer: Layer, d: Float[Array, "... dim"], source_normal: Float[Array, "... dim"]
    ) -> Float[Array, "... dim dim dim"]:
        """The gradient of a single or double layer's kernel in the target: entry (i, j, k) is ∂/∂x_k of (i, j)."""
        _check_field(layer, "gradient")

        def along(k):
            direction = jnp.zeros_like(d).at[..., k].set(1)
            return jax.jvp(lambda d: self.layer(layer, d, d, source_normal), (d,), (direction,))[1]

        return jnp.stack([along(k) for k in range(self.dim)], axis=-1)

    def log_factor(
        self,
        layer: Layer,
        d: Float[Array, "... 2"],
        target_normal: Float[Array, "... 2"],
        source_normal: Float[Array, "... 2"],
    ) -> Float[Array, "... 2 2"]:
        """In the plane, the factor of log |d|² in the layer: a constant, also at d = 0."""
        if layer == "single":
            return _identity(jnp.full(d.shape[:-1], -1 / (8 * math.pi), d.dtype), d)
        self._normal(layer, target_normal, source_normal)
        return jnp.zeros((*d.shape[:-1], 2, 2), d.dtype)

    def rest(
        self,
        layer: Layer,
        d: Float[Array, "... 2"],
        target_normal: Float[Array, "... 2"],
        source_normal: Float[Array, "... 2"],
    ) -> Float[Array, "... 2 2"]:
        """In the plane, the layer less its part with log |d|², for d other than 0; for d = 0 on a curve see `limit`."""
        if layer == "single":
            return _outer(d, d) * _entries(1 / (4 * math.pi * dot(d, d)))
        return self._stresslet(d, self._normal(layer, target_normal, source_normal))

    def limit(
        self,
        layer: Layer,
        normal: Float[Array, "... 2"],
        jacobian: Float[Array, "..."],
        curvature: Float[Array, "..."],
    ) -> Float[Array, "... 2 2"]:
        """In the plane, the limit of layer - log_factor · log(4 sin²((σ - σ')/2)) as σ' tends to σ along the curve.

        `normal` is the unit normal there, `jacobian` |dx/dσ|; the curvature is positive on a circle.
        """
        tangent = jnp.stack([-normal[..., 1], normal[..., 0]], axis=-1)
        # d⊗d / r² tends to t⊗t and log |d|² - log 4 sin² to 2 log |x'|.
        if layer == "single":
            return _outer(tangent, tangent) / (4 * math.pi) - _identity(jnp.log(jacobian), normal) / (4 * math.pi)
        self._normal(layer, normal, normal)
        # d·n / r² tends to -curvature / 2, and for the target's normal to the same with the other sign.
        return -_outer(tangent, tangent) * _entries(curvature / (2 * math.pi))

    def potential(self, layers: Nearby, target: Float[Array, " 2"], weights: Weights) -> Float[Array, " 2"]:
        """In the plane, the velocity of single plus double layer at one target, at any distance from the curve.

        As complex numbers, with z = target - ζ(σ), f the density of the single layer times jacobian, μ that of the
        double layer and ν = -iζ' the normal times jacobian,

            8π u = ∫ (-f log |z|² + f + z f̄ / z̄) dσ                                 for the single layer,
            4π u = ∫ (μν / z + (μν̄ + μ̄ν) / z̄ + z μ̄ν̄ / z̄²) dσ                        for the double layer.

        Since ν̄ / z̄² = i (1/z̄)', the last term becomes -i ∫ (z μ̄)' / z̄ dσ by parts. That leaves Laplace's
        double layer and one more term, which vanishes for constant densities:

            2π u = ∫ (μ Re(ν / z) - i/2 μ̄' z / z̄) dσ.

        The gradient is the derivative in the target of this sum and of its weights together. On an ellipse with 128
        to 320 nodes, at every distance down to 0, the velocity errs by less than 4e-14, the gradient by 4e-11, the
        pressure by 5e-13.
        """
        source = layers.source
        z = _complex(target - source.x)
        # What integrates 1/z̄ times a smooth function is the conjugate of what integrates 1/z times its conjugate.
        total = jnp.zeros((), z.dtype)
        if layers.single is not None:
            f = _complex(layers.single.T)
            total += jnp.sum(f * (source.step - weights.log) + z * f.conj() * weights.pole.conj()) / (8 * math.pi)
        if layers.double is not None and layers.double_slope is not None:
            velocity, slope = _complex(source.velocity), _complex(layers.double_slope.T)
            # Re(-iζ' / z) = Im(ζ' / z).
            total += jnp.sum(_complex(layers.double.T) * (velocity * weights.pole).imag) / (2 * math.pi)
            total -= 1j * jnp.sum(slope.conj() * z * weights.pole.conj()) / (4 * math.pi)
        return jnp.stack([total.real, total.imag])

    def pressure(self, layers: Nearby, target: Float[Array, " 2"], weights: Weights) -> Float[Array, ""]:
        """In the plane, the pressure that belongs to `potential`; zero at infinity.

        In the same notation 2π p = ∫ Re(f / z) dσ for the single layer, and for the double layer, by parts,
        π p = ∫ Re(μν / z²) dσ = -∫ Im(μ' / z) dσ.
        """
        total = jnp.zeros((), layers.source.x.dtype)
        if layers.single is not None:
            total += jnp.sum((_complex(layers.single.T) * weights.pole).real) / (2 * math.pi)
        if layers.double_slope is not None:
            total -= jnp.sum((_complex(layers.double_slope.T) * weights.pole).imag) / math.pi
        return total

    def _normal(self, layer: Layer, target_normal: Array, source_normal: Array) -> Array:
        """The normal that a double layer takes, with the sign of its kernel."""
        if layer == "double":
            return source_normal
        if layer == "adjoint_double":
            return -target_normal
        if layer == "hypersingular":
            raise NotImplementedError(
                "`Stokes` has no hypersingular layer, the traction of its double layer. Use a representation whose "
                "equation takes the single, the double or the adjoint double layer."
            )
        raise ValueError(f"`layer` must be one of {', '.join(LAYERS)}, got {layer!r}.")

    def _stresslet(self, d: Array, normal: Array) -> Array:
        q = dot(d, d)
        # d·n and d⊗d are divided one by one: the fourth power of a small distance is below what single precision holds.
        across = dot(d, normal) / q
        if not self.is_spatial:
            return _outer(d, d) * _entries(across / (math.pi * q))
        return _outer(d, d) * _entries(across * (3 / (4 * math.pi)) / (q * jnp.sqrt(q)))


def _outer(a: Array, b: Array) -> Array:
    return a[..., :, None] * b[..., None, :]


def _entries(scalar: Array) -> Array:
    """One number for all entries of a matrix."""
    return scalar[..., None, None]


def _identity(scalar: Array, like: Float[Array, "... dim"]) -> Array:
    return _entries(scalar) * jnp.eye(like.shape[-1], dtype=like.dtype)


def _complex(vector: Float[Array, "k 2"]) -> Complex[Array, " k"]:
    return jax.lax.complex(vector[..., 0], vector[..., 1])


def _check_field(layer: Layer, what: str) -> None:
    """Only single and double layers are fields; the others are their tractions, known on the boundary."""
    if layer not in ("single", "double"):
        raise ValueError(f"A {what} belongs to the single and the double layer, got {layer!r}.")
