"""The rule for surfaces: Gauss nodes on panels, finer ones for targets beside a panel, a rule centred on the target for those close to it."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int

from edgewise.base.precision import is_concrete
from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.kernels.kernel import layer_of
from edgewise.quadrature.centred import Panels, of_normal
from edgewise.quadrature.close_rows import alone, near_rows
from edgewise.quadrature.neighbours import Near, Neighbours, Pairs, neighbours, sorts
from edgewise.quadrature.operators import AbstractOperator, LayerOperator
from edgewise.quadrature.rule import AbstractQuadrature
from edgewise.special import gauss, interpolation

LEAST_NODES = 4
# By so many nodes along a side panels are known more finely than densities.
FINER = 6


class Duffy(AbstractQuadrature):
    """Gauss nodes on the patches of a surface, and for targets on a panel or close to it Duffy's rule, centred on the target.

    Each patch is cut into `panels` x `panels` squares with `num_nodes` x `num_nodes` Gauss nodes. Converges faster than any
    power of `num_nodes` where the patches, graded to the edges of a body, make density times jacobian smooth.

    Arguments:
        num_nodes: Nodes along a side of a panel. 12 give nine digits on a sphere of six patches.
        panels: Panels along a side of a patch: more where a wave is short.
    """

    num_nodes: int = eqx.field(static=True)
    panels: int = eqx.field(static=True)
    near: Near | None
    """The pairs that need care; known once the rule is made `ready` for some members."""
    rows: int | None = eqx.field(static=True)
    """Where matrices are never held: how many of their rows are computed at once."""
    resolves = Singularity.WEAK

    def __init__(self, num_nodes: int, panels: int = 1, near: Near | None = None, rows: int | None = None):
        for name, value, least in (("num_nodes", num_nodes, LEAST_NODES), ("panels", panels, 1)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ValueError(
                    f"`{name}` must be a whole number of at least {least}, got {value!r}. Write `Duffy(12)`."
                )
        self.num_nodes, self.panels, self.near, self.rows = int(num_nodes), int(panels), near, rows

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates in [0, 1]², panel by panel, and the weights without the jacobian."""
        x, w = gauss(self.num_nodes)
        starts = np.arange(self.panels) / self.panels
        place, step = (x + 1) / (2 * self.panels), w / (2 * self.panels)
        # Axes: panel and node in u, panel and node in v; nodes of a panel belong together.
        line = starts[:, None] + place
        u, v = np.broadcast_arrays(line[:, None, :, None], line[None, :, None, :])
        weights = np.broadcast_to(np.outer(step, step), u.shape)
        return np.stack([u.ravel(), v.ravel()], axis=-1), weights.ravel()

    @property
    def geometry(self) -> "Duffy":
        """The rule that panels are known by: finer, since derivatives of positions are less accurate than a density."""
        return Duffy(self.num_nodes + FINER, self.panels)

    def source(self, family, parameters, dtype) -> Panels:
        """The panels of one member."""
        nodes = self.geometry.place(family, parameters, dtype)
        g = self.geometry.num_nodes
        return Panels(nodes.x.reshape(-1, g, g, 3), nodes.normal.reshape(-1, g, g, 3))

    def finer(self) -> "Duffy":
        """A rule that errs much less: half as many nodes again on each panel's side."""
        return Duffy(self.num_nodes + max(2, self.num_nodes // 2), self.panels)

    def spread(self, values: Inexact[Array, " n"], num_nodes: int) -> Inexact[Array, " m"]:
        """Values at the nodes, polynomials on each panel, at so many other Gauss nodes along its side."""
        squares = values.reshape(-1, self.num_nodes, self.num_nodes)
        to_others = jnp.asarray(interpolation(self.num_nodes, num_nodes), values.real.dtype)
        return jnp.einsum("an,bm,pnm->pab", to_others, to_others, squares).reshape(-1)

    def local(self, boundary: Boundary) -> Float[Array, " n"]:
        """Jacobians in the panels' own coordinates in [-1, 1]²."""
        return boundary.jacobian / (2 * self.panels) ** 2

    def ready(self, members: list[tuple[Boundary, Panels]]) -> "Duffy":
        """This rule with the pairs that are close on any of these members, whose values are at hand."""
        found = [neighbours(panels, np.asarray(boundary.x), self.num_nodes) for boundary, panels in members]
        if len(found) == 1:
            close, beside = found[0]
            return dataclasses.replace(self, near=Near(beside, sorts(close)))
        # Of several members, pairs that are close on any, each of the sort that it needs at the most.
        count = len(members[0][1].radius)
        keys = [close.target * count + close.panel for close, _ in found]
        key, place = np.unique(np.concatenate(keys), return_inverse=True)
        lengths = np.zeros((len(key), 2))
        np.maximum.at(lengths, place, np.concatenate([close.lengths for close, _ in found]))
        others = np.setdiff1d(np.concatenate([beside.target * count + beside.panel for _, beside in found]), key)
        near = sorts(Neighbours(key // count, key % count, lengths, None))
        return dataclasses.replace(self, near=Near(Pairs(others // count, others % count), near))

    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 1
    ) -> Inexact[Array, "n n"]:
        raise NotImplementedError("Surfaces are integrated over by `matrices`, which takes their panels too.")

    def matrices(
        self, kernel: AbstractKernel, layers: tuple[Layer, ...], boundary: Boundary, panels: Panels
    ) -> tuple[Any, ...]:
        """Several layers of one kernel as matrices, at little more than the cost of one; where `rows` is given as operators."""
        assert self.near is not None, "a rule must be made ready for its members"
        if self.rows is not None:
            return self._operators(kernel, layers, boundary, panels)
        count, size = boundary.x.shape[0], self.num_nodes**2
        local = self.local(boundary)
        found: list[Any] = [_plain(kernel, layer, boundary, local).reshape(count, -1, size) for layer in layers]
        for target, panel, rows in near_rows(self.near, alone(kernel), layers, boundary, panels, self.num_nodes):
            if is_concrete(rows):
                index, rows = (np.asarray(target), np.asarray(panel)), np.asarray(rows)
                found = [_written(matrix, index, rows[:, i]) for i, matrix in enumerate(found)]
            else:
                found = [matrix.at[target, panel].set(rows[:, i]) for i, matrix in enumerate(found)]
        found = [jnp.asarray(matrix) for matrix in found]
        return tuple(
            matrix.reshape(count, count) if of_normal(layer) else matrix.reshape(count, count) * local
            for layer, matrix in zip(layers, found, strict=True)
        )

    def _operators(
        self, kernel: AbstractKernel, layers: tuple[Layer, ...], boundary: Boundary, panels: Panels
    ) -> tuple[AbstractOperator, ...]:
        assert self.rows is not None and self.near is not None
        size, local = self.num_nodes**2, self.local(boundary)
        parts = zip(*near_rows(self.near, alone(kernel), layers, boundary, panels, self.num_nodes), strict=True)
        target, panel, near = (np.concatenate(part) for part in parts)
        apart = np.ones((len(boundary.x), len(boundary.x) // size), bool)
        apart[target, panel] = False
        nodes = (boundary.x, boundary.normal, boundary.weight, local)
        target, panel, apart = (jnp.asarray(part) for part in (target, panel, apart))
        return tuple(
            LayerOperator(kernel, layer, *nodes, target, panel, jnp.asarray(near[:, i]), apart, self.rows)
            for i, layer in enumerate(layers)
        )


def _written(matrix: Any, index: tuple[np.ndarray, np.ndarray], values: np.ndarray) -> np.ndarray:
    """By numpy, in place: JAX would compile that anew for every number of pairs."""
    matrix = matrix if isinstance(matrix, np.ndarray) else np.array(matrix)
    matrix[index] = values
    return matrix


@eqx.filter_jit
def _plain(kernel: AbstractKernel, layer: Layer, boundary: Boundary, local: Array) -> Inexact[Array, "n n"]:
    return plain_rows(layer, kernel, boundary, local, jnp.arange(len(boundary.x)))


def plain_rows(
    layer: Layer, kernel: AbstractKernel, boundary: Boundary, local: Array, targets: Int[Array, " m"]
) -> Inexact[Array, "m n"]:
    """By the nodes alone; strengths are densities, or densities times local jacobian. What is close is wrong."""
    x, normal = boundary.x, boundary.normal
    d = x[targets, None] - x
    same = (targets[:, None] == jnp.arange(len(x)))[..., None]
    d = jnp.where(same, 1.0, d)
    values = layer_of(kernel.radial, layer, d, normal[targets, None], normal[None, :])
    return values * (boundary.weight if of_normal(layer) else boundary.weight / local)
