"""Safe templates: `str.format`'s look with plain names only, filled in one pass."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
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
    return any(_MATCHER.search(text) for text in _texts_with_matchers(value))


def check_matchers(value: Any) -> None:
    """ValueError for a matcher nobody knows, anywhere in a JSON value."""
    for text in _texts_with_matchers(value):
        for name in _MATCHER.findall(text):
            if name not in MATCHERS:
                near = get_close_matches(name, MATCHERS, n=1)
                remedy = f"write {{{{{near[0]}}}}}" if near else f"known are {', '.join(MATCHERS)}"
                raise ValueError(f"no matcher is called {name!r}; {remedy}")


def _texts_with_matchers(value: Any) -> Iterator[str]:
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            rest += item.values() if isinstance(item, dict) else item
