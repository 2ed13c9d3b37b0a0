"""What an estimate costs beside the answer it is about, and what a learned start saves when the answer is refined."""

from typing import Any

import numpy as np

import edgewise as ew
from benchmarks.harness import compete, medians
from edgewise.learn.operator import Operator
from edgewise.testing import damaged

NAMES = ("laplace-star", "biharmonic-star")
# An estimate may take three times as long as density and field at 10,000 points.
REQUIRED = 1 / 3


def run(quick: bool) -> dict[str, Any]:
    points, repeats = (100, 1) if quick else (10_000, 5)
    names = NAMES[:1] if quick else NAMES
    at = np.random.default_rng(0).uniform(-1, 1, (points, 2))
    medians_of = {name: _race(ew.pretrained(name), at, repeats) for name in names}
    ratios = {name: m["density and field"] / m["estimate"] for name, m in medians_of.items()}
    return {
        "points": points,
        "median": medians_of,
        "ratios": ratios,
        "ratio": min(ratios.values()),
        "required_ratio": REQUIRED,
        "applications": {name: _applications(ew.pretrained(name)) for name in names},
    }


def _race(operator: Operator, points: np.ndarray, repeats: int) -> dict[str, float]:
    solution = operator(t=1.35)
    seconds, _ = compete(
        {
            "density and field": lambda: operator(t=1.35)(points),
            "estimate": lambda: solution.error_estimate().value,
        },
        repeats,
    )
    return medians(seconds)


def _applications(operator: Operator) -> dict[str, list[int]]:
    """Of the equation, to a residual of 1e-10: cold, warm, with a neighbour's inverse, and both; by the error of the start."""
    neighbour = operator(t=1.45).factorise()
    counts = {}
    for noise in (1e-2, 1e-4, 1e-6):
        start = damaged(operator, noise)(t=1.35)
        alone, helped = start.refine(1e-10), start.refine(1e-10, neighbour=neighbour)
        error = f"{float(start.error_estimate()):.0e}"
        counts[error] = [
            int(solution.stats[key]) for solution in (alone, helped) for key in ("cold_applications", "applications")
        ]
    return counts


def describe(result: dict[str, Any]) -> list[str]:
    lines = [
        f"{name}: density and field at {result['points']} points {1e3 * m['density and field']:.0f} ms, estimate "
        f"{1e3 * m['estimate']:.0f} ms ({1 / result['ratios'][name]:.2f} of it)"
        for name, m in result["median"].items()
    ]
    for name, counts in result["applications"].items():
        for error, (cold, warm, helped, both) in counts.items():
            lines.append(
                f"{name}, start wrong by {error}, to a residual of 1e-10: cold {cold} applications, warm {warm}, neighbour {helped}, both {both}"
            )
    return lines
