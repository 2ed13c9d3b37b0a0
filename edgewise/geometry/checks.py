"""Whether closed curves cross themselves, by their polygons."""

import numpy as np
from jaxtyping import Bool, Float


def are_star_shaped(polygons: Float[np.ndarray, "b n 2"]) -> Bool[np.ndarray, " b"]:
    """Whether vertices run once round their centroid without turning back: then nothing can cross."""
    arm = polygons - polygons.mean(axis=1, keepdims=True)
    following = np.roll(arm, -1, axis=1)
    turn = np.arctan2(_cross(arm, following), np.sum(arm * following, axis=-1))
    one_way = np.all(turn > 0, axis=1) | np.all(turn < 0, axis=1)
    return one_way & (np.abs(np.abs(turn.sum(axis=1)) - 2 * np.pi) < 1)


def crosses_itself(polygon: Float[np.ndarray, "n 2"]) -> bool:
    """Whether two sides of a closed polygon that are not neighbours cross."""
    n = len(polygon)
    start, end = polygon, np.roll(polygon, -1, axis=0)
    # Each side's line separates the other's ends, both ways round.
    side_of_start = _orientations(start, end, start)
    side_of_end = np.roll(side_of_start, -1, axis=1)
    separates = side_of_start != side_of_end
    crossing = separates & separates.T
    i, j = np.indices((n, n))
    gap = (i - j) % n
    return bool(np.any(crossing & (gap > 1) & (gap < n - 1)))


def _orientations(start: np.ndarray, end: np.ndarray, points: np.ndarray) -> Bool[np.ndarray, "n m"]:
    """Whether each point lies to the left of each side."""
    return _cross((end - start)[:, None, :], points[None, :, :] - start[:, None, :]) > 0


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
