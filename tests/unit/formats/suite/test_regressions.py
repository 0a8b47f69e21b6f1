"""Regression evals: what the current side is asked, and how it is held against the baseline."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from answers import NoContext, grade_now

from evalq.definitions.graders.values import NumericDelta
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.load import task_of
from evalq.formats.suite.read import Suite, read_suite
from evalq.formats.suite.regressions import example_of, output_of, with_baseline
from evalq.grading.grade import decide_outcome
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion

Read = Callable[..., Suite]

REQUEST = {"method": "GET", "endpoint": "/v1/users", "headers": {"Authorization": "Bearer {{test_token}}"}}
HTTP = {"type": "http", "base_url": "{{api_base_url}}"}


def regression(baseline: Any, comparison: Any, **more: Any) -> dict[str, Any]:
    current = more.pop("current", {"input": "Say it"})
    return {"id": "r", "baseline": {"output": baseline}, "current": current, "comparison": comparison, **more}


def verdict(suite: Suite, answer: str) -> str:
    (one,) = suite.evals
    subject = AnswerToGrade(task_of(suite), one.case, Completion("answered", answer))
    return decide_outcome(subject, grade_now(subject, NoContext())).verdict


def test_a_text_is_compared_exactly(read: Read) -> None:
    suite = read(regression("hello", {"type": "exact"}))
    assert (verdict(suite, "hello"), verdict(suite, "hallo")) == ("passed", "failed")


def test_json_is_compared_exactly_but_for_ignored_fields(read: Read) -> None:
    suite = read(regression({"a": 1, "b": 2}, {"type": "exact", "ignore_fields": ["b"]}))
    answers = ('{"a": 1, "b": 9}', '{"a": 1}', '{"a": 2, "b": 2}', '{"a": 1, "c": 1}')
    assert [verdict(suite, answer) for answer in answers] == ["passed", "passed", "failed", "failed"]


@pytest.mark.parametrize(
    ("tolerance", "answer", "expected"),
    [
        ({"s": {"min_delta": -0.3, "max_delta": None}}, '{"s": {"a": 3.9}}', "passed"),
        ({"s": {"min_delta": -0.3, "max_delta": None}}, '{"s": {"a": 3.8}}', "failed"),
        ({"s": {"min_delta": -0.3, "max_delta": None}}, '{"s": {"a": 99}}', "passed"),
        ({"s": {"min_delta": None, "max_delta": 0.1}}, '{"s": {"a": 4.4}}', "failed"),
        ({}, '{"s": {"a": 4.2}}', "passed"),
        ({"min_delta": -1, "max_delta": 1}, '{"s": {"a": 4.9}}', "passed"),
        ({"min_delta": -1, "max_delta": 1}, '{"s": {}}', "failed"),
        ({"min_delta": -1, "max_delta": 1}, "about four", "failed"),
    ],
)
def test_numbers_may_move_within_their_tolerance(
    read: Read, tolerance: Any, answer: str, expected: str
) -> None:
    baseline = {"s": {"a": 4.2}, "comments": ["free text"]}
    suite = read(regression(baseline, {"type": "numeric", "tolerance": tolerance}))
    assert verdict(suite, answer) == expected


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"value": {"a": "text"}}, "no number to compare"),
        ({"value": 1, "tolerance": {"min_delta": "-1"}}, "min_delta is not a number"),
        ({"value": 1, "tolerance": {"s": 3}}, "write min_delta and max_delta below it"),
    ],
)
def test_an_invalid_tolerance_is_refused(fields: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        NumericDelta(type="numeric_delta", **fields)


def test_a_response_is_compared_by_structure_with_matchers(read: Read) -> None:
    baseline = {
        "status": 200,
        "headers": {"Content-Type": "application/json"},
        "body": {
            "users": [{"id": "{{any_uuid}}", "name": "{{any_string}}"}],
            "page": {"total": "{{any_number}}"},
        },
    }
    comparison = {
        "type": "structural",
        "tolerance": {"allow_additional_fields": True},
        "ignore_fields": ["users.*.id", "page.total"],
        "options": {"require_keys": ["users", "body.page"]},
    }
    suite = read(regression(baseline, comparison, current={"input": REQUEST, "execution": HTTP}))
    good = (
        '{"status": 200, "headers": {"content-type": "application/json; charset=utf-8", "x": "1"}, '
        '"body": {"users": [{"id": 7, "name": "A"}, {"id": null, "name": "B"}], '
        '"page": {"total": 9}, "new": 1}}'
    )
    assert verdict(suite, good) == "passed"
    assert verdict(suite, good.replace("200", "500", 1)) == "failed"
    assert verdict(suite, good.replace('"A"', "1")) == "failed"
    assert verdict(suite, good.replace("application/json", "text/html")) == "failed"
    assert verdict(suite, good.replace('"page"', '"pages"')) == "failed"


def test_parts_missing_from_a_baseline_are_not_compared(read: Read) -> None:
    suite = read(
        regression({"status": 200}, {"type": "exact"}, current={"input": REQUEST, "execution": HTTP})
    )
    assert verdict(suite, '{"status": 200, "headers": {"a": "b"}, "body": {"c": 1}}') == "passed"


def test_the_grader_of_a_file_refines_the_comparison(read: Read) -> None:
    content = {
        "schema_version": "1.0",
        "eval_type": "regression",
        "metadata": {"id": "r", "criticality": "critical"},
        "baseline": {"version": "v2", "response": {"status": 200, "body": {"data": []}}},
        "test_case": {
            "input": {"method": "GET", "path": "/v1"},
            "comparison": {"type": "structural", "options": {"ignore_values": ["data.*"]}},
        },
        "grader": {"type": "code", "config": {"method": "structural_match", "strict": True}},
    }
    suite = read(content)
    (one,) = suite.evals
    assert (one.id, one.eval_type, one.about["criticality"]) == ("r", "regression", "critical")
    assert verdict(suite, '{"status": 200, "headers": {}, "body": {"data": [1, 2]}}') == "passed"
    assert verdict(suite, '{"status": 200, "headers": {}, "body": {"data": [], "more": 1}}') == "failed"


def test_meaning_is_compared_by_words_or_by_a_model(read: Read) -> None:
    words = {"type": "semantic", "tolerance": {"must_include": ["hello"]}}
    assert verdict(read(regression("any", words)), "well, Hello there") == "passed"
    (one,) = read(regression("hello", {"type": "semantic"})).evals
    assert ([grader.type for grader in one.case.graders], one.grader_types) == (["verdict"], ("model",))
    model = {"type": "model", "config": {"rubric": "Same meaning?"}}
    (one,) = read(regression("hello", {"type": "semantic"}, grader=model)).evals
    assert [grader.type for grader in one.case.graders] == ["rubric"]


def test_a_request_stays_as_it_is_written(read: Read) -> None:
    current = {"input": {**REQUEST, "params": {"page": 2}}, "execution": HTTP}
    (one,) = read(
        regression({"status": 200}, {"type": "structural"}, current=current), test_token="s3cret"
    ).evals
    assert one.request is not None
    assert one.case.inputs["request"] == {
        "method": "GET",
        "path": "/v1/users",
        "headers": {"Authorization": "Bearer {{test_token}}"},
        "query": {"page": 2},
        "body": None,
    }
    assert one.base_url == "{{api_base_url}}"
    assert "s3cret" not in one.case.model_dump_json()


def test_a_skill_is_asked_of_a_judge_with_its_input_and_the_form_of_the_reply(write: Any) -> None:
    write("diffs/a.patch", "-old\n+new\n")
    current = {
        "input": {"code_diff": "diffs/a.patch", "context": "A refactoring"},
        "execution": {"type": "skill", "skill_name": "code-review", "parameters": {"depth": "thorough"}},
    }
    baseline = {"scores": {"tone": 4.6}, "notes": ["x"], "n": "{{any_number}}"}
    path: Path = write("r.yaml", regression(baseline, {"type": "structural"}, current=current))
    (one,) = read_suite(path).evals
    prompt = one.case.inputs["prompt"]
    assert prompt.startswith(
        "Use the skill code-review.\n\nParameters:\n- depth: thorough\n\ncode_diff:\n-old"
    )
    assert '"tone": "<number>"' in prompt
    assert '"n": "<number>"' in prompt


def test_a_path_without_a_file_is_sent_as_text_with_a_warning(read: Read) -> None:
    suite = read(regression("x", {"type": "exact"}, current={"input": {"diff": "path/to/a.patch"}}))
    assert "diff:\npath/to/a.patch" in suite.evals[0].case.inputs["prompt"]
    assert "there is no file 'path/to/a.patch'; it is sent as text" in suite.warnings[0]


def test_a_regression_without_a_baseline_has_no_graders(read: Read) -> None:
    content = {"id": "r", "current": {"input": "Say it"}, "comparison": {"type": "exact"}}
    (one,) = read(content).evals
    assert one.case.graders == []
    held: SuiteEval = with_baseline(one, "hello")
    assert held.case.expected == {"answer": "hello"}
    assert [grader.type for grader in held.case.graders] == ["exact_match"]


def test_an_example_of_a_baseline_holds_against_it() -> None:
    baseline = {
        "id": "{{any_uuid}}",
        "n": "{{any_number}}",
        "at": "on {{any_iso_datetime}}",
        "list": ["{{any_email}}"],
    }
    example = example_of(baseline)
    assert example["n"] == 1
    assert example["at"].startswith("on 20")
    assert "{{" not in str(example)


def test_outputs_are_kept_as_json_where_they_are_json() -> None:
    assert (output_of('{"a": 1}'), output_of("plain"), output_of("[")) == ({"a": 1}, "plain", "[")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            regression({"a": 1}, {"type": "structural", "tolerance": {"min_delta": 1}}),
            "has no meaning for a structure",
        ),
        (regression({"a": "{{any_thing}}"}, {"type": "structural"}), "no matcher is called 'any_thing'"),
        (regression("text", {"type": "numeric"}), "no number to compare"),
        (regression("x", {"type": "vague"}), "comparison.type cannot be 'vague'"),
        (regression("x", {"type": "exact"}, current={"input": {"path": "//evil/x"}}), "begins with /"),
        (
            regression("x", {"type": "exact"}, current={"input": {"path": "/x", "method": "TRACE"}}),
            "method cannot be",
        ),
    ],
)
def test_an_invalid_comparison_is_refused(refused: Any, content: Any, said: str) -> None:
    assert any(said in problem for problem in refused(content))
