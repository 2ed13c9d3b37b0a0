"""Run every example, each in its own process and in an empty folder, two at a time; an example must assert a number."""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

root = Path(__file__).resolve().parent.parent
# One thread each, as for the tests: most of the time goes into compiling, which does not share.
env = dict(os.environ, NPROC="1", OMP_NUM_THREADS="1")


def check(path: Path) -> bool:
    name = path.relative_to(root)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([sys.executable, path], cwd=folder, env=env, capture_output=True, text=True)
    good = ran.returncode == 0
    said = ran.stdout + ran.stderr
    if good and "assert " not in path.read_text(encoding="utf-8"):
        good, said = False, "asserts nothing\n"
    print(f"{said}{name}: {'ok' if good else 'FAILED'}, {time.perf_counter() - start:.1f} s", flush=True)
    return good


paths = sorted(root.glob("examples/*.py"))
with ThreadPoolExecutor(2) as pool:
    failed = [str(path.relative_to(root)) for path, good in zip(paths, pool.map(check, paths), strict=True) if not good]
sys.exit(f"failed: {', '.join(failed)}" if failed else 0)
