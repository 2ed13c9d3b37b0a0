"""Run every example, each in its own process and in an empty folder; an example must assert a number."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

root = Path(__file__).resolve().parent.parent
failed = []
for path in sorted(root.glob("examples/*.py")):
    name = path.relative_to(root)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        code = subprocess.run([sys.executable, path], cwd=folder).returncode
    if code == 0 and "assert " not in path.read_text(encoding="utf-8"):
        print(f"{name}: asserts nothing")
        code = 1
    print(f"{name}: {'ok' if code == 0 else 'FAILED'}, {time.perf_counter() - start:.1f} s", flush=True)
    if code != 0:
        failed.append(str(name))
sys.exit(f"failed: {', '.join(failed)}" if failed else 0)
