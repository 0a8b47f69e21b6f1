"""Templates with plain `{names}`, `{{placeholders}}` for variables, and matchers such as `{{any_uuid}}`."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from string import Formatter
from typing import Any

MATCHERS: Mapping[str, str] = {
    "any_string": r"[\s\S]*",
    "any_number": r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?",
    "any_uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "any_email": r"[^@\s]+@[^@\s]+\.[^@\s.]+",
    "any_iso_datetime": r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?",
}
"""The pattern each matcher means inside a longer text."""

_MATCHER = re.compile(r"\{\{\s*(any_\w+)\s*\}\}")
_MATCHER_PREFIX = "any_"
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,99})\s*\}\}")
_LITERAL_BRACES = "write {{ and }} for braces that are text"


def check_template(template: str) -> tuple[str, ...]:
    """The names a template uses, each once, in order; ValueError for anything but plain names."""
    names = [name for _, name in _split_fields(template) if name is not None]
    return tuple(dict.fromkeys(names))


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill the template in one pass: braces inside a value stay, values that are not text become JSON."""
    parts: list[str] = []
    for literal, name in _split_fields(template):
        parts.append(literal)
        if name is not None:
            value = values[name]
            is_text = isinstance(value, str)
            parts.append(value if is_text else json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return "".join(parts)


def names_builtin_rubric(rubric: str) -> bool:
    """True for a rubric that is one bare word: the name of a built-in one, not a template."""
    return re.fullmatch(r"[a-z_]+", rubric) is not None


@lru_cache(maxsize=256)  # a bake-off renders the same few templates a hundred thousand times
def _split_fields(template: str) -> tuple[tuple[str, str | None], ...]:
    """The literal texts, each with the name that follows it."""
    try:
        fields = list(Formatter().parse(template))
    except ValueError as exc:
        raise ValueError(f"{str(exc).lower()}; close every brace, and {_LITERAL_BRACES}") from None
    return tuple((literal, _check_name(name, spec, conversion)) for literal, name, spec, conversion in fields)


def _check_name(name: str | None, spec: str | None, conversion: str | None) -> str | None:
    """Refuse all but plain names: an attribute could reach into the program, a width fill the memory."""
    if name is None or (name.isidentifier() and not spec and not conversion):
        return name
    field = "{" + name
    if conversion:
        field += f"!{conversion}"
    if spec:
        field += f":{spec}"
    field += "}"
    raise ValueError(
        f"{field[:60]!r} is not a plain name; write a name such as {{text}}, or {_LITERAL_BRACES}"
    )


def variable_of(name: str) -> str:
    """The environment variable that holds a placeholder's value."""
    return f"EVALQ_VAR_{name.upper()}"


def find_placeholders(value: Any) -> list[str]:
    """The placeholders in a JSON value, in lower case, each once; matchers do not count."""
    names: dict[str, None] = {}
    for text in _texts_in(value):
        for name in _PLACEHOLDER.findall(text):
            if not name.lower().startswith(_MATCHER_PREFIX):
                names[name.lower()] = None
    return list(names)


def fill_placeholders(value: Any, values: Mapping[str, str]) -> Any:
    """The JSON value with every placeholder filled that has a value; the others stay as they are."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: values.get(found[1].lower(), found[0]), value)
    if isinstance(value, dict):
        return {key: fill_placeholders(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [fill_placeholders(item, values) for item in value]
    return value


def read_variables(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The known values by placeholder name in lower case: `given` overrides the environment's."""
    prefix = variable_of("")
    known: dict[str, str] = {}
    for name, value in environ.items():
        if name.startswith(prefix) and value.strip():
            known[name.removeprefix(prefix).lower()] = value
    for name, value in given.items():
        known[name.lower()] = value
    return known


def split_at_matchers(text: str) -> list[tuple[str, bool]]:
    """The text cut at its matchers: literal parts, and matchers' names marked True."""
    # The pattern has one group, so every second part is a matcher's name.
    return [(part, i % 2 == 1) for i, part in enumerate(_MATCHER.split(text)) if part]


def matcher_in(text: str) -> str | None:
    """The matcher that is the whole text; None when there is more, or no matcher."""
    found = _MATCHER.fullmatch(text)
    return found[1] if found else None


def has_matcher(value: Any) -> bool:
    """True when a JSON value contains a matcher anywhere but in its keys."""
    return any(_MATCHER.search(text) for text in _texts_in(value))


def check_matchers(value: Any) -> None:
    """Raise ValueError for an unknown matcher anywhere in a JSON value."""
    for text in _texts_in(value):
        for name in _MATCHER.findall(text):
            if name not in MATCHERS:
                remedy = f"known are {', '.join(MATCHERS)}"
                for guess in get_close_matches(name, MATCHERS, n=1):
                    remedy = f"write {{{{{guess}}}}}"
                raise ValueError(f"no matcher is called {name!r}; {remedy}")


def _texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys aside, in order; not recursive, since the depth is unbounded."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            rest += reversed(item.values())
        elif isinstance(item, list):
            rest += reversed(item)
