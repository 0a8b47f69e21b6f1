"""JSONPath as users write it, parsed once; and the plainer dotted paths with wildcards."""

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

MAX_PATH_CHARS = 500

_PART = re.compile(r"\[(\d+|\*)\]|((?:\\.|[^.\[\]\\])+)")


def check_json_path(path: str) -> None:
    """ValueError, with a remedy, for what is no JSONPath, or one that could take forever."""
    parse_json_path(path)


@lru_cache(maxsize=128)
def parse_json_path(path: str) -> "JSONPath":
    """The path, ready to look with."""
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.parser import parse

    # Each `..` visits everything below everything the one before it found; | and & are on their way out.
    if len(path) > MAX_PATH_CHARS or path.count("..") > 1 or "|" in path or "&" in path:
        raise ValueError("too much of a path; write a shorter one, with '..' once at most, without | and &")
    try:
        return parse(path)
    except (JSONPathError, RecursionError):
        raise ValueError("not a JSONPath; write one such as $.items[0].name or $..name") from None


@lru_cache(maxsize=1024)
def dotted_parts(path: str) -> tuple[str, ...]:
    """The parts of `users.*.id` or `users[0].id`; a dot inside a key is written with a backslash before it.

    `*` stands for any one key or place in a list, `**` for any number of them.
    """
    parts, rest = [], path
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
    """What stands at a dotted path without wildcards; ABSENT where nothing does."""
    value = document
    for part in dotted_parts(path):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value


Schema = dict[str, Any] | bool

MAX_SCHEMA_DEPTH = 50

_DATA = ("const", "default", "enum", "examples")
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def check_json_schema(schema: Schema) -> None:
    """ValueError, with a remedy, for what is no schema, or leads to one that is not inside it."""
    parts = [part for part, _ in _subschemas(schema)]
    for part in parts:
        _check_patterns(part)
    _check_form(schema)
    if all(any(key in part for part in parts) for key in ("patternProperties", "unevaluatedProperties")):
        raise ValueError(
            "patternProperties beside unevaluatedProperties cannot be held to a time limit; "
            "use additionalProperties"
        )
    _check_references(schema)


def registry_of(schema: Schema) -> "Registry[Any]":
    """Where references may lead: into the schema, and to the published drafts, which are at hand."""
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012

    drafts: Registry[Any] = REGISTRY
    resource = DRAFT202012.create_resource(schema)
    with_own: Registry[Any] = drafts.with_resource(resource.id() or "", resource)
    return with_own


def without_dialect(schema: Any) -> Any:
    """The schema without its $schema: it is read as draft 2020-12, whatever it calls itself."""
    if isinstance(schema, list):
        return [without_dialect(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "$schema" or not isinstance(value, str)}
    return {key: value if key in _DATA else without_dialect(value) for key, value in kept.items()}


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
                raise ValueError(f"{message}; put what it means under $defs") from None


def _subschemas(schema: object, place: str = "", depth: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    """Every mapping in the schema that is one itself, with the address its references start from."""
    if depth > MAX_SCHEMA_DEPTH:
        raise ValueError(f"nested deeper than {MAX_SCHEMA_DEPTH} levels; put parts of it under $defs")
    if isinstance(schema, list):
        for item in schema:
            yield from _subschemas(item, place, depth + 1)
    elif isinstance(schema, dict):
        here = urljoin(place, schema["$id"]) if isinstance(schema.get("$id"), str) else place
        yield schema, here
        for key, value in schema.items():
            for below in _below(key, value):
                yield from _subschemas(below, here, depth + 1)


def _below(key: str, value: object) -> list[object]:
    """What under a keyword may be a schema: the values of a mapping by name, nothing that is data."""
    if key in _DATA:
        return []
    return list(value.values()) if key in _BY_NAME and isinstance(value, dict) else [value]


def _check_patterns(part: dict[str, Any]) -> None:
    by_name = part.get("patternProperties")
    for pattern in (part.get("pattern"), *(by_name if isinstance(by_name, dict) else ())):
        if isinstance(pattern, str):
            check_regex(pattern)
