"""Every row of the table of templates, and what is said where the table is silent."""

from typing import Any

import pytest

from evalq.definitions.located import Located
from evalq.errors import InputError
from evalq.formats.agentv.assertion_text import TEMPLATES, describe_assertion
from evalq.formats.agentv.sections import TYPES, read_assertion
from evalq.formats.document import root_node


def lines(written: Any) -> list[str]:
    said, problems = describe_assertion(read_assertion(root_node(Located(written, {(): 7}, "EVAL.yaml"))))
    assert problems == []
    return said


def warned(written: Any) -> tuple[list[str], str]:
    said, (problem,) = describe_assertion(read_assertion(root_node(Located(written, {(): 7}, "EVAL.yaml"))))
    return said, str(problem)


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ({"type": "rubrics", "criteria": "It is clear "}, "It is clear "),
        ({"type": "contains", "value": "$31,070"}, "Output contains '$31,070'"),
        ({"type": "contains", "value": "it's"}, "Output contains 'it's'"),
        ({"type": "contains", "value": 5.0}, "Output contains '5'"),
        ({"type": "contains", "value": True}, "Output contains 'true'"),
        ({"type": "regex", "value": r"\d{4}-{}"}, r"Output matches regex: \d{4}-{}"),
        ({"type": "regex", "value": "a", "flags": "i"}, "Output matches regex: a (flags: i)"),
        ({"type": "equals", "value": "4"}, "Output exactly equals: 4"),
        ({"type": "equals", "value": {"a": [1, "é"]}}, 'Output exactly equals: {"a":[1,"é"]}'),
        ({"type": "is-json"}, "Output is valid JSON"),
        ({"type": "llm-judge", "prompt": "Is it kind?"}, "Is it kind?"),
        ({"type": "llm-judge", "prompt": "prompts/kind.md"}, "prompts/kind.md"),
        ({"type": "agent-judge", "prompt": "Look around"}, "Look around"),
        (
            {"type": "tool-trajectory", "expected": [{"tool": "Read"}, {"tool": "Write"}]},
            "Agent called tools in order: Read, Write",
        ),
        ({"type": "tool-trajectory", "mode": "exact"}, "Agent followed expected tool trajectory"),
        ({"type": "code-judge", "name": "lint"}, "lint"),
        ({"type": "code-judge", "name": "lint", "description": "No warnings"}, "lint: No warnings"),
        ({"type": "code-judge", "command": ["bun", "run", "c.ts"]}, "bun run c.ts"),
        ({"type": "code-judge", "script": "uv run c.py", "description": "D"}, "uv run c.py: D"),
        ({"type": "code-judge"}, "Code judge assertion"),
        (
            {"type": "field-accuracy", "fields": [{"path": "a.b"}, {"path": "c"}]},
            "Fields a.b, c match expected values",
        ),
        ({"type": "field-accuracy"}, "Fields match expected values"),
        ({"type": "latency", "threshold": 2000}, "Response time under 2000ms"),
        ({"type": "latency", "threshold": "soon"}, "Response time within threshold"),
        ({"type": "cost", "budget": 0.1}, "Cost under $0.1"),
        ({"type": "cost", "budget": 5.0}, "Cost under $5"),
        ({"type": "cost", "budget": 1e-7}, "Cost under $0.0000001"),
        ({"type": "cost"}, "Cost within budget"),
        ({"type": "token-usage", "max_total": 10}, "Token usage within limits"),
        ({"type": "execution-metrics", "max_tool_calls": 3}, "Execution within metric bounds"),
        ({"type": "icontains", "value": "x"}, "Output contains (case-insensitive) 'x'"),
        ({"type": "contains-any", "value": ["a", 1]}, "Output contains any of: 'a', '1'"),
        ({"type": "contains-all", "value": "a"}, "Output contains all of: 'a'"),
        ({"type": "icontains-any", "value": ["a"]}, "Output contains (case-insensitive) any of: 'a'"),
        ({"type": "icontains-all", "value": ["a"]}, "Output contains (case-insensitive) all of: 'a'"),
        ({"type": "starts-with", "value": "Dear"}, "Output starts with 'Dear'"),
        ({"type": "ends-with", "value": "."}, "Output ends with '.'"),
        ("A bare line", "A bare line"),
    ],
)
def test_a_check_is_one_line(written: Any, line: str) -> None:
    assert lines(written) == [line]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            {"type": "agent-judge", "rubrics": [{"id": "r", "outcome": "One"}, "Two"], "prompt": "P"},
            ["One", "Two"],
        ),
        ({"type": "rubrics", "criteria": ["One", {"id": "r", "outcome": "Two"}, None]}, ["One", "Two"]),
        (
            {"type": "rubrics", "criteria": [{"description": "Old"}, {"id": "only-a-name"}]},
            ["Old", "only-a-name"],
        ),
        ({"type": "rubric", "rubrics": [{"id": "a", "description": "Old"}]}, ["Old"]),
        ({"type": "llm-rubric", "value": ["One", {"outcome": "Two"}]}, ["One", "Two"]),
        ({"type": "llm-grader", "rubrics": [], "prompt": "P"}, ["P"]),
        ({"type": "llm_judge", "rubrics": ["One"], "prompt": "P"}, ["P"]),
        ({"type": "llm-judge", "rubrics": ["One"]}, ["One"]),
        ({"type": "llm-grader", "prompt": {"command": ["bun", "p.ts"]}}, ["Grader prompt made by: bun p.ts"]),
    ],
)
def test_each_rubric_is_a_line_of_its_own(written: Any, said: list[str]) -> None:
    assert lines(written) == said


