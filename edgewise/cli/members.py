"""Which members a command is about: its options `--at`, or members drawn at random."""

import math
import re
from collections.abc import Sequence
from typing import NoReturn

import jax
import numpy as np

from edgewise.base.abstract_range import AbstractRange
from edgewise.base.parameters import Box

# Beyond this a count is a slip of the keyboard, and would end in a lack of memory instead of a message.
MOST_MEMBERS = 10**6
# Narrower than `float`, which also takes `nan`, `1_000` and digits of other scripts.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
CLOSING = {"(": ")", "[": "]"}


def parse_members(texts: Sequence[str], box: Box) -> tuple[dict[str, np.ndarray], int]:
    """Every parameter of the box with a leading member axis, and the number of members.

    A text is one member, `t=0.3, direction=(1, 0, 0)`, or with `low:high:count` in place of a number, ends included,
    that many; several ranges in one text run together. Members of several texts follow each other. Whether a value lies
    in the box is not judged here: `Box.check` does, where it is used.

    >>> from edgewise import Box, Direction
    >>> parse_members(["t=1:2:3", "t=1.25"], Box(t=(1.0, 2.0)))
    ({'t': array([1.  , 1.5 , 2.  , 1.25])}, 4)
    >>> parse_members(["t=1.5"], Box(t=(1.0, 2.0), direction=Direction(2, default=(0, 1))))
    ({'t': array([1.5]), 'direction': array([[0., 1.]])}, 1)
    """
    if not box.specs:
        if texts:
            raise ValueError(f'This problem has no parameters, got `--at "{texts[0]}"`. Leave `--at` out.')
        return {}, 1
    # Without `--at`, the one member that the defaults describe.
    parts = [_parse(text, box, alone=len(texts) == 1) for text in texts] or [(_filled(None, {}, box), 1)]
    count = sum(members for _, members in parts)
    _check_count(count, "`--at`")
    joined = {name: np.concatenate([_repeated(found[name], n, spec) for found, n in parts]) for name, spec in box.specs}
    return joined, count


def random_members(box: Box, count: int, seed: int) -> dict[str, np.ndarray]:
    """`count` members drawn uniformly; the same ones for the same seed. Empty for a box without parameters.

    >>> from edgewise import Box
    >>> random_members(Box(t=(1.0, 2.0)), 5, seed=0)["t"].shape
    (5,)
    """
    _check_count(count, "A random choice")
    check_seed(seed)
    return {name: np.asarray(values) for name, values in box.sample(jax.random.key(seed), count).items()}


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(f"`--seed` must be a whole number from 0 to {2**32 - 1}, got {seed}. Write `--seed 0`.")


def _parse(text: str, box: Box, alone: bool) -> tuple[dict[str, np.ndarray], int]:
    """What one `--at` says: an array with a member axis where it gives a range, one value elsewhere."""
    if not text.strip():
        raise ValueError(f'`--at "{text}"` is empty; expected a member. {_write(box)}')
    specs = dict(box.specs)
    found: dict[str, np.ndarray] = {}
    counts: dict[str, int] = {}
    try:
        pieces = _split(text)
    except ValueError as error:
        _fail(text, str(error), _write(box, text))
    for piece in pieces:
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not piece.strip():
            _fail(text, "a comma has nothing before or behind it", _write(box, text))
        if not equals or not value:
            said = f"`{piece.strip()}` is not of the form `name=value`; a vector stands in parentheses"
            _fail(text, said, _write(box, text))
        if name not in specs:
            known = ", ".join(f"`{name}`" for name in box.names)
            _fail(text, f"unknown parameter `{name}`; this problem has {known}", _write(box, text))
        if name in found:
            _fail(text, f"`{name}` is given twice; expected once", "For two members, pass `--at` twice.")
        spec = specs[name]
        if ":" in value:
            if spec.shape:
                said = f"`{value}` has a range, which only a single number can have, and `{name}` is {spec.expected}"
                _fail(text, said, f"Pass one `--at` for every member. {_write(box, text)}")
            try:
                found[name] = _range(value)
            except ValueError as error:
                _fail(text, str(error), f'Write `--at "{name}={spec.run}:5"`.')
            counts[name] = len(found[name])
        else:
            try:
                found[name] = np.array(_values(value, spec.shape))
            except ValueError as error:
                _fail(text, f"{error}; `{name}` must be {spec.expected}", _write(box, text))
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"`{name}` has {count}" for name, count in counts.items())
        said = f"ranges run together and must have equal counts, but {listed}"
        _fail(text, said, "Make them equal, or pass one `--at` for every member.")
    return _filled(text, found, box, alone), next(iter(counts.values()), 1)


