"""Decisions are read from the last line, strictly."""

from dataclasses import replace

import pytest

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import DecisionGrader
from evalq.definitions.task import TaskConfig
from evalq.errors import UngradableAnswer
from evalq.grading.checks.decisions import mark_decision, read_decision
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, ToolCall

YES_NO = DecisionGrader(type="decision")
WHICH = DecisionGrader(type="decision", key="SKILL", choices=["a.b", "a", "none"])


def subject(answer: str, decision: object) -> AnswerToGrade:
    task = TaskConfig(name="t", system_prompt="", user_template="{q}")
    case = EvalCase(id="c", inputs={"q": "q"}, expected={"decision": decision})
    return AnswerToGrade(task, case, Completion("answered", answer))


@pytest.mark.parametrize(
    "answer",
    [
        "DECISION=YES REASON=it fits",
        "I think so.\n\nDECISION=YES REASON=it fits\n",
        "  DECISION=YES REASON=it fits",
    ],
)
def test_the_last_line_decides(answer: str) -> None:
    assert read_decision(YES_NO, answer) == ("YES", "it fits")


def test_an_earlier_line_does_not_count() -> None:
    assert read_decision(YES_NO, "DECISION=YES REASON=a\nDECISION=NO REASON=b")[0] == "NO"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "YES",
        "DECISION=YES",
        "DECISION=YES REASON=",
        "DECISION=MAYBE REASON=x",
        "DECISION=yes REASON=x",
        "DECISION=YES REASON=x\nHope that helps!",
        "The reply DECISION=YES REASON=x",
        "DECISION=YESNO REASON=x",
        "`DECISION=YES REASON=x`",
    ],
)
def test_any_other_form_is_no_decision(answer: str) -> None:
    with pytest.raises(UngradableAnswer, match="judge output unparseable"):
        read_decision(YES_NO, answer)


def test_a_choice_is_read_whole() -> None:
    assert read_decision(WHICH, "SKILL=a.b REASON=x")[0] == "a.b"
    with pytest.raises(UngradableAnswer):
        read_decision(WHICH, "SKILL=aXb REASON=x")


@pytest.mark.parametrize(("expected", "passed"), [("YES", True), ("NO", False), (["YES", "NO"], True)])
def test_a_decision_passes_when_it_is_the_expected_one(expected: object, passed: bool) -> None:
    found = mark_decision(YES_NO, subject("DECISION=YES REASON=it fits", expected))
    assert (found.passed, found.reason, found.details["decision"]) == (passed, "YES: it fits", "YES")


def test_without_an_expectation_nothing_can_be_said() -> None:
    with pytest.raises(UngradableAnswer, match="no expected"):
        mark_decision(YES_NO, subject("DECISION=YES REASON=x", []))


@pytest.mark.parametrize(
    ("expected", "lacks"), [({"decision": "YES"}, False), ({}, True), ({"decision": "UP"}, True)]
)
def test_a_case_must_expect_one_of_the_choices(expected: dict[str, object], lacks: bool) -> None:
    assert (YES_NO.find_misfit(expected) is not None) == lacks


@pytest.mark.parametrize(
    ("calls", "decision"),
    [
        ([ToolCall("Skill", {"skill": "csv"})], "YES"),
        ([ToolCall("Bash"), ToolCall("Skill", {"skill": "csv"})], "NO"),
        ([], "NO"),
    ],
)
def test_a_judge_that_calls_tools_has_decided_by_the_first(calls: list[ToolCall], decision: str) -> None:
    asked = subject("DECISION=NO REASON=said", decision)
    made = replace(asked, completion=replace(asked.completion, tool_calls=tuple(calls)))
    assert mark_decision(DecisionGrader(type="decision", skill="csv"), made).passed
    assert mark_decision(YES_NO, made).details["decision"] == "NO"
