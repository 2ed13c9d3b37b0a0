"""Boundaries with their densities: nodes as they are, or joined to closed curves and surfaces."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.export.table import Cells, Table, parameters_of
from edgewise.geometry import AbstractSurface, Boundary
from edgewise.quadrature import Duffy
from edgewise.show.samples import members_of
from edgewise.solution import Solution
from edgewise.special import lagrange

# Beside the largest of its patch, a jacobian that is none: at an edge, or where a side of a patch is a single point.
NONE = 1e-6


def boundary_table(solution: Solution, closed: bool) -> Table:
    """The nodes of every member; `closed`: as a mesh without gaps, on surfaces with points on the sides of patches."""
    members = members_of(solution)
    if closed and solution.problem.family.in_space:
        found = [_closed_surface(member) for member in members]
        cells = found[0][2]
    else:
        found = [_nodes(member, weights=not closed) for member in members]
        cells = closed_curves(solution.boundary.components, solution.boundary.x.shape[-2])
    arrays = {name: np.stack([arrays[name] for _, arrays, _ in found]) for name in found[0][1]}
    points = np.stack([x for x, _, _ in found])
    parameters = parameters_of(solution)
    return Table(
        solution.problem, parameters, points, arrays, None, cells=cells, batched=solution.batched, own_points=True
    )


def closed_curves(components: int, nodes: int) -> Cells:
    """Lines from node to node of curves that follow each other.

    >>> [(kind, cells.tolist()) for kind, cells in closed_curves(1, 3)]
    [('line', [[0, 1], [1, 2], [2, 0]])]
    """
    loops = np.arange(nodes).reshape(components, -1)
    return [("line", np.stack([loops, np.roll(loops, -1, axis=1)], axis=-1).reshape(-1, 2))]


def _nodes(member: Solution, weights: bool) -> tuple[np.ndarray, dict[str, np.ndarray], None]:
    values = _density(member)
    # A pair has two rows.
    rows = {"density": values} if values.ndim == 1 else {f"density_{i}": row for i, row in enumerate(values)}
    boundary: Any = jax.tree_util.tree_map(np.asarray, member.boundary)
    arrays = {**rows, "normal": boundary.normal, "jacobian": boundary.jacobian}
    return boundary.x, arrays | ({"weight": boundary.weight} if weights else {}), None


def _closed_surface(member: Solution) -> tuple[np.ndarray, dict[str, np.ndarray], Cells]:
    """Nodes and points on the sides of patches, what is known there, and the squares between them.

    On a side the density is its polynomial's; at edges, where the jacobian vanishes and the density may be infinite,
    the value at the nearest node.
    """
    family, rule = member.problem.family, member.quadrature
    assert isinstance(family, AbstractSurface) and isinstance(rule, Duffy)
    count, panels, patches = rule.num_nodes, rule.panels, family.patches
    side = count * panels
    line = np.concatenate([[0.0], np.unique(rule.grid()[0][:, 0]), [1.0]])
    places = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    spread: Any = _placed(family, jnp.asarray(places, member.boundary.x.dtype), member.parameters)
    spread = jax.tree_util.tree_map(
        lambda leaf: np.asarray(leaf).reshape(patches, side + 2, side + 2, *leaf.shape[1:]), spread
    )
    inner = np.zeros((side + 2, side + 2), bool)
    inner[1:-1, 1:-1] = True
    flat = ~inner & (spread.jacobian < NONE * spread.jacobian.max(axis=(1, 2), keepdims=True))
    # From the nodes along a side of a patch to those and its ends.
    to_ends = np.pad(np.eye(side), ((1, 1), (0, 0)))
    to_ends[0, :count], to_ends[-1, -count:] = (np.asarray(lagrange(count, jnp.array(end))) for end in (-1.0, 1.0))
    nearest = np.clip(np.arange(-1, side + 1), 0, side - 1)

    def rows(values: Any) -> np.ndarray:
        """Panel by panel in, row by row of every patch out."""
        tail = np.shape(values)[1:]
        panelled = np.asarray(values).reshape(patches, panels, panels, count, count, *tail)
        return np.swapaxes(panelled, 2, 3).reshape(patches, side, side, *tail)

    values, normals = rows(_density(member)), rows(member.boundary.normal)
    density = np.where(flat, values[:, nearest][:, :, nearest], to_ends @ values @ to_ends.T)
    normal = np.where(flat[..., None], normals[:, nearest][:, :, nearest], spread.normal)
    arrays = {"density": density.ravel(), "normal": normal.reshape(-1, 3), "jacobian": spread.jacobian.ravel()}
    return spread.x.reshape(-1, 3), arrays, [("quad", _squares(spread.x, normal))]


def _squares(x: Float[np.ndarray, "p n n 3"], normal: Float[np.ndarray, "p n n 3"]) -> np.ndarray:
    """The corners of every square, anticlockwise seen from where normals point to."""
    index = np.arange(x[..., 0].size).reshape(x.shape[:-1])
    corners = [index[:, :-1, :-1], index[:, 1:, :-1], index[:, 1:, 1:], index[:, :-1, 1:]]
    across = np.cross(x[:, 1:, 1:] - x[:, :-1, :-1], x[:, :-1, 1:] - x[:, 1:, :-1])
    inward = np.sum(across * normal[:, 1:, 1:], axis=(1, 2, 3)) < 0
    squares = np.stack(corners, axis=-1)
    return np.where(inward[:, None, None, None], squares[..., ::-1], squares).reshape(-1, 4)


def _density(member: Solution) -> np.ndarray:
    density: Any = member.density
    return np.asarray(density.values)


@eqx.filter_jit
def _placed(family: AbstractSurface, places: Float[Array, "m 2"], parameters: dict[str, Array]) -> Boundary:
    return family.boundary(places, jnp.ones(len(places), places.dtype), parameters)
