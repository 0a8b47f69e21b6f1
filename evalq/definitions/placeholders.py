"""Placeholders that are filled late: `{{name}}`, from the command line or from EVALQ_VAR_NAME."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,99})\s*\}\}")
_MATCHER_PREFIX = "any_"


def variable_of(name: str) -> str:
    """The environment variable that holds a placeholder's value."""
    return f"EVALQ_VAR_{name.upper()}"


def names_in(value: Any) -> list[str]:
    """The placeholders in a JSON value, in lower case, each once; matchers such as {{any_uuid}} are none."""
    found = (name.lower() for text in _texts(value) for name in _PLACEHOLDER.findall(text))
    return [name for name in dict.fromkeys(found) if not name.startswith(_MATCHER_PREFIX)]


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """The JSON value with every placeholder filled that has a value; the others stay as they are."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: values.get(found[1].lower(), found[0]), value)
    if isinstance(value, dict):
        return {key: filled(item, values) for key, item in value.items()}
    return [filled(item, values) for item in value] if isinstance(value, list) else value


def read_variables(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Every value known, by the placeholder's name in lower case: those given, over the environment's."""
    prefix = variable_of("")
    known = {
        name.removeprefix(prefix).lower(): value
        for name, value in environ.items()
        if name.startswith(prefix) and value.strip()
    }
    return {**known, **{name.lower(): value for name, value in given.items()}}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
