"""Boxes around points, and grids in them."""

from typing import Any

import numpy as np

# How far around the curve a box goes, in sizes of the curve: room for the line, or for the field outside.
MARGIN = {"interior": 0.04, "exterior": 0.5, "both": 0.5}


def box_around(points: np.ndarray, margin: float) -> np.ndarray:
    low, high = points.min(axis=0), points.max(axis=0)
    return np.stack([low, high]) + margin * np.max(high - low) * np.array([[-1], [1]])


def grid_in(box: np.ndarray, resolution: int) -> np.ndarray:
    """Equally spaced points of a box, lowest and highest corner: `resolution` of them along the longest side."""
    sides = (np.linspace(*ends) for ends in zip(*box, counts_in(box, resolution), strict=True))
    return np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, len(box[0]))


def counts_in(box: np.ndarray, resolution: int) -> list[int]:
    """Points of a grid along each side: spaced nearly as along the longest side, but two at least."""
    step = np.max(box[1] - box[0]) / (resolution - 1)
    return [max(2, 1 + round(float(length / step))) for length in box[1] - box[0]]


def read_corners(box: Any) -> np.ndarray | None:
    """A box as an array; None where it is not a corner and another above it and to its right."""
    try:
        found = np.asarray(box, float)
    except (TypeError, ValueError):
        return None
    is_box = found.shape == (2, 2) and np.all(np.isfinite(found)) and np.all(found[0] < found[1])
    return found if is_box else None
