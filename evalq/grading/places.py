"""Places in a JSON value, by dotted path: those a pattern names, and those that are required and absent."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.json_paths import dotted_parts

Place = tuple[str, ...]


def is_named(place: Place, patterns: Sequence[str]) -> bool:
    """True when one of the patterns names the place: `users.*.id`, with `**` for any number of keys."""
    return any(_matches(place, dotted_parts(pattern)) for pattern in patterns)


def entries(value: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    """What is in a mapping or a list, by key or place."""
    if isinstance(value, dict):
        return iter(value.items())
    return ((str(i), item) for i, item in enumerate(value))


def entry(value: Any, key: str) -> Any:
    """What stands under a key or at a place of a list; ABSENT where nothing does."""
    if isinstance(value, dict):
        return value.get(key, ABSENT)
    is_there = isinstance(value, list) and key.isdecimal() and int(key) < len(value)
    return value[int(key)] if is_there else ABSENT


def absent_places(value: Any, required: Place, above: Place = ()) -> Iterator[Place]:
    """Where a required path is not there: `*` asks it of every entry, `**` of one place anywhere below."""
    if not required:
        return
    head, rest = required[0], required[1:]
    if head == "**":
        if all(any(absent_places(item, rest)) for item in _all_below(value)):
            yield (*above, *required)
    elif head == "*":
        for key, item in entries(value) if isinstance(value, dict | list) else ():
            yield from absent_places(item, rest, (*above, key))
    elif (below := entry(value, head)) is ABSENT:
        yield (*above, head)
    else:
        yield from absent_places(below, rest, (*above, head))


def _all_below(value: Any) -> Iterator[Any]:
    rest = [value]
    while rest:
        item = rest.pop()
        yield item
        rest += [below for _, below in entries(item)] if isinstance(item, dict | list) else []


@lru_cache(maxsize=4096)
def _matches(place: Place, parts: Place) -> bool:
    if not parts:
        return not place
    if parts[0] == "**":
        return any(_matches(place[i:], parts[1:]) for i in range(len(place) + 1))
    return bool(place) and parts[0] in ("*", place[0]) and _matches(place[1:], parts[1:])
