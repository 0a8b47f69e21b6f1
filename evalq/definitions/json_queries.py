"""Users' JSONPaths, dotted paths and JSON Schemas: checked so that none runs forever or fetches anything."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from evalq.definitions.definition import ABSENT
from evalq.definitions.regexes import check_regex

if TYPE_CHECKING:
    from jsonpath_ng.jsonpath import JSONPath
    from referencing import Registry

Schema = dict[str, Any] | bool

MAX_PATH_CHARS = 500
MAX_SCHEMA_DEPTH = 50

_DATA_KEYWORDS = ("const", "default", "enum", "examples")
_KEYWORDS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_PART = re.compile(r"\[(\d+|\*)\]|((?:\\.|[^.\[\]\\])+)")


def check_json_path(path: str) -> None:
    """Raise ValueError, with a fix, if the path is invalid or could take forever."""
    parse_json_path(path)


@lru_cache(maxsize=128)
def parse_json_path(path: str) -> "JSONPath":
    """Parse a path."""
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.parser import parse

    # Each `..` visits everything below all that the one before it found; the library deprecates | and &.
    if len(path) > MAX_PATH_CHARS or path.count("..") > 1 or "|" in path or "&" in path:
        raise ValueError("too much of a path; write a shorter one, with '..' once at most, without | and &")
    try:
        return parse(path)
    except (JSONPathError, RecursionError):
        raise ValueError("not a JSONPath; write one such as $.items[0].name or $..name") from None


@lru_cache(maxsize=1024)
def dotted_parts(path: str) -> tuple[str, ...]:
    """The parts of `users.*.id` or `users[0].id`; a dot inside a key is written with a backslash.

    `*` matches any one key or list index, `**` any number of them.
    """
    parts: list[str] = []
    rest = path
    while rest:
        found = _PART.match(rest)
        if not found:
            break
        parts.append(found[1] or re.sub(r"\\(.)", r"\1", found[2]))
        rest = rest[found.end() :]
        if rest[:1] == "." and rest[1:]:
            rest = rest[1:]
        elif rest[:1] != "[":
            break
    if rest or not parts:
        raise ValueError(f"{path[:60]!r} is not a path; write keys with dots between them: users.*.id")
    if parts.count("**") > 1:
        raise ValueError(f"{path[:60]!r} leaves too much open; write ** once at most")
    return tuple(parts)


def value_at(document: Any, path: str) -> Any:
    """The value at a dotted path without wildcards; ABSENT where there is none."""
    value = document
    for part in dotted_parts(path):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def check_json_schema(schema: Schema) -> None:
    """Raise ValueError, with a fix, if the schema is invalid or refers to anything outside it."""
    keywords: set[str] = set()
    for part, _ in _subschemas(schema):
        keywords.update(part)
        _check_patterns(part)
    _check_form(schema)
    if {"patternProperties", "unevaluatedProperties"} <= keywords:
        raise ValueError(
            "patternProperties beside unevaluatedProperties cannot be held to a time limit; "
            "use additionalProperties"
        )
    _check_references(schema)


def registry_of(schema: Schema) -> "Registry[Any]":
    """The targets references may have: the schema itself, and the published drafts, which are installed."""
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012

    drafts: Registry[Any] = REGISTRY
    resource = DRAFT202012.create_resource(schema)
    with_own: Registry[Any] = drafts.with_resource(resource.id() or "", resource)
    return with_own


def without_dialect(schema: Any) -> Any:
    """The schema without its $schema: every schema is read as draft 2020-12."""
    if isinstance(schema, list):
        return [without_dialect(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key in _DATA_KEYWORDS:
            kept[key] = value
        elif key != "$schema" or not isinstance(value, str):
            kept[key] = without_dialect(value)
    return kept


def _check_form(schema: Schema) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as exc:
        place = ".".join(map(str, exc.absolute_path)) or "its top"
        raise ValueError(
            f"not a JSON Schema at {place}: {exc.message[:200]}; write one of draft 2020-12"
        ) from None


def _check_references(schema: Schema) -> None:
    from referencing.exceptions import Unresolvable

    registry = registry_of(schema)
    for part, place in _subschemas(schema):
        for key in ("$ref", "$dynamicRef"):
            try:
                if isinstance(part.get(key), str):
                    registry.resolver(base_uri=place).lookup(part[key])
            except Unresolvable:
                message = f"{key} {part[key][:80]!r} leads out of the schema, where nothing is fetched from"
                raise ValueError(f"{message}; put its target under $defs") from None


def _subschemas(schema: object, place: str = "", depth: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    """Every mapping in the schema that is a schema itself, with the base address of its references."""
    if depth > MAX_SCHEMA_DEPTH:
        raise ValueError(f"nested deeper than {MAX_SCHEMA_DEPTH} levels; put parts of it under $defs")
    if isinstance(schema, list):
        for item in schema:
            yield from _subschemas(item, place, depth + 1)
    elif isinstance(schema, dict):
        here = place
        if isinstance(schema.get("$id"), str):
            here = urljoin(place, schema["$id"])
        yield schema, here
        for below in _values_below(schema):
            yield from _subschemas(below, here, depth + 1)


def _values_below(schema: dict[str, Any]) -> Iterator[object]:
    """The values in a schema that may be schemas: not data, and of a mapping by name its values."""
    for key, value in schema.items():
        if key in _DATA_KEYWORDS:
            continue
        if key in _KEYWORDS_BY_NAME and isinstance(value, dict):
            yield from value.values()
        else:
            yield value


def _check_patterns(part: dict[str, Any]) -> None:
    patterns = [part.get("pattern")]
    by_pattern = part.get("patternProperties")
    if isinstance(by_pattern, dict):
        patterns += by_pattern
    for pattern in patterns:
        if isinstance(pattern, str):
            check_regex(pattern)
