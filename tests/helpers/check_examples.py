"""One example of every check: a configuration, and answers on which it passes, fails and errs."""

from dataclasses import dataclass, field
from typing import Any

from evalq.grading.checks.text import MAX_CHARS

Answer = str | dict[str, Any]

LONG = "x" * (MAX_CHARS + 1)
DEEP = "[" * 200 + "]" * 200
MANY = {"tool_calls": [{"name": "t"}] * 1_001}


@dataclass(frozen=True)
class Example:
    """`errs` is None where no answer can make the check err; `malformed` is what loading refuses."""

    passes: Answer
    fails: Answer
    errs: Answer | None
    malformed: dict[str, Any]
    config: dict[str, Any] = field(default_factory=dict)
    expected: dict[str, Any] | None = None


EXAMPLES: dict[str, Example] = {
    "contains": Example("an apple", "a pear", LONG, {"value": 3}, {"value": "apple"}),
    "icontains": Example("An APPLE", "a pear", LONG, {"value": ""}, {"value": "apple"}),
    "not_contains": Example("a pear", "an apple", LONG, {"values": ["a"]}, {"value": "apple"}),
    "contains_any": Example("a", "c", LONG, {"values": []}, {"values": ["a", "b"]}),
    "icontains_any": Example("A", "c", LONG, {"values": [1]}, {"values": ["a", "b"]}),
    "contains_all": Example("ab", "a", LONG, {"value": {}}, {"values": ["a", "b"]}),
    "icontains_all": Example("AB", "a", LONG, {"values": [""]}, {"values": ["a", "b"]}),
    "starts_with": Example("abc", "bc", LONG, {"case": 1}, {"value": "a"}),
    "ends_with": Example("cba", "cb", LONG, {"value": ["a"]}, {"value": "a"}),
    "equals": Example("a", "b", LONG, {"trim_whitespace": "no"}, {"value": "a"}),
    "exact_match": Example("a", "b", LONG, {"value": "a", "expected": "b"}, {"expected": "a"}),
    "matches": Example("a1", "a", LONG, {"pattern": "("}, {"pattern": r"\d"}),
    "regex": Example("A", "b", LONG, {"pattern": "a", "flags": "q"}, {"value": "^a$", "flags": "i"}),
    "not_matches": Example("a", "a1", LONG, {"pattern": "[[:digit:]]"}, {"pattern": r"\d"}),
    "min_tokens": Example("a b", "a", LONG, {}, {"value": 2}),
    "min_words": Example("a b", "a", LONG, {"min": -1}, {"min": 2}),
    "max_tokens": Example("a", "a b", LONG, {"value": "1"}, {"value": 1}),
    "max_words": Example("a", "a b", LONG, {"min": 1}, {"max": 1}),
    "is_json": Example("[1]", "[1", DEEP, {"schema": {}}),
    "json_schema": Example("1", '"1"', DEEP, {"schema": {"type": "int"}}, {"schema": {"type": "integer"}}),
    "json_path": Example('{"a": 1}', '{"a": 2}', DEEP, {"path": "$["}, {"path": "$.a", "equals": 1}),
    "numeric": Example("4.2", "4.3", LONG, {"value": "4.2"}, {"value": 4.2}),
    "numeric_delta": Example(
        '{"a": 1.9}',
        '{"a": 1.8}',
        DEEP,
        {"value": "x"},
        {"value": {"a": 2}, "tolerance": {"min_delta": -0.1}},
    ),
    "structural_match": Example(
        '{"a": 1}', '{"a": 2}', DEEP, {"value": "{{any_thing}}"}, {"value": {"a": 1}}
    ),
    "semantic": Example("Yes", "no", LONG, {"must_include": "a", "x": 1}, {"must_include": ["yes"]}),
    "field_accuracy": Example(
        '{"a": 1}', '{"a": 2}', DEEP, {"fields": []}, {"fields": [{"path": "a"}], "value": {"a": 1}}
    ),
    "levenshtein": Example("apples", "pear", "x" * 20_001, {"threshold": 2}, {"value": "apple"}),
    "latency": Example({"latency_ms": 10}, {"latency_ms": 11}, None, {"threshold": 0}, {"threshold": 10}),
    "cost": Example({"cost_usd": "0.1"}, {"cost_usd": "0.11"}, None, {"budget": -1}, {"budget": 0.1}),
    "token_usage": Example(
        {"input_tokens": 1, "output_tokens": 2},
        {"input_tokens": 1, "output_tokens": 3},
        {"text": "free"},
        {},
        {"max_total": 3},
    ),
    "tool_trajectory": Example(
        {"tool_calls": [{"name": "a"}]},
        {"tool_calls": []},
        MANY,
        {"mode": "sorted"},
        {"mode": "exact", "expected": [{"tool": "a"}]},
    ),
    "max_tool_calls": Example(
        {"tool_calls": [{"name": "a"}]},
        {"tool_calls": [{"name": "a"}, {"name": "b"}]},
        None,
        {"value": -1},
        {"value": 1},
    ),
    "skill_triggered": Example(
        {"tool_calls": [{"name": "Skill", "arguments": {"skill": "csv"}}]},
        "No tool.",
        MANY,
        {"skill": ""},
        {"skill": "csv"},
    ),
    "refusal": Example("I cannot help with that.", "Gladly.", LONG, {"should_refuse": "no"}),
    "decision": Example(
        "I am sure.\nDECISION=YES REASON=it is so",
        "DECISION=NO REASON=it is not",
        "Yes, it is.",
        {"choices": ["YES"]},
        expected={"decision": "YES"},
    ),
    "hit_at_k": Example('["n"]', '["m"]', "not a list", {"k": 0}, {"k": 1}, {"relevant": ["n"]}),
    "mrr": Example('["m", "n"]', '["m"]', "not a list", {"k": 1}, {}, {"relevant": ["n"]}),
}