def _filled(text: str | None, found: dict[str, np.ndarray], box: Box, alone: bool = True) -> dict[str, np.ndarray]:
    for name, spec in box.specs:
        if name not in found and spec.default is None:
            given = "got no `--at`" if text is None else f'got `--at "{text}"`'
            together = "" if alone else "Put all parameters of a member into one `--at`. "
            raise ValueError(
                f"Parameter `{name}` is missing, {given}; expected {spec.expected}. {together}{_write(box)}"
            )
    return {name: found[name] if name in found else np.array(spec.default, float) for name, spec in box.specs}


def _repeated(value: np.ndarray, count: int, spec: AbstractRange) -> np.ndarray:
    return np.broadcast_to(value, (count, *spec.shape))


def _range(text: str) -> np.ndarray:
    ends = text.split(":")
    if len(ends) != 3:
        raise ValueError(f"`{text}` is not a range `low:high:count`")
    low, high, count = _number(ends[0]), _number(ends[1]), ends[2].strip()
    # By its digits first: `int` refuses thousands of them, in words of its own.
    if not re.fullmatch(r"\d{1,12}", count, re.ASCII) or not 1 <= int(count) <= MOST_MEMBERS:
        raise ValueError(f"a range is `low:high:count` with a whole count from 1 to {MOST_MEMBERS}, got `{count}`")
    return np.linspace(low, high, int(count))


def write_range(box: Box, count: int) -> str:
    """How to ask for so many members, without the full stop: the first single number runs, the others are typical."""
    run = next((name for name, spec in box.specs if not spec.shape), None)
    if run is None:
        return "Pass `--at` for every member"
    shown = [(n, s) for n, s in box.specs if n == run or s.default is None]
    listed = ", ".join(f"{n}={f'{s.run}:{count}' if n == run else s.example}" for n, s in shown)
    return f'Write `--at "{listed}"`'


def _values(text: str, shape: tuple[int, ...]) -> float | list:
    """The number, or the numbers in as many brackets as the shape has axes."""
    text = text.strip()
    if not shape:
        return _number(text)
    if CLOSING.get(text[:1]) != text[-1:]:
        raise ValueError(f"`{text}` is not a vector in parentheses")
    entries = _split(text[1:-1])
    if not entries[-1].strip():
        # `(1,)`, as Python writes a vector of one entry; and `()` has none.
        entries.pop()
    if len(entries) != shape[0]:
        raise ValueError(f"`{text}` has {len(entries)} entries instead of {shape[0]}")
    return [_values(entry, shape[1:]) for entry in entries]


def _number(text: str) -> float:
    text = text.strip()
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity") or (NUMBER.fullmatch(text) and math.isinf(float(text))):
        raise ValueError(f"`{text}` is not a finite number")
    if not NUMBER.fullmatch(text):
        raise ValueError(f"`{text}` is not a number such as 1.5 or 2e-3")
    return float(text)


def _split(text: str) -> list[str]:
    """The pieces between those commas that no bracket encloses."""
    pieces, open_brackets, start = [], [], 0
    for place, character in enumerate(text):
        if character in CLOSING:
            open_brackets.append(character)
        elif character in CLOSING.values():
            if not open_brackets or CLOSING[open_brackets.pop()] != character:
                raise ValueError(f"`{character}` closes no bracket in `{text}`")
        elif character == "," and not open_brackets:
            pieces.append(text[start:place])
            start = place + 1
    if open_brackets:
        raise ValueError(f"`{open_brackets[-1]}` is never closed in `{text}`")
    return [*pieces, text[start:]]


def _write(box: Box, text: str = "") -> str:
    """An option that works, with the parameters that must be given and those that the text names."""
    shown = [(n, spec) for n, spec in box.specs if spec.default is None or re.search(rf"\b{n}\s*=", text)] or box.specs
    return f'Write `--at "{", ".join(f"{name}={spec.example}" for name, spec in shown)}"`.'


def _fail(text: str, what: str, cure: str) -> NoReturn:
    raise ValueError(f'`--at "{text}"`: {what}. {cure}') from None


def _check_count(count: int, who: str) -> None:
    if not 1 <= count <= MOST_MEMBERS:
        raise ValueError(
            f"{who} asks for {count} members; expected 1 to {MOST_MEMBERS}. Ask for another number of them."
        )
