"""How everything here is measured: alternately, in one process, several times, medians."""

import datetime
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

import edgewise as ew


def compete(
    competitors: Mapping[str, Callable[[], Any]], repeats: int
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Seconds of every repetition, and what each returned.

    In turn, so that a machine that slows down slows all of them; once before, so that nothing compiles while measured.
    """
    outcomes = {name: jax.block_until_ready(call()) for name, call in competitors.items()}
    seconds = {name: [] for name in competitors}
    for _ in range(repeats):
        for name, call in competitors.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            seconds[name].append(time.perf_counter() - start)
    return seconds, outcomes


def without_compiling(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call that is too long to be made twice returns, and its seconds without those of tracing and compiling."""
    spans = []

    def listen(event: str, start: float, end: float, **_: Any) -> None:
        if event.startswith("/jax/core/compile/"):
            spans.append((start, end))

    jax.monitoring.register_event_time_span_listener(listen)
    start = time.perf_counter()
    try:
        outcome = jax.block_until_ready(call())
    finally:
        jax.monitoring.unregister_event_time_span_listener(listen)
    seconds = time.perf_counter() - start
    # What is traced inside of another trace must not be taken off twice.
    reached = 0.0
    for begin, end in sorted(spans):
        seconds -= max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return outcome, seconds


def medians(seconds: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(times) for name, times in seconds.items()}


def relative_difference(a: Any, b: Any) -> float:
    """Largest difference over the largest value."""
    a, b = np.asarray(a), np.asarray(b)
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def environment() -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "edgewise": ew.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        # Above the cores one uses, the machine had other work, and timings with it.
        "load": os.getloadavg()[0],
        "device": jax.devices()[0].device_kind,
        "versions": {name: version(name) for name in ("jax", "jaxlib", "equinox", "numpy")},
    }


def write_json(path: Path, record: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    os.replace(temporary, path)
