"""What every rule is: nodes on a boundary, and what it makes of a member."""

import abc
import math
from typing import Any, ClassVar, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.density import AbstractDensity
from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.quadrature.discretisation import AbstractDiscretisation


class AbstractQuadrature(eqx.Module):
    """A rule for integrals over a boundary; declares what it `resolves`."""

    num_nodes: eqx.AbstractVar[int]
    resolves: eqx.AbstractClassVar[Singularity]
    dim: ClassVar[int] = 2
    """Of the space that its boundaries lie in."""
    solves: ClassVar[bool] = True
    """Whether its own nodes may serve as targets, so that an equation can be solved on them."""
    is_dear: ClassVar[bool] = False
    """Whether assembling is the cost of a solve.

    Members are then taken one by one, and share a matrix if only their data differ.
    """
    slows_down: ClassVar[bool] = False
    """Whether nodes crowd on purpose, so that a coordinate that hardly moves is no fault of the boundary."""
    is_sure: ClassVar[bool] = True
    """Whether what hides between its nodes is known well enough for a bound."""

    @abc.abstractmethod
    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the nodes, in [0, 2π] or in [0, 1]², and the weights without the jacobian."""

    @abc.abstractmethod
    def discretise(self, family: Any, parameters: Any, dtype: Any, *, fields: bool = False) -> AbstractDiscretisation:
        """One member on the nodes of this rule; `fields` says that fields will be asked for."""

    @abc.abstractmethod
    def finer(self) -> Self:
        """A rule that errs much less."""

    @abc.abstractmethod
    def spread(self, values: Inexact[Array, " n"], finer: Self, components: int) -> Inexact[Array, " m"]:
        """Values at the nodes of all components of a boundary, interpolated to those of a finer rule."""

    @abc.abstractmethod
    def density(self, boundary: Boundary, values: Inexact[Array, "... n"]) -> AbstractDensity:
        """The density that has these values at the nodes."""

    @property
    def in_space(self) -> bool:
        """Whether its boundaries are surfaces, and not curves of the plane."""
        return self.dim == 3

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """What rules are compared by: nodes on each curve, or along a side of each patch."""

    @abc.abstractmethod
    def growth(self, reached: float, tol: float) -> float:
        """By which factor `size` should grow for the tolerance, judged by what the nodes have reached."""

    def nodes(self, family: Any) -> int:
        """How many nodes a member has."""
        return self.num_nodes * len(family.curves)

    def place(self, family: Any, parameters: Any, dtype: Any) -> Boundary:
        """The nodes of this rule on one member."""
        grid, weight = self.grid()
        return family.boundary(jnp.asarray(grid, dtype), jnp.asarray(weight, dtype), parameters)

    def seen(self, nodes: Boundary) -> Boundary:
        """The nodes by the coordinate in which density times jacobian is smooth."""
        return nodes


def check_resolves(quadrature: AbstractQuadrature, kernel: AbstractKernel, layers: tuple[Layer, ...]) -> None:
    """Raises, early and with the rule to use instead, if the rule cannot integrate these layers."""
    for layer in layers:
        need = kernel.singularity(layer)
        if quadrature.resolves < need:
            cure = f"Use `Kress({next_even(quadrature.num_nodes)})`"
            if quadrature.in_space:
                cure = "No rule for surfaces does; use a representation without that layer"
            raise ValueError(
                f"`{type(quadrature).__name__}({quadrature.num_nodes})` resolves {quadrature.resolves} integrands; the "
                f"{layer.replace('_', ' ')} layer of `{kernel.name}` has a {need} singularity. {cure}."
            )


def equispaced(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes 2πj/n and weights 2π/n."""
    return 2 * np.pi * np.arange(num_nodes) / num_nodes, np.full(num_nodes, 2 * np.pi / num_nodes)


def next_even(count: int) -> int:
    """The number itself or, if it is odd, the next."""
    return count + count % 2


def sides(family) -> int:
    """A number that the segments between corners of every curve divide; 0 where there are no corners."""
    counts = [len(curve.corners) for curve in family.curves]
    return math.lcm(*(max(1, count) for count in counts)) if any(counts) else 0


def next_shared(count: int, sides: int) -> int:
    """The number itself, or the next that gives every side of a curve the same even number of panels of eight nodes."""
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
