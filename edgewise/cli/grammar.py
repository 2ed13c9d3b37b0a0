"""What commands take, read off their dataclasses: for completion, and for messages about words that no command takes."""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import tyro


class Grammar(NamedTuple):
    """What one command takes."""

    positional: tuple[str, ...]
    """Kinds of its arguments: `RUN`, or the choices, `bash|zsh|fish`."""
    options: dict[str, str | None]
    """By name, `--out`, the kind of the value; None for a flag."""


def grammar_of(command: type) -> Grammar:
    """The grammar of a command.

    >>> from edgewise.cli import Info
    >>> grammar_of(Info)
    Grammar(positional=('RUN',), options={'--help': None, '--json': None})
    """
    hints = get_type_hints(command, include_extras=True)
    positional: list[str] = []
    options: dict[str, str | None] = {"--help": None}
    for field in dataclasses.fields(command):
        kind, *marks = (
            get_args(hints[field.name]) if hasattr(hints[field.name], "__metadata__") else [hints[field.name]]
        )
        if tyro.conf.Suppress in marks:
            continue
        named = [mark.metavar for mark in marks if getattr(mark, "metavar", None)]
        words = named[0] if named else _kind(kind)
        if tyro.conf.Positional in marks:
            positional.append(words)
        else:
            options[f"--{field.name.replace('_', '-')}"] = None if kind is bool else words
    return Grammar(tuple(positional), options)


def _kind(kind: Any) -> str:
    kind = next((part for part in get_args(kind) if part is not type(None)), kind) if _is_union(kind) else kind
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return getattr(kind, "__name__", str(kind)).upper()


def _is_union(kind: Any) -> bool:
    return type(None) in get_args(kind)


def complaint(args: Sequence[str], commands: Mapping[str, type]) -> str | None:
    """What is wrong with the names on a command line, and what to write; None if nothing is.

    >>> from edgewise.cli import Info
    >>> complaint(["inof"], {"info": Info})
    'No command is called `inof`. Did you mean `info`? There are info; `edgewise --help` describes them.'
    """
    if not args or args[0] in ("-h", "--help"):
        return None
    name, *left = args
    if name.startswith("-"):
        return f"`{name}` stands before any command. Write `edgewise COMMAND {name}`; `edgewise --help` lists the commands."
    if name not in commands:
        listed = ", ".join(commands)
        return f"No command is called `{name}`.{guess(name, commands)} There are {listed}; `edgewise --help` describes them."
    grammar, given = grammar_of(commands[name]), []
    described = f"`edgewise {name} --help` describes them."
    while left:
        word = left.pop(0)
        if word == "-h":
            continue
        if not re.match(r"--|-[a-zA-Z]", word):
            given.append(word)
            continue
        option, equals, _ = word.partition("=")
        # Underscores are read as hyphens.
        option = option.replace("_", "-")
        if option not in grammar.options:
            known = ", ".join(grammar.options)
            return f"`edgewise {name}` has no option `{option}`.{guess(option, grammar.options)} It has {known}; {described}"
        kind = grammar.options[option]
        if kind is None and equals:
            return f"`{option}` takes no value, got `{word}`. Write `{option}` alone, or leave it out."
        if kind is not None and not equals:
            if not left or left[0].startswith("--"):
                return (
                    f"`{option}` has no value; expected {kind} behind it. `edgewise {name} --help` says what that is."
                )
            left.pop(0)
    if len(given) > len(grammar.positional):
        takes = "".join(f"{kind} and " for kind in grammar.positional)
        extra = given[len(grammar.positional)]
        return (
            f"`edgewise {name}` takes {takes}options, got also `{extra}`. Leave it out, or quote what has spaces in it."
        )
    return None


def guess(name: str, known: Iterable[str], before: str = "") -> str:
    """A sentence with the known name that is nearest, `before` in front of it; nothing where none is near."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean `{before}{close[0]}`?" if close else ""
