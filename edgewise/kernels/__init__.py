"""Fundamental solutions, one source and one target at a time."""

from edgewise.kernels.kernel import LAYERS, AbstractKernel, Layer, Singularity
from edgewise.kernels.laplace import Laplace

__all__ = ["LAYERS", "AbstractKernel", "Laplace", "Layer", "Singularity"]
