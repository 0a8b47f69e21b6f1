"""Every check of an EVAL.yaml that asks no model, row by row."""

from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.loaded import LoadedTask
from evalq.errors import InputError
from evalq.formats.agentv.load import load
from evalq.formats.document import text_of


def imported(folder: Path, *assertions: Any, **more: Any) -> LoadedTask:
    """One test with these checks, and one that passes all files through."""
    path = folder / "EVAL.yaml"
    test = {"id": "t", "input": "Ask.", "criteria": "It is good.", "assertions": list(assertions), **more}
    path.write_text(text_of({"tests": [test]}), "utf-8")
    return load(path, folder)


def graders(folder: Path, *assertions: Any, **more: Any) -> list[dict[str, Any]]:
    (case,) = imported(folder, *assertions, **more).evalset.cases
    return [grader.model_dump(exclude_unset=True) for grader in case.graders]


WEIGHS = {"required": False}


@pytest.mark.parametrize(
    ("assertion", "wanted"),
    [
        ({"type": "contains", "value": "a"}, {"type": "contains", "value": "a"}),
        ({"type": "contains", "value": 5}, {"type": "contains", "value": "5"}),
        ({"type": "not-contains", "value": "a"}, {"type": "contains", "value": "a", "negate": True}),
        (
            {"type": "contains", "value": "a", "negate": True},
            {"type": "contains", "value": "a", "negate": True},
        ),
        ({"type": "contains-any", "value": ["a", "b"]}, {"type": "contains_any", "values": ["a", "b"]}),
        ({"type": "contains-all", "value": ["a", 2]}, {"type": "contains_all", "values": ["a", "2"]}),
        ({"type": "icontains", "value": "a"}, {"type": "icontains", "value": "a"}),
        ({"type": "icontains-any", "value": "a"}, {"type": "icontains_any", "values": ["a"]}),
        ({"type": "icontains_all", "value": ["a"]}, {"type": "icontains_all", "values": ["a"]}),
        ({"type": "starts-with", "value": "a"}, {"type": "starts_with", "value": "a"}),
        ({"type": "ends-with", "value": "a"}, {"type": "ends_with", "value": "a"}),
        ({"type": "equals", "value": "4"}, {"type": "equals", "value": "4"}),
        (
            {"type": "equals", "value": {"a": 1}},
            {"type": "structural_match", "value": {"a": 1}, "strict": True},
        ),
        ({"type": "regex", "value": r"\d"}, {"type": "regex", "pattern": "[0-9]"}),
        (
            {"type": "regex", "value": "a", "flags": "gi"},
            {"type": "regex", "pattern": "a", "flags": ["ignorecase"]},
        ),
        ({"type": "is-json"}, {"type": "is_json"}),
        (
            {"type": "is-json", "value": {"type": "object"}},
            {"type": "json_schema", "value": {"type": "object"}},
        ),
        ({"type": "latency", "threshold": 300}, {"type": "latency", "threshold": 300.0}),
        ({"type": "cost", "budget": 0.1}, {"type": "cost", "budget": 0.1}),
        (
            {"type": "token-usage", "max_total": 9, "max_output": 3},
            {"type": "token_usage", "max_total": 9, "max_output": 3},
        ),
        (
            {"type": "skill-trigger", "skill": "csv"},
            {"type": "skill_triggered", "skill": "csv", "should_trigger": True},
        ),
        (
            {"type": "not-skill-used", "value": "csv"},
            {"type": "skill_triggered", "skill": "csv", "should_trigger": False},
        ),
        (
            {"type": "tool-trajectory", "mode": "any_order", "minimums": {"search": 2}},
            {"type": "tool_trajectory", "mode": "any_order", "minimums": {"search": 2}},
        ),
    ],
)
def test_a_check_becomes_its_grader(tmp_path: Path, assertion: Any, wanted: dict[str, Any]) -> None:
    assert graders(tmp_path, assertion) == [{**WEIGHS, **wanted}]


def test_a_trajectory_keeps_arguments_and_how_they_are_compared(tmp_path: Path) -> None:
    expected = [{"tool": "fetch", "args": {"a": 1}, "args_match": ["a"]}, {"tool": "save", "args": "any"}]
    (grader,) = graders(tmp_path, {"type": "tool-trajectory", "mode": "in_order", "expected": expected})
    assert grader["expected"][0] == {"tool": "fetch", "args": {"a": 1}, "args_match": ["a"]}
    assert grader["expected"][1]["args"] is None


def test_the_time_of_a_single_tool_is_a_loss(tmp_path: Path) -> None:
    call = {"tool": "fetch", "max_duration_ms": 5}
    found = imported(tmp_path, {"type": "tool-trajectory", "mode": "exact", "expected": [call]})
    assert any("max_duration_ms of a tool is not looked at" in warning for warning in found.warnings)


def test_a_part_of_a_trajectory_is_no_gate(tmp_path: Path) -> None:
    found = imported(tmp_path, {"type": "tool-trajectory", "expected": ["a"], "required": 0.5})
    assert any("passes only in full" in warning for warning in found.warnings)
    assert found.evalset.cases[0].graders[0].mode == "in_order"  # type: ignore[union-attr]


