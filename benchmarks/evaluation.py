"""Fields at many points, far from the boundary and close to it; NumPy's trapezoid rule beside it for scale."""

from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.harness import compete, medians

DISTANCES = {"far": (0.2, 0.3), "near": (1e-8, 1e-2)}


def run(quick: bool) -> dict[str, Any]:
    count, repeats = (200, 1) if quick else (20_000, 3)
    problem = ew.preset("laplace-star")
    solution = ew.solve(problem, t=1.35)
    result = {"points": count, "nodes": int(solution.stats["num_nodes"]), "cases": {}}
    for name, (low, high) in DISTANCES.items():
        points = _points(solution, count, low, high)
        truth = np.exp(points[:, 0]) * np.sin(points[:, 1])
        calls = {
            "edgewise": lambda points=points: solution(points),
            "edgewise gradient": lambda points=points: solution.gradient(points),
            "numpy trapezoid": lambda points=points: numpy_trapezoid(solution, points),
        }
        seconds, values = compete(calls, repeats)
        result["cases"][name] = {
            "distance": [low, high],
            "seconds": seconds,
            "points_per_second": {name: count / median for name, median in medians(seconds).items()},
            "max_error": {
                name: float(np.max(np.abs(value - truth))) for name, value in values.items() if np.ndim(value) == 1
            },
        }
    return result


def describe(result: dict[str, Any]) -> list[str]:
    lines = [f"{result['points']} points, {result['nodes']} nodes"]
    for name, case in result["cases"].items():
        for rule, speed in case["points_per_second"].items():
            error = f", error {case['max_error'][rule]:.0e}" if rule in case["max_error"] else ""
            lines.append(f"{name}, {rule}: {speed:,.0f} points a second{error}")
    return lines


def numpy_trapezoid(solution: ew.Solution, points: np.ndarray) -> np.ndarray:
    """u = Σ_j w_j φ_j G(x, y_j) + c: right far away, wrong close to the boundary, where G peaks between nodes."""
    boundary = solution.boundary
    charges = np.asarray(boundary.weight * solution.density.values)
    nodes = np.asarray(boundary.x)
    value = np.empty(len(points))
    for start in range(0, len(points), 1000):  # so that a piece stays in the cache
        part = points[start : start + 1000]
        square = (part[:, :1] - nodes[:, 0]) ** 2 + (part[:, 1:] - nodes[:, 1]) ** 2
        value[start : start + 1000] = np.log(square) @ charges / (-4 * np.pi)
    return value + float(solution.strengths[0].polynomial[0])


def _points(solution: ew.Solution, count: int, low: float, high: float) -> np.ndarray:
    """Inside, at distances from `low` to `high` from the boundary, evenly on a logarithmic scale.

    They go inwards along normals; those that come nearer to another part of the curve are left out.
    """
    rng = np.random.default_rng(0)
    nodes, normals = np.asarray(solution.boundary.x), np.asarray(solution.boundary.normal)
    kept = np.zeros((0, 2))
    while len(kept) < count:
        pick = rng.integers(len(nodes), size=1000)
        distance = np.exp(rng.uniform(np.log(low), np.log(high), size=1000))
        points = nodes[pick] - distance[:, None] * normals[pick]
        nearest = np.min(np.linalg.norm(points[:, None] - nodes, axis=-1), axis=1)
        inside = np.isfinite(np.asarray(solution(points)))
        kept = np.concatenate([kept, points[inside & (nearest > 0.9 * distance)]])
    return kept[:count]
