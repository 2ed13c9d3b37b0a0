"""Bodies as polyhedra: which side of a closed surface a point lies on, however close to it."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def lattice(cells: int) -> Float[np.ndarray, "m 2"]:
    """The corners of cells x cells squares in the unit square, sides included, in the order that `triangles` takes."""
    steps = np.linspace(0.0, 1.0, cells + 1)
    return np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)


def triangles(points: Float[Array, "patches m 3"]) -> Float[Array, "triangles 3 3"]:
    """Two triangles in every square of every patch, corner by corner; they turn the way the patches do."""
    side = round(points.shape[1] ** 0.5)
    corner = np.arange(side * side).reshape(side, side)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]))
    picked = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return points[:, picked].reshape(-1, 3, 3)


def volume(faces: Float[Array, "triangles 3 3"]) -> Array:
    """The volume of a closed polyhedron; negative if its triangles turn clockwise, seen from outside."""
    a, b, c = jnp.moveaxis(faces - faces.mean(axis=(0, 1)), 1, 0)
    return jnp.sum(a * jnp.cross(b, c)) / 6


def windings(faces: Float[Array, "triangles 3 3"], point: Float[Array, " 3"]) -> Array:
    """±1 for a point inside a closed polyhedron, 0 outside, to rounding: the sum of solid angles over 4π.

    By van Oosterom and Strackee (1983): tan(Ω/2) = a·(b × c) / (|a||b||c| + (a·b)|c| + (b·c)|a| + (c·a)|b|).
    """
    a, b, c = jnp.moveaxis(faces - point, 1, 0)
    long, wide, high = (jnp.linalg.norm(arm, axis=-1) for arm in (a, b, c))
    cosines = [jnp.sum(p * q, axis=-1) for p, q in ((a, b), (b, c), (c, a))]
    across = jnp.sum(a * jnp.cross(b, c), axis=-1)
    along = long * wide * high + cosines[0] * high + cosines[1] * long + cosines[2] * wide
    return jnp.sum(jnp.arctan2(across, along)) / (2 * np.pi)
