"""Locations in JSON values: dotted patterns that name them, and what is at or missing from them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.json_queries import dotted_parts

Location = tuple[str, ...]
"""The keys and list positions that lead to a value."""


def is_named(location: Location, patterns: Sequence[str]) -> bool:
    """True when one of the patterns names the location: `users.*.id`, with `**` for any number of keys."""
    return any(_is_match(location, dotted_parts(pattern)) for pattern in patterns)


@lru_cache(maxsize=4096)
def _is_match(location: Location, parts: Location) -> bool:
    if not parts:
        return not location
    head, rest = parts[0], parts[1:]
    if head == "**":
        return any(_is_match(location[skipped:], rest) for skipped in range(len(location) + 1))
    return bool(location) and head in ("*", location[0]) and _is_match(location[1:], rest)


def entries(value: Any) -> Iterable[tuple[str, Any]]:
    """The values in a mapping or a list by key or position; nothing for any other value."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list):
        return ((str(at), item) for at, item in enumerate(value))
    return ()


def entry(value: Any, key: str) -> Any:
    """The value under a key or at a position of a list; ABSENT if there is none."""
    if isinstance(value, dict):
        return value.get(key, ABSENT)
    if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return ABSENT


def absent_locations(value: Any, required: Location, above: Location = ()) -> Iterator[Location]:
    """Where a required path is absent: `*` requires it in every entry, `**` somewhere below."""
    if not required:
        return
    head, rest = required[0], required[1:]
    if head == "**":
        if not any(_has(item, rest) for item in _all_below(value)):
            yield (*above, *required)
    elif head == "*":
        for key, item in entries(value):
            yield from absent_locations(item, rest, (*above, key))
    else:
        below = entry(value, head)
        if below is ABSENT:
            yield (*above, head)
        else:
            yield from absent_locations(below, rest, (*above, head))


def _has(value: Any, required: Location) -> bool:
    return not any(absent_locations(value, required))


def _all_below(value: Any) -> Iterator[Any]:
    rest = [value]
    while rest:
        item = rest.pop()
        yield item
        rest.extend(below for _, below in entries(item))
