"""JSON Schemas and paths are checked when they are loaded; nothing is fetched."""

import re
from typing import Any

import pytest

from evalq.definitions.definition import ABSENT
from evalq.definitions.json_queries import (
    check_json_path,
    check_json_schema,
    dotted_parts,
    value_at,
    without_dialect,
)
from evalq.definitions.template import check_matchers


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({"type": "objekt"}, "not a JSON Schema at type: 'objekt'"),
        (
            {"properties": {"a": {"minimum": "1"}}},
            "not a JSON Schema at properties.a.minimum: '1' is not of type",
        ),
        ({"properties": 3}, "not a JSON Schema at properties: 3"),
        ({"items": [{}]}, "not a JSON Schema at items: [{}]"),
        ({"properties": {"a": {"pattern": "("}}}, "not a regular expression: missing )"),
        ({"patternProperties": {"(?:(?:ab){1000}){1000}": {}}}, "its nested repeats multiply to too many"),
        ({"$ref": "https://evil.example/s"}, "$ref 'https://evil.example/s' leads out of the schema"),
        ({"$ref": "file:///etc/passwd"}, "$ref 'file:///etc/passwd' leads out of the schema"),
        ({"$ref": "#/$defs/gone"}, "$ref '#/$defs/gone' leads out of the schema"),
        ({"$dynamicRef": "#gone"}, "$dynamicRef '#gone' leads out of the schema"),
        ({"anyOf": [{"not": {"$ref": "other.json"}}]}, "$ref 'other.json' leads out of the schema"),
        (nested(60), "nested deeper than 50 levels; put parts of it under $defs"),
        (
            {"unevaluatedProperties": False, "allOf": [{"patternProperties": {"a": {}}}]},
            "patternProperties beside unevaluatedProperties cannot be held to a time limit",
        ),
    ],
)
def test_what_is_no_schema_or_leads_out_of_it_is_refused(schema: Any, wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)):
        check_json_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"$ref": "#"},
        {"$defs": {"a": {"$anchor": "x"}}, "$ref": "#x"},
        {
            "$id": "https://own.example/a",
            "$defs": {"b": {"$id": "b", "$ref": "#/$defs/c", "$defs": {"c": {}}}},
        },
        {"$id": "https://own.example/a", "$ref": "https://own.example/a#/$defs/c", "$defs": {"c": {}}},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"properties": {"$ref": {"type": "string"}, "pattern": {}}},
        {"const": {"$ref": "https://data.example"}, "enum": [{"pattern": "("}]},
        {"$dynamicAnchor": "n", "properties": {"next": {"$dynamicRef": "#n"}}},
    ],
)
def test_a_schema_that_stays_within_itself_is_fine(schema: Any) -> None:
    check_json_schema(schema)


def test_a_schema_loses_its_dialect_but_not_its_data() -> None:
    schema = {
        "$schema": "x",
        "const": {"$schema": "x"},
        "anyOf": [{"$schema": "y"}],
        "properties": {"$schema": {}},
    }
    assert without_dialect(schema) == {
        "const": {"$schema": "x"},
        "anyOf": [{}],
        "properties": {"$schema": {}},
    }


@pytest.mark.parametrize("path", ["$[", "a b", "$..a..b", "a|b", "a & b", "$." + "a" * 500, "(" * 499])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="; write "):
        check_json_path(path)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("users.*.id", ("users", "*", "id")),
        ("users[0].id", ("users", "0", "id")),
        ("[*][1]", ("*", "1")),
        (r"a\.b.c", ("a.b", "c")),
        ("**.id", ("**", "id")),
        ("a b.ü", ("a b", "ü")),
    ],
)
def test_a_dotted_path_has_its_parts(path: str, parts: tuple[str, ...]) -> None:
    assert dotted_parts(path) == parts


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "a[x]", "a[0", "a[0]b"])
def test_a_dotted_path_has_no_empty_part(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path; write keys with dots between them"):
        dotted_parts(path)


def test_a_dotted_path_leaves_open_how_deep_it_goes_only_once() -> None:
    with pytest.raises(ValueError, match="leaves too much open; write"):
        dotted_parts("**.a.**")


def test_a_value_is_found_at_its_path() -> None:
    document = {"a": [{"b": None}], "0": "zero"}
    assert value_at(document, "a[0].b") is None
    assert value_at(document, "0") == "zero"
    assert [value_at(document, path) for path in ("a.1", "a.b", "c", "0.x")] == [ABSENT] * 4


def test_an_unknown_matcher_is_answered_with_the_near_one() -> None:
    check_matchers({"a": ["{{any_uuid}} {{other}}"], "{{any_key}}": 1})
    with pytest.raises(ValueError, match=r"no matcher is called 'any_uid'; write \{\{any_uuid\}\}"):
        check_matchers({"a": ["x {{any_uid}}"]})
    with pytest.raises(ValueError, match="known are any_string, any_number"):
        check_matchers("{{any_xyzzyxyzzy}}")
