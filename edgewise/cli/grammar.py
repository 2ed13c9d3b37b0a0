"""What commands take, read off their dataclasses: for completion, and for messages about words that none takes."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import tyro

from edgewise.base.words import guess

# How values that are numbers are read, and such a one in words.
NUMBERS = {"N": (int, "a whole number such as 200"), "ERROR": (float, "a number such as 1e-6")}


class Grammar(NamedTuple):
    """What one command takes."""

    positional: tuple[str, ...]
    """Kinds of its arguments: `RUN`, or the choices, `bash|zsh|fish`."""
    options: dict[str, str | None]
    """By name, `--out`, the kind of the value; None for a flag."""
    required: tuple[str, ...]
    """The options that must be given."""


def grammar_of(command: type) -> Grammar:
    """The grammar of a command.

    >>> from edgewise.cli import Info
    >>> grammar_of(Info)
    Grammar(positional=('RUN',), options={'--help': None, '--json': None}, required=())
    """
    hints = get_type_hints(command, include_extras=True)
    positional: list[str] = []
    options: dict[str, str | None] = {"--help": None}
    required: list[str] = []
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
            option = f"--{field.name.replace('_', '-')}"
            options[option] = None if kind is bool else words
            required += [option] * (field.default is dataclasses.MISSING)
    return Grammar(tuple(positional), options, tuple(required))


def _kind(kind: Any) -> str:
    kind = next((part for part in get_args(kind) if part is not type(None)), kind) if _is_union(kind) else kind
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return getattr(kind, "__name__", str(kind)).upper()


def _is_union(kind: Any) -> bool:
    return type(None) in get_args(kind)


def complaint(args: Sequence[str], commands: Mapping[str, type]) -> str | None:
    """What is wrong with a command line, and what to write; None if nothing is, or only the command can tell.

    >>> from edgewise.cli import Info
    >>> complaint(["inof"], {"info": Info})
    'No command is called `inof`. Did you mean `info`? There are info; `edgewise --help` describes them.'
    """
    name, *left = args
    if name.startswith("-"):
        cure = f"Write `edgewise COMMAND {name}`; `edgewise --help` lists the commands."
        return f"`{name}` stands before any command. {cure}"
    if name not in commands:
        close, listed = guess(name, commands), ", ".join(commands)
        return f"No command is called `{name}`.{close} There are {listed}; `edgewise --help` describes them."
    grammar, given, options = grammar_of(commands[name]), [], set()
    described = f"`edgewise {name} --help` describes them."
    while left:
        word = left.pop(0)
        if not re.match(r"--|-[a-zA-Z]", word):
            given.append(word)
            continue
        option, equals, value = word.partition("=")
        # Underscores are read as hyphens.
        option = option.replace("_", "-")
        if option not in grammar.options:
            close, known = guess(option, grammar.options), ", ".join(grammar.options)
            return f"`edgewise {name}` has no option `{option}`.{close} It has {known}; {described}"
        kind = grammar.options[option]
        if kind is None and equals:
            return f"`{option}` takes no value, got `{word}`. Write `{option}` alone, or leave it out."
        options.add(option)
        if kind is None:
            continue
        if not equals and (not left or left[0].startswith("--")):
            return f"`{option}` has no value; expected {kind} behind it. `edgewise {name} --help` says what that is."
        refused = _wrong_value(f"`{option}`", kind, value if equals else left.pop(0))
        if refused:
            return refused
    if len(given) > len(grammar.positional):
        takes = "".join(f"{kind} and " for kind in grammar.positional)
        extra = given[len(grammar.positional)]
        return (
            f"`edgewise {name}` takes {takes}options, got also `{extra}`. Leave it out, or quote what has spaces in it."
        )
    missing = [
        *grammar.positional[len(given) :],
        *(f"{o} {grammar.options[o]}" for o in grammar.required if o not in options),
    ]
    if missing:
        call = " ".join(usage(name, grammar))
        return f"`edgewise {name}` lacks `{missing[0]}`. Write `{call}`; `edgewise {name} --help` says what these are."
    checks = (
        _wrong_value(f"The word behind `edgewise {name}`", kind, word)
        for kind, word in zip(grammar.positional, given, strict=True)
    )
    return next(filter(None, checks), None)


def usage(name: str, grammar: Grammar) -> list[str]:
    """The words of the shortest call."""
    needed = (f"{option} {grammar.options[option]}" for option in grammar.required)
    return ["edgewise", name, *grammar.positional, *needed]


def _wrong_value(what: str, kind: str, value: str) -> str | None:
    """What is wrong with a value of this kind; None if nothing is, or only the command can tell."""
    if kind in NUMBERS:
        read, expected = NUMBERS[kind]
        try:
            read(value)
        except ValueError:
            return f"{what} must be {expected}, got `{value}`."
    choices = kind.split("|")
    if len(choices) > 1 and value not in choices:
        return f"{what} must be one of {', '.join(choices)}, got `{value}`.{guess(value, choices)}"
    return None
