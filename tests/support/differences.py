"""Central differences of order ten.

They check a formula without a second formula: a field gives only its values. With step h the error is of the order
of (k h)^10 plus the rounding error, 1e-16/h for the gradient and 1e-16/h^2 for the Laplacian.
"""

from collections.abc import Callable

import numpy as np

FIRST = np.array([5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260])
SECOND = np.array([5 / 3, -5 / 21, 5 / 126, -5 / 1008, 1 / 3150])
MIDDLE = -5269 / 1800

Field = Callable[[np.ndarray], np.ndarray]


def gradient(field: Field, x: np.ndarray, step: float = 0.02) -> np.ndarray:
    """Return the derivatives of field at the points x (m, d), stacked along a new last axis of length d."""
    x = np.asarray(x, dtype=float)
    columns = []
    for axis in range(x.shape[1]):
        move = np.zeros(x.shape[1])
        move[axis] = step
        columns.append(sum(w * (field(x + (i + 1) * move) - field(x - (i + 1) * move)) for i, w in enumerate(FIRST)))
    return np.stack(columns, axis=-1) / step


def laplacian(field: Field, x: np.ndarray, step: float = 0.05) -> np.ndarray:
    """Return the Laplacian of field at the points x (m, d)."""
    x = np.asarray(x, dtype=float)
    total = x.shape[1] * MIDDLE * field(x)
    for axis in range(x.shape[1]):
        move = np.zeros(x.shape[1])
        move[axis] = step
        total = total + sum(w * (field(x + (i + 1) * move) + field(x - (i + 1) * move)) for i, w in enumerate(SECOND))
    return total / step**2
