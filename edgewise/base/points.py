"""Points and directions that a person asks about: what is refused, and in which words."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.base.precision import is_concrete


def one_array(points: Any, others: tuple[Any, ...], call: str) -> Any:
    """The points, refused where coordinates were given one by one."""
    if not others:
        return points
    given = (points, *others)
    numbers = ", ".join(map(str, given))
    cure = f"[{numbers}]" if all(np.ndim(value) == 0 for value in given) else "jnp.stack([x, y], axis=-1)"
    raise TypeError(f"Points are one array, of shape (..., d), got {len(given)} arguments. Write `{call}({cure})`.")


def as_points(points: Any, name: str, dim: int, dtype: Any) -> Float[Array, "... d"]:
    """The points that were given, of shape (..., d); anything else is refused by its name."""
    try:
        points = jnp.asarray(points)
    except (TypeError, ValueError):
        raise TypeError(
            f"`{name}` must be an array of numbers, got {points!r}. Write `jnp.array([0.3, 0.2])`."
        ) from None
    if jnp.iscomplexobj(points):
        raise TypeError(
            f"`{name}` must be real, got {points.dtype}. Stack the coordinates: `jnp.stack([x, y], axis=-1)`."
        )
    if points.ndim == 0 or points.shape[-1] != dim:
        one = (
            f"A direction is a unit vector, `jnp.array({[1.0, 0.0, 0.0][:dim]})`"
            if name == "directions"
            else f"One point is `jnp.array({[0.3, 0.2, 0.1][:dim]})`"
        )
        raise ValueError(
            f"`{name}` has shape {points.shape}; expected (..., {dim}). {one}, many have shape (m, {dim})."
        )
    return points.astype(dtype)


def check_lengths(directions: Array) -> None:
    """Refuses directions that are no unit vectors, where their numbers are known."""
    if not is_concrete(directions):
        return
    lengths = np.linalg.norm(np.asarray(directions), axis=-1)
    if np.any(np.abs(lengths - 1) > 1e-6):
        worst = lengths[np.argmax(np.abs(lengths - 1))]
        example = "jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)"
        if directions.shape[-1] == 3:
            example = "directions / jnp.linalg.norm(directions, axis=-1, keepdims=True)"
        raise ValueError(f"`directions` must be unit vectors, got one of length {worst:.6g}. Write `{example}`.")


def check_side(points: Array, right: np.ndarray, side: str) -> None:
    """Refuses points on the wrong side of the boundary.

    Arguments:
        right: Of every member and point whether it is on the right one.
    """
    wrong = np.argwhere(~right)
    if len(wrong):
        first = np.asarray(points[wrong[0][1]]).tolist()
        raise ValueError(
            f"{len(wrong)} of {right.size} points lie on the wrong side of the boundary, the first at {first}; "
            f'the problem is "{side}". Leave them out, or pass `outside="nan"`.'
        )
