"""Build the documentation into site/: docs/, the examples as pages, and the reference from docstrings. Warnings are errors.

What zensical reads is put together in build/docs, so that docs/ stays plain Markdown whose links work where it lies.
"""

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import unquote

root = Path(__file__).resolve().parent.parent
staged = root / "build" / "docs"

FIGURES = [
    f"plot.{name}"
    for name in re.findall(
        r"import (\w+_(?:figure|film)) as", (root / "edgewise" / "plot.py").read_text(encoding="utf-8")
    )
    if not name.startswith("save_")
]
# A page: its title, what it holds, and the names on it; without a dot a name is one of `edgewise`. Tests ask that all are here.
PAGES = {
    "problems": ("Problems and solutions", "What is asked, and what is answered.", "Problem solve Solution trust.estimate.ErrorEstimate base.result.Result geometry.Boundary preset enable_x64"),
    "parameters": ("Parameters", "What a family is indexed by.", "Box Direction Angle"),
    "curves": ("Curves", "Boundaries in the plane. Any number may be a parameter's name.", "StarCurve Curve FourierCurve Ellipse Kite Polygon Teardrop Airfoil"),
    "surfaces": ("Surfaces", "Boundaries in space. Any number may be a parameter's name.", "Sphere Ellipsoid Torus StarSurface HarmonicSurface Revolution HalfBalls Cuboid Surface Patch"),
    "moved": ("Moved and joined", "For curves and surfaces alike.", "Translate Rotate Scale Union"),
    "equations": ("Equations", "Kernels: fundamental solutions, with their signs.", "Laplace Helmholtz ModifiedHelmholtz Biharmonic Stokes AbstractKernel testing.check_kernel testing.KernelReport testing.laplacian"),
    "representations": ("Representations", "How a field is made from a density, and which equation the density solves.", "SingleLayer DoubleLayer CombinedField NullField Direct LayerPair TwoMedia"),
    "conditions": ("Conditions and data", "What is prescribed on the boundary.", "Dirichlet Neumann Robin Clamped Transmission PlaneWave PointSource UniformField BoundaryValues"),
    "rules": ("Rules", "How an integral over a boundary is computed. `solve` chooses one where none is named.", "Kress Graded Duffy Trapezoid Uniform MonteCarlo"),
    "files": ("Files", "For other programs.", "write to_xarray"),
    "operators": ("Operators", "Networks that give the density of every member.", "fit Operator load pretrained recipe Recipe learn.recipes.NetworkRecipe learn.recipes.CollocationRecipe learn.recipes.OptimiserRecipe learn.recipes.ValidationRecipe testing.damaged"),
    "figures": ("Figures and films", "They need `pip install \"edgewise[plot]\"`.", " ".join(FIGURES)),
}  # fmt: skip
# Methods for users. Those of other classes are what the library itself calls.
METHODS = {
    "Solution": "__call__ gradient total incident far_field cross_section at_infinity charge dipole force torque pressure residual error_estimate refine factorise",
    "Operator": "__call__ save",
    "Box": "sample",
    "AbstractKernel": "log_part smooth_part radial singularity rate has_constants",
    "Boundary": "measure split",
}
COMMANDS = re.findall(
    r"(?ms)^@dataclasses.*?^class (\w+):",
    (root / "edgewise" / "cli" / "__init__.py").read_text(encoding="utf-8").lower(),
)
MADE_BY_VERBS = ("Solution", "Operator", "ErrorEstimate", "Result", "Boundary", "KernelReport")


def find(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"edgewise.{module}" if module else "edgewise"), last)


def signature(name: str, thing: Any) -> str:
    text = str(inspect.signature(thing)).removesuffix(" -> None")
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(\w+)", r"\1", text)  # edgewise.geometry.family.AbstractFamily
    text = re.sub(r"(: |-> )'([^']+)'", r"\1\2", text)  # a type that is imported for checkers alone
    text = re.sub(r"= <[^>]*>|= \w+Recipe\([^)]*\)", "= ...", text).replace("(self, ", "(").replace("(self)", "()")
    if len(name + text) > 100:  # one argument a line; commas inside brackets part none
        inside, _, after = text[1:].rpartition(")")
        text = "(\n    " + re.sub(r", (?=\*{0,2}\w+[:,=]|\*, )", ",\n    ", inside) + ",\n)" + after
    return f"```python\n{name}{text}\n```\n"


def markdown(text: str) -> str:
    """A docstring as Markdown: arguments become a list, examples a block."""
    text = re.sub(r"(?m)^(Arguments|Returns|Attributes):\n((?:    .*\n?|\n(?=    ))+)", _listed, text)
    return re.sub(r"(?m)(^>>> .*\n?(?:^.+\n?)*)", lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text + "\n")


