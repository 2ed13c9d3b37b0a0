"""Double precision for every test, and a table of what the tests measured."""

import gc
import os
from pathlib import Path

# What one worker has compiled, neither the other, nor a command that a test starts, nor the next run compiles again.
# In the environment, so that such a command has it too; before JAX is imported, which reads it then.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")

import jax
import pytest

jax.config.update("jax_enable_x64", True)
# Tracing makes millions of small objects that live on, which the collector would otherwise visit again and again.
gc.set_threshold(100_000, 20, 100)

_MEASURED = pytest.StashKey[list]()

# Beyond so many memory maps, or bytes, a worker lets go of what it has compiled; read again from the disk, it takes
# less than a second. A compiled function keeps several maps, and Linux ends a process that asks for more than 65,530.
MOST_MAPS = 20_000
MOST_MEMORY = 8e9


@pytest.fixture(autouse=True, scope="module")
def bounded_memory():
    """Thousands of compiled functions would otherwise fill the machine, or end the worker."""
    yield
    process = Path("/proc/self")
    if not process.exists():
        return
    memory = 4096 * int((process / "statm").read_text().split()[1])
    maps = (process / "maps").read_bytes().count(b"\n")
    if memory > MOST_MEMORY or maps > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def measured(request):
    """Checks a figure against its bound and remembers both for the table at the end of the run."""

    def check(case: str, value: float, bound: float) -> None:
        request.node.user_properties.append(("must", f"{case}: {value:.1e} (at most {bound:.0e})"))
        assert value <= bound, f"{case}: {value:.2e} exceeds {bound:.0e}"

    return check


def pytest_terminal_summary(terminalreporter):
    lines = [
        text
        for reports in (terminalreporter.getreports("passed"), terminalreporter.getreports("failed"))
        for report in reports
        for key, text in report.user_properties
        if key == "must"
    ]
    if lines:
        terminalreporter.section("measured")
        for line in sorted(set(lines)):
            terminalreporter.write_line(line)
