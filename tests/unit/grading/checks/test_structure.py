"""JSON in the answer: read strictly, held against schemas and looked into by path."""

import json
from typing import Any

import pytest
from answers import grade, passed

FENCED = '```json\n{"a": 1}\n```'


@pytest.mark.parametrize(
    ("answer", "is_json"),
    [
        ('{"a": [1, 2.5, null, true, "x"]}', True),
        (" 3 \n", True),
        ('"text"', True),
        ("", False),
        ("{'a': 1}", False),
        ("[1, 2,]", False),
        ("NaN", False),
        ("[Infinity]", False),
        ('{"a": 1} and more', False),
        (FENCED, False),
    ],
)
def test_json_is_what_a_program_could_read(answer: str, is_json: bool) -> None:
    assert passed({"type": "is_json"}, answer) is is_json


def test_a_fence_may_be_allowed() -> None:
    assert passed({"type": "is_json", "allow_fence": True}, FENCED) is True
    assert passed({"type": "is_json", "allow_fence": True}, "```\nprose\n```") is False


def test_a_number_of_a_million_digits_is_an_error() -> None:
    found = grade({"type": "is_json"}, "1" * 1_000_000)
    assert (found.passed, found.reason) == (None, "the answer's JSON has a number of 1,000,000 digits")


def test_json_too_deep_even_to_parse_is_an_error() -> None:
    assert passed({"type": "is_json"}, "[" * 100_000) is None


@pytest.mark.parametrize("kind", ["json_schema", "json_path", "structural_match", "field_accuracy"])
def test_prose_fails_a_check_that_wants_json_and_a_fence_does_not(kind: str) -> None:
    config: dict[str, Any] = {
        "json_schema": {"schema": {"required": ["a"]}},
        "json_path": {"path": "a", "equals": 1},
        "structural_match": {"value": {"a": 1}},
        "field_accuracy": {"fields": [{"path": "a"}], "value": {"a": 1}},
    }[kind]
    found = grade({"type": kind, **config}, "The value of a is 1.")
    assert found.passed is False
    assert found.reason.startswith("the answer is not JSON: ")
    assert passed({"type": kind, **config}, FENCED) is True


PERSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z]"},
        "born": {"format": "date"},
        "tags": {"type": "array", "uniqueItems": True},
        "friend": {"$ref": "#"},
    },
    "patternProperties": {"^x-": {"type": "integer"}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"name": "Ann", "born": "1990-02-28", "tags": [1, True, "1"], "x-n": 3}, None),
        ({"name": "Ann", "friend": {"name": "Bob"}}, None),
        ({}, "$: 'name' is a required property"),
        ({"name": "ann"}, "$.name: 'ann' does not match '^[A-Z]'"),
        ({"name": "Ann", "friend": {"name": "bob"}}, "$.friend.name: 'bob' does not match '^[A-Z]'"),
        ({"name": "Ann", "born": "1990-02-30"}, "$.born: '1990-02-30' is no date"),
        ({"name": "Ann", "tags": [{"a": [1]}, {"a": [1.0]}]}, "$.tags: an item is there twice"),
        ({"name": "Ann", "x-n": "3"}, "$['x-n']: '3' is not of type 'integer'"),
        ({"name": "Ann", "age": 3}, "$: 'age' is not among the properties"),
        ([], "$: [] is not of type 'object'"),
    ],
)
def test_a_value_fits_its_schema_or_it_is_said_where_not(value: Any, wrong: str | None) -> None:
    found = grade({"type": "json_schema", "schema": PERSON}, json.dumps(value))
    assert (found.passed, found.reason) == (wrong is None, wrong or "fits the schema")


def test_additional_properties_may_have_a_schema_of_their_own() -> None:
    grader = {
        "type": "json_schema",
        "value": {"properties": {"a": {}}, "additionalProperties": {"type": "null"}},
    }
    assert passed(grader, '{"a": 1, "b": null}') is True
    assert passed(grader, '{"a": 1, "b": 2}') is False


def test_one_of_several_schemas_is_enough() -> None:
    grader = {"type": "json_schema", "schema": {"type": "object"}, "alternatives": [{"type": "array"}, False]}
    assert passed(grader, "[]") is True
    assert grade(grader, "3").reason == "$: 3 is not of type 'object'"


