"""Completion in the shell: what is offered behind what, and that no shell waits for JAX."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgewise.cli import COMMANDS, main
from edgewise.cli.completion import problems, runs
from edgewise.cli.grammar import grammar_of
from edgewise.learn.loading import shipped
from edgewise.presets import PRESETS

ROOT = Path(__file__).parent.parent
# What a person has typed, its last word not to its end, and what the shell offers for that word.
OFFERED = {
    "tr": "train",
    "train laplace-s": "laplace-shapes laplace-star",
    "train m": "mine.py mesh",
    "train laplace-star.gif": "",
    "evaluate laplace-star --problem m": "mine.py mesh",
    "train mine.py :": "problem plate make_waves",
    "train mine.py : p": "problem plate",
    "train mine.py:pr": "mine.py:problem",
    "evaluate laplace-star --problem mine.py:": "mine.py:problem mine.py:plate mine.py:make_waves",
    "train points.csv :": "",
    "train laplace-star --re": "--recipe --resume",
    "train laplace-star --recipe p": "paper paper-random",
    "evaluate r": "runs",
    "evaluate laplace-star --at ": "",
    "predict laplace-star --points p": "points.csv",
    "predict laplace-star --gri": "--grid",
    "reproduce h": "helmholtz",
    "completion ": "bash zsh fish",
    "doctor ": "--help --json",
}
FILE = """
import edgewise as ew

problem = ew.Problem(...)
plate: ew.Problem = make_plate(2)
if problem == plate:
    inner = 1


def make_waves():
    return ...


def make_plate(size):
    return ...
"""
TRY = """
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _edgewise; echo "${COMPREPLY[*]}"; }
complete -p edgewise >&2
"""


@pytest.fixture
def script(capsys):
    def make(shell: str) -> str:
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return make


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_offers_what_fits(script, tmp_path):
    for folder in ("runs", "mesh"):
        (tmp_path / folder).mkdir()
    for file in ("mesh.vtu", "laplace-star.gif"):
        (tmp_path / file).touch()
    (tmp_path / "points.csv").write_text("x = 1\n")
    (tmp_path / "mine.py").write_text(FILE)
    # A space at the end begins a new word.
    calls = [f"try edgewise {text}{' ' + chr(34) * 2 if text.endswith(' ') else ''}" for text in OFFERED]
    done = subprocess.run(
        ["bash", "--norc"], input="\n".join([script("bash"), TRY, *calls]), cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr.strip() == "complete -o filenames -F _edgewise edgewise"
    assert dict(zip(OFFERED, done.stdout.split("\n"), strict=False)) == OFFERED


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_there_and_none_that_is_not(script, shell):
    text = script(shell)
    for name, command in COMMANDS.items():
        assert name in text
        for option in grammar_of(command).options:
            assert (f"-l {option[2:]}" if shell == "fish" else option) in text
    assert "changes" not in text


def test_presets_and_operators_are_known_without_importing_them():
    assert problems() == sorted(PRESETS) and runs() == sorted(shipped())


def test_no_jax_is_imported_for_a_script():
    code = "import sys; from edgewise.cli import main; main(['completion', 'zsh']); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.DEVNULL).returncode == 0
