"""The rule for surfaces.

It has Gauss nodes on panels, finer nodes for targets beside a panel, and a rule centred on the target for targets close
to a panel.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int

from edgewise.base.precision import is_concrete
from edgewise.density import PanelDensity
from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.quadrature.discretisation import (
    AbstractDiscretisation,
    Preconditioner,
    Resolution,
    Side,
    Strengths,
    blocks,
    densities_of,
)
from edgewise.quadrature.rule import AbstractQuadrature
from edgewise.quadrature.surfaces.centred import Panels, of_normal
from edgewise.quadrature.surfaces.close_rows import alone, near_rows
from edgewise.quadrature.surfaces.field import SurfaceField
from edgewise.quadrature.surfaces.neighbours import Near, Neighbours, Pairs, neighbours, sorts
from edgewise.quadrature.surfaces.operators import AbstractOperator, Identity, LayerOperator
from edgewise.quadrature.surfaces.two_level import two_level_preconditioner
from edgewise.special import gauss, interpolation, to_coefficients

LEAST_NODES = 4
# Panels are known by so many more nodes along a side than densities: derivatives of positions are less accurate.
FINER = 6
# Where coefficients have hardly begun to fall their rate says little, so that no step is larger than this.
LARGEST_STEP = 1.5
# The share of a density's highest two degrees that stands for the error. On spheres, tori, ellipsoids, half-balls and
# cuboids a thirtieth of them was as large as the largest error of the field up to the boundary, or larger; far away the
# field errs by much less.
SHARE_OF_TAIL = 1 / 30


class Duffy(AbstractQuadrature):
    """Gauss nodes on the patches of a surface, and Duffy's rule for targets on a panel or close to it.

    Duffy's rule is centred on the target. Each patch is cut into `panels` x `panels` squares with `num_nodes` x
    `num_nodes` Gauss nodes. The rule converges faster than any power of `num_nodes` where the patches, graded to the
    edges of a body, make density times jacobian smooth.

    Arguments:
        num_nodes: Nodes along a side of a panel. 12 give nine digits on a sphere of six patches.
        panels: Panels along a side of a patch: more where a wave is short.
    """

    num_nodes: int = eqx.field(static=True)
    panels: int = eqx.field(static=True)
    resolves = Singularity.WEAK
    dim = 3
    is_dear = True
    slows_down = True
    is_sure = False

    def __init__(self, num_nodes: int, panels: int = 1):
        for name, value, least in (("num_nodes", num_nodes, LEAST_NODES), ("panels", panels, 1)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ValueError(
                    f"`{name}` must be a whole number of at least {least}, got {value!r}. Write `Duffy(12)`."
                )
        self.num_nodes, self.panels = int(num_nodes), int(panels)

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

    def discretise(self, family: Any, parameters: Any, dtype: Any, *, fields: bool = False) -> "OnPanels":
        boundary = self.place(family, parameters, dtype)
        finer = Duffy(self.num_nodes + FINER, self.panels)
        nodes, g = finer.place(family, parameters, dtype), finer.num_nodes
        panels = Panels(nodes.x.reshape(-1, g, g, 3), nodes.normal.reshape(-1, g, g, 3))
        return OnPanels(self, boundary, panels, None, None)

    def finer(self) -> Self:
        """Half as many nodes again on each panel's side."""
        return self.with_more(max(2, self.num_nodes // 2))

    def with_more(self, nodes: int) -> Self:
        """So many more nodes on each panel's side."""
        return dataclasses.replace(self, num_nodes=self.num_nodes + nodes)

    def spread(self, values: Inexact[Array, " n"], finer: Self, components: int = 1) -> Inexact[Array, " m"]:
        return self.spread_to(values, finer.num_nodes)

    def spread_to(self, values: Inexact[Array, " n"], num_nodes: int) -> Inexact[Array, " m"]:
        """Values at the nodes, polynomials on each panel, at so many other Gauss nodes along its side."""
        squares = values.reshape(-1, self.num_nodes, self.num_nodes)
        to_others = jnp.asarray(interpolation(self.num_nodes, num_nodes), values.real.dtype)
        return jnp.einsum("an,bm,pnm->pab", to_others, to_others, squares).reshape(-1)

    def density(self, boundary: Boundary, values: Inexact[Array, "... n"]) -> PanelDensity:
        return PanelDensity(values, self.num_nodes, self.panels)

    @property
    def size(self) -> int:
        return self.num_nodes * self.panels

    def growth(self, reached: float, tol: float) -> float:
        return min(math.log(tol) / math.log(min(reached, 0.5)), LARGEST_STEP)

    def nodes(self, family: Any) -> int:
        return family.patches * self.size**2


class OnPanels(AbstractDiscretisation):
    """A surface on the Gauss nodes of its panels."""

    rule: Duffy
    boundary: Boundary
    panels: Panels
    near: Near | None
    """The pairs that the panels' own nodes do not serve; layers need them, fields find theirs."""
    rows: int | None = eqx.field(static=True)
    """Where matrices are never held: how many of their rows are computed at once."""
    needs_pairs: ClassVar[bool] = True
    in_pieces: ClassVar[bool] = True

    @property
    def local(self) -> Float[Array, " n"]:
        """Jacobians in the panels' own coordinates in [-1, 1]²."""
        return self.boundary.jacobian / (2 * self.rule.panels) ** 2

    @property
    def couples_unsymmetrically(self) -> bool:
        return True

    def identity(self, components: int = 1) -> Any:
        return super().identity(components) if self.rows is None else Identity()

    def with_pairs(self, seen: Self, rows: int | None) -> Self:
        members = (jax.tree_util.tree_map(lambda leaf, i=i: leaf[i], seen) for i in range(len(seen.boundary.x)))
        found = [neighbours(one.panels, np.asarray(one.boundary.x), self.rule.num_nodes) for one in members]
        near, count = _of_any(found, seen.panels.radius.shape[1]), len(self.boundary.x)
        near = jax.tree_util.tree_map(lambda leaf: jnp.broadcast_to(leaf, (count, *jnp.shape(leaf))), near)
        return dataclasses.replace(self, near=near, rows=rows)

    def without_pairs(self) -> Self:
        return dataclasses.replace(self, near=None, rows=None)

    def layers(self, kernel: AbstractKernel, *layers: Layer, sampling: int = 1) -> tuple[Any, ...]:
        """Several layers of one kernel at little more than the cost of one; where `rows` is given as operators."""
        assert self.near is not None, "layers on panels need the pairs that are close: see `with_pairs`"
        if self.rows is not None:
            return self._operators(kernel, layers)
        count, size, local = self.boundary.x.shape[0], self.rule.num_nodes**2, self.local
        found: list[Any] = [_plain(kernel, layer, self.boundary, local) for layer in layers]
        found = [matrix.reshape(*matrix.shape[:-1], -1, size) for matrix in found]
        for target, panel, rows in near_rows(
            self.near, alone(kernel), layers, self.boundary, self.panels, self.rule.num_nodes
        ):
            if is_concrete(rows):
                index, rows = (np.asarray(target), np.asarray(panel)), np.asarray(rows)
                found = [_written(matrix, index, rows[:, i]) for i, matrix in enumerate(found)]
            else:
                found = [_placed(matrix, (target, panel), rows[:, i]) for i, matrix in enumerate(found)]
        found = [jnp.asarray(matrix).reshape(*kernel.value_shape, count, count) for matrix in found]
        scaled = (m if of_normal(layer) else m * local for layer, m in zip(layers, found, strict=True))
        return tuple(blocks(matrix) for matrix in scaled)

    def _operators(self, kernel: AbstractKernel, layers: tuple[Layer, ...]) -> tuple[AbstractOperator, ...]:
        assert self.rows is not None and self.near is not None
        if kernel.value_shape:
            raise ValueError(
                f"`{kernel.name}` is held as a matrix, which {self.boundary.x.shape[0]} nodes do not allow; "
                "expected fewer. Take a coarser rule."
            )
        size, local, boundary = self.rule.num_nodes**2, self.local, self.boundary
        near = near_rows(self.near, alone(kernel), layers, boundary, self.panels, self.rule.num_nodes)
        target, panel, near = (np.concatenate(part) for part in zip(*near, strict=True))
        apart = np.ones((len(boundary.x), len(boundary.x) // size), bool)
        apart[target, panel] = False
        nodes = (boundary.x, boundary.normal, boundary.weight, local)
        target, panel, apart = (jnp.asarray(part) for part in (target, panel, apart))
        return tuple(
            LayerOperator(kernel, layer, *nodes, target, panel, jnp.asarray(near[:, i]), apart, self.rows)
            for i, layer in enumerate(layers)
        )

    def field(self, kernel: AbstractKernel, side: Side, strengths: Strengths) -> SurfaceField:
        return SurfaceField(kernel, self, side, strengths)

    def preconditioner(self, matrix: Any, orders: tuple[int, ...]) -> Preconditioner:
        if isinstance(matrix, AbstractOperator):
            return lambda residual: residual
        return two_level_preconditioner(self.rule.num_nodes, matrix)

    def resolution(self, member: Any, strengths: Sequence[Strengths]) -> Resolution:
        """From the highest two degrees of each layer's polynomials, relative to its largest value."""
        n = self.rule.num_nodes
        transform = jnp.asarray(to_coefficients(n), self.boundary.x.dtype)
        high = np.maximum(*np.indices((n, n))) >= n - 2
        size = _positive(jnp.max(jnp.abs(member.data)))
        missed, growth = [], []
        for part in densities_of(strengths):
            amounts = jnp.abs(jnp.einsum("ai,bj,pij->pab", transform, transform, part.reshape(-1, n, n)))
            missed.append(SHARE_OF_TAIL * jnp.max(amounts[:, high]) / _positive(jnp.max(jnp.abs(part))))
            growth.append(jnp.max(jnp.abs(part)) / size)
        return Resolution(jnp.stack(missed).max(), jnp.stack(growth).max())


def _of_any(found: list[Any], count: int) -> Near:
    """The pairs that are close on any of several members, each of the sort that it needs at the most."""
    if len(found) == 1:
        close, beside = found[0]
        return Near(beside, sorts(close))
    # Each pair is of the sort that it needs at the most.
    keys = [close.target * count + close.panel for close, _ in found]
    key, place = np.unique(np.concatenate(keys), return_inverse=True)
    lengths = np.zeros((len(key), 2))
    np.maximum.at(lengths, place, np.concatenate([close.lengths for close, _ in found]))
    others = np.setdiff1d(np.concatenate([beside.target * count + beside.panel for _, beside in found]), key)
    near = sorts(Neighbours(key // count, key % count, lengths, None))
    return Near(Pairs(others // count, others % count), near)


def _written(matrix: Any, index: tuple[np.ndarray, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """By NumPy, in place: JAX would compile that anew for every number of pairs."""
    matrix = matrix if isinstance(matrix, np.ndarray) else np.array(matrix)
    matrix[..., *index, :] = np.moveaxis(rows, 0, -2)
    return matrix


def _placed(matrix: Array, index: tuple[Array, Array], rows: Array) -> Array:
    return matrix.at[..., *index, :].set(jnp.moveaxis(rows, 0, -2))


@eqx.filter_jit
def _plain(kernel: AbstractKernel, layer: Layer, boundary: Boundary, local: Array) -> Inexact[Array, "*value n n"]:
    return plain_rows(layer, kernel, boundary, local, jnp.arange(len(boundary.x)))


def plain_rows(
    layer: Layer, kernel: AbstractKernel, boundary: Boundary, local: Array, targets: Int[Array, " m"]
) -> Inexact[Array, "*value m n"]:
    """By the nodes alone; strengths are densities, or densities times local jacobian. What is close is wrong."""
    x, normal = boundary.x, boundary.normal
    d = x[targets, None] - x
    same = (targets[:, None] == jnp.arange(len(x)))[..., None]
    d = jnp.where(same, 1.0, d)
    values = kernel.layer(layer, d, normal[targets, None], normal[None, :])
    values = jnp.moveaxis(values, (0, 1), (-2, -1))
    return values * (boundary.weight if of_normal(layer) else boundary.weight / local)


def _positive(value: Array) -> Array:
    return jnp.where(value > 0, value, 1)
