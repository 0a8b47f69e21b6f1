"""Two answers are compared in both orders; what only the order decided is a tie that says so."""

from dataclasses import replace
from typing import Any

import pytest
from answers import grade_now

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import grader_calls
from evalq.grading.grader import AnswerToGrade
from evalq.grading.pairwise import settle
from evalq.records import Completion, Grade

CASE = EvalCase(id="c", inputs={}, expected={"answer": "the reference"})


def wins(who: str) -> str:
    return f"WINNER={who} REASON=r"


def subject(judge: str = "mine", **fields: Any) -> AnswerToGrade:
    grader = {"type": "pairwise", "against": "other", **fields}
    task = TaskConfig.model_validate(
        {"name": "t", "system_prompt": "", "user_template": "?", "graders": [grader]}
    )
    return AnswerToGrade(task, CASE, Completion("answered", "my answer"), judge)


def graded(context: Any, *replies: str, judge: str = "mine", **fields: Any) -> Grade:
    at = context(*(wins(who) for who in replies), opponents={"other": "another answer"})
    [grade] = grade_now(subject(judge, **fields), at)
    return grade


@pytest.mark.parametrize(
    ("straight", "swapped", "winner", "position"),
    [
        ("A", "B", "win", None),
        ("B", "A", "loss", None),
        ("TIE", "TIE", "tie", None),
        ("A", "A", "tie", "first"),
        ("B", "B", "tie", "second"),
        ("A", "TIE", "tie", "first"),
        ("TIE", "A", "tie", "first"),
        ("B", "TIE", "tie", "second"),
        ("TIE", "B", "tie", "second"),
    ],
)
def test_two_replies_make_one_result(straight: str, swapped: str, winner: str, position: str | None) -> None:
    assert settle(straight, swapped) == (winner, position)


@pytest.mark.parametrize(
    ("replies", "score", "not_worse", "better"),
    [(("A", "B"), 1.0, True, True), (("TIE", "TIE"), 0.5, True, False), (("B", "A"), 0.0, False, False)],
)
def test_a_result_passes_by_what_is_asked_of_it(
    replies, score, not_worse: bool, better: bool, context
) -> None:
    grade = graded(context, *replies)
    assert (grade.passed, grade.score) == (not_worse, score)
    assert graded(context, *replies, pass_when="better").passed is better


def test_a_grader_moved_by_the_order_is_told_on(context) -> None:
    grade = graded(context, "A", "A")
    assert grade.reason == "tie against other, since the first answer is preferred in either order: r"
    assert grade.details["members"][0]["position"] == "first"
    assert grade.details["members"][0]["replies"] == ["A", "A"]


def test_the_answers_change_places_between_the_two_calls(context) -> None:
    at = context(wins("A"), wins("B"), opponents={"other": "another answer"})
    grade_now(subject(), at)
    first, second = (prompt.user for _, prompt in at.asked)
    assert first.index("my answer") < first.index("another answer")
    assert second.index("my answer") > second.index("another answer")
    assert "Answer A:\n<answer-a-" in first


def test_the_reference_is_an_opponent_that_is_not_given_away(context) -> None:
    at = context(wins("B"), wins("A"))
    [grade] = grade_now(subject(against="reference"), at)
    assert grade.passed is False
    assert "for comparison" not in at.asked[0][1].user
    assert at.asked[0][1].user.count("the reference") == 1


def test_a_judge_compared_with_itself_ties_and_nobody_is_asked(context) -> None:
    grade = graded(context, judge="other")
    assert (grade.passed, grade.score) == (True, 0.5)
    assert "other is the one compared with" in grade.reason
    assert graded(context, judge="other", pass_when="better").passed is False


def test_an_opponent_without_an_answer_is_an_error(context) -> None:
    assert graded(context, against="nobody").passed is None


def test_a_case_without_a_reference_is_an_error(context) -> None:
    bare = replace(subject(against="reference"), case=EvalCase(id="c", inputs={}))
    [grade] = grade_now(bare, context())
    assert (grade.passed, grade.reason) == (None, "the case has no expected.answer to compare with")


def test_a_reply_to_one_order_alone_is_an_error(context) -> None:
    [grade] = grade_now(subject(), context(wins("A"), "both are nice", opponents={"other": "y"}))
    assert grade.passed is None


@pytest.mark.parametrize("other", ["x" * 200_001, "half \ud800"])
def test_an_opponents_answer_that_cannot_be_read_is_an_error(other: str, context) -> None:
    [grade] = grade_now(subject(), context(opponents={"other": other}))
    assert grade.passed is None


def test_a_panel_compares_too(context) -> None:
    grade = graded(context, "A", "B", "A", "A", "B", "A", models=["a", "b", "c"])
    assert (grade.passed, grade.score) == (True, 0.5)
    assert grade.reason == "2 of 3 pass (a win, b tie, c loss)"
    assert graded(context, "A", "B", "A", "A", "B", "A", models=["a", "b", "c"], panel="mean").passed is True


def test_a_template_shows_both_answers_where_it_wants(context) -> None:
    at = context(wins("A"), wins("B"), opponents={"other": "another answer"})
    grade_now(subject(rubric="First {answer_b}, then {answer_a}."), at)
    user = at.asked[0][1].user
    assert "First <answer-b-" in user
    assert "Answer A:" not in user


def test_an_example_has_two_answers(context) -> None:
    example = {"output": "x", "other": "y", "winner": "A", "justification": "x is right"}
    at = context(wins("A"), wins("B"), opponents={"other": "another answer"})
    grade_now(subject(examples=[example]), at)
    assert "Answer A:\nx\nAnswer B:\ny\nReply:\nWINNER=A REASON=x is right" in at.asked[0][1].user


@pytest.mark.parametrize("against", ["other", "reference"])
def test_both_orders_are_priced(against: str) -> None:
    one = subject(against=against, models=["a", "b"])
    asked = list(grader_calls(one.task, CASE, "my answer"))
    assert [question.model for question in asked] == ["a", "a", "b", "b"]
    assert asked[0].prompt.about.choices[0] == "my answer"
