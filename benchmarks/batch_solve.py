"""A thousand members in one call, against the loop that one would write in NumPy; and how `chunk` bounds memory."""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from threadpoolctl import threadpool_limits

import edgewise as ew
from benchmarks.harness import compete, medians, relative_difference

# What 256 nodes reach on every member: at the default, `solve` would warn that they are too few.
TOL = 1e-9
REQUIRED_RATIO = 1.3


def run(quick: bool) -> dict[str, Any]:
    members, nodes, repeats = (6, 128, 1) if quick else (1000, 256, 5)
    tol = 1e-3 if quick else TOL
    t = np.linspace(1, 2, members)
    problem = ew.preset("laplace-star")

    def edgewise():
        return ew.solve(problem, t=jnp.asarray(t), quadrature=ew.Kress(nodes), tol=tol).density.values

    def numpy_one_thread():
        with threadpool_limits(1, user_api="blas"):
            return numpy_loop(t, nodes)

    calls = {"edgewise": edgewise, "numpy": lambda: numpy_loop(t, nodes), "numpy, one BLAS thread": numpy_one_thread}
    seconds, densities = compete(calls, repeats)
    median = medians(seconds)
    # Against the faster loop. BLAS threads wait for each other by spinning: on a machine with other work to do, the
    # default loop was seen to take fifty times as long as with one thread, which says nothing about edgewise.
    fastest = min((name for name in calls if name != "edgewise"), key=median.__getitem__)
    return {
        "members": members,
        "nodes": nodes,
        "seconds": seconds,
        "median": median,
        "ratios": {name: median[name] / median["edgewise"] for name in calls if name != "edgewise"},
        "fastest_loop": fastest,
        "ratio": median[fastest] / median["edgewise"],
        "required_ratio": REQUIRED_RATIO,
        "difference": relative_difference(densities["edgewise"], densities["numpy"]),
        "peak_megabytes": {
            f"chunk={chunk}": _peak(chunk, members, nodes, tol) for chunk in ((2,) if quick else (8, 128))
        },
    }


def describe(result: dict[str, Any]) -> list[str]:
    memory = ", ".join(f"{chunk}: {peak:.0f} MB" for chunk, peak in result["peak_megabytes"].items())
    each = [f"{name} {1e3 * seconds / result['members']:.2f} ms" for name, seconds in result["median"].items()]
    return [
        f"{result['members']} members, {result['nodes']} nodes, a member: {'; '.join(each)}",
        "ratio " + ", ".join(f"{ratio:.2f} to {name}" for name, ratio in result["ratios"].items()),
        f"densities agree to {result['difference']:.0e} of the largest",
        f"peak memory of the process, {memory}",
    ]


def numpy_loop(t: np.ndarray, nodes: int) -> np.ndarray:
    """The same densities, from the formulas alone: Kress's weights once, then a matrix and a LAPACK call a member."""
    s = 2 * np.pi * np.arange(nodes) / nodes
    weights = kress_weights(nodes)
    densities = np.empty((len(t), nodes))
    matrix, rhs = np.zeros((nodes + 1, nodes + 1)), np.zeros(nodes + 1)
    for i, value in enumerate(t):
        r = 1 + 0.2 * (np.sin(3 * s) + value * np.sin(4 * s) + np.sin(6 * s) + np.cos(2 * s) + np.cos(5 * s))
        slope = 0.2 * (
            3 * np.cos(3 * s) + 4 * value * np.cos(4 * s) + 6 * np.cos(6 * s) - 2 * np.sin(2 * s) - 5 * np.sin(5 * s)
        )
        x, y, jacobian = r * np.cos(s), r * np.sin(s), np.hypot(r, slope)
        square = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
        # Target and source meet: log |d|² - log 4 sin² tends to log |x'|², and the weights have no logarithm there.
        np.fill_diagonal(square, jacobian**2)
        matrix[:-1, :-1] = -(weights + 2 * np.pi / nodes * np.log(square)) * jacobian / (4 * np.pi)
        matrix[:-1, -1] = 1
        matrix[-1, :-1] = 2 * np.pi / nodes * jacobian
        rhs[:-1] = np.exp(x) * np.sin(y)
        densities[i] = np.linalg.solve(matrix, rhs)[:-1]
    return densities


def kress_weights(nodes: int) -> np.ndarray:
    """What to add to the plain rule for log |d|²: Kress's weights of log 4 sin²(σ/2), less the logarithm itself."""
    size = np.abs(np.fft.fftfreq(nodes, 1 / nodes))
    symbol = np.zeros(nodes)
    symbol[1:] = -2 * np.pi / size[1:]
    sine = np.sin(np.pi * np.arange(nodes) / nodes)
    sine[0] = 0.5  # log 4 sin² = 0: nothing is taken away on the diagonal
    row = np.fft.ifft(symbol).real - 2 * np.pi / nodes * np.log(4 * sine**2)
    return row[(np.arange(nodes)[:, None] - np.arange(nodes)) % nodes]


def _peak(chunk: int, members: int, nodes: int, tol: float) -> float:
    """Megabytes that a process of its own held at most."""
    arguments = [
        f"--{name}={value}" for name, value in dict(chunk=chunk, members=members, nodes=nodes, tol=tol).items()
    ]
    command = [sys.executable, "-m", "benchmarks.batch_solve", *arguments]
    root = Path(__file__).resolve().parent.parent
    return json.loads(subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout)


def _megabytes() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        # Linux hands a parent's `ru_maxrss` on to the process that it starts; this count begins anew.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 2**20 if sys.platform == "darwin" else used / 1024


def _measure_memory() -> None:
    parser = argparse.ArgumentParser()
    for name, kind in dict(chunk=int, members=int, nodes=int, tol=float).items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    ew.enable_x64()
    t = jnp.linspace(1, 2, options.members)
    rule = ew.Kress(options.nodes)
    ew.solve(ew.preset("laplace-star"), t=t, quadrature=rule, tol=options.tol, chunk=options.chunk)
    print(_megabytes())


if __name__ == "__main__":
    _measure_memory()
