"""What every rule is: nodes on a boundary, and how the integral over them is computed when target and source meet."""

import abc
import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.quadrature.close import CLOSE_OVERSAMPLING, SmoothSource
from edgewise.quadrature.source import AbstractSource


class AbstractQuadrature(eqx.Module):
    """A rule for integrals over a boundary; declares what it `resolves`."""

    num_nodes: eqx.AbstractVar[int]
    resolves: eqx.AbstractClassVar[Singularity]
    solves: ClassVar[bool] = True
    """Whether its own nodes may serve as targets, so that an equation can be solved on them."""

    @abc.abstractmethod
    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the nodes in [0, 2π], and the weights without the jacobian."""

    @abc.abstractmethod
    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 2
    ) -> Inexact[Array, "n n"]:
        """The layer on the boundary as a matrix: density at this rule's nodes in, principal value there out.

        `sampling` is how many samples of the kernel a node may take, 1 or 2, where the rule has the choice.
        """

    def gauss_defect(self, boundary: Boundary, *, sampling: int = 2) -> Float[Array, " m"]:
        """By how much Gauss's identity, D 1 = -1/2, is missed at nodes of the curve: how well they resolve the geometry."""
        return jnp.zeros_like(boundary.s)

    def place(self, family, parameters, dtype) -> Boundary:
        """The nodes of this rule on one member."""
        grid, weight = self.grid()
        return family.boundary(jnp.asarray(grid, dtype), jnp.asarray(weight, dtype), parameters)

    def source(self, family, parameters, dtype) -> AbstractSource:
        """The curves of one member as sources of a field, for densities on this rule's nodes; along a first axis."""
        grid, weight = equispaced(CLOSE_OVERSAMPLING * self.num_nodes)
        fine = family.boundary(jnp.asarray(grid, dtype), jnp.asarray(weight, dtype), parameters)
        return jax.vmap(SmoothSource)(fine.split())


def equispaced(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes 2πj/n and weights 2π/n."""
    return 2 * np.pi * np.arange(num_nodes) / num_nodes, np.full(num_nodes, 2 * np.pi / num_nodes)


def check_resolves(quadrature: AbstractQuadrature, kernel: AbstractKernel, layers: tuple[Layer, ...]) -> None:
    """Raises, early and with the rule to use instead, if the rule cannot integrate these layers."""
    for layer in layers:
        need = kernel.singularity(layer)
        if quadrature.resolves < need:
            raise ValueError(
                f"`{type(quadrature).__name__}({quadrature.num_nodes})` resolves {quadrature.resolves} integrands; the "
                f"{layer.replace('_', ' ')} layer of `{kernel.name}` has a {need} singularity. "
                f"Use `Kress({next_even(quadrature.num_nodes)})`."
            )


def next_even(count: int) -> int:
    """The number itself or, if it is odd, the next."""
    return count + count % 2


def sides(family) -> int:
    """A number that the segments between corners of every curve divide; 0 where there are no corners."""
    counts = [len(curve.corners) for curve in family.curves]
    return math.lcm(*(max(1, count) for count in counts)) if any(counts) else 0


def next_shared(count: int, sides: int) -> int:
    """The number itself or the next that gives the sides of a curve equally many panels of eight nodes, an even number."""
    unit = 16 * max(1, sides)
    return -(-count // unit) * unit


def check_num_nodes(name: str, num_nodes: int, *, even: bool) -> int:
    """A usable number of nodes, or an error that says which one to use."""
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, int | np.integer) or num_nodes < 4:
        raise ValueError(f"`num_nodes` must be a whole number of at least 4, got {num_nodes!r}. Write `{name}(256)`.")
    if even and num_nodes % 2:
        raise ValueError(
            f"`num_nodes` of `{name}` must be even, got {num_nodes}. Write `{name}({next_even(num_nodes)})`."
        )
    return int(num_nodes)
