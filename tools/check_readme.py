"""Run the code of README.md and docs/*.md as a reader would: block after block, one fresh process a document, two at a time.

Every ```python block runs, in one namespace a document, every ```sh block, and of every ```console block the lines that begin
with `$ `, unless `<!-- not run: reason -->` stands before it.
"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

root = Path(__file__).resolve().parent.parent
block = re.compile(
    r"(?:^[ ]*<!--[ ]*(?P<note>not[ ]run:[^>]+?)[ ]*-->[ ]*\n\s*)?"
    r"^(?P<indent>[ ]*)```(?P<language>python|sh|console)\b[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


def run_document(path: Path) -> None:
    name = path.relative_to(root)
    text = path.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    ran = left = 0
    for match in block.finditer(text):
        note, language = match["note"] or "", match["language"]
        code = textwrap.dedent(match["code"])
        before = text.count("\n", 0, match.start("code"))
        where = f"{name}:{before + 1}"
        if note:
            print(f"{where}: {language} {note}", flush=True)
            left += 1
            continue
        start = time.perf_counter()
        if language == "python":
            exec(compile("\n" * before + code, path, "exec"), namespace)  # a traceback then names the document's line
        else:
            if language == "console":
                code = "\n".join(line[2:] for line in code.splitlines() if line.startswith("$ "))
            subprocess.run(["sh", "-eu"], input=code, text=True, check=True)
        print(f"{where}: {language} ok, {time.perf_counter() - start:.1f} s", flush=True)
        ran += 1
    print(f"{name}: {ran} blocks ran, {left} did not", flush=True)


def main() -> int:
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if len(sys.argv) > 1:
        run_document(Path(sys.argv[1]).resolve())
        return 0
    # One thread each, as for the tests: most of the time goes into compiling, which does not share.
    env = dict(os.environ, NPROC="1", OMP_NUM_THREADS="1")

    def check(path: Path) -> bool:
        with tempfile.TemporaryDirectory() as empty:  # so that what a block writes does not land in the tree
            command = [sys.executable, __file__, str(path)]
            ran = subprocess.run(command, cwd=empty, env=env, capture_output=True, text=True)
        print(ran.stdout + ran.stderr, end="", flush=True)
        return ran.returncode == 0

    paths = [root / "README.md", *sorted(root.glob("docs/*.md"))]
    with ThreadPoolExecutor(2) as pool:
        failed = [
            str(path.relative_to(root)) for path, good in zip(paths, pool.map(check, paths), strict=True) if not good
        ]
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
