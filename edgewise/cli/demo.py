"""`edgewise demo`: the paper's Laplace problem, learned and measured beside the paper and a classical solve."""

import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from edgewise import __version__, plot
from edgewise.base.files import make_folder, write_text
from edgewise.base.precision import enable_x64
from edgewise.cli.evaluate import measure_members, measure_random, random_words
from edgewise.cli.output import table, to_json
from edgewise.cli.plotting import save
from edgewise.cli.progress import interruptible, try_next
from edgewise.evaluation import measure, sample_points
from edgewise.learn.fit import fit
from edgewise.learn.operator import Operator
from edgewise.learn.runs import FILES
from edgewise.paper.reproduction import EXPERIMENTS, MEMBERS
from edgewise.presets import preset
from edgewise.solution import Solution
from edgewise.solver import solve

# The relative l2 errors that the paper prints for its network at the members it shows.
PRINTED = dict(zip(MEMBERS, EXPERIMENTS["laplace"].printed, strict=True))
RESOLUTION = 160
RANDOM = 50


def run(command: Any) -> None:
    enable_x64()
    make_folder(command.out)
    _check_run(command.out / "run")
    with interruptible("nothing is half written; the same command begins again, `edgewise train` can be continued."):
        _run(command)


def _run(command: Any) -> None:
    if not command.json:
        print(
            "Training the operator of `laplace-star` for all t in [1, 2], on the boundary alone, without solutions to "
            "learn from: 20 s on two cores, about a minute with all the rest."
        )
    start = time.perf_counter()
    operator = fit(preset("laplace-star"), progress=not command.json)
    trained = time.perf_counter()
    members = _measure(operator)
    random = measure_random(operator, RANDOM, 0, RESOLUTION, show=not command.json)
    measured = time.perf_counter()
    operator.save(command.out / "run", overwrite=True)
    report = {
        "preset": "laplace-star",
        "edgewise": __version__,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        "result": str(operator.result),
        "stats": operator.stats,
        "members": members,
        "random": random,
        "seconds": {"training": trained - start, "evaluation": measured - trained},
        "written": [],
    }
    text = _table(report)
    pictures, missing = _draw(operator, command.out)
    files = [command.out / "table.md", command.out / "table.json", *pictures, command.out / "run"]
    report["written"] = [str(path) for path in files]
    write_text(files[0], text + "\n")
    write_text(files[1], to_json(report) + "\n")
    if command.json:
        print(to_json(report))
        return
    print(f"\n{text}\n\nWrote {', '.join(map(str, files))}.")
    if missing:
        print(f"No pictures: {missing}")
    made = str(command.out / "run")
    print(
        try_next(
            ["evaluate", made, "--at", "t=1.5"],
            ["predict", made, "--at", "t=1.5", "--grid", "200", "--out", "field.csv"],
            ["list"],
            ["train", "laplace-quadratic", "--out", "runs/quadratic"],
        )
    )


def _check_run(path: Path) -> None:
    """Refuses, before it computes, a folder that holds more than the run of an earlier demo."""
    strange = path.exists() and (not path.is_dir() or any(entry.name not in FILES for entry in path.iterdir()))
    if strange:
        raise ValueError(f"`{path}` is where the demo keeps its run, and holds something else. Name another `--out`.")


def _measure(operator: Operator) -> list[dict[str, Any]]:
    """The operator's errors at the paper's members, the solve's beside them."""
    t = jnp.array(MEMBERS)
    rows = measure_members(operator, {"t": np.array(MEMBERS)}, RESOLUTION)
    solution = solve(operator.problem, t=t)
    # Rounding looks the same on a coarser grid, in a quarter of the time.
    solved = measure(solution, resolution=RESOLUTION // 2)
    seconds = _seconds(lambda: operator(t=t)), _seconds(lambda: solve(operator.problem, t=t))
    for i, (row, given) in enumerate(zip(rows, MEMBERS, strict=True)):
        row |= {
            "relative_l2_of_the_paper": PRINTED[given],
            "relative_l2_of_solve": float(solved.relative_l2[i]),
            "max_error_of_solve": float(solved.max_error[i]),
            "max_error_near_boundary_of_solve": float(solved.max_error_near_boundary[i]),
            "max_error_of_gradient_of_solve": _gradient_error(solution[i]),
            "seconds": seconds[0] / len(MEMBERS),
            "seconds_of_solve": seconds[1] / len(MEMBERS),
        }
    return rows


def _gradient_error(member: Solution) -> float:
    """The largest of the solve's gradient, near the boundary, where a gradient is worst."""
    exact: Any = member.problem.exact
    points = sample_points(member, RESOLUTION)[1]
    slopes = jax.vmap(jax.grad(lambda x: exact(x, member.parameters)))(jnp.asarray(points))
    return float(jnp.nanmax(jnp.abs(member.gradient(points) - slopes)))


def _seconds(call: Any) -> float:
    """The seconds of a call that has been compiled already."""
    jax.block_until_ready(call().strengths)
    start = time.perf_counter()
    jax.block_until_ready(call().strengths)
    return time.perf_counter() - start


def _table(report: dict[str, Any]) -> str:
    header = [
        "t",
        "operator, relative l2",
        "max error",
        "near the boundary",
        "the paper's",
        "classical solve",
        "ms",
        "ms of solve",
    ]
    rows = [
        [
            f"{row['parameters']['t']}",
            f"{row['relative_l2']:.1e}",
            f"{row['max_error']:.1e}",
            f"{row['max_error_near_boundary']:.1e}",
            f"{row['relative_l2_of_the_paper']:.2%}",
            f"{row['relative_l2_of_solve']:.1e}",
            f"{1e3 * row['seconds']:.2f}",
            f"{1e3 * row['seconds_of_solve']:.2f}",
        ]
        for row in report["members"]
    ]
    stats, seconds = report["stats"], report["seconds"]
    points = min(row["points"] for row in report["members"])
    near, gradient = (
        max(row[f"max_error_{of}_of_solve"] for row in report["members"]) for of in ("near_boundary", "of_gradient")
    )
    return (
        f"# laplace-star: e^x sin y inside the paper's curves\n\n{table(header, rows)}\n\n"
        f"{random_words(report['random'])}\n\n"
        f"One operator for all t in [1, 2]: {stats['weights']} weights, {stats['steps']} steps, "
        f"{seconds['training']:.1f} s with compilation, on {report['device']}. "
        f"{report['result'][0].upper()}{report['result'][1:]}. Max errors are absolute, at {points} points or more a "
        f"member, the boundary included; times are for a density. The classical solve errs by at most {near:.1e} near "
        f"the boundary, its gradient by {gradient:.1e}."
    )


def _draw(operator: Operator, out: Path) -> tuple[list[Path], str | None]:
    """The pictures; without matplotlib none, and what to do."""
    try:
        solution = operator(t=jnp.array(MEMBERS))
        figures = {
            "laplace-star.png": plot.field_figure(solution, resolution=3 * RESOLUTION // 4, name="prediction"),
            "training.png": plot.training_figure(operator.history),
        }
    except ImportError as error:
        return [], str(error)
    for name, figure in figures.items():
        save(figure, out / name)
    return [out / name for name in figures], None
