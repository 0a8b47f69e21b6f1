"""Parts of a file's content, each still knowing its file and lines."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from evalq.definitions.located import Loc, Located
from evalq.errors import InputError


def part_at(located: Located, *loc: str | int) -> Located:
    """The value at a path, with its own lines."""
    value = located.value
    for step in loc:
        value = value[step]
    lines: dict[Loc, int] = {(): located.line_of(loc)}
    for where, line in located.lines.items():
        if where[: len(loc)] == loc:
            lines[where[len(loc) :]] = line
    return Located(value, lines, located.file)


def split_entries(located: Located) -> dict[str | int, Located]:
    """The entries of a mapping or a list, each with its own lines, in one pass over all lines."""
    lines: defaultdict[str | int, dict[Loc, int]] = defaultdict(dict)
    for where, line in located.lines.items():
        if where:
            lines[where[0]][where[1:]] = line
    value = located.value
    keys = value if isinstance(value, dict) else range(len(value))
    entries = {}
    for key in keys:
        own_lines = {(): located.line_of((key,)), **lines[key]}
        entries[key] = Located(value[key], own_lines, located.file)
    return entries


def with_values(located: Located, **values: Any) -> Located:
    """The same mapping with further or other values."""
    return Located({**located.value, **values}, located.lines, located.file)


def without_nulls(located: Located) -> Located:
    """The same mapping without the keys that have no value."""
    kept = {key: value for key, value in located.value.items() if value is not None}
    return Located(kept, located.lines, located.file)


def move_key(located: Located, old: str, new: Loc, value: Any) -> Located:
    """The same mapping with `value` at the new place, on the lines of the old key."""
    kept = {key: item for key, item in located.value.items() if key != old}
    lines: dict[Loc, int] = {}
    for loc, line in located.lines.items():
        lines[(*new, *loc[1:]) if loc[:1] == (old,) else loc] = line
    return Located({**kept, str(new[0]): value}, lines, located.file)


def require_mapping(located: Located, what: str) -> Mapping[str, Any]:
    """The value, or InputError if it is not a mapping."""
    if not isinstance(located.value, dict):
        raise InputError(located.problem((), f"{what} is not a mapping", "write it as 'key: value' pairs"))
    return located.value


def mapping_or_empty(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}
