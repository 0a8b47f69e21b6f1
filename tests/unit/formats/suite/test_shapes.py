"""The shapes an eval file comes in: each is read as the same evals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.formats.suite.read import Suite, read_suite

Read = Callable[..., Suite]
Refused = Callable[..., list[str]]

EVAL = {
    "id": "cap-1",
    "name": "Greeting",
    "category": "manners",
    "input": {"type": "prompt", "content": "Say hello"},
    "expected": {"type": "exact", "value": "hello"},
    "metadata": {"difficulty": "easy", "tags": ["a"], "weight": 2, "retries": 1, "owner": "me"},
}
OLDER = {**{k: v for k, v in EVAL.items() if k != "expected"}, "expected_output": EVAL["expected"]}
TESTS = {
    "schema_version": "1.0",
    "eval_type": "capability",
    "metadata": {"id": "cap", "name": "Manners", "category": "manners", "tags": ["a"], "author": "me"},
    "config": {"timeout_seconds": 30, "retries": 1, "parallel": True},
    "test_cases": [{"id": "1", "name": "Greeting", "input": EVAL["input"], "expected": EVAL["expected"]}],
}


@pytest.mark.parametrize(
    "content",
    [EVAL, OLDER, [EVAL], {"capability_eval": EVAL}, {"eval_suite": {"name": "S", "evals": [EVAL]}}],
)
def test_a_single_eval_may_stand_alone_in_a_list_or_under_its_name(read: Read, content: Any) -> None:
    (one,) = read(content).evals
    assert (one.id, one.eval_type, one.grader_types) == ("cap-1", "capability", ("code",))
    assert one.case.inputs == {"prompt": "Say hello"}
    assert one.case.expected == {"answer": "hello"}
    assert one.case.stratum == {"category": "manners"}
    assert [grader.type for grader in one.case.graders] == ["exact_match"]
    assert one.about["owner"] == "me"


def test_tests_of_a_file_share_its_settings(read: Read) -> None:
    suite = read(TESTS)
    (one,) = suite.evals
    assert (suite.name, one.id, one.about["name"]) == ("Manners", "cap/1", "Manners · Greeting")
    assert (one.about["tags"], one.about["timeout_seconds"], one.about["retries"]) == (["a"], 30, 1)
    assert [(grader.label, grader.type) for grader in one.case.graders] == [
        ("exact_match", "exact_match"),
        ("timeout", "latency"),
    ]


def test_yaml_and_json_are_read_alike(write: Callable[..., Path]) -> None:
    as_yaml = read_suite(write("a.yaml", TESTS))
    as_json = read_suite(write("a.json", TESTS))
    assert [one.case for one in as_yaml.evals] == [one.case for one in as_json.evals]


def test_short_forms_stand_for_a_prompt_and_an_exact_answer(read: Read) -> None:
    (one,) = read([{"id": "x", "input": "Say hello", "expected": "hello"}]).evals
    assert one.case.inputs["prompt"] == "Say hello"
    assert one.case.graders[0].type == "exact_match"


def test_a_request_may_be_the_input_of_a_capability(read: Read) -> None:
    content = {"method": "POST", "endpoint": "/v1/sum", "body": {"n": [1, 2]}}
    context = {"base_url": "http://127.0.0.1:8000"}
    expected = {"type": "structural", "value": {"status": 200, "body": {"sum": 3}}}
    call = {
        "id": "c",
        "input": {"type": "api_call", "content": content, "context": context},
        "expected": expected,
    }
    (one,) = read(call).evals
    assert (one.base_url, one.case.inputs["request"]["body"]) == ("http://127.0.0.1:8000", {"n": [1, 2]})
    assert one.case.inputs["prompt"].startswith("POST /v1/sum")
    assert one.case.graders[0].type == "structural_match"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({**EVAL, "expected_output": {}}, "are the same thing"),
        ({**EVAL, "exepcted": {}}, "unknown key 'exepcted'"),
        ({**EVAL, "input": {"type": "voice", "content": "x"}}, "input.type cannot be 'voice'"),
        ({**TESTS, "test_case": {}}, "test_cases and test_case; write one of them"),
        ({"hello": "world"}, "no evals here"),
        ([EVAL, EVAL], "eval id 'cap-1' is used twice"),
        ({"eval_suite": {"name": "S", "evals": []}}, "a suite without evals"),
        ({"eval_suite": {"name": "S", "evals": [EVAL], "config": {"max_workers": 0}}}, "max_workers"),
        ({**EVAL, "metadata": {"last_passed": "yesterday"}}, "not a point in time"),
    ],
)
def test_an_unreadable_eval_is_refused_with_its_line(refused: Refused, content: Any, said: str) -> None:
    problems = refused(content)
    assert any(said in problem for problem in problems), problems
    assert all("evals.yaml:" in problem for problem in problems)


def test_every_problem_of_every_file_is_reported_with_its_line(
    write: Callable[..., Path], refused: Refused
) -> None:
    write("one.yaml", "id: a\ninput: x\nexpected: {type: exakt, value: y}\n")
    write("two.yaml", "- id: b\n  input: x\n  expected: y\n  grader:\n    type: robot\n")
    suite = {"eval_suite": {"name": "S", "evals": [{"$ref": "one.yaml"}, {"$ref": "two.yaml"}]}}
    first, second = refused(suite)
    assert "one.yaml:3: expected.type cannot be 'exakt'; write 'exact'" in first
    assert "two.yaml:5: graders[0].type cannot be 'robot'" in second


def test_a_suite_takes_its_configuration_and_that_of_its_folder(write: Callable[..., Path]) -> None:
    write("config/thresholds.yaml", "thresholds: {pass@1: 0.8}\npilot: {pass_hat_k: 0.4}\nk: 5\n")
    config = {"parallel_execution": False, "timeout_global": 60, "retry_failed": True, "retry_count": 2}
    body = {
        "name": "S",
        "version": "1.2",
        "config": {**config, "model": "m"},
        "evals": [EVAL],
        "reporting": {"format": "md", "notify_on_failure": True},
        "thresholds": {"metrics": {"pass^3": 0.5}},
    }
    suite = read_suite(write("eval-suite.yaml", {"eval_suite": body}))
    assert (suite.config.at_once, suite.config.retries, suite.config.named_judges) == (1, 2, ("m",))
    assert (suite.version, suite.reporting.format) == ("1.2", ["markdown"])
    assert suite.thresholds.metrics == {"pass_at_1": 0.8, "pass_hat_3": 0.5}
    assert (suite.thresholds.contexts, suite.thresholds.k) == ({"pilot": {"pass_hat_k": 0.4}}, 5)


def test_retries_can_be_switched_off(read: Read) -> None:
    body = {"name": "S", "config": {"retry_failed": False, "retry_count": 2}, "evals": [EVAL]}
    assert read({"eval_suite": body}).config.retries == 0


def test_a_suite_that_lists_nothing_has_what_its_folders_hold(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    write("capability/deep/b.yaml", {**EVAL, "id": "b"})
    write("capability/a.json", {**EVAL, "id": "a"})
    write("regression/c.yaml", {"id": "c", "baseline": {"output": "x"}, "current": {"input": "y"}})
    write("results/2026/run.json", {"eval_report": {}})
    write("eval-suite.yaml", {"eval_suite": {"name": "S"}})
    assert [one.id for one in read_suite(tmp_path).evals] == ["a", "b", "c"]


def test_a_folder_without_a_suite_says_so(tmp_path: Path) -> None:
    from evalq.errors import InputError

    with pytest.raises(InputError, match=r"no suite in this folder; write eval-suite\.yaml"):
        read_suite(tmp_path)
