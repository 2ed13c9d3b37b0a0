"""Some rows of the equations of many members at once: what training looks at where whole members would be too much."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact, Int

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.quadrature.centred import Panels, of_normal
from edgewise.quadrature.close_rows import near_rows
from edgewise.quadrature.neighbours import Near, neighbours, sorts
from edgewise.quadrature.rule import AbstractQuadrature
from edgewise.quadrature.surface import Duffy, plain_rows


class Sampled(AbstractQuadrature):
    """The rule of one member, of whose layers some rows are known already. Made by `sample`."""

    rule: Duffy
    targets: Int[Array, " m"]
    """The nodes whose rows they are, by number."""
    rows: tuple[Inexact[Array, "m n"], ...]
    layers: tuple[Layer, ...] = eqx.field(static=True)
    resolves = Singularity.WEAK
    solves = False

    @property
    def num_nodes(self) -> int:
        return self.rule.num_nodes

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        return self.rule.grid()

    def matrix(self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 1) -> Array:
        return self.rows[self.layers.index(layer)]

    def matrices(
        self, kernel: AbstractKernel, layers: tuple[Layer, ...], boundary: Boundary, panels: Panels
    ) -> tuple[Array, ...]:
        return tuple(self.rows[self.layers.index(layer)] for layer in layers)


def sample(
    rule: Duffy,
    kernels: AbstractKernel,
    layers: tuple[Layer, ...],
    boundaries: Boundary,
    panels: Panels,
    targets: Int[np.ndarray, "b m"],
) -> Sampled:
    """Of members along a first axis of everything the rows at their `targets`, which ascend; along a first axis too.

    Pairs of all members are worked through together: those of one would not fill what is compiled for many.
    """
    members, nodes = boundaries.x.shape[:2]
    size, count = rule.num_nodes**2, targets.shape[1]
    local = rule.local(boundaries)
    found = [np.array(_plain(kernels, layer, boundaries, local, jnp.asarray(targets))) for layer in layers]
    found = [rows.reshape(members * count, -1, size) for rows in found]

    def in_a_row(tree):
        return jax.tree_util.tree_map(lambda leaf: jnp.reshape(leaf, (-1, *leaf.shape[2:])), tree)

    flat, flat_panels = in_a_row(boundaries), in_a_row(panels)
    wanted = (targets + nodes * np.arange(members)[:, None]).ravel()
    close, beside = neighbours(flat_panels, np.asarray(flat.x), rule.num_nodes, wanted, members)
    per_member = flat_panels.radius.shape[0] // members
    for target, panel, rows in near_rows(
        Near(beside, sorts(close)), kernels, layers, flat, flat_panels, rule.num_nodes
    ):
        place = np.searchsorted(wanted, target)
        for i, whole in enumerate(found):
            whole[place, panel % per_member] = rows[:, i]
    shaped = [jnp.asarray(whole.reshape(members, count, nodes)) for whole in found]
    scaled = [whole if of_normal(name) else whole * local[:, None] for name, whole in zip(layers, shaped, strict=True)]
    known = jax.tree_util.tree_map(lambda leaf: jnp.broadcast_to(leaf, (members, *leaf.shape)), rule)
    return Sampled(known, jnp.asarray(targets), tuple(scaled), layers)  # pyright: ignore[reportCallIssue]


@eqx.filter_jit
def _plain(
    kernels: AbstractKernel, layer: Layer, boundaries: Boundary, local: Array, targets: Array
) -> Inexact[Array, "b m n"]:
    # One after the other: XLA would hold the distances of all.
    return jax.lax.map(lambda member: plain_rows(layer, *member), (kernels, boundaries, local, targets))
