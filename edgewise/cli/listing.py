"""`edgewise list`: the problems that ship."""

from typing import Any

from edgewise.cli.output import to_json
from edgewise.presets import PRESETS, preset, summary


def run(command: Any) -> None:
    found = [_describe(name) for name in PRESETS]
    if command.json:
        print(to_json(found))
        return
    for one in found:
        ranges = ", ".join(f"{name} in {range}" for name, range in one["parameters"].items())
        print(f"{one['name']}: {one['summary']}")
        print(f"    {one['equation']}, {one['condition']} data, {one['side']}; {ranges}")
    print('\nIn Python: `problem = ew.preset("laplace-star")`, `ew.solve(problem, t=1.15)`.')


def _describe(name: str) -> dict[str, Any]:
    problem = preset(name)
    return {
        "name": name,
        "summary": summary(name),
        "equation": problem.representation.kernel.name,
        "condition": type(problem.condition).__name__,
        "side": problem.side,
        "parameters": {name: str(spec) for name, spec in problem.parameters.specs},
    }
