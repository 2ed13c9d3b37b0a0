"""Rows of the matrices of layers, computed pair by pair: a target, and a panel that it is on, close to or beside."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.base.precision import is_concrete
from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.quadrature.surfaces.centred import (
    Panels,
    View,
    counts_for,
    normal_at,
    of_normal,
    rows_of,
    samples,
    values_first,
    view,
)
from edgewise.quadrature.surfaces.neighbours import FINE, PIECE, SORTS, Near, Pairs, in_pieces, pick, places
from edgewise.special import gauss, interpolation

# Pairs of target and panel that are worked on at once; a pair takes some hundred kilobytes.
PAIRS = 16


class Known(NamedTuple):
    """Members whose nodes and panels follow each other, and of each its kernel."""

    panels: Any
    """`Panels`, or their `FineNodes`."""
    boundary: Boundary
    kernels: AbstractKernel

    def kernel(self, target: Array) -> AbstractKernel:
        """That of the member whose node the target is."""
        numbers = jax.tree_util.tree_leaves(self.kernels)
        # A kernel without numbers is the same on all members.
        return pick(self.kernels, target // (len(self.boundary.x) // len(numbers[0]))) if numbers else self.kernels


def alone(kernel: AbstractKernel) -> AbstractKernel:
    """One kernel as those of one member."""
    return jax.tree_util.tree_map(lambda leaf: jnp.asarray(leaf)[None], kernel)


def near_rows(
    near: Near, kernels: AbstractKernel, layers: tuple[Layer, ...], boundary: Boundary, panels: Panels, num_nodes: int
) -> Iterator[tuple[Any, Any, Inexact[Array, "k l *value nn"]]]:
    """Of each sort of pairs the targets, the panels, and what each layer takes of nodal strengths."""
    concrete = is_concrete(*jax.tree_util.tree_leaves((near, kernels, boundary, panels)))
    beside = near.beside
    if len(beside.target):
        known, given = Known(fine_nodes(panels, num_nodes), boundary, kernels), (beside.target, beside.panel)
        if concrete:
            rows = in_pieces(_compiled_beside, PIECE, known, given, layers, num_nodes)
        else:
            rows = _beside_rows(known, *given, layers, num_nodes)
        yield *given, rows
    known = Known(panels, boundary, kernels)
    for pairs, lengths in zip(near.centred, SORTS, strict=True):
        if not len(pairs.target):
            continue
        counts = counts_for(num_nodes, lengths)
        if pairs.view is None or not concrete:
            rows = _traced_rows(known, pairs, layers, counts, num_nodes)
        else:
            rows = in_pieces(_rows, PIECE, known, tuple(pairs), layers, counts, num_nodes)
        yield pairs.target, pairs.panel, rows


class FineNodes(NamedTuple):
    """Panels at more nodes than densities have, for targets beside them."""

    x: Float[Array, "p m m 3"]
    area: Float[Array, "p m m 3"]
    """Normal times area element times weight."""
    weight: Float[Array, "m m"]


@eqx.filter_jit
def fine_nodes(panels: Panels, num_nodes: int) -> FineNodes:
    """For densities on `num_nodes` along a side."""
    count = FINE * num_nodes
    spread = jnp.asarray(interpolation(panels.x.shape[1], count), panels.x.dtype)
    x, area = (jnp.einsum("ai,bj,pijk->pabk", spread, spread, part) for part in (panels.x, panels.area))
    weight = jnp.asarray(np.outer(*[gauss(count)[1]] * 2), x.dtype)
    return FineNodes(x, area * weight[..., None], weight)


def _beside_rows(
    known: Known,
    target: Array,
    panel: Array,
    layers: tuple[Layer, ...],
    num_nodes: int,
) -> Inexact[Array, "k l *value nn"]:
    """What each layer takes of nodal strengths on a panel that the target is beside."""
    fine, boundary, _ = known
    spread = jnp.asarray(interpolation(num_nodes, FINE * num_nodes), fine.x.dtype)

    def one(pair):
        t, p = pair
        d, normal, area = boundary.x[t] - fine.x[p], boundary.normal[t], fine.area[p]
        kernel = known.kernel(t)
        values = [values_first(kernel.layer(layer, d, normal, area), 2) for layer in layers]
        weighted = [v if of_normal(layer) else v * fine.weight for v, layer in zip(values, layers, strict=True)]
        rows = jnp.einsum("l...ab,an,bm->l...nm", jnp.stack(weighted), spread, spread)
        return rows.reshape(*rows.shape[:-2], -1)

    return jax.lax.map(jax.checkpoint(one), (jnp.asarray(target), jnp.asarray(panel)), batch_size=PAIRS)


_compiled_beside = eqx.filter_jit(_beside_rows)


def _row(
    kernel: AbstractKernel,
    layers: tuple[Layer, ...],
    panel: Panels,
    node: Boundary,
    is_own: Array,
    view: View,
    counts: tuple[int, int],
    num_nodes: int,
) -> Inexact[Array, "l *value nn"]:
    """What each layer takes of nodal strengths on one panel."""
    seen = samples(panel, node.x, view, counts)
    normal = jnp.where(is_own, normal_at(panel, view.centre), node.normal)
    taken = rows_of(kernel, layers, seen, normal)
    # A density on its own nodes is a polynomial on the panel's, which are more.
    spread = jnp.asarray(interpolation(num_nodes, taken.shape[-1]), node.x.dtype)
    rows = jnp.einsum("in,l...ij,jm->l...nm", spread, taken, spread)
    return rows.reshape(*rows.shape[:-2], -1)


@eqx.filter_jit
def _rows(
    known: Known,
    target: Array,
    panel: Array,
    view: View,
    layers: tuple[Layer, ...],
    counts: tuple[int, int],
    num_nodes: int,
) -> Inexact[Array, "k l *value nn"]:
    def one(pair):
        t, p, view = pair
        here, node = pick(known.panels, p), pick(known.boundary, t)
        return _row(known.kernel(t), layers, here, node, t // num_nodes**2 == p, view, counts, num_nodes)

    return jax.lax.map(one, (target, panel, view), batch_size=PAIRS)


def _traced_rows(
    known: Known,
    pairs: Pairs,
    layers: tuple[Layer, ...],
    counts: tuple[int, int],
    num_nodes: int,
) -> Inexact[Array, "k l *value nn"]:
    own_places = jnp.asarray(places(num_nodes), known.boundary.x.dtype)

    def one(pair):
        t, p = pair
        here, node = pick(known.panels, p), pick(known.boundary, t)
        is_own = t // num_nodes**2 == p
        seen_from = view(here, node.x, jnp.where(is_own, own_places[t % num_nodes**2], jnp.nan))
        return _row(known.kernel(t), layers, here, node, is_own, seen_from, counts, num_nodes)

    # Differentiated backwards, samples are made again instead of kept.
    return jax.lax.map(jax.checkpoint(one), (pairs.target, pairs.panel), batch_size=PAIRS)
