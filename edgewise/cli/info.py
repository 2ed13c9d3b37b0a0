"""`edgewise info`: what a run is, by what it wrote down. No code of the problem is run."""

from pathlib import Path
from typing import Any

from edgewise.base.named import is_number
from edgewise.base.words import counted
from edgewise.cli.output import ranges_in_words, to_json
from edgewise.cli.runs import find_run, name_of, shell_continuation
from edgewise.learn.recipes import collocation_words, from_dict, network_words
from edgewise.learn.runs import CONFIG, read_config, read_history
from edgewise.presets import PRESETS, description


def run(command: Any) -> None:
    path = find_run(command.run)
    config, history = read_config(path), read_history(path)
    recipe = from_dict(config["recipe"], path / CONFIG)
    stats = config.get("stats") or {}
    report = {
        "run": str(path),
        "edgewise": config.get("edgewise"),
        "date": stats.get("date"),
        "command": stats.get("command"),
        "status": config["status"],
        "problem": config["problem"],
        "box": config.get("box", {}),
        "seed": config["seed"],
        "recipe": config["recipe"],
        "network": network_words(recipe),
        "collocation": collocation_words(recipe),
        "result": config.get("result"),
        "stats": stats,
        "errors": stats.get("measured"),
        "last": history[-1] if history else None,
        "files": {file.name: file.stat().st_size for file in sorted(path.iterdir()) if file.is_file()},
    }
    name = config["problem"].get("preset")
    if name in PRESETS:
        report["description"] = description(name)
    print(to_json(report) if command.json else _words(report))


def _words(report: dict[str, Any]) -> str:
    stats, last = report["stats"], report["last"]
    origin = report["problem"]
    problem = name_of(origin) or "a problem handed over in Python"
    ranges = ranges_in_words(report["box"])
    recipe = report["recipe"]
    weights = f"; {stats['weights']} weights" if "weights" in stats else ""
    if report["result"]:
        result = report["result"]["message"]
    else:
        far = f"after step {last['step']}" if last else "no step was finished"
        result = f"not finished, {far}: `{shell_continuation(Path(report['run']), name_of(origin))}` continues it"
    lines = [
        ("run", report["run"]),
        ("problem", f"{problem}{'; ' * bool(ranges)}{ranges}"),
        ("recipe", f"{recipe['name']}; seed {report['seed']}, {recipe['dtype']}"),
        ("network", report["network"] + weights),
        ("trained", f"on {report['collocation']}, by {recipe['optimiser']['name']}"),
        ("result", result),
    ]
    if "misfit" in stats:
        lines.append(
            (
                "misfit",
                f"{_number(stats['misfit'])}, how far the boundary equation is missed, relatively, the worst of "
                f"members it was not trained on; {_number(stats.get('misfit_max'))} in the maximum norm",
            )
        )
    elif last:
        lines.append(
            (
                "misfit",
                f"{_number(last.get('misfit'))} after step {last['step']}, how far the boundary equation is missed, "
                "relatively",
            )
        )
    if {"steps", "seconds"} <= stats.keys():
        device = f" on {stats['device']}" if "device" in stats else ""
        lines.append(("time", f"{counted(stats['steps'], 'step')}, {stats['seconds']:.1f} s{device}"))
    if report["errors"]:
        lines.append(("measured", "; ".join(f"{what}: {value:.3g}" for what, value in report["errors"].items())))
    lines.append(("made", f"by edgewise {report['edgewise']}" + (f", {report['date']}" if report["date"] else "")))
    if report["command"]:
        lines.append(("command", report["command"]))
    lines.append(("files", ", ".join(f"{name} ({size:,} bytes)" for name, size in report["files"].items())))
    text = "\n".join(f"{name:<9} {words}" for name, words in lines)
    return f"{text}\n\n{report['description']}" if "description" in report else text


def _number(value: Any) -> str:
    return f"{value:.1e}" if is_number(value) else "unknown"
