"""What every rule for curves is, and a member of a plane family on its nodes."""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.density import NodalDensity
from edgewise.geometry import AbstractCurve, Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.quadrature.curves.circle import circle_preconditioner
from edgewise.quadrature.curves.close import CLOSE_OVERSAMPLING, SmoothSource
from edgewise.quadrature.curves.field import CurveField
from edgewise.quadrature.curves.several import block_matrix
from edgewise.quadrature.curves.source import AbstractSource
from edgewise.quadrature.discretisation import (
    AbstractDiscretisation,
    Preconditioner,
    Resolution,
    Side,
    Strengths,
    blocks,
    densities_of,
)
from edgewise.quadrature.rule import AbstractQuadrature, equispaced
from edgewise.special import resample, tail

# Where coefficients have hardly begun to fall their rate says little, so that no step is larger than this.
LARGEST_STEP = 2.0


class AbstractCurveRule(AbstractQuadrature):
    """A rule for integrals over curves of the plane."""

    dim = 2

    @abc.abstractmethod
    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 2
    ) -> Inexact[Array, "*value n n"]:
        """The layer on one curve as a matrix: density at this rule's nodes in, principal value there out.

        `sampling` is how many samples of the kernel a node may take, 1 or 2, where the rule has the choice.
        """

    def at(self, sigma: np.ndarray, family: Any, parameters: Mapping[str, Any], dtype: Any) -> Boundary:
        """Nodes at any coordinates σ, in the order given, on every curve, with the weights of n equispaced nodes."""
        directions = zip(family.curves, family.directions(parameters), strict=True)
        return family.joined([smooth_nodes(curve, sigma, parameters, dtype, way) for curve, way in directions])

    def gauss_defect(self, boundary: Boundary, *, sampling: int = 2) -> Float[Array, " m"]:
        """By how much nodes of the curve miss Gauss's identity, D 1 = -1/2: how well they resolve the geometry."""
        return jnp.zeros_like(boundary.s)

    def defect(self, curves: Boundary, amounts: Float[Array, "c n"], only_single: bool) -> Float[Array, ""]:
        """What these nodes miss of kernels on the curves.

        `amounts` are the sizes of the density at the nodes, in the units of the data.
        """
        if not only_single and not self.slows_down:
            return jnp.max(jax.vmap(self.gauss_defect)(curves))
        # The logarithm is milder than Gauss's kernel by a factor 2/n, and does harm where there is a density to
        # integrate. On squares, wedges and airfoils this estimate is the misfit on the boundary within a factor of
        # three.
        defects = jax.vmap(lambda curve: self.gauss_defect(curve, sampling=1))(curves)
        thinned = amounts[:, :: amounts.shape[1] // defects.shape[1]]
        return 2 / self.num_nodes * jnp.max(defects * thinned)

    def source(self, family: Any, parameters: Any, dtype: Any) -> AbstractSource:
        """The curves of one member as sources of a field, for densities on this rule's nodes; along a first axis."""
        grid, weight = equispaced(CLOSE_OVERSAMPLING * self.num_nodes)
        fine = family.boundary(jnp.asarray(grid, dtype), jnp.asarray(weight, dtype), parameters)
        return jax.vmap(SmoothSource)(fine.split())

    def discretise(self, family: Any, parameters: Any, dtype: Any, *, fields: bool = False) -> "OnCurves":
        boundary = self.place(family, parameters, dtype)
        several = boundary.components > 1
        return OnCurves(self, boundary, self.source(family, parameters, dtype) if several or fields else None)

    def finer(self) -> Self:
        return dataclasses.replace(self, num_nodes=2 * self.num_nodes)

    def spread(self, values: Inexact[Array, " n"], finer: Self, components: int) -> Inexact[Array, " m"]:
        # Rules that are graded to corners have no node at σ = 0.
        shift = float(finer.grid()[0][0] - self.grid()[0][0])
        curves = values.reshape(components, -1)
        return jax.vmap(lambda curve: resample(curve, finer.num_nodes, shift))(curves).reshape(-1)

    def density(self, boundary: Boundary, values: Inexact[Array, "... n"]) -> NodalDensity:
        return NodalDensity(boundary.s, values, boundary.components, self.slows_down)

    @property
    def size(self) -> int:
        return self.num_nodes

    def growth(self, reached: float, tol: float) -> float:
        # Coefficients fall geometrically: the worst member's rate tells how many nodes it needs.
        return min(math.log(tol) / math.log(min(reached, 0.5)), LARGEST_STEP)


class OnCurves(AbstractDiscretisation):
    """Curves of the plane on the nodes of a rule."""

    rule: AbstractCurveRule
    boundary: Boundary
    sources: AbstractSource | None
    """Each curve as the source of a field, along a first axis: for fields, and for how curves act on each other."""

    @property
    def loses_digits(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.rule.slows_down

    @property
    def couples_unsymmetrically(self) -> bool:
        # Each of several curves acts on the others by a rule that is not symmetric in the last digits.
        return self.boundary.components > 1

    def layers(self, kernel: AbstractKernel, *layers: Layer, sampling: int = 2) -> tuple[Array, ...]:
        return tuple(self._layer(kernel, layer, sampling) for layer in layers)

    def _layer(self, kernel: AbstractKernel, layer: Layer, sampling: int) -> Inexact[Array, "vn cn"]:
        if self.boundary.components > 1:
            assert self.sources is not None, "several curves know their sources"
            return blocks(block_matrix(kernel, layer, self.rule, self.boundary, self.sources, sampling))
        return blocks(self.rule.matrix(kernel, layer, self.boundary, sampling=sampling))

    def field(self, kernel: AbstractKernel, side: Side, strengths: Strengths) -> CurveField:
        assert self.sources is not None, "discretise with `fields=True` to ask for fields"
        return CurveField(kernel, self.sources, side, strengths)

    def preconditioner(self, matrix: Any, orders: tuple[int, ...]) -> Preconditioner:
        return circle_preconditioner(orders, self.boundary.s.shape[0], self.boundary.components)

    def resolution(self, member: Any, strengths: Sequence[Strengths]) -> Resolution:
        size = jnp.max(jnp.abs(member.data))
        if member.condition.takes_flux:
            size = size * jnp.max(self.boundary.jacobian)
        curves = self.boundary.split()
        parts = [part.reshape(-1, curves.s.shape[1]) for part in densities_of(strengths)]
        largest = jnp.stack([jnp.max(jnp.abs(part)) for part in parts]).max()
        growth = largest / jnp.where(size > 0, size, 1)
        scale = jnp.maximum(size, largest)
        scale = jnp.where(scale > 0, scale, 1)
        representation = member.representation
        # For an equation of fourth order, waves of number m in the two densities change the gradient by m^-2 and m^-1
        # times their amplitude.
        half = self.rule.num_nodes / 2
        factors = (half**-2, half**-1) if representation.kernel.order == 4 else (1.0,) * len(parts)
        missed = jnp.stack([f * jnp.max(jax.vmap(tail)(part)) for f, part in zip(factors, parts, strict=True)]).max()
        only_single = set(representation.layers(member.condition)) == {"single"}
        first = parts[0] * curves.jacobian if strengths[0].single is None else parts[0]
        defect = self.rule.defect(curves, jnp.abs(first) / scale, only_single)
        # Kernels that decay within a few nodes are missed by e^{-2.9/(rate · step)²}; this was measured on circles for
        # rate · step from 0.3 to 0.8.
        rate = representation.rate * jnp.max(self.boundary.weight)
        narrow = jnp.where(rate > 0, jnp.exp(-2.9 / jnp.where(rate > 0, rate, 1) ** 2), 0)
        return Resolution(jnp.maximum(jnp.maximum(missed / scale, defect), narrow), growth)


def smooth_nodes(curve: AbstractCurve, sigma: Any, parameters: Mapping[str, Any], dtype: Any, way: Array) -> Boundary:
    """The nodes of a curve without corners at any σ, in the order given; the weights are those of n equispaced ones."""
    orientation = jax.lax.stop_gradient(curve.orientation(parameters) * way).astype(dtype)
    s = jnp.asarray(sigma, dtype)
    s = jnp.where(orientation < 0, 2 * np.pi - s, s)
    nodes = curve.boundary_at(s, jnp.broadcast_to(orientation, s.shape), 2 * np.pi / sigma.shape[0], parameters)
    return dataclasses.replace(nodes, anchor=jnp.zeros_like(nodes.x), offset=nodes.x)
