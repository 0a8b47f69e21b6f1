"""Graders made of what other formats say: validated as if a task had listed them."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evalq.definitions.definition import NAME_PATTERN
from evalq.definitions.graders import GraderConfig
from evalq.definitions.template import names_builtin_rubric

_GRADER: TypeAdapter[GraderConfig] = TypeAdapter(GraderConfig)
_LONGEST_NAME = 100


def made_grader(fields: Mapping[str, Any]) -> GraderConfig:
    """The grader with these parameters, those that are None left out; ValueError when there is none such."""
    written = {key: value for key, value in fields.items() if value is not None}
    try:
        return _GRADER.validate_python(written)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{place}: {message}" if place else message) from None


def as_name(text: str | None) -> str | None:
    """A name made of a text: what may not stand in one becomes a dash; None when nothing is left."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", text or "").strip("-._")[:_LONGEST_NAME]
    return cleaned if re.fullmatch(NAME_PATTERN, cleaned) else None


def plain_rubric(text: str) -> str:
    """A rubric that means itself: ours may have names in braces, or be the name of a built-in one."""
    escaped = text.strip().replace("{", "{{").replace("}", "}}")
    return f"{escaped}." if names_builtin_rubric(escaped) else escaped
