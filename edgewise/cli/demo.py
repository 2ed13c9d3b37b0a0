"""`edgewise demo`: the paper's Laplace problem, solved, measured up to the boundary and drawn."""

import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from edgewise import __version__, plot
from edgewise.cli.output import make_folder, table, to_json
from edgewise.files import write, write_text
from edgewise.precision import enable_x64
from edgewise.presets import preset
from edgewise.problem import Problem
from edgewise.solution import Solution
from edgewise.solver import solve

# The members the paper shows, and the relative l2 errors it prints for its network.
PAPER = {1.15: 0.0285, 1.35: 0.0287, 1.45: 0.0300}
DISTANCES = 10.0 ** np.arange(-8, -1)
RESOLUTION = 160

Row = dict[str, float]

NEXT = """Try next:
  edgewise list                       the problems that ship
  edgewise demo --json                the same numbers for a program
  python -c 'import edgewise as ew; ew.enable_x64(); print(ew.solve(ew.preset("laplace-star"), t=1.5)([0.3, 0.2]))'"""


def run(command: Any) -> None:
    enable_x64()
    make_folder(command.out)
    problem = preset("laplace-star")
    solution, first, warm = _solve_twice(problem, jnp.array(list(PAPER)))
    start = time.perf_counter()
    samples = plot.sample_field(solution, RESOLUTION)
    rows = [
        _measure(problem, member, sample, warm / len(solution))
        for member, sample in zip(solution, samples, strict=True)
    ]
    report = {
        "preset": "laplace-star",
        "edgewise": __version__,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        "members": rows,
        "seconds": {"first solve": first, "warm solve": warm, "evaluation": time.perf_counter() - start},
        "written": [],
    }
    text = _table(report)
    picture = _draw(solution, samples, command.out / "laplace-star.png")
    files = [
        command.out / "table.md",
        command.out / "table.json",
        *([] if picture else [command.out / "laplace-star.png"]),
    ]
    report["written"] = [str(path) for path in files]
    write_text(files[0], text + "\n")
    write_text(files[1], to_json(report) + "\n")
    if command.json:
        print(to_json(report))
        return
    print(f"{text}\n\nWrote {', '.join(map(str, files))}.")
    if picture:
        print(f"No picture: {picture}")
    print(f"\n{NEXT}")


def _solve_twice(problem: Problem, t: Any) -> tuple[Solution, float, float]:
    """All members in one call, and the seconds it takes with and without compilation."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        solution = jax.block_until_ready(solve(problem, t=t))
        seconds.append(time.perf_counter() - start)
    return solution, *seconds


def _measure(problem: Problem, member: Solution, sample: plot.Samples, seconds: float) -> Row:
    assert sample.truth is not None and sample.error is not None, "the preset has an exact field"
    t = round(float(member.parameters["t"]), 10)
    close = _close_points(member)
    # A third of the grid's points is enough to see a gradient's worst error, with the close ones beside them.
    points = np.concatenate([sample.points[::3], close])
    exact = problem.exact
    slopes = jax.vmap(jax.grad(lambda x: exact(x, member.parameters)))(jnp.asarray(points))  # pyright: ignore
    at_boundary = member(close, outside="error") - problem.exact_at(jnp.asarray(close), member.parameters)
    return {
        "t": t,
        "nodes": int(member.stats["num_nodes"]),
        "points": len(sample.points),
        "max_error": float(sample.error.max()),
        "max_error_near_boundary": float(jnp.max(jnp.abs(at_boundary))),
        "max_error_of_gradient": float(jnp.max(jnp.abs(member.gradient(points, outside="error") - slopes))),
        "relative_l2": float(np.linalg.norm(sample.error) / np.linalg.norm(sample.truth)),
        "relative_l2_of_the_paper": PAPER[t],
        "seconds": seconds,
    }


def _close_points(member: Solution, count: int = 100) -> np.ndarray:
    """Inside, at distances 1e-8 to 1e-2 from points all along the curve."""
    pick = np.linspace(0, member.boundary.s.shape[0], count, endpoint=False).astype(int)
    x, normal = np.asarray(member.boundary.x)[pick], np.asarray(member.boundary.normal)[pick]
    return (x - DISTANCES[:, None, None] * normal).reshape(-1, 2)


def _table(report: dict[str, Any]) -> str:
    header = [
        "t",
        "nodes",
        "max error inside",
        "1e-8 to 1e-2 from the boundary",
        "of the gradient",
        "relative l2",
        "the paper's network",
        "seconds",
    ]
    rows = [
        [
            f"{row['t']}",
            f"{row['nodes']}",
            f"{row['max_error']:.1e}",
            f"{row['max_error_near_boundary']:.1e}",
            f"{row['max_error_of_gradient']:.1e}",
            f"{row['relative_l2']:.1e}",
            f"{row['relative_l2_of_the_paper']:.2%}",
            f"{row['seconds']:.3f}",
        ]
        for row in report["members"]
    ]
    seconds = report["seconds"]
    points = min(row["points"] for row in report["members"])
    return (
        f"# laplace-star: e^x sin y inside the paper's curves\n\n{table(header, rows)}\n\n"
        f"All members in one call of `solve`: {seconds['warm solve']:.3f} s "
        f"({seconds['first solve']:.1f} s the first time, with compilation), on {report['device']}. "
        f"Errors are absolute, at {points} points or more a member, the boundary included."
    )


def _draw(solution: Solution, samples: list[plot.Samples], path: Path) -> str | None:
    """Writes the picture; without matplotlib, returns what to do."""
    try:
        figure = plot.field_figure(solution, samples=samples)
    except ImportError as error:
        return str(error)
    write(path, lambda file: figure.savefig(file, format="png", dpi=100, pil_kwargs={"optimize": True}))
    return None
