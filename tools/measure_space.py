"""Measure the far field of docs/space.md's half-balls with few nodes: `python tools/measure_space.py 8 10 12`, along a side of each patch."""

import sys
import time
from pathlib import Path

import numpy as np

import edgewise as ew

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import halfballs

ew.enable_x64()
T = 0.1


def far_field_error(nodes: int) -> float:
    """Relative l2, of a wave along z, against what is stored."""
    stored = halfballs.reference()
    layers = ew.CombinedField(ew.Helmholtz(3, 2 * np.pi))
    problem = ew.Problem(ew.HalfBalls(T), None, layers, ew.PlaneWave((0.0, 0.0, 1.0)), "exterior")
    solution = ew.solve(problem, quadrature=ew.Duffy(nodes), tol=1e-1)
    directions = np.stack([np.sin(stored.theta), 0 * stored.theta, np.cos(stored.theta)], axis=-1)
    true = stored.far_axial[int(np.argmin(np.abs(stored.t - T)))]
    missed = np.abs(np.asarray(solution.far_field(directions)) - true) ** 2
    return float(np.sqrt(np.sum(stored.weights * missed) / np.sum(stored.weights * np.abs(true) ** 2)))


if __name__ == "__main__":
    for count in map(int, sys.argv[1:]):
        start = time.perf_counter()
        error = far_field_error(count)
        print(f"Duffy({count}), t = {T}: far field {error:.1e}, {time.perf_counter() - start:.0f} s", flush=True)
