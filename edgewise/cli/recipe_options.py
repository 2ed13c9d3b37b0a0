"""`--recipe.part.field value`: a recipe with some of its fields changed."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from edgewise.base.words import guess
from edgewise.learn.recipes import Recipe

TRUTHS = {"true": True, "false": False}


def change(recipe: Recipe, changes: Sequence[tuple[str, str]]) -> Recipe:
    """The recipe with the changes made: pairs of a field's path and a text. Whether values make sense, `fit` checks.

    Its name says what differs, wherever it is shown.

    >>> change(Recipe("mine"), [("optimiser.steps", "500")]).name
    'mine, changed: optimiser.steps = 500'
    >>> change(Recipe("mine"), [("network.octaves", "gap, h")]).network.octaves
    ('gap', 'h')
    """
    before = recipe
    given: dict[str, str] = {}
    for path, text in changes:
        if path in given:
            raise ValueError(
                f"`--recipe.{path}` is given twice, {given[path]} and {text}; expected once. Leave one out."
            )
        given[path] = text
        recipe = _change(recipe, path.split("."), text, path)
    changed = ", ".join(_differences(before, recipe))
    return dataclasses.replace(recipe, name=f"{recipe.name}, changed: {changed}") if changed else recipe


def _differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    for field in dataclasses.fields(old):
        a, b = getattr(old, field.name), getattr(new, field.name)
        if dataclasses.is_dataclass(a):
            yield from _differences(a, b, f"{where}{field.name}.")
        elif a != b:
            yield f"{where}{field.name} = {_word(b)}"


def _change(part: Any, names: list[str], text: str, path: str) -> Any:
    hints = get_type_hints(type(part))
    name, *deeper = names
    known = [field for field in hints if field != "name" or not isinstance(part, Recipe)]
    where = f"--recipe.{path}".removesuffix(".".join(names))
    if name not in known:
        raise ValueError(
            f"`--recipe.{path}`: there is no `{name}`; there are {', '.join(known)}.{guess(name, known, where)}"
        )
    kind, old = hints[name], getattr(part, name)
    if dataclasses.is_dataclass(kind):
        if not deeper:
            fields = ", ".join(get_type_hints(kind))
            raise ValueError(
                f"`{where}{name}` is a group of {fields}; expected one of them. Write "
                f"`{where}{name}.{next(iter(get_type_hints(kind)))} ...`."
            )
        return dataclasses.replace(part, **{name: _change(old, deeper, text, path)})
    if deeper:
        raise ValueError(f"`--recipe.{path}`: `{where}{name}` is a single value. Write `{where}{name} {_word(old)}`.")
    try:
        value = _convert(text.strip(), kind)
    except ValueError:
        raise ValueError(
            f"`--recipe.{path}` must be {_expected(kind)}, got `{text}`. Write `--recipe.{path} {_word(old)}`."
        ) from None
    return dataclasses.replace(part, **{name: value})


def _convert(text: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise ValueError
        return text
    if kind is bool:
        if text.lower() not in TRUTHS:
            raise ValueError
        return TRUTHS[text.lower()]
    if get_origin(kind) is tuple:
        return tuple(name.strip() for name in text.split(",") if name.strip())
    return kind(text)


def _expected(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) is tuple:
        return "names separated by commas"
    return {int: "a whole number", float: "a number", bool: "true or false"}[kind]


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
