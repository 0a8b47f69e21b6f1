"""What the checks refuse in their own configuration, and what they take under several names."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalq.definitions.graders import GraderConfig

ADAPTER: TypeAdapter[Any] = TypeAdapter(GraderConfig)


@pytest.mark.parametrize(
    ("grader", "message"),
    [
        ({"type": "json_schema", "schema": 3}, "a JSON Schema is a mapping; write it as"),
        ({"type": "json_schema", "schema": {"$ref": "https://x.example"}}, "leads out of the schema"),
        (
            {"type": "json_path", "path": "a", "equals": 1, "matches": "1"},
            "equals and matches are two comparisons",
        ),
        ({"type": "json_path", "path": "a", "matches": "("}, "not a regular expression"),
        (
            {"type": "json_path", "path": "a", "matches": "1", "alternatives": [1]},
            "alternatives beside matches are patterns; put them in quotes",
        ),
        ({"type": "regex", "pattern": "a", "alternatives": ["("]}, "not a regular expression"),
        ({"type": "numeric", "value": True}, "not a number; write one without quotes"),
        ({"type": "numeric", "value": float("inf")}, "not a number; write one without quotes"),
        ({"type": "structural_match", "ignore_fields": ["a..b"]}, "'a..b' is not a path"),
        (
            {"type": "field_accuracy", "fields": [{"path": "a.*"}]},
            "a field has one place; write the path without *",
        ),
        ({"type": "field_accuracy", "fields": [{"path": "a", "weight": 0}]}, "no field weighs anything"),
        (
            {"type": "field_accuracy", "fields": [{"path": "a", "match": "date", "formats": ["MM/DD"]}]},
            "the format names no day; write it with YYYY",
        ),
        (
            {"type": "tool_trajectory", "mode": "exact", "minimums": {"a": 1}},
            "minimums do not count in mode exact",
        ),
        (
            {"type": "tool_trajectory", "mode": "exact", "args_match": []},
            "no way to compare arguments; write exact",
        ),
        ({"type": "levenshtein", "threshold": 1, "max_distance": 1}, "are two measures; keep one of them"),
        ({"type": "token_usage"}, "no limit is set; add max_total"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_remedy(grader: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ADAPTER.validate_python(grader)
    assert message in caught.value.errors()[0]["msg"]
    assert "; " in caught.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"type": "contains", "value": "a"}, {"type": "contains", "expected": "a"}),
        ({"type": "contains_any", "values": ["a"]}, {"type": "contains-any", "value": "a"}),
        (
            {"type": "regex", "pattern": "a", "flags": "im"},
            {"type": "regex", "value": "a", "flags": ["ignorecase", "multiline"]},
        ),
        ({"type": "min_words", "value": 3}, {"type": "min-words", "min": 3}),
        ({"type": "max_tokens", "value": 3}, {"type": "max-tokens", "max": 3}),
        ({"type": "latency", "threshold": 3}, {"type": "latency", "max_ms": 3}),
        ({"type": "cost", "budget": 3}, {"type": "cost", "max_usd": 3}),
        ({"type": "numeric", "value": 3, "abs_tol": 1}, {"type": "numeric", "expected": 3, "tolerance": 1}),
        ({"type": "json_schema", "schema": {}}, {"type": "json-schema", "value": {}}),
        ({"type": "semantic", "must_include": "a"}, {"type": "semantic", "must_include": [["a"]]}),
    ],
)
def test_a_parameter_goes_by_the_names_people_know(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert ADAPTER.validate_python(one) == ADAPTER.validate_python(other)


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}])
def test_any_json_value_survives_a_snapshot(value: Any) -> None:
    grader = ADAPTER.validate_python({"type": "json_path", "path": "a", "equals": value})
    again = ADAPTER.validate_json(ADAPTER.dump_json(grader))
    assert again.wanted({"answer": "other"}) == [value]
    bare = ADAPTER.validate_python({"type": "json_path", "path": "a"})
    assert ADAPTER.validate_json(ADAPTER.dump_json(bare)).wanted({"answer": "other"}) == ["other"]


@pytest.mark.parametrize(
    "grader", [{"type": "json_schema", "schema": None}, {"type": "equals", "value": None}]
)
def test_a_parameter_left_empty_is_as_if_it_were_not_written(grader: dict[str, Any]) -> None:
    assert ADAPTER.validate_python(grader) == ADAPTER.validate_python({"type": grader["type"]})
