"""Templates as promptfoo writes them: `{{name}}` is filled in, what is more of a program is refused."""

import re
from collections.abc import Mapping
from typing import Any

from evalq.transpile.value_text import text_of

_FIELD = re.compile(r"\{\{-?\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*-?\}\}")
_PROGRAM = re.compile(r"\{%|\{#|\{\{")


def check_plain(template: str) -> None:
    """ValueError for a template with logic, filters or calls in it: those are not run."""
    rest = _FIELD.sub("", template)
    found = _PROGRAM.search(rest)
    if found:
        shown = rest[found.start() : found.start() + 30].split("\n")[0]
        raise ValueError(f"{shown!r} is more than a name in braces; write {{{{name}}}} alone")


def names_in(template: str) -> list[str]:
    """The variables a template names, each once, by the first part of their names."""
    return list(dict.fromkeys(found[1].partition(".")[0] for found in _FIELD.finditer(template)))


def filled(template: str, variables: Mapping[str, Any]) -> str:
    """The template with its variables in one pass: a value is never filled in; an unknown one is empty."""
    return _FIELD.sub(lambda found: _shown(_looked_up(found[1], variables)), template)


def filled_in(value: Any, variables: Mapping[str, Any]) -> Any:
    """A value with every text in it filled in."""
    if isinstance(value, str):
        return filled(value, variables)
    if isinstance(value, list):
        return [filled_in(item, variables) for item in value]
    return (
        {key: filled_in(item, variables) for key, item in value.items()} if isinstance(value, dict) else value
    )


def _looked_up(path: str, variables: Mapping[str, Any]) -> Any:
    value: Any = variables
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _shown(value: Any) -> str:
    return "" if value is None else text_of(value)
