"""Fundamental solutions, one source and one target at a time."""

from edgewise.kernels.helmholtz import Helmholtz, ModifiedHelmholtz
from edgewise.kernels.kernel import LAYERS, AbstractKernel, Layer, Singularity
from edgewise.kernels.laplace import Biharmonic, Laplace

__all__ = [
    "LAYERS",
    "AbstractKernel",
    "Biharmonic",
    "Helmholtz",
    "Laplace",
    "Layer",
    "ModifiedHelmholtz",
    "Singularity",
]
