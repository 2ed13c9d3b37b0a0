"""Laplace's equation, and the biharmonic one."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.kernels.kernel import AbstractKernel, PointFunction, Singularity, check_dim, laplacian
from edgewise.kernels.layers import Layer


class Laplace(AbstractKernel):
    """-ΔG = δ. In the plane G = -log |d| / 2π, in space 1 / 4π|d|.

    On a smooth closed plane curve the double layer and its adjoint are smooth, the single layer has a logarithm.

    >>> import jax.numpy as jnp
    >>> round(float(Laplace(dim=2).fundamental(jnp.array([2.0, 0.0]))), 4)
    -0.1103
    """

    dim: int = eqx.field(static=True)
    words = "Δu = 0"
    obeys_maximum = True

    def __init__(self, dim: int):
        self.dim = check_dim("Laplace", dim)

    @property
    def polynomials(self) -> int:
        return 0 if self.is_spatial else 1

    @property
    def has_constants(self) -> bool:
        return True

    def operator(self, u: PointFunction) -> PointFunction:
        return lambda x: -laplacian(u)(x)

    def radial(self, q: Array) -> Array:
        return 1 / (4 * jnp.pi * jnp.sqrt(q)) if self.is_spatial else super().radial(q)

    def log_part(self, q: Array) -> Array:
        return jnp.full(jnp.shape(q), -1 / (4 * jnp.pi), q.dtype)

    def smooth_part(self, q: Array) -> Array:
        return jnp.zeros_like(q)

    def singularity(self, layer: Layer) -> Singularity:
        if not self.is_spatial and layer in ("double", "adjoint_double"):
            return Singularity.SMOOTH
        return super().singularity(layer)


class Biharmonic(AbstractKernel):
    """Δ²G = δ. In the plane G = |d|² log |d| / 8π.

    u and ∂u/∂n are prescribed together (`Clamped`), and two densities make the field (`LayerPair`). None of the four
    layers has a singularity worse than a logarithm.

    >>> import jax.numpy as jnp
    >>> bool(abs(Biharmonic(dim=2).fundamental(jnp.array([jnp.e, 0.0])) - jnp.e**2 / (8 * jnp.pi)) < 1e-6)
    True
    """

    dim: int = eqx.field(static=True)
    order = 4
    words = "Δ²u = 0"
    grows = True
    polynomials = 3

    def __init__(self, dim: int):
        self.dim = check_dim("Biharmonic", dim, dims=(2,))

    def operator(self, u: PointFunction) -> PointFunction:
        return laplacian(laplacian(u))

    def log_part(self, q: Array) -> Array:
        return q / (16 * jnp.pi)

    def smooth_part(self, q: Array) -> Array:
        return jnp.zeros_like(q)

    def singularity(self, layer: Layer) -> Singularity:
        return Singularity.LOG
