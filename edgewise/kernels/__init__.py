"""Fundamental solutions, one source and one target at a time."""

from edgewise.kernels.difference import Difference
from edgewise.kernels.helmholtz import Helmholtz, ModifiedHelmholtz
from edgewise.kernels.kernel import AbstractKernel, Singularity
from edgewise.kernels.laplace import Biharmonic, Laplace
from edgewise.kernels.layers import LAYERS, Layer
from edgewise.kernels.stokes import Stokes

__all__ = [
    "LAYERS",
    "AbstractKernel",
    "Biharmonic",
    "Difference",
    "Helmholtz",
    "Laplace",
    "Layer",
    "ModifiedHelmholtz",
    "Singularity",
    "Stokes",
]
