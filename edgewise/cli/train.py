"""`edgewise train`: an operator for a problem, in a folder of its own."""

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import jax

from edgewise.base.precision import enable_x64
from edgewise.base.words import counted
from edgewise.cli.members import check_seed
from edgewise.cli.output import ranges_in_words, to_json
from edgewise.cli.problems import find_problem
from edgewise.cli.progress import try_next
from edgewise.cli.recipe_options import change
from edgewise.cli.runs import at_option, typical_member
from edgewise.learn.choices import recipe
from edgewise.learn.fit import prepare
from edgewise.learn.folder import Folder
from edgewise.learn.loading import folder, shipped
from edgewise.learn.operator import Operator
from edgewise.learn.recipe_checks import check_problem
from edgewise.learn.recipes import Recipe, collocation_words, from_dict, network_words, steps_words
from edgewise.learn.runs import CONFIG, FILES, METRICS, read_config
from edgewise.problem import Problem


def run(command: Any) -> int:
    enable_x64()
    problem, origin = find_problem(command.problem)
    check_problem(problem)
    chosen, seed = _choices(command, problem)
    plan, was_finished = _plan(command, problem, chosen, seed), _is_finished(command)
    try:
        train = prepare(problem, chosen, seed=seed, out=command.out, resume=command.resume, origin=origin)
        # Not before: what is refused has no plan.
        if not command.json:
            print(f"`{command.out}` was finished already; nothing was trained." if was_finished else plan, flush=True)
        operator = train(not command.json)
    except KeyboardInterrupt as stopped:
        # `fit` has saved where it was.
        far = "" if (command.out / METRICS).is_file() else "no step was finished; "
        stopped.add_note(f"{far}continue with: {_continuation(command)}")
        raise
    files = [str(command.out / name) for name in FILES if (command.out / name).is_file()]
    if command.json:
        print(to_json(_report(command, operator, files) | {"was_finished": was_finished}))
    else:
        print(_outcome(command, operator, files, "files" if was_finished else "written"))
    return 1 if operator.result.code == "diverged" else 0


def _is_finished(command: Any) -> bool:
    return command.resume and (command.out / CONFIG).is_file() and read_config(command.out)["status"] == "finished"


def _choices(command: Any, problem: Problem) -> tuple[Recipe, int]:
    """Recipe and seed: those asked for, else those of the run that is continued, else the defaults."""
    stored = read_config(command.out) if command.resume and (command.out / CONFIG).is_file() else None
    seed = command.seed
    if seed is None:
        seed = 0 if stored is None else stored["seed"]
    check_seed(seed)
    Folder(command.out).check(seed, command.resume)
    # All recipes have these fields; to choose their values for a problem may take seconds.
    change(Recipe("default"), command.changes)
    if stored is not None and command.recipe is None and not command.changes:
        return from_dict(stored["recipe"], command.out / CONFIG), seed
    return change(recipe(command.recipe or "default", problem), command.changes), seed


def _plan(command: Any, problem: Problem, chosen: Recipe, seed: int) -> str:
    ranges = ranges_in_words(dict(problem.parameters.specs))
    there = (command.out / CONFIG).is_file()
    state = "" if not command.resume else " (continued)" if there else " (new: nothing to continue there)"
    return "\n".join(
        [
            f"problem   {command.problem}: {problem.representation.kernel.name}, "
            f"{problem.side}{'; ' * bool(ranges)}{ranges}",
            f"recipe    {chosen.name}; seed {seed}, {chosen.dtype}",
            f"network   {network_words(chosen)}",
            f"trained   on {collocation_words(chosen)}, {steps_words(chosen)}",
            f"device    {jax.devices()[0].device_kind}",
            f"folder    {command.out}{state}",
            *_time_before(command.problem),
        ]
    )


def _time_before(name: str) -> list[str]:
    """The time as known before the first step, that of the operator that ships; a step later, progress says more."""
    stats = read_config(folder(name)).get("stats") or {} if name in shipped() else {}
    if not {"steps", "seconds", "device"} <= stats.keys():
        return []
    return [f"time      for comparison, the operator that ships took {stats['seconds']:.0f} s on {stats['device']}"]


def _report(command: Any, operator: Operator, files: list[str]) -> dict[str, Any]:
    return {
        "problem": command.problem,
        "recipe": dataclasses.asdict(operator.recipe),
        "seed": operator.seed,
        "result": dataclasses.asdict(operator.result),
        "stats": operator.stats,
        "folder": str(command.out),
        "written": files,
    }


def _outcome(command: Any, operator: Operator, files: list[str], kept: str) -> str:
    stats, out = operator.stats, str(command.out)
    at = at_option({name: value[0] for name, value in typical_member(operator.problem.parameters)[0].items()})
    lines = ["", f"result    {operator.result}"]
    # A run that was saved from Python may know less of itself.
    if {"misfit", "misfit_max"} <= stats.keys():
        lines.append(
            f"misfit    {stats['misfit']:.1e}, how far the boundary equation is missed, relatively, the worst of "
            f"members it was not trained on; {stats['misfit_max']:.1e} in the maximum norm"
        )
    if {"steps", "seconds", "weights", "device"} <= stats.keys():
        lines.append(
            f"training  {counted(stats['steps'], 'step')}, {stats['seconds']:.1f} s, {stats['weights']} weights, on "
            f"{stats['device']}"
        )
    return "\n".join(
        [
            *lines,
            f"{kept:<9} {', '.join(files)}",
            try_next(
                ["evaluate", out, "--random", "50"],
                ["plot", out, *at, "--out", str(_picture(command.out))],
            ),
        ]
    )


def _picture(out: Path) -> Path:
    """Beside the run, not in it: a run's folder has its own files alone."""
    return out.parent / f"{out.name}.png"


def _continuation(command: Any) -> str:
    words = ["edgewise", "train", command.problem, "--out", str(command.out), "--resume"]
    if not (command.out / CONFIG).is_file():
        # Nothing was written down yet that could be asked for recipe and seed.
        words += [] if command.recipe is None else ["--recipe", command.recipe]
        words += [] if command.seed is None else ["--seed", str(command.seed)]
        words += [word for path, text in command.changes for word in (f"--recipe.{path}", text)]
    return shlex.join(words)
