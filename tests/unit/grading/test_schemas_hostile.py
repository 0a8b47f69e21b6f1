"""Hostile JSON Schemas and answers: each ends as a grade or a grader error, in bounded work, offline."""

import json
import socket
from typing import Any

import pytest

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders.structure import JsonSchema
from evalq.definitions.task import TaskConfig
from evalq.errors import UngradableAnswer
from evalq.grading.checks.structure import mark_json_schema
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion

DEEP = {"$defs": {"d": {"anyOf": [{"items": {"$ref": "#/$defs/d"}}, {"items": {"$ref": "#/$defs/d"}}]}}}
SCHEMAS: dict[str, Any] = {
    "unique": {"uniqueItems": True, "items": {"uniqueItems": True}},
    "multiple of a tiny number": {"multipleOf": 1e-300},
    "multiple of a huge integer": {"multipleOf": 10**400},
    "multiple of a fraction": {"multipleOf": 0.01},
    "a loop": {"$ref": "#"},
    "two loops": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "doubling": {**DEEP, "$ref": "#/$defs/d"},
    "catastrophic pattern": {"type": "string", "pattern": "^(a+)+$"},
    "catastrophic names": {"patternProperties": {"^(a+)+$": False}, "additionalProperties": False},
    "unevaluated": {"unevaluatedProperties": False, "unevaluatedItems": False},
    "huge enum": {"enum": [[number] for number in range(100_000)]},
    "items of a huge enum": {"items": {"enum": [[number] for number in range(20_000)]}},
    "huge const": {"const": list(range(100_000))},
    "contains": {"contains": {"const": "x"}, "minContains": 50_000, "maxContains": 60_000},
    "formats": {"items": {"format": "date-time"}, "format": "email"},
    "bounds": {"minimum": 1e308, "exclusiveMaximum": 10**500},
    "not": {"not": {"not": {"not": {"uniqueItems": True}}}},
    "names": {"propertyNames": {"pattern": "^(a|a)*$"}, "maxProperties": 3},
    "dependent": {"dependentSchemas": {"a": {"$ref": "#"}}},
}
ANSWERS: dict[str, str] = {
    "many items": json.dumps(list(range(100_000))),
    "equal items": json.dumps([{"a": [1, 2]}] * 20_000),
    "nested": "[" * 400 + "]" * 400,
    "too deep": "[" * 100_000 + "]" * 100_000,
    "a wide tree": json.dumps([[[list(range(10))] * 10] * 10] * 10),
    "a bomb for patterns": json.dumps("a" * 50_000 + "!"),
    "a bomb of names": json.dumps({"a" * 5_000 + "!": 1, "a": 2}),
    "infinite": "1e400",
    "not a number": "NaN",
    "negative infinity": "[-Infinity]",
    "a million digits": "9" * 1_000_000,
    "a long fraction": "0." + "3" * 100_000,
    "tiny": "5e-324",
    "huge": "1e308",
    "a large integer": str(10**300),
    "texts": json.dumps(["2026-01-01T00:00:00Z" + "0" * 1_000] * 1_000),
    "half a pair": '"\\ud800"',
    "nothing": "",
}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reaches for the network fails the test."""

    def refuse(*args: object, **kwargs: object) -> Any:
        raise AssertionError(f"the network was used: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def grade(schema: Any, text: str) -> bool | None:
    """Passed or failed; None for a grader error."""
    task = TaskConfig(name="t", system_prompt="", user_template="{q}", graders=[{"type": "is_json"}])
    grader = JsonSchema(type="json_schema", schema=schema)
    try:
        found = mark_json_schema(
            grader, AnswerToGrade(task, EvalCase(id="c", inputs={"q": "x"}), Completion("answered", text))
        )
    except UngradableAnswer:
        return None
    return found.passed


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_hostile_schema_or_answer_ends_as_a_grade_or_a_grader_error(schema: str, answer: str) -> None:
    assert grade(SCHEMAS[schema], ANSWERS[answer]) in (True, False, None)


@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/s.json", "file:///etc/passwd", "other.json"])
def test_a_reference_elsewhere_is_refused_at_load(reference: str) -> None:
    with pytest.raises(ValueError, match=r"\$ref|reference"):
        JsonSchema(type="json_schema", schema={"$ref": reference})


@pytest.mark.parametrize("number", [0, -1, -0.5])
def test_a_multiple_of_nothing_is_refused_at_load(number: float) -> None:
    with pytest.raises(ValueError, match="multipleOf"):
        JsonSchema(type="json_schema", schema={"multipleOf": number})
