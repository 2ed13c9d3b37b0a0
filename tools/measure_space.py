"""Measure the errors of docs/space.md: `python tools/measure_space.py ball 12 16` or `halfballs 8 10`, numbers of nodes after the body."""

import sys
import time
from pathlib import Path

import numpy as np

import edgewise as ew

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import halfballs
import mie

ew.enable_x64()
K, WAY = 2 * np.pi, np.array([0.0, 0.0, 1.0])


def relative(found, true, weights=1.0):
    return float(np.sqrt(np.sum(weights * np.abs(found - true) ** 2) / np.sum(weights * np.abs(true) ** 2)))


def ball(nodes):
    """Against the series of Mie: relative l2 error of the far field, largest error 1e-6 to 1 from the ball."""
    draw = np.random.default_rng(1)
    directions = draw.normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = directions * (1 + 10 ** draw.uniform(-6, 0, 200))[:, None]
    for k, hard in ((1.0, False), (K, False), (K, True), (10.0, True)):
        condition = ew.Neumann() if hard else ew.Dirichlet()
        layers = ew.CombinedField(ew.Helmholtz(3, k))
        problem = ew.Problem(ew.Sphere(), None, layers, ew.PlaneWave(WAY), "exterior", condition)
        solution = ew.solve(problem, quadrature=ew.Duffy(nodes), tol=1e-1)
        far = relative(np.asarray(solution.far_field(directions)), mie.far_field(k, directions, WAY, hard))
        near = np.abs(np.asarray(solution(points)) - mie.scattered(k, points, WAY, hard)).max()
        yield f"k = {k:.4f}, {'hard' if hard else 'soft'}: far field {far:.1e}, near {near:.1e}"


def half_balls(nodes):
    """Against what is stored, t = 0.1: relative l2 errors of the far field, of a wave along z."""
    stored = halfballs.reference()
    problem = ew.Problem(ew.HalfBalls(0.1), None, ew.CombinedField(ew.Helmholtz(3, K)), ew.PlaneWave(WAY), "exterior")
    solution = ew.solve(problem, quadrature=ew.Duffy(nodes), tol=1e-1)
    directions = np.stack([np.sin(stored.theta), 0 * stored.theta, np.cos(stored.theta)], axis=-1)
    true = stored.far_axial[int(np.argmin(np.abs(stored.t - 0.1)))]
    yield f"t = 0.1: far field {relative(np.asarray(solution.far_field(directions)), true, stored.weights):.1e}"


if __name__ == "__main__":
    body = {"ball": ball, "halfballs": half_balls}[sys.argv[1]]
    for nodes in map(int, sys.argv[2:]):
        start = time.perf_counter()
        for line in body(nodes):
            print(f"Duffy({nodes}), {line}, {time.perf_counter() - start:.0f} s so far", flush=True)
