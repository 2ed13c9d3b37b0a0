"""Some rows of the equations of many members at once: what training looks at where whole members would be too much."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact, Int

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.quadrature.discretisation import (
    AbstractDiscretisation,
    AbstractField,
    Preconditioner,
    Resolution,
    Side,
    Strengths,
)
from edgewise.quadrature.surfaces.centred import Panels, of_normal
from edgewise.quadrature.surfaces.close_rows import near_rows
from edgewise.quadrature.surfaces.neighbours import Near, neighbours, sorts
from edgewise.quadrature.surfaces.rule import Duffy, plain_rows


class OnSomeRows(AbstractDiscretisation):
    """A member of whose layers some rows are known already. Made by `sample`; there are no fields on it."""

    rule: Duffy
    boundary: Boundary
    targets: Int[Array, " m"]
    """The nodes whose rows they are, by number."""
    rows: tuple[Inexact[Array, "m n"], ...]
    names: tuple[Layer, ...] = eqx.field(static=True)

    def layers(self, kernel: AbstractKernel, *layers: Layer, sampling: int = 1) -> tuple[Array, ...]:
        return tuple(self.rows[self.names.index(layer)] for layer in layers)

    def identity(self, components: int = 1) -> Inexact[Array, "m n"]:
        return self.at_rows(super().identity(components))

    def at_rows(self, values: Array) -> Array:
        return values[self.targets]

    def field(self, kernel: AbstractKernel, side: Side, strengths: Strengths) -> AbstractField:
        raise NotImplementedError("Some rows of an equation make no field; discretise with a rule.")

    def preconditioner(self, matrix: Any, orders: tuple[int, ...]) -> Preconditioner:
        raise NotImplementedError("Some rows of an equation are not solved; discretise with a rule.")

    def resolution(self, member: Any, strengths: Sequence[Strengths]) -> Resolution:
        raise NotImplementedError("Some rows of an equation are not solved; discretise with a rule.")


def sample(
    rule: Duffy,
    kernels: AbstractKernel,
    layers: tuple[Layer, ...],
    boundaries: Boundary,
    panels: Panels,
    targets: Int[np.ndarray, "b m"],
) -> OnSomeRows:
    """Of members along a first axis of everything the rows at their `targets`, which ascend; along a first axis too.

    Pairs of all members are worked through together: those of one would not fill what is compiled for many.
    """
    members, nodes = boundaries.x.shape[:2]
    size, count = rule.num_nodes**2, targets.shape[1]
    local = boundaries.jacobian / (2 * rule.panels) ** 2
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
    return OnSomeRows(rule, boundaries, jnp.asarray(targets), tuple(scaled), layers)


@eqx.filter_jit
def _plain(
    kernels: AbstractKernel, layer: Layer, boundaries: Boundary, local: Array, targets: Array
) -> Inexact[Array, "b m n"]:
    # One after the other: XLA would hold the distances of all.
    return jax.lax.map(lambda member: plain_rows(layer, *member), (kernels, boundaries, local, targets))
