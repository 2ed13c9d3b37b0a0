"""The charts that families of surfaces share: faces of a cube, the unit disc, and gradings toward edges."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_AXES = np.eye(3)
# Rotations that carry the first axis to the centre of each face of a cube.
CUBE = np.array(
    [
        np.stack([sign * _AXES[i], _AXES[(i + 1) % 3], sign * _AXES[(i + 2) % 3]], axis=1)
        for i in range(3)
        for sign in (1, -1)
    ]
)
# Half the side of the square in the middle of the unit disc.
_HALF = 0.5
_QUARTERS = np.array([[[1, 0], [0, 1]], [[0, -1], [1, 0]], [[-1, 0], [0, -1]], [[0, 1], [-1, 0]]], float)


def grade(u: Array, low: bool, high: bool) -> Array:
    """[0, 1] onto itself, its points drawn to the side 0, to the side 1, to both or to none.

    The distance from such a side is of the third power of the coordinate's, so that a density like distance^(-1/3), as
    at right-angled edges, becomes smooth in the coordinate; others become smoother.

    >>> grade(jnp.array([0.5, 0.9]), low=False, high=True).tolist()
    [0.875, 0.999]
    """
    if low and high:
        # From the nearer side, or the derivative would be a small difference of large numbers there.
        near = jnp.where(u < 0.5, u, 1 - u)
        step = near**3 * (10 - 15 * near + 6 * near**2)
        return jnp.where(u < 0.5, step, 1 - step)
    if high:
        return 1 - (1 - u) ** 3
    return u**3 if low else u


def unit_vectors(s: Float[Array, " 2"]) -> Float[Array, "6 3"]:
    """The unit sphere from the faces of a cube, by equal angles: (1, tan ξ, tan η) normalised, |ξ| and |η| <= π/4."""
    slopes = jnp.tan((2 * s - 1) * (np.pi / 4))
    arm = jnp.concatenate([jnp.ones(1, s.dtype), slopes])
    return jnp.asarray(CUBE, s.dtype) @ (arm / jnp.sqrt(1 + jnp.sum(slopes**2)))


def disc(s: Float[Array, " 2"], graded: bool) -> Float[Array, "5 2"]:
    """The unit disc as a square in its middle and four sectors, whose first coordinate runs out to the rim."""
    square = _HALF * (2 * s - 1)
    out, across = grade(s[0], False, graded), 2 * s[1] - 1
    angle = across * (np.pi / 4)
    side = _HALF * jnp.stack([jnp.ones_like(across), across])
    sector = (1 - out) * side + out * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
    return jnp.concatenate([square[None], jnp.asarray(_QUARTERS, s.dtype) @ sector])
