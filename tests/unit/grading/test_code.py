import json
from typing import Any

import pytest
from answers import mark_code

from evalq.definitions.graders.code import FunctionOutput
from evalq.errors import UngradableAnswer
from evalq.grading.code import mark_run, program_of
from evalq.grading.grader import Mark
from evalq.grading.sandbox.program import CallResult, FunctionCall, Isolation, Program, ProgramRun

ANSWER = "```python\ndef f(n):\n    return n\n```"


def grader(*cases: dict[str, Any], **more: Any) -> FunctionOutput:
    return FunctionOutput.model_validate(
        {"type": "function_output", "function_name": "f", "test_cases": list(cases), **more}
    )


def marked(cases: list[dict[str, Any]], *results: CallResult, isolation: Isolation = "strong") -> Mark:
    return mark_run(grader(*cases), ProgramRun(results, isolation, "3.12.1"))


ONE = {"args": [1], "expected": 1}
TWO = {"args": [2], "expected": 2, "name": "twice"}


def test_the_program_holds_arguments_and_nothing_that_is_expected() -> None:
    made = program_of(
        grader({"args": [1], "kwargs": {"b": 2}, "expected": "secret"}, timeout_per_case=2), ANSWER
    )
    assert made == Program("def f(n):\n    return n", "f", (FunctionCall((1,), {"b": 2}),), 2)


def test_all_cases_right_is_a_pass() -> None:
    mark = marked([ONE, TWO], CallResult("returned", 1), CallResult("returned", 2))
    assert (mark.passed, mark.score, mark.reason) == (True, 1.0, "2 of 2 cases passed")
    assert (mark.details["isolation"], mark.details["python"]) == ("strong", "3.12.1")
    assert (mark.details["passed_count"], mark.details["total_count"]) == (2, 2)


def test_the_score_is_the_share_of_cases_and_the_first_fault_is_named() -> None:
    mark = marked([ONE, TWO], CallResult("returned", 1), CallResult("returned", 3))
    assert (mark.passed, mark.score) == (False, 0.5)
    assert mark.reason == "1 of 2 cases passed; case 2 (twice): expected 2, got 3"
    assert mark.details["test_results"][1]["output"] == "3"


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (CallResult("timed_out", message="no result within 5 s"), "timed out: no result within 5 s"),
        (
            CallResult("raised", raised=("KeyError",), message="'a' (line 2)"),
            "raised: KeyError: 'a' (line 2)",
        ),
        (CallResult("out_of_memory", raised=("MemoryError",)), "out of memory: MemoryError"),
        (CallResult("unloadable", raised=("SyntaxError",), message="no"), "unloadable: SyntaxError: no"),
        (
            CallResult("died", message="the process was ended by SIGSEGV"),
            "died: the process was ended by SIGSEGV",
        ),
    ],
)
def test_whatever_the_code_does_wrong_is_a_fail(result: CallResult, words: str) -> None:
    mark = marked([ONE], result)
    assert (mark.passed, mark.score) == (False, 0.0)
    assert mark.reason == f"0 of 1 cases passed; case 1: expected 1, {words}"
    assert mark.details["test_results"][0]["error"] == words


def test_an_exception_passes_where_it_is_expected() -> None:
    case = {"args": [], "expected": "ValueError", "comparator": "raises"}
    assert marked([case], CallResult("raised", raised=("ValueError", "Exception"))).passed
    missed = marked([case], CallResult("returned", 5))
    assert missed.reason == '0 of 1 cases passed; case 1: expected "ValueError", got 5'


@pytest.mark.parametrize("end", ["unloadable", "unreadable", "timed_out", "died"])
def test_code_that_never_came_to_raise_does_not_pass_for_raising(end: Any) -> None:
    case = {"comparator": "raises"}
    mark = marked([case], CallResult(end, raised=("ValueError",)))
    assert not mark.passed
    assert "expected an exception" in mark.reason


def test_weak_isolation_is_stamped_on_every_grade() -> None:
    mark = marked([ONE], CallResult("returned", 1), isolation="weak")
    assert mark.details["isolation"] == "weak"
    assert mark.reason == "1 of 1 cases passed (isolation: weak)"


def test_an_answer_without_code_fails_and_nothing_is_run() -> None:
    def run(_program: Program) -> ProgramRun:
        raise AssertionError

    mark = mark_code(grader(ONE), "I would rather not.", run)
    assert (mark.passed, mark.score, mark.reason) == (False, 0.0, "the answer holds no code")


def test_a_sandbox_that_does_not_start_is_no_fail() -> None:
    def run(_program: Program) -> ProgramRun:
        raise UngradableAnswer("the sandbox did not start")

    with pytest.raises(UngradableAnswer):
        mark_code(grader(ONE), ANSWER, run)


def test_an_answer_with_code_is_run_and_marked() -> None:
    mark = mark_code(grader(ONE), ANSWER, lambda _: ProgramRun((CallResult("returned", 1.0),), "strong"))
    assert mark.passed


def test_details_can_be_stored_whatever_came_back() -> None:
    values = [float("nan"), "\x00\ud800", "x" * 100_000]
    mark = marked([ONE] * 3, *(CallResult("returned", value) for value in values))
    text = json.dumps(mark.details, allow_nan=False, ensure_ascii=False)
    assert "\x00" not in text
    assert len(text.encode()) < 5000


def test_a_message_of_the_code_can_be_stored_too() -> None:
    mark = marked([ONE], CallResult("raised", raised=("E",), message="\x00\ud800" + "x" * 10_000))
    assert "\x00" not in mark.reason
    assert len(mark.reason.encode()) < 1000


def test_a_value_nested_beyond_reason_is_a_fail_that_can_be_told() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    mark = marked([ONE], CallResult("returned", value))
    assert not mark.passed
    assert mark.reason.endswith("got a value nested too deep to be shown")
