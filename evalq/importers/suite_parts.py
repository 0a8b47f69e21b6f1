"""Parts of a file with the lines they were written on: taken out, renamed, completed."""

from collections.abc import Mapping
from typing import Any

from evalq.definitions.located import Loc, Located
from evalq.errors import InputError


def part(located: Located, *loc: str | int) -> Located:
    """What stands at a path, with its own lines."""
    value = located.value
    for step in loc:
        value = value[step]
    size = len(loc)
    lines: dict[Loc, int] = {
        where[size:]: line for where, line in located.lines.items() if where[:size] == loc
    }
    return Located(value, {(): located.line_of(loc), **lines}, located.file)


def entries(located: Located) -> list[Located]:
    """The entries of a list, each with its own lines; the lines are gone through once."""
    lines: dict[str | int, dict[Loc, int]] = {}
    for where, line in located.lines.items():
        if where:
            lines.setdefault(where[0], {})[where[1:]] = line
    return [
        Located(value, {(): located.line_of((at,)), **lines.get(at, {})}, located.file)
        for at, value in enumerate(located.value)
    ]


def completed(located: Located, **values: Any) -> Located:
    """The same mapping with further or other values."""
    return Located({**located.value, **values}, located.lines, located.file)


def without(located: Located, *keys: str) -> Located:
    """The same mapping without some keys."""
    kept = {key: value for key, value in located.value.items() if key not in keys}
    return Located(kept, located.lines, located.file)


def renamed(located: Located, old: str, new: Loc, value: Any) -> Located:
    """The same mapping with `value` at the new place, on the lines of what the old key holds."""
    kept = {key: item for key, item in located.value.items() if key != old}
    lines = {(*new, *loc[1:]) if loc[:1] == (old,) else loc: line for loc, line in located.lines.items()}
    return Located({**kept, str(new[0]): value}, lines, located.file)


def as_mapping(located: Located, what: str) -> Mapping[str, Any]:
    """The mapping that a value must be."""
    if not isinstance(located.value, dict):
        raise InputError(located.problem((), f"{what} is not a mapping", "write it as 'key: value' pairs"))
    return located.value


def text_at(value: Any, *keys: str) -> str:
    """The text at a path of keys; "" where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
