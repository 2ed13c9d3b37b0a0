"""Every example runs as a user would run it; each asserts its own numbers."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_asserts_a_number(path):
    assert "assert " in path.read_text(encoding="utf-8")
    runpy.run_path(str(path), run_name="__main__")