def _listed(found: re.Match) -> str:
    entries = re.sub(r"(?m)^(\*{0,2}\w+): ", r"- `\1`: ", textwrap.dedent(found[2]))
    return f"**{found[1]}**\n\n{entries}"


def fields(thing: type) -> str:
    """The strings below a class's fields, where it has them."""
    body = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0].body
    rows = []
    for one, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(one, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            rows.append(f"- `{one.target.id}`: {' '.join(after.value.value.split())}")
    return "**Fields**\n\n" + "\n".join(rows) + "\n\n" if rows else ""


def entry(name: str) -> str:
    short, thing = name.rpartition(".")[2], find(name)
    shown = name if name.startswith(("plot", "testing")) else short
    text = f"## {short}\n\n"
    if short not in MADE_BY_VERBS:
        text += signature(shown, thing) + "\n"
    text += markdown(inspect.getdoc(thing) or "") + "\n"
    if inspect.isclass(thing):
        text += fields(thing)
        for method in METHODS.get(short, "").split():
            one = inspect.getattr_static(thing, method)
            shown = short.lower() if method == "__call__" else f"{short.lower()}.{method}"
            if isinstance(one, property):
                text += f"### {shown}\n\n{markdown(inspect.getdoc(one.fget) or '')}\n"
            else:
                one = getattr(thing, method)
                text += f"### {shown}()\n\n{signature(shown, one)}\n{markdown(inspect.getdoc(one) or '')}\n"
    return text


def help_of(command: str) -> str:
    words = [sys.executable, "-m", "edgewise", command, "--help"]
    env = dict(os.environ, COLUMNS="96")
    ran = subprocess.run(words, capture_output=True, text=True, check=True, cwd=root, env=env)
    return f"## {command}\n\n```text\n{ran.stdout.strip()}\n```\n"


def stage() -> None:
    shutil.rmtree(staged, ignore_errors=True)
    shutil.copytree(root / "docs", staged)
    for path in staged.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(
            r"\]\(\.\./(examples/\w+)\.py\)", r"](\1.md)", text.replace("](../examples)", "](examples/index.md)")
        )
        path.write_text(text, encoding="utf-8")
    for folder in ("api", "examples"):
        (staged / folder).mkdir()
    listed = "# Examples\n\nEach runs by itself and asserts a number.\n\n"
    for path in sorted((root / "examples").glob("*.py")):
        code = path.read_text(encoding="utf-8")
        title, words = path.stem.replace("_", " ").capitalize(), ast.get_docstring(ast.parse(code)) or ""
        code = code.split('"""\n', 1)[-1].lstrip()
        page = f"# {title}\n\n{words}\n\n```python\n{code}```\n\n`python examples/{path.name}`\n"
        (staged / "examples" / f"{path.stem}.md").write_text(page, encoding="utf-8")
        listed += f"- [{title}]({path.stem}.md): {words.partition(chr(10))[0]}\n"
    (staged / "examples" / "index.md").write_text(listed, encoding="utf-8")
    for page, (title, words, names) in PAGES.items():
        text = f"# {title}\n\n{words}\n\n" + "\n".join(entry(name) for name in names.split())
        (staged / "api" / f"{page}.md").write_text(text, encoding="utf-8")
    commands = "# Commands\n\nEvery command that computes a number takes `--json`.\n\n" + "\n".join(
        map(help_of, COMMANDS)
    )
    (staged / "api" / "commands.md").write_text(commands, encoding="utf-8")


def broken(site: Path) -> list[str]:
    """Links and images that lead nowhere (zensical looks at links alone, not at images or the navigation), and what a page would load from elsewhere."""
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html") if path.name != "404.html"}
    anchors = {path: set(re.findall(r'\bid="?([^"\s>]+)', text)) for path, text in pages.items()}
    found = []
    for path, text in pages.items():
        for kind, address in re.findall(r'\b(href|src)="?([^"\s>]+)', text):
            place, _, anchor = address.partition("#")
            target = (path.parent / unquote(place)).resolve() if place else path
            if re.match(r"\w+:", address):
                wrong = kind == "src"
            else:
                wrong = not target.exists() or (anchor and target in anchors and unquote(anchor) not in anchors[target])
            if wrong and anchor != "__skip":
                found.append(f"{path.relative_to(site)}: {address}")
    return sorted(set(found))


def main() -> int:
    stage()
    code = subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=root).returncode
    wrong = [] if code else broken(root / "site")
    for line in wrong:
        print(f"leads nowhere: {line}")
    return code or bool(wrong)


if __name__ == "__main__":
    sys.path.insert(0, str(root))
    sys.exit(main())
