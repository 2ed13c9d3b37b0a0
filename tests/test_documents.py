"""Documents: their blocks run (`make check` runs them), their links lead somewhere, and every public name has its place."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import edgewise as ew

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_readme, build_docs = tool("check_readme"), tool("build_docs")


def text_of(path):
    return path.read_text(encoding="utf-8")


def without_blocks(text):
    return re.sub(r"(?ms)^( *)```.*?^\1```", "", text)


def anchors(path):
    """As zensical and forges make them of headings."""
    titles = re.findall(r"(?m)^#+ (.*)$", without_blocks(text_of(path)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_at_most_ten_blocks_do_not_run_and_each_says_why():
    left = []
    for path in DOCUMENTS:
        blocks = list(check_readme.block.finditer(text_of(path)))
        left += [f"{path.name}: {found['note']}" for found in blocks if found["note"]]
        # A note in words that the tool does not know would leave a block to run, one in another language to rot.
        assert text_of(path).count("<!-- not run") == sum(bool(found["note"]) for found in blocks), path
        languages = re.findall(r"(?m)^ *```(\w+)", text_of(path))
        assert {*languages} <= {"python", "sh", "console", "text"}, (
            f"{path.name} has {languages}; write `sh` for a shell"
        )
        assert len(languages) - languages.count("text") == len(blocks), path
        if path.parent not in (ROOT, ROOT / "docs"):
            assert not blocks, f"{path} is not run: only README.md and docs/*.md are"
    assert len(left) <= 10, "\n".join(left)
    assert all(len(line.split("not run:")[1].split()) >= 3 for line in left), left


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CONTRIBUTING.md"], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_images_lead_somewhere(path):
    for address in re.findall(r"\]\(([^)\s]+)\)", without_blocks(text_of(path))):
        if address.startswith(("http:", "https:")):
            continue
        place, _, anchor = address.partition("#")
        target = path.parent / place if place else path
        assert target.exists(), f"{path.name}: {address}"
        assert not anchor or anchor in anchors(target), f"{path.name}: {address}; there are {sorted(anchors(target))}"


def test_every_page_is_in_the_navigation():
    def pages(entry):
        values = entry.values() if isinstance(entry, dict) else entry
        return [entry] if isinstance(entry, str) else [page for value in values for page in pages(value)]

    nav = pages(tomllib.loads(text_of(ROOT / "zensical.toml"))["project"]["nav"])
    here = [path.name for path in (ROOT / "docs").glob("*.md")]
    made = ["examples/index.md", *(f"api/{page}.md" for page in (*build_docs.PAGES, "commands"))]
    assert sorted(nav) == sorted(here + made)


def test_every_public_name_is_on_one_page_of_the_reference():
    listed = [name for _, _, names in build_docs.PAGES.values() for name in names.split()]
    assert sorted(name for name in listed if "." not in name) == sorted(set(ew.__all__) - {"__version__"})
    for name in listed:
        assert build_docs.find(name).__doc__, name


def test_a_docstring_becomes_markdown():
    entry = build_docs.entry("solve")
    assert "- `quadrature`: The rule" in entry and "```pycon\n>>> import jax.numpy" in entry
    assert "    tol: float | None = None,\n" in entry and "edgewise." not in entry.split("```")[1]
    assert "### solution.gradient()" in build_docs.entry("Solution")


def test_a_site_with_broken_links_is_told_apart(tmp_path):
    good = '<a href="b.html#here">b</a> <img src="i.png"> <a href="https://example.org/">far</a>'
    (tmp_path / "a.html").write_text(good)
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1>')
    (tmp_path / "i.png").touch()
    assert build_docs.broken(tmp_path) == []
    bad = '<a href="c.html">c</a> <a href="b.html#there">b</a> <img src="j.png"> <script src="https://example.org/x.js"></script>'
    (tmp_path / "a.html").write_text(bad)
    assert len(build_docs.broken(tmp_path)) == 4


def inline_commands():
    for path in DOCUMENTS:
        for code in re.findall(r"`([^`\n]+)`", without_blocks(text_of(path))):
            # A word in capitals stands for others: `edgewise COMMAND --help`.
            if re.match(r"(edgewise|python|make|pytest) ", code) and not re.search(r"(?<!\w)(?!ARGS)[A-Z]{4}", code):
                yield code


@pytest.mark.parametrize("command", sorted({*inline_commands()}))
def test_commands_named_in_text_exist(command):
    """Not run: many take minutes. But what they name is there."""
    words = command.split()
    if words[0] == "edgewise" and not words[1].startswith("-"):
        assert words[1] in build_docs.COMMANDS
        if words[1] in ("evaluate", "info", "predict", "plot") and "/" not in words[2]:
            assert (ROOT / "edgewise" / "operators" / words[2]).is_dir(), words[2]
    if words[:3] == ["python", "-m", "benchmarks"] and len(words) > 3:
        assert (ROOT / "benchmarks" / f"{words[3]}.py").exists()
    for word in words:
        if re.fullmatch(r"(examples|tools|tests|benchmarks)/\w+\.py", word):
            assert (ROOT / word).exists(), word
    if words[0] == "make" and not words[1].startswith("-"):
        assert re.search(rf"(?m)^{words[1]}:", text_of(ROOT / "Makefile")), words[1]
    for chosen in re.findall(r"-k (\w+)", command):
        tests = "\n".join(text_of(path) for path in (ROOT / "tests").glob("test_*.py"))
        assert (
            re.search(rf"def test_\w*{chosen}|test_{chosen}", tests) or (ROOT / f"tests/test_{chosen}.py").exists()
        ), chosen
