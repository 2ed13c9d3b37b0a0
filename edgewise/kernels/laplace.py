"""Laplace's equation."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from edgewise.kernels.kernel import AbstractKernel, Layer, Singularity, log_square


class Laplace(AbstractKernel):
    """-ΔG = δ. In the plane G = -log |d| / 2π.

    On a smooth closed plane curve the double layer and its adjoint are smooth, the single layer has a logarithm.

    >>> import jax.numpy as jnp
    >>> float(Laplace(dim=2).fundamental(jnp.array([1.0, 0.0])))
    -0.0
    """

    dim: int = eqx.field(static=True)

    def __init__(self, dim: int):
        if dim != 2:
            raise ValueError(f"`Laplace` is available for dim = 2, got dim = {dim!r}. Write `Laplace(dim=2)`.")
        self.dim = dim

    def fundamental(self, d: Array) -> Array:
        return -log_square(d) / (4 * jnp.pi)

    def log_part(self, d: Array) -> Array:
        return jnp.full((), -1 / (4 * jnp.pi), d.dtype)

    def smooth_part(self, d: Array) -> Array:
        return jnp.zeros((), d.dtype)

    def singularity(self, layer: Layer) -> Singularity:
        return {"single": Singularity.LOG, "hypersingular": Singularity.HYPERSINGULAR}.get(layer, Singularity.SMOOTH)
