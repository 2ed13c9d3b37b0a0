"""Whether closed curves cross themselves or each other, and which lies in which, by their polygons."""

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
    i, j = np.indices((n, n))
    gap = (i - j) % n
    return bool(np.any(_crossings(polygon, polygon) & (gap > 1) & (gap < n - 1)))


def cross_each_other(a: Float[np.ndarray, "n 2"], b: Float[np.ndarray, "m 2"]) -> bool:
    """Whether a side of one closed polygon crosses a side of another."""
    apart = np.any(a.max(axis=0) < b.min(axis=0)) or np.any(b.max(axis=0) < a.min(axis=0))
    return not apart and bool(np.any(_crossings(a, b)))


def contains(polygon: Float[np.ndarray, "n 2"], point: Float[np.ndarray, " 2"]) -> bool:
    """Whether a closed polygon winds round a point."""
    arm = polygon - point
    following = np.roll(arm, -1, axis=0)
    return bool(abs(np.sum(np.arctan2(_cross(arm, following), np.sum(arm * following, axis=-1)))) > np.pi)


def _crossings(a: np.ndarray, b: np.ndarray) -> Bool[np.ndarray, "n m"]:
    """Which sides cross: each one's line separates the other's ends."""
    return _separates(a, b) & _separates(b, a).T


def _separates(a: np.ndarray, b: np.ndarray) -> Bool[np.ndarray, "n m"]:
    starts = _orientations(a, np.roll(a, -1, axis=0), b)
    return starts != np.roll(starts, -1, axis=1)


def _orientations(start: np.ndarray, end: np.ndarray, points: np.ndarray) -> Bool[np.ndarray, "n m"]:
    """Whether each point lies to the left of each side."""
    return _cross((end - start)[:, None, :], points[None, :, :] - start[:, None, :]) > 0


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
