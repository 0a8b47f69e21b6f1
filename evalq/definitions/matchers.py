"""Matchers in expected texts: `{{any_uuid}}` stands for whatever is one."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

MATCHERS: Mapping[str, str] = {
    "any_string": r"[\s\S]*",
    "any_number": r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?",
    "any_uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "any_email": r"[^@\s]+@[^@\s]+\.[^@\s.]+",
    "any_iso_datetime": r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?",
}
"""What each stands for inside a longer text."""

_MATCHER = re.compile(r"\{\{\s*(any_\w+)\s*\}\}")


def parts_of(text: str) -> list[tuple[str, bool]]:
    """The text cut at its matchers: literal parts, and matchers' names marked True."""
    return [(part, i % 2 == 1) for i, part in enumerate(_MATCHER.split(text)) if part]


def matcher_in(text: str) -> str | None:
    """The matcher that is all of the text; None when there is none, or more than it."""
    found = _MATCHER.fullmatch(text)
    return found[1] if found else None


def has_matcher(value: Any) -> bool:
    """True when a matcher stands anywhere in a JSON value, keys aside."""
    return any(_MATCHER.search(text) for text in _texts(value))


def check_matchers(value: Any) -> None:
    """ValueError for a matcher nobody knows, anywhere in a JSON value."""
    for text in _texts(value):
        for name in _MATCHER.findall(text):
            if name not in MATCHERS:
                near = get_close_matches(name, MATCHERS, n=1)
                remedy = f"write {{{{{near[0]}}}}}" if near else f"known are {', '.join(MATCHERS)}"
                raise ValueError(f"no matcher is called {name!r}; {remedy}")


def _texts(value: Any) -> Iterator[str]:
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            rest += item.values() if isinstance(item, dict) else item
