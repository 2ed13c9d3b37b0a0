"""The difference of two kernels that are equally singular."""

import equinox as eqx
from jaxtyping import Array

from edgewise.kernels.kernel import AbstractKernel, Singularity
from edgewise.kernels.layers import Layer


class Difference(AbstractKernel):
    """One kernel less another that is as singular: what is left is milder by two orders.

    None of its layers, the hypersingular one included, is worse than a logarithm in the plane, or worse than weakly
    singular in space.
    """

    first: AbstractKernel
    second: AbstractKernel
    dim: int = eqx.field(static=True)

    def __init__(self, first: AbstractKernel, second: AbstractKernel):
        self.first, self.second, self.dim = first, second, first.dim

    def log_part(self, q: Array) -> Array:
        return self.first.log_part(q) - self.second.log_part(q)

    def smooth_part(self, q: Array) -> Array:
        return self.first.smooth_part(q) - self.second.smooth_part(q)

    def radial(self, q: Array) -> Array:
        # In the plane by its parts: each difference is small where its factor is large.
        return self.first.radial(q) - self.second.radial(q) if self.is_spatial else super().radial(q)

    def singularity(self, layer: Layer) -> Singularity:
        return Singularity.WEAK if self.is_spatial else Singularity.LOG
