"""How long one waits before anything happens: importing the package, and the command's help."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import compete, medians

COMMANDS = {
    "python": ["-c", "pass"],
    "import edgewise": ["-c", "import edgewise"],
    "import edgewise, use solve": ["-c", "import edgewise; edgewise.solve"],
    "edgewise --help": ["-m", "edgewise", "--help"],
    "edgewise --version": ["-m", "edgewise", "--version"],
}


def run(quick: bool) -> dict[str, Any]:
    root = Path(__file__).resolve().parent.parent

    def start(arguments):
        command = [sys.executable, *arguments]
        return lambda: subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL).returncode

    calls = {name: start(arguments) for name, arguments in COMMANDS.items()}
    seconds, codes = compete(calls, 1 if quick else 5)
    return {"seconds": seconds, "median": medians(seconds), "exit_codes": codes}


def describe(result: dict[str, Any]) -> list[str]:
    return [f"{name}: {seconds:.2f} s" for name, seconds in result["median"].items()]
