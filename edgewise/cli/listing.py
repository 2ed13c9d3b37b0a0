"""`edgewise list`: the problems that ship, and which of them have a trained operator."""

from typing import Any

from edgewise.cli.output import ranges_in_words, to_json
from edgewise.learn.loading import folder, shipped
from edgewise.learn.recipes import from_dict
from edgewise.learn.runs import CONFIG, read_config
from edgewise.presets import PRESETS, preset, summary


def run(command: Any) -> None:
    found = [_describe(name) for name in PRESETS]
    if command.json:
        print(to_json(found))
        return
    for one in found:
        ranges = ranges_in_words(one["parameters"])
        print(f"{one['name']}: {one['summary']}")
        print(f"    {one['equation']}, {one['condition']} data, {one['side']}; {ranges}")
        print(f"    {_operator_words(one)}")
    print(
        '\nWhat its parameters mean: `edgewise info laplace-star`. In Python: `problem = ew.preset("laplace-star")`, '
        "`ew.solve(problem, t=1.15)`, `ew.fit(problem)`."
    )


def _describe(name: str) -> dict[str, Any]:
    problem = preset(name)
    return {
        "name": name,
        "summary": summary(name),
        "equation": problem.representation.kernel.name,
        "condition": type(problem.condition).__name__,
        "side": problem.side,
        "parameters": {name: str(spec) for name, spec in problem.parameters.specs},
        "operator": _operator(name),
    }


def _operator(name: str) -> dict[str, Any] | None:
    """What the operator that ships says of its errors; None where none ships."""
    if name not in shipped():
        return None
    config = read_config(folder(name))
    stats = config.get("stats") or {}
    members = from_dict(config["recipe"], folder(name) / CONFIG).validation.members
    return {
        "misfit": stats.get("misfit"),
        "misfit_max": stats.get("misfit_max"),
        "unseen_members": members,
        "errors": config.get("errors"),
    }


def _operator_words(one: dict[str, Any]) -> str:
    operator = one["operator"]
    if operator is None:
        return f"no trained operator ships: `edgewise train {one['name']} --out runs/{one['name']}`"
    misfit = operator["misfit"]
    unseen = f"the worst of {operator['unseen_members']} members it was not trained on"
    error = f"; the boundary equation holds to {misfit:.1e} on {unseen}" if isinstance(misfit, float) else ""
    return f"a trained operator ships{error}: `edgewise evaluate {one['name']}`"
