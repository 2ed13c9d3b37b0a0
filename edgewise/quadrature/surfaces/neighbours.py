"""Which targets are close to which panels of a surface, how they see them, and how such pairs are worked through."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.quadrature.surfaces.centred import Panels, View, view
from edgewise.special import gauss

# Panels whose nodes are all farther from a target than the first number, in sizes of the panel, take their own nodes
# for it. Panels farther than the second number take the third number times as many nodes along a side, the same for all
# targets. Gauss nodes err by (δ + √(1 + δ²))^-2n at a distance of δ half-sides: three times as many nodes at 0.3 err as
# little as the own nodes at 1.
NEAR, CLOSE, FINE = 1.0, 0.3, 3
# Closer pairs of target and panel are sorted by how long their intervals of nodes are, in ρ and in τ, and each sort has
# the number of nodes that it needs. The last two numbers are the longest lengths that occur.
SORTS = ((4.0, 7.5), (9.0, 15.0), (15.0, 25.0), (24.0, 35.0))
# Pairs that one compiled function takes.
PIECE = 2**9


class Pairs(NamedTuple):
    """Targets and the panels that they are on or close to; and how each sees it, where values are at hand."""

    target: Any
    panel: Any
    view: Any = None


class Near(NamedTuple):
    """The pairs that panels' own nodes do not serve."""

    beside: Pairs
    """Those that finer nodes serve."""
    centred: tuple[Pairs, ...]
    """Those that take the rule centred on the target, by `SORTS`."""


class Neighbours(NamedTuple):
    """Targets and panels that are close, with values at hand."""

    target: np.ndarray
    panel: np.ndarray
    lengths: Float[np.ndarray, "k 2"]
    """Of the intervals of the centred rule, in ρ and τ."""
    view: Any
    """How each target sees its panel, a `View` of arrays; None where that differs from member to member."""

    def only(self, picked: np.ndarray) -> "Neighbours":
        return jax.tree_util.tree_map(lambda leaf: leaf[picked], self)


def neighbours(
    panels: Panels, x: Float[np.ndarray, "m 3"], own: int = 0, wanted: np.ndarray | None = None, members: int = 1
) -> tuple[Neighbours, Pairs]:
    """Which targets are close to which panels, and which are beside them.

    Targets that are the panels' nodes, `own` along a side, are on their own panels. `wanted` are the numbers of some
    targets, where not all are wanted. Panels and targets may be those of several members, one after the other, each of
    which sees nothing but itself.
    """
    wanted = np.arange(len(x)) if wanted is None else wanted
    radius = np.asarray(panels.radius)
    nodes = np.asarray(panels.x).reshape(len(radius), -1, 3)
    target, panel = _candidates(x, wanted, nodes.mean(axis=1), (NEAR + 1) * radius, members)
    apart = np.zeros(len(target))
    for start in range(0, len(target), 2**14):
        part = slice(start, start + 2**14)
        apart[part] = np.linalg.norm(nodes[panel[part]] - x[target[part], None], axis=-1).min(axis=1)
    apart = apart / radius[panel]
    if own:
        apart[target // own**2 == panel] = np.inf
    beside = (apart >= CLOSE) & (apart < NEAR)
    others = Pairs(target[beside], panel[beside])
    target, panel = target[apart < CLOSE], panel[apart < CLOSE]
    place = np.full((len(target), 2), np.nan)
    if own:
        target, panel = np.append(wanted, target), np.append(wanted // own**2, panel)
        place = np.concatenate([places(own)[wanted % own**2], place])
    views, lengths = in_pieces(_look, 4 * PIECE, panels, (x[target], panel, place.astype(x.dtype)))
    return Neighbours(target, panel, lengths, views), others


def _candidates(
    x: np.ndarray, wanted: np.ndarray, middles: np.ndarray, reach: np.ndarray, members: int
) -> tuple[np.ndarray, np.ndarray]:
    """Targets and the panels within whose reach they are, of the same member."""
    targets, panels = [], []
    nodes, count = len(x) // members, len(middles) // members
    for member in range(members):
        some, first = wanted[wanted // nodes == member], member * count
        part = slice(first, first + count)
        target, panel = np.nonzero(np.linalg.norm(x[some, None] - middles[part], axis=-1) < reach[part])
        targets.append(some[target])
        panels.append(first + panel)
    return np.concatenate(targets), np.concatenate(panels)


def sorts(close: Neighbours) -> tuple[Pairs, ...]:
    """The pairs of each sort; the last takes whatever is left."""
    left = np.ones(len(close.target), bool)
    found = []
    for sort in SORTS:
        fits = left & (np.all(close.lengths <= sort, axis=-1) | (sort == SORTS[-1]))
        part = close.only(np.flatnonzero(fits))
        found.append(Pairs(part.target, part.panel, part.view))
        left &= ~fits
    return tuple(found)


def in_pieces(function: Callable, size: int, known: Any, arrays: Any, *fixed: Any) -> Any:
    """A function of many pairs, so many at a time: one compiled function serves every number of them."""
    count = len(jax.tree_util.tree_leaves(arrays)[0])
    if not count:
        # Points away from the surface have no pairs, and should not pay for a piece of them.
        one = jax.tree_util.tree_map(lambda leaf: np.zeros((1, *leaf.shape[1:]), leaf.dtype), arrays)
        shapes = eqx.filter_eval_shape(function, known, *one, *fixed)
        return jax.tree_util.tree_map(lambda leaf: np.zeros((0, *leaf.shape[1:]), leaf.dtype), shapes)
    padded = np.resize(np.arange(count), -(-count // size) * size)
    pieces = []
    for start in range(0, len(padded), size):
        part = jax.tree_util.tree_map(lambda leaf, i=padded[start : start + size]: np.asarray(leaf)[i], arrays)
        pieces.append(jax.tree_util.tree_map(np.asarray, function(known, *part, *fixed)))
    return jax.tree_util.tree_map(lambda *parts: np.concatenate(parts)[:count], *pieces)


@eqx.filter_jit
def _look(panels: Panels, x: Array, panel: Array, place: Array) -> tuple[View, Array]:
    def one(pair):
        x, p, place = pair
        seen_from = view(pick(panels, p), x, place)
        return seen_from, jnp.max(seen_from.stretch.lengths(seen_from.centre), axis=(1, 2))

    return jax.lax.map(one, (x, panel, place), batch_size=256)


def places(num_nodes: int) -> Float[np.ndarray, "nn 2"]:
    """Of a panel's own nodes, in [-1, 1]²."""
    nodes = gauss(num_nodes)[0]
    return np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)


def pick(nodes: Any, index: Array) -> Any:
    """One of many panels, or of many nodes."""
    return jax.tree_util.tree_map(lambda leaf: leaf[index], nodes)
