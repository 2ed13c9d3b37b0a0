"""Real spherical harmonics as polynomials in the coordinates of a unit vector: smooth everywhere, poles included."""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.special.legendre import gauss


def real_harmonics(degree: int, d: Float[Array, "*batch 3"]) -> Float[Array, "*batch n"]:
    """The (degree + 1)² real spherical harmonics Y_lm at unit vectors `d`, orthonormal over the unit sphere.

    In the order l = 0; l = 1, m = -1, 0, 1; and so on. Y_lm is sqrt(2) N P_l^m(z)/(1 - z²)^(m/2) times Re (x + iy)^m
    for m > 0, times Im (x + iy)^|m| for m < 0, without the phase (-1)^m: Y_11 = sqrt(3/4π) x.

    >>> (real_harmonics(1, jnp.array([0.0, 0.0, 1.0])) * jnp.sqrt(4 * jnp.pi)).round(4).tolist()
    [1.0, 0.0, 1.7321, 0.0]
    """
    x, y, z = (d[..., i, None] for i in range(3))
    slope, past, diagonal = (jnp.asarray(table, d.dtype) for table in _recurrence(degree))
    # For all m at once: row l holds N P_l^m(z)/(1 - z²)^(m/2), 0 for m > l.
    rows = [jnp.broadcast_to(diagonal[0], (*d.shape[:-1], degree + 1))]
    for order in range(1, degree + 1):
        before = rows[-2] if order > 1 else 0.0
        rows.append(slope[order] * z * rows[-1] - past[order] * before + diagonal[order])
    real, imaginary = [jnp.ones_like(x)], [jnp.zeros_like(x)]
    for _ in range(degree):
        a, b = real[-1], imaginary[-1]
        real.append(x * a - y * b)
        imaginary.append(x * b + y * a)
    table = jnp.stack(rows, axis=-2)
    cosines, sines = (table * jnp.concatenate(part, axis=-1)[..., None, :] for part in (real, imaginary))
    both = jnp.concatenate([2**0.5 * sines[..., :0:-1], cosines[..., :1], 2**0.5 * cosines[..., 1:]], axis=-1)
    picked = [(order, degree + m) for order in range(degree + 1) for m in range(-order, order + 1)]
    return both[..., [order for order, _ in picked], [column for _, column in picked]]


@functools.cache
def _recurrence(degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P_l = slope · z P_{l-1} - past · P_{l-2} below the diagonal m = l, where P is a number."""
    order, m = np.indices((degree + 1, degree + 1)).astype(float)
    below = m < order
    rest = np.where(below, order**2 - m**2, 1.0)
    slope = np.where(below, np.sqrt((4 * order**2 - 1).clip(0) / rest), 0.0)
    earlier = np.where(
        below, ((order - 1) ** 2 - m**2).clip(0) / np.where(order > 0, 4 * (order - 1) ** 2 - 1, 1.0), 0.0
    )
    # For l = 1 the divisor is -1 under a numerator of 0.
    past = slope * np.sqrt(np.abs(earlier))
    steps = np.arange(1, degree + 1)
    diagonal = np.diag(np.cumprod([np.sqrt(1 / (4 * np.pi)), *np.sqrt((2 * steps + 1) / (2 * steps))]))
    return slope, past, diagonal


def on_sphere(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions and weights that integrate all harmonics of degree below 2 `count`: Gauss in z, equispaced round it.

    >>> directions, weights = on_sphere(4)
    >>> round(float(weights @ directions[:, 0] ** 2), 12) == round(4 * np.pi / 3, 12)
    True
    """
    z, w = gauss(count)
    angle = np.pi * np.arange(2 * count) / count
    radius = np.sqrt(1 - z**2)[:, None]
    directions = np.stack(np.broadcast_arrays(radius * np.cos(angle), radius * np.sin(angle), z[:, None]), axis=-1)
    return directions.reshape(-1, 3), np.repeat(w * np.pi / count, 2 * count)