def test_each_metric_has_its_share_of_the_weight(tmp_path: Path) -> None:
    metrics = {"type": "execution-metrics", "max_tokens": 9, "max_cost_usd": 1, "max_llm_calls": 2}
    found = imported(tmp_path, {**metrics, "weight": 4})
    assert [(one.type, one.weight) for one in found.evalset.cases[0].graders] == [
        ("token_usage", 2.0),
        ("cost", 2.0),
    ]
    assert any("max_llm_calls is not measured" in warning for warning in found.warnings)


def test_fields_are_compared_with_what_is_expected(tmp_path: Path) -> None:
    fields = [
        {"path": "a.b", "match": "numeric_tolerance", "tolerance": 1},
        "gone",
        {"path": "c", "match": "fuzzy"},
    ]
    found = imported(
        tmp_path,
        {"type": "field-accuracy", "fields": fields, "required": 0.5},
        expected_output={"a": {"b": 3}, "c": 1},
    )
    (grader,) = found.evalset.cases[0].graders
    assert (grader.value, [field.path for field in grader.fields]) == ({"a": {"b": 3}, "c": 1}, ["a.b"])  # type: ignore[union-attr]
    assert (grader.threshold, grader.required) == (0.5, True)  # type: ignore[union-attr]
    assert any("expected_output has no gone: not compared" in warning for warning in found.warnings)
    assert any("field 'c' is compared as 'fuzzy'" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("assertion", "reason"),
    [
        ({"type": "code-judge", "command": ["x"]}, "runs a program of yours"),
        ({"type": "include", "include": "shared"}, "brings in checks from elsewhere"),
        ({"type": "vibes"}, "is a type of your own"),
        ({"value": "a"}, "has no type"),
        ({"type": "contains", "value": ""}, "an empty text is in every answer"),
        ({"type": "contains", "value": {"a": 1}}, "its value is not text"),
        ({"type": "contains-any", "value": []}, "values: "),
        ({"type": "regex", "value": r"\p{L}", "flags": "u"}, "no counterpart"),
        ({"type": "regex", "value": "(?<=a+)b"}, "not a regular expression"),
        ({"type": "regex", "value": "("}, "not a regular expression"),
        ({"type": "latency"}, "it sets no limit"),
        ({"type": "latency", "threshold": "fast"}, "threshold: "),
        ({"type": "token-usage"}, "no limit is set"),
        ({"type": "execution-metrics", "max_llm_calls": 3}, "none of its limits"),
        ({"type": "field-accuracy", "fields": [{"path": "a"}]}, "not a mapping to compare with"),
        ({"type": "tool-trajectory", "mode": "sideways", "expected": ["a"]}, "mode: "),
        ({"type": "skill-trigger"}, "names no skill"),
        ({"type": "rubrics", "criteria": []}, "says nothing"),
        ({"type": "composite", "assertions": []}, "has no checks in it"),
    ],
)
def test_what_has_no_counterpart_is_listed_and_the_criteria_mark(
    tmp_path: Path, assertion: Any, reason: str
) -> None:
    found = imported(tmp_path, assertion)
    assert any(reason in warning and "EVAL.yaml:1" in warning for warning in found.warnings)
    assert [grader.type for grader in found.evalset.cases[0].graders] == ["rubric"]


def test_a_test_that_nothing_marks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing marks the answers to test 't'"):
        imported(tmp_path, {"type": "code-judge", "command": ["x"]}, criteria="")


def test_a_check_without_its_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains without a value; add value:"):
        imported(tmp_path, {"type": "contains"})


def test_weights_and_gates_are_kept(tmp_path: Path) -> None:
    found = graders(
        tmp_path,
        {"type": "is-json", "required": True, "weight": 3, "name": "shape of it"},
        {"type": "contains", "value": "a", "weight": 0},
        {"type": "contains", "value": "b", "required": 0.5},
    )
    assert found[0] == {"type": "is_json", "required": True, "weight": 3.0, "name": "shape-of-it"}
    assert (found[1]["weight"], found[1]["required"]) == (0.0, False)
    assert found[2]["required"] is True


def test_a_mean_of_checks_is_taken_apart(tmp_path: Path) -> None:
    composite = {
        "type": "composite",
        "weight": 2,
        "negate": True,
        "aggregator": {"type": "weighted_average", "weights": {"safe": 3}},
        "assertions": [
            {"type": "contains", "name": "safe", "value": "a"},
            {"type": "not-contains", "name": "rest", "value": "b"},
        ],
    }
    found = graders(tmp_path, composite)
    assert [(one["weight"], one.get("negate", False)) for one in found] == [(1.5, True), (0.5, False)]


@pytest.mark.parametrize(
    "how", [{"aggregator": {"type": "threshold"}}, {"aggregator": "llm-grader"}, {"threshold": 0.5}]
)
def test_any_other_way_of_joining_checks_is_listed(tmp_path: Path, how: dict[str, Any]) -> None:
    members = [{"type": "contains", "value": "a"}]
    found = imported(tmp_path, {"type": "composite", "assertions": members, **how})
    assert any("which has no counterpart: left out" in warning for warning in found.warnings)
