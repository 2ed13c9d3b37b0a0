"""Measures how wrong a field is, up to the boundary: against the exact one, or a solve finer than it needs to be."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import bind
from edgewise.geometry.grids import MARGIN, box_around, grid_in
from edgewise.problem import Problem
from edgewise.quadrature import rule_for
from edgewise.quadrature.rule import equispaced
from edgewise.quadrature.surfaces.field import on_sphere_of
from edgewise.solution import Solution
from edgewise.solver import solve
from edgewise.trust.error_field import circle

# From the boundary, along the normal; from a surface, close to which fields are dear, fewer.
DISTANCES = {2: np.array([0.0, *10.0 ** np.arange(-8, -1)]), 3: 10.0 ** np.arange(-6, -1)}
# Points along the longest side of the grid, by dimension: 20,000 or so in the plane, 300 in space.
RESOLUTION = {2: 160, 3: 7}
# Positions on a surface from which points go off, and how many more nodes along a side its reference has.
ON_SURFACE, MORE = 20, 2
# How far the reference's density must have settled for no word about it: at edges it settles last, fields are a
# thousand times better known.
SETTLED = 1e-2
# For many members: points of the grid, different ones for every member, and positions along the boundary.
FEW_POINTS, FEW_POSITIONS = 800, 25
# Numbers of points are rounded up to this, so that one compiled function serves all members.
PIECE = 512
DIRECTIONS = 360


class Errors(NamedTuple):
    """One number a member, in each array."""

    relative_l2: np.ndarray
    """√(Σ |u - truth|² / Σ |truth|²) over all points."""
    max_error: np.ndarray
    """Absolute, over all points."""
    max_error_near_boundary: np.ndarray
    """Absolute, on the boundary and 1e-8 to 1e-2 from it; of surfaces 1e-6 to 1e-2 from them."""
    printed_formula: np.ndarray
    """Σ |u - truth|² / Σ |truth|²: what the paper prints as its formula; its numbers have the root."""
    far_field: np.ndarray | None
    """Relative l2 over all directions, in the plane 360 of them, where waves radiate."""
    num_points: np.ndarray


def measure(
    solution: Solution,
    *,
    truth: Solution | None = None,
    resolution: int | None = None,
    every_point: bool = True,
    first: int = 0,
) -> Errors:
    """The errors of a solution, solved or predicted, of one member or of a batch.

    The points are those of a grid over the member's boundary, or for fields outside over a box around it, that lie on
    the right side, and others on the boundary and close to it. Interior Neumann data leave a constant free: there,
    fields are compared without their means.

    Arguments:
        truth: What to compare with: by default the problem's `exact` field, or else `reference`.
        resolution: Points along the longest side of the grid: by default 160, in space 7.
        every_point: If false, in the plane 800 points of the grid a member, drawn by a fixed seed: for hundreds of
            members.
        first: The number of the first member, where many are measured in parts: each number has other points.

    >>> import edgewise as ew
    >>> ew.enable_x64()
    >>> errors = measure(ew.solve(ew.preset("laplace-star"), t=[1.15, 1.35]), resolution=24)
    >>> errors.relative_l2.shape, bool(errors.max_error.max() < 1e-11)
    ((2,), True)
    """
    problem = solution.problem
    if truth is None and problem.exact is None:
        truth = reference(solution)
    resolution = resolution or RESOLUTION[problem.family.dim]
    members = list(solution) if solution.batched else [solution]
    truths = [None] * len(members) if truth is None else list(truth) if truth.batched else [truth]
    rows = [
        _one(member, true, resolution, every_point, index)
        for index, (member, true) in enumerate(zip(members, truths, strict=True), first)
    ]
    square, largest, close, count = (np.array(column) for column in zip(*rows, strict=True))
    return Errors(np.sqrt(square), largest, close, square, _far_field_errors(solution, truth), count)


def reference(solution: Solution) -> Solution:
    """The same members, solved: with twice as many nodes as `solve` finds enough.

    On surfaces with two nodes more along a side of a panel than the solution has, which gain a digit: as many as
    `solve` would find enough are too dear for edges. Members that differ in their data alone share a matrix.
    """
    problem = solution.problem
    parameters: dict[str, Any] = dict(solution.parameters)
    if solution.quadrature.is_dear:
        finer = dataclasses.replace(solution.quadrature, num_nodes=solution.quadrature.num_nodes + MORE)
        return solve(problem, quadrature=finer, tol=SETTLED, extrapolate=True, **parameters)
    enough = solve(problem, extrapolate=True, **parameters)
    return solve(problem, quadrature=enough.quadrature.finer(), extrapolate=True, **parameters)


def truth_name(problem: Problem) -> str:
    return "solve" if problem.exact is None else "exact"


def sample_points(member: Solution, resolution: int, index: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Where one member is measured: points of a grid on the right side, and those on the boundary and close to it.

    With an index, a choice of the grid's points: another for every index.
    """
    problem = member.problem
    if problem.family.in_space:
        return _points_in_space(member, resolution)
    x, normal = (np.asarray(part) for part in _nodes(problem, member.parameters, 200))
    # As dense as the grid: a hundred at 160 points.
    positions = FEW_POSITIONS if index is not None else max(8, 5 * resolution // 8)
    pick = np.linspace(0, len(x), positions, endpoint=False).astype(int)
    near = [_shifted(x[pick], normal[pick], sign) for sign in _signs(problem)]
    return _grid(x, problem, resolution, index), np.concatenate(near)


def _points_in_space(member: Solution, resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """A lattice, whose points inside bodies the field masks, and points off the nodes of every usual rule."""
    problem = member.problem
    x, normal = (np.asarray(part) for part in _surface_nodes(problem, member.parameters))
    room = 0.0 if problem.side == "interior" else MARGIN[problem.side]
    pick = np.linspace(0, len(x), ON_SURFACE, endpoint=False).astype(int)
    near = [_shifted(x[pick], normal[pick], sign) for sign in _signs(problem)]
    return grid_in(box_around(x, room), resolution), np.concatenate(near)


@eqx.filter_jit
def _surface_nodes(problem: Problem, parameters: dict[str, Array]) -> tuple[Array, Array]:
    boundary = rule_for(problem.family, 4).place(problem.family, parameters, float)
    return boundary.x, boundary.normal


def _one(
    member: Solution, truth: Solution | None, resolution: int, every_point: bool, index: int
) -> tuple[float, float, float, int]:
    """The square of the relative l2 error, the largest error, that near the boundary, and the number of points."""
    grid, near = sample_points(member, resolution, None if every_point else index)
    points = np.concatenate([grid, near])
    value = _values(member, points)
    if truth is None:
        true = np.asarray(member.problem.exact_at(jnp.asarray(points), member.parameters))
    else:
        true = _values(truth, points)
    seen = np.isfinite(value) & np.isfinite(true)
    if not np.any(seen[: len(grid)]):
        raise ValueError(
            f"No point of a grid of {resolution} points a side lies in the domain, or the field is not finite there. "
            "Use more points."
        )
    value, true, close = value[seen], true[seen], (np.arange(len(points)) >= len(grid))[seen]
    if _is_free_of_a_constant(member.problem):
        value, true = value - value.mean(), true - true.mean()
    error = np.abs(value - true)
    square = np.sum(error**2) / max(float(np.sum(np.abs(true) ** 2)), np.finfo(float).tiny)
    return float(square), float(error.max()), float(error[close].max()), len(error)


def _values(member: Solution, points: np.ndarray) -> np.ndarray:
    missing = -len(points) % PIECE
    padded = np.concatenate([points, np.broadcast_to(points[:1], (missing, points.shape[1]))])
    return np.asarray(member(padded))[: len(points)]


def _grid(x: np.ndarray, problem: Problem, resolution: int, index: int | None) -> np.ndarray:
    """Points on the right side; with an index, a choice of them. The last word on the side is the field's own."""
    room = 0.0 if problem.side == "interior" else MARGIN[problem.side]
    grid = grid_in(box_around(x, room), resolution)
    if index is not None:
        # A domain that fills a quarter of its box leaves enough.
        grid = np.random.default_rng(index).permutation(grid)[: 4 * FEW_POINTS]
    if problem.side != "both":
        curves = x.reshape(len(problem.family.curves), -1, 2)
        grid = grid[_is_inside(curves, grid) == (problem.side == "interior")]
    return grid if index is None else grid[:FEW_POINTS]


def _is_inside(curves: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Whether a ray from each point crosses the polygons (c, n, 2) an odd number of times: holes count twice."""
    a, b = curves.reshape(-1, 2), np.roll(curves, -1, axis=1).reshape(-1, 2)
    px, py = points[:, :1], points[:, 1:]
    spans = (a[:, 1] > py) != (b[:, 1] > py)
    rise = np.where(a[:, 1] == b[:, 1], 1.0, b[:, 1] - a[:, 1])
    left_of = px < a[:, 0] + (py - a[:, 1]) * (b[:, 0] - a[:, 0]) / rise
    return np.sum(spans & left_of, axis=1) % 2 == 1


def _signs(problem: Problem) -> tuple[int, ...]:
    """Which way along the normal, which leaves the bounded domain, the field is."""
    return {"interior": (-1,), "exterior": (1,), "both": (-1, 1)}[problem.side]


def _shifted(x: np.ndarray, normal: np.ndarray, sign: int) -> np.ndarray:
    return (x + sign * DISTANCES[x.shape[-1]][:, None, None] * normal).reshape(-1, x.shape[-1])


@eqx.filter_jit
def _nodes(problem: Problem, parameters: dict[str, Array], count: int) -> tuple[Array, Array]:
    """Points and normals along the curves, shifted by an irrational share of a step: no usual rule has such nodes."""
    grid, weight = equispaced(count)
    boundary = problem.family.boundary(jnp.asarray(grid + np.sqrt(2) / count), jnp.asarray(weight), parameters)
    return boundary.x, boundary.normal


def _is_free_of_a_constant(problem: Problem) -> bool:
    kernel = problem.representation.kernel
    return not problem.condition.takes_value and problem.side == "interior" and kernel.polynomials > 0


def _far_field_errors(solution: Solution, truth: Solution | None) -> np.ndarray | None:
    # Only waves outside have one.
    if not solution.problem.representation.kernel.radiates or solution.problem.side == "interior":
        return None
    directions, weights = far_directions(solution)
    found = np.asarray(solution.far_field(directions)).reshape(-1, len(directions))
    true = np.asarray((reference(solution) if truth is None else truth).far_field(directions)).reshape(found.shape)
    return relative_l2(found, true, weights)


def far_directions(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Directions that far fields are compared in, and their weights."""
    if solution.problem.family.in_space:
        kernel = bind(solution.problem.representation.kernel, solution.parameters)
        x = solution.boundary.x
        return on_sphere_of(kernel, x if solution.batched else x[None])
    return circle(DIRECTIONS), np.ones(DIRECTIONS)


def relative_l2(found: np.ndarray, true: np.ndarray, weights: Any = 1.0) -> np.ndarray:
    """√(Σ w |found - true|² / Σ w |true|²) over the last axis."""
    return np.sqrt(np.sum(weights * np.abs(found - true) ** 2, axis=-1) / np.sum(weights * np.abs(true) ** 2, axis=-1))
