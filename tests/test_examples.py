"""Every example runs as a user would run it; each asserts its own numbers."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


# `make check` runs all of them, each in a process of its own.
CASES = [path if path.stem == "first_solve" else pytest.param(path, marks=pytest.mark.slow) for path in EXAMPLES]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_example_runs_and_asserts_a_number(path, tmp_path, monkeypatch):
    """And draws its picture, which is asked for by naming it; `make check` runs examples without."""
    # Some write files.
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    assert "assert " in text
    pictures = [tmp_path / ("drawn.gif" if "_film(" in text else "drawn.png")] if "sys.argv" in text else []
    monkeypatch.setattr(sys, "argv", [str(path), *map(str, pictures)])
    runpy.run_path(str(path), run_name="__main__")
    assert all(picture.stat().st_size > 10_000 for picture in pictures)
