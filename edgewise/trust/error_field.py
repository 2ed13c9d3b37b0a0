"""The error of a solution as a field: its data are the misfit, and it is solved for and looked at like any other."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.geometry import Boundary
from edgewise.potentials import Member, Side
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature
from edgewise.solving import linear
from edgewise.solving.systems import preconditioner
from edgewise.special import on_sphere

Of = Literal["field", "far_field"]

# Relative residual, in units in which all frequencies count alike: those of rounding must not hide the low ones.
TOL = 1e-6
# Points of a lattice over the curves' box; positions along the boundary, and how far from it, in sizes of the box.
LATTICE, POSITIONS, DEPTHS = 512, 32, (0.03, 0.08, 0.2)
# Outside, a few points this many sizes away.
AFAR, AFAR_POINTS = 10.0, 16
DIRECTIONS = 256
# Sums of n terms are rounded by some multiple of eps times the sum of their sizes.
ROUNDING = 16.0


@eqx.filter_jit
def solve_for_error(
    problem: Problem,
    finer: AbstractQuadrature,
    parameters: dict[str, Array],
    member: Member,
    matrix: Array,
    missed: Array,
) -> tuple[Any, ...]:
    """The fields that have the misfit for their data: layers of the same kind, on the finer nodes."""
    representation, condition, boundary = member.representation, member.condition, member.boundary
    data = missed if len(missed) > 1 else missed[0]
    member = eqx.tree_at(lambda m: (m.data, m.charge), member, (data, jnp.zeros_like(member.charge)))
    rhs = representation.rhs(member)
    count = boundary.s.shape[0]
    rhs = rhs.astype(jnp.result_type(matrix, rhs))
    tol = max(TOL, 64 * float(jnp.finfo(rhs.real.dtype).eps))
    unknown, _, reached = linear.gmres(lambda x: matrix @ x, rhs, tol=tol, precondition=preconditioner(member, matrix))
    # Where it does not converge the equation is next to singular, and the error may be anything.
    unknown = jnp.where(reached <= tol, unknown, jnp.inf)
    n = count * representation.unknowns(condition)
    density = representation.density(boundary, condition, unknown[:n])
    strengths = representation.strengths(member, density, unknown[n:])
    return problem.fields(finer, parameters, strengths)


@eqx.filter_jit
def norms(both: tuple[tuple[Any, ...], tuple[Any, ...]], member: Member, missed: Array, of: Of) -> tuple[Array, Array]:
    """The norms of the error and of the solution, each of them given by the fields of every region."""
    if of == "far_field":
        directions = jnp.asarray(circle(DIRECTIONS), member.boundary.x.dtype)
        far = [jax.lax.map(fields[0].far, directions, batch_size=64) for fields in both]
        error, solution = (jnp.sqrt(2 * np.pi * jnp.mean(jnp.abs(values) ** 2)) for values in far)
        return error, solution
    if member.condition.gives_value:
        data = member.data.reshape(missed.shape)
        traces = (missed, data) if member.condition.channels == 1 else (missed[0], data[0])
    else:
        at = member.boundary.x[::2]
        traces = tuple(jnp.stack([field.at_points(at, "potential")[0] for field in fields]) for fields in both)
    points = looked_at(member.boundary, member.side)
    error, solution = (_largest_at(points, *pair) for pair in zip(both, traces, strict=True))
    return error, solution


def _largest_at(points: Array, fields: tuple[Any, ...], trace: Array) -> Float[Array, ""]:
    """The largest value on the boundary and at points off it; those too close for the plain rule are left out."""
    largest = jnp.max(jnp.abs(trace))
    for field in fields:
        value, right, close = jax.lax.map(lambda point, f=field: f.away(point, "potential"), points, batch_size=64)
        there = (right & ~close).reshape(-1, *[1] * (value.ndim - 1))
        largest = jnp.maximum(largest, jnp.max(jnp.where(there, jnp.abs(value), 0)))
    return largest


def row_sizes(member: Member, rows: int) -> Float[Array, " c"]:
    """Factors that turn errors in the prescribed numbers into errors of the field: 1, and for a slope the extent."""
    sizes = jnp.ones(rows, member.boundary.x.dtype)
    return sizes.at[1].set(extent(member.boundary)) if member.condition.channels == 2 else sizes


def looked_at(boundary: Boundary, side: Side) -> Float[Array, "m d"]:
    """Points off the boundary, some of them on the wrong side.

    They are a lattice over the box of the boundary, points at three depths along normals, and outside some points afar.
    """
    x, size = boundary.x, extent(boundary)
    dim = x.shape[-1]
    low, high = jnp.min(x, axis=0), jnp.max(x, axis=0)
    room = 0.0 if side == "interior" else size
    # The lattice of Roberts: powers of the root of x³ = x + 1, in space of x⁴ = x + 1.
    root = {2: 1.32471795724474602596, 3: 1.22074408460575947536}[dim]
    lattice = np.mod(np.arange(1, LATTICE + 1)[:, None] * root ** -np.arange(1.0, dim + 1), 1)
    spread = low - room + (high - low + 2 * room) * lattice
    pick = np.linspace(0, len(x), POSITIONS, endpoint=False).astype(int)
    signs = {"interior": (-1,), "exterior": (1,), "both": (-1, 1)}[side]
    off = [x[pick] + sign * depth * size * boundary.normal[pick] for sign in signs for depth in DEPTHS]
    directions = {2: circle(AFAR_POINTS), 3: on_sphere(3)[0]}[dim]
    afar = (low + high) / 2 + AFAR * size * directions
    return jnp.concatenate([spread, *off] + ([] if side == "interior" else [afar.astype(x.dtype)])).astype(x.dtype)


def circle(count: int) -> Float[np.ndarray, "n 2"]:
    """Directions in the plane."""
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def extent(boundary: Boundary) -> Float[Array, ""]:
    """The longest side of the box around the boundary."""
    return jnp.max(jnp.ptp(boundary.x, axis=0))
