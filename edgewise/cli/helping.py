"""What `--help` prints, read off the dataclasses of the commands."""

import ast
import dataclasses
import inspect
import re
import shutil
import textwrap
from collections.abc import Iterable, Mapping

from edgewise.cli.grammar import grammar_of, usage

INTRODUCTION = (
    "Solve parametric boundary value problems on the boundary alone, or learn the operator that solves them all."
)
WORDS = (
    "A problem has parameters, such as the shape or the wavenumber; one choice of them is a member. "
    "An operator is a network that\nanswers for all members. Training writes it into a folder, a run; "
    "some ship with the package, and their names will do for one."
)
# Lines that are longer are hard to read, however wide the terminal is.
MOST_COLUMNS = 100
# Where the words about an option begin.
INDENT = 26


def overview(commands: Mapping[str, type]) -> str:
    """The help of `edgewise` itself."""
    summaries = [(name, described(command)[0]) for name, command in commands.items()]
    return "\n\n".join(
        [
            "usage: edgewise COMMAND [options]",
            _wrapped(INTRODUCTION),
            _section("commands", summaries, indent=14),
            _wrapped(WORDS),
            "Begin with `edgewise demo`. `edgewise COMMAND --help` says what a command takes.",
        ]
    )


def help_of(name: str, command: type) -> str:
    grammar, words = grammar_of(command), documentation(command)
    summary, examples = described(command)
    rows = {option: (f"{option} {kind or ''}".rstrip(), words[option]) for option, kind in grammar.options.items()}
    sections = {
        "needed": [(kind, words[kind]) for kind in grammar.positional] + [rows[option] for option in grammar.required],
        "options": [row for option, row in rows.items() if option not in grammar.required],
    }
    return "\n\n".join(
        [
            " ".join(["usage:", *usage(name, grammar), "[options]"]),
            _wrapped(summary),
            *(_section(title, rows) for title, rows in sections.items() if rows),
            "\n".join(["examples", *(f"  {line}" for line in examples)]),
        ]
    )


def described(command: type) -> tuple[str, list[str]]:
    """What a command does, and examples of it: the first paragraph of its docstring, and the lines of the second."""
    summary, _, examples = inspect.cleandoc(command.__doc__ or "").partition("\n\n")
    return " ".join(summary.split()), examples.splitlines()


def documentation(command: type) -> dict[str, str]:
    """What is said of every argument, by its kind, and of every option, by its name: the strings below the fields.

    >>> from edgewise.cli import Info
    >>> documentation(Info)["--json"]
    'Print JSON and nothing else, for programs.'
    """
    (defined,) = ast.parse(textwrap.dedent(inspect.getsource(command))).body
    assert isinstance(defined, ast.ClassDef)
    strings = {}
    for field, below in zip(defined.body, defined.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            strings[ast.unparse(field.target)] = " ".join(ast.literal_eval(below.value).split())
    names = iter(strings[field.name] for field in dataclasses.fields(command) if field.name in strings)
    grammar = grammar_of(command)
    said = dict(zip((*grammar.positional, *(o for o in grammar.options if o != "--help")), names, strict=True))
    return said | {"--help": "Print this."}


def _section(title: str, rows: Iterable[tuple[str, str]], indent: int = INDENT) -> str:
    lines = [title]
    for head, words in rows:
        start = f"  {head}".ljust(indent)
        if len(start) > indent:
            lines.append(start)
            start = " " * indent
        lines.append(start + _wrapped(words, indent).lstrip())
    return "\n".join(lines)


def _wrapped(text: str, indent: int = 0) -> str:
    """Lines as wide as the terminal; what is to be typed is not broken."""
    width = min(shutil.get_terminal_size().columns, MOST_COLUMNS)
    kept = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), " ".join(text.split()))
    filled = textwrap.fill(
        kept,
        max(width, indent + 20),
        initial_indent=" " * indent,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace("\0", " ")
