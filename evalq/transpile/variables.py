"""A test's own variables, put where `{{name}}` stands for them."""

import re
from collections.abc import Mapping
from typing import Any

from evalq.transpile.value_text import text_of

MAX_FILLED_CHARS = 64_000_000

# Not ${{ NAME }}: that is the environment's, and stays as written.
_PLACEHOLDER = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}")


class Filling:
    """Fills variables in, up to a bound over all of a file: one long variable may be named many times."""

    def __init__(self, most_chars: int = MAX_FILLED_CHARS) -> None:
        self._left = most_chars

    def fill(self, value: Any, variables: Mapping[str, Any]) -> Any:
        """The value with every `{{name}}` or `{{name.part}}` that has one replaced; others stay."""
        if not variables:
            return value
        if isinstance(value, str):
            return _PLACEHOLDER.sub(lambda found: self._text(found, variables), value)
        if isinstance(value, list):
            return [self.fill(item, variables) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item, variables) for key, item in value.items()}
        return value

    def whole(self, template: str, variables: Mapping[str, Any]) -> Any:
        """What a template that is one placeholder and nothing else stands for; else its text filled in."""
        alone = _PLACEHOLDER.fullmatch(template.strip())
        found = _look_up(alone[1], variables) if alone else None
        return self.fill(template, variables) if found is None else found

    def _text(self, found: re.Match[str], variables: Mapping[str, Any]) -> str:
        value = _look_up(found[1], variables)
        text = found[0] if value is None else text_of(value)
        self._left -= len(text)
        if self._left < 0:
            raise ValueError("the variables filled in are too long")
        return text


def _look_up(path: str, variables: Mapping[str, Any]) -> Any:
    value: Any = variables
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
