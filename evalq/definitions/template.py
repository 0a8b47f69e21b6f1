"""Safe templates: `str.format`'s look with plain names only, filled in one pass."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from string import Formatter
from typing import Any

_LITERAL_BRACES = "write {{ and }} for braces that are text"


def check_template(template: str) -> tuple[str, ...]:
    """The names a template uses, each once, in order; ValueError for anything but plain names."""
    return tuple(dict.fromkeys(name for _, name in _parts(template) if name is not None))


def render(template: str, values: Mapping[str, Any]) -> str:
    """The template filled in. Braces inside a value stay as they are; what is not text becomes JSON."""
    return "".join(
        literal if name is None else literal + _shown(values[name]) for literal, name in _parts(template)
    )


def names_builtin_rubric(rubric: str) -> bool:
    """True for a rubric that is one bare word: the name of a built-in one, not a template."""
    return re.fullmatch(r"[a-z_]+", rubric) is not None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=256)  # a bake-off renders the same few templates a hundred thousand times
def _parts(template: str) -> tuple[tuple[str, str | None], ...]:
    try:
        fields = list(Formatter().parse(template))
    except ValueError as exc:
        raise ValueError(f"{str(exc).lower()}; close every brace, and {_LITERAL_BRACES}") from None
    return tuple((literal, _plain_name(name, spec, conversion)) for literal, name, spec, conversion in fields)


def _plain_name(name: str | None, spec: str | None, conversion: str | None) -> str | None:
    """The field's name. An attribute or index would reach into the program, a width fill the memory."""
    if name is None or (name.isidentifier() and not spec and not conversion):
        return name
    field = "{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"
    raise ValueError(
        f"{field[:60]!r} is not a plain name; write a name such as {{text}}, or {_LITERAL_BRACES}"
    )