def test_a_schema_may_stand_in_the_case() -> None:
    assert passed({"type": "json_schema"}, "3", {"schema": {"minimum": 4}}) is False
    assert passed({"type": "json_schema"}, "3", {"schema": True}) is True


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2026-11-17T20:00:00Z", "2026-11-31T20:00:00Z"),
        ("time", "20:00:00+01:00", "8 pm"),
        ("email", "a@b.example", "a@b"),
        ("uuid", "7D444840-9dc0-11d1-b245-5ffdce74fad2", "7d444840"),
        ("uri", "https://x.example/a", "x.example/a"),
        ("uri", "mailto:a@b.example", "http://[x"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("ipv6", "::1", "1::2::3"),
    ],
)
def test_the_usual_formats_are_asserted(name: str, good: str, bad: str) -> None:
    grader = {"type": "json_schema", "schema": {"format": name}}
    assert [passed(grader, json.dumps(text)) for text in (good, bad)] == [True, False]
    assert passed(grader, "3") is True


def test_other_formats_are_remarks() -> None:
    assert passed({"type": "json_schema", "schema": {"format": "iri"}}, '"anything"') is True


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        ({"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}, "a" * 40_000, "takes longer than 0.5 s"),
        ({"patternProperties": {"^(([a-z])+.)+[A-Z]$": {}}}, {"a" * 40_000: 1}, "takes longer than 0.5 s"),
        (
            {"additionalProperties": {"$ref": "#"}, "allOf": [{"$ref": "#/additionalProperties"}]},
            {},
            "too deep",
        ),
    ],
)
def test_what_a_schema_cannot_decide_in_time_is_an_error(schema: Any, value: Any, reason: str) -> None:
    found = grade({"type": "json_schema", "schema": schema}, json.dumps(value))
    assert found.passed is None
    assert reason in found.reason


def test_alternatives_that_double_with_every_level_end_in_an_error() -> None:
    node = {"type": "object", "properties": {"l": {"$ref": "#"}}, "required": ["l"]}
    schema = {"anyOf": [node, {**node, "required": ["l", "x"]}, {"const": 1}]}
    value = '{"l": ' * 60 + "2" + "}" * 60
    found = grade({"type": "json_schema", "schema": schema}, value)
    assert (found.passed, found.reason) == (None, "the schema takes longer than 1.5 s on this answer")


ORDER = json.dumps({"id": 7, "lines": [{"sku": "a", "n": 1}, {"sku": "b", "n": True}], "note": None})


@pytest.mark.parametrize(
    ("options", "is_passed"),
    [
        ({"path": "$.id", "equals": 7}, True),
        ({"path": "$.id", "equals": 7.0}, True),
        ({"path": "id", "equals": "7"}, False),
        ({"path": "$.id", "equals": 8, "alternatives": [7]}, True),
        ({"path": "$.lines[*].sku", "equals": "b"}, True),
        ({"path": "$..sku", "value": "c"}, False),
        ({"path": "$.lines[1].n", "equals": 1}, False),
        ({"path": "$.lines[0]", "equals": {"n": 1, "sku": "a"}}, True),
        ({"path": "$.note", "equals": None}, True),
        ({"path": "$.gone", "equals": None}, False),
        ({"path": "$.lines[*].sku", "matches": "^B$", "flags": "i"}, True),
        ({"path": "$.id", "matches": "^7$"}, True),
        ({"path": "$.id", "matches": "^8$", "alternatives": ["^7$"]}, True),
        ({"path": "$.lines", "matches": "zzz"}, False),
    ],
)
def test_values_are_looked_up_by_path(options: dict[str, Any], is_passed: bool) -> None:
    assert passed({"type": "json_path", **options}, ORDER) is is_passed


def test_a_path_s_value_may_stand_in_the_case() -> None:
    assert passed({"type": "json_path", "path": "id"}, ORDER, {"answer": 9, "alternatives": [7]}) is True
    assert grade({"type": "json_path", "path": "id"}, ORDER, {"answer": 9}).reason == "id is 7"