def test_a_rubric_that_only_has_ranges_is_what_the_best_one_says() -> None:
    as_map = {"id": "fit", "score_ranges": {"0": "Bad", "10": "Fits well", "9": "Fits"}}
    as_list = {
        "score_ranges": [
            {"score_range": [0, 4], "outcome": "Bad"},
            {"score_range": [5, 10], "outcome": "Good"},
            {"score_range": "odd", "outcome": "Odd"},
        ]
    }
    empty = {"id": "bare", "score_ranges": {}}
    assert lines({"type": "rubrics", "criteria": [as_map, as_list, empty]}) == [
        "fit: Fits well",
        "Good",
        "bare",
    ]


def test_a_rubric_may_be_there_not_to_be_contradicted() -> None:
    rubric = {"outcome": "Paris is in France", "operator": "contradiction"}
    assert lines({"type": "rubrics", "criteria": [rubric]}) == [
        "Output does not contradict: Paris is in France"
    ]


@pytest.mark.parametrize(
    ("mode", "line"),
    [
        ("in_order", "Agent called tools in order: A, B"),
        ("any_order", "Agent called tools in any order: A, B"),
        ("superset", "Agent called at least these tools: A, B"),
        ("subset", "Agent called no tools but these: A, B"),
    ],
)
def test_a_trajectory_is_told_as_its_mode_means_it(mode: str, line: str) -> None:
    assert lines({"type": "tool-trajectory", "mode": mode, "expected": [{"tool": "A"}, "B", {}]}) == [line]


def test_a_trajectory_of_minimums_counts_the_calls() -> None:
    written = {"type": "tool_trajectory", "mode": "any_order", "minimums": {"search": 2, "read": 1}}
    assert lines(written) == ["Agent called tools: search (at least 2), read (at least 1)"]


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ({"type": "contains", "value": "x", "negate": True}, "Not the case: Output contains 'x'"),
        ({"type": "not-contains", "value": "x"}, "Not the case: Output contains 'x'"),
        ({"type": "not_is_json"}, "Not the case: Output is valid JSON"),
        ({"type": "not-contains", "value": "x", "negate": True}, "Output contains 'x'"),
        ({"type": "rubrics", "criteria": ["A", "B"], "negate": True}, "Not all of these hold: A; B"),
    ],
)
def test_a_negated_check_says_so(written: Any, line: str) -> None:
    assert lines(written) == [line]


def test_a_composite_is_its_members() -> None:
    members = [
        {"type": "contains", "value": "a"},
        {"type": "assert-set", "assert": ["Inner", {"type": "skill-used", "value": "csv"}]},
        {"type": "not-skill-used", "value": {"name": "pdf"}},
        {"type": "trigger-judge"},
    ]
    assert lines({"type": "composite", "assertions": members}) == [
        "Output contains 'a'",
        "Inner",
        "Agent uses the skill 'csv'",
        "Agent does not use the skill 'pdf'",
        "Agent uses the skill",
    ]


def test_a_composites_members_warn_too() -> None:
    said, warning = warned({"type": "composite", "evaluators": [{"type": "odd", "name": "n"}]})
    assert said == ["n"]
    assert "unknown type 'odd'" in warning


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"criteria": "C", "prompt": "P", "name": "n"}, "C"),
        ({"prompt": "P", "name": "n"}, "P"),
        ({"name": "n", "value": "v"}, "n"),
        ({"value": "v"}, "v"),
        ({"criteria": ["a list"], "config": {}}, "similarity assertion"),
    ],
)
def test_an_unknown_type_is_its_criteria_prompt_or_name_and_is_warned_of(
    fields: dict[str, Any], line: str
) -> None:
    said, warning = warned({"type": "similarity", **fields})
    assert said == [line]
    assert warning == f"EVAL.yaml:7: unknown type 'similarity', taken as: {line}"


def test_an_included_check_is_its_path_and_is_warned_of() -> None:
    assert warned({"include": "tone.yaml"})[0] == ["tone.yaml"]


def test_a_check_without_a_type_is_warned_of() -> None:
    said, warning = warned({"criteria": "Be kind"})
    assert said == ["Be kind"]
    assert warning == "EVAL.yaml:7: a check without a type, taken as: Be kind"


@pytest.mark.parametrize(
    "written", [{"type": "llm-judge", "name": "content"}, {"type": "rubrics"}, {"type": "composite"}]
)
def test_a_check_that_says_nothing_is_left_out_with_a_warning(written: dict[str, Any]) -> None:
    said, warning = warned(written)
    assert said == []
    assert warning.startswith(f"EVAL.yaml:7: {written['type']} says nothing: left out; ")


def test_a_negated_check_that_says_nothing_stays_silent() -> None:
    assert warned({"type": "llm-judge", "negate": True})[0] == []


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"type": "contains"}, "contains without a value"),
        ({"type": "regex", "value": None}, "regex without a value"),
        ({"type": "contains-any"}, "contains-any without a value"),
        ({"weight": 1}, "a check without a type"),
        ({"type": 5}, "type is not text"),
        ({"type": "contains", "value": "x", "weight": "heavy"}, "weight is not a number of 0 or more"),
        ({"type": "contains", "value": "x", "negate": "yes"}, "negate is neither true nor false"),
        (5, "the document is not a mapping"),
    ],
)
def test_what_cannot_be_a_check_is_refused_with_its_line(written: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"EVAL\.yaml:7: {message}"):
        lines(written)


def test_every_type_has_words() -> None:
    assert set(TEMPLATES) == TYPES - {"include"}
