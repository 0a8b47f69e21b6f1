"""A panel decides by its majority or its mean, says how far it agrees, and bears the loss of a member."""

from typing import Any

import pytest

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import grade_answer
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, Grade

CASE = EvalCase(id="c", inputs={})
BROKEN = "I would rather not say."


def score(number: int) -> str:
    return f"SCORE={number} REASON=r{number}"


def graded(context: Any, replies: list[str], **fields: Any) -> Grade:
    models = ["a", "b", "c", "d"][: len(replies)]
    grader = {"type": "rubric", "rubric": "Is it good?", "models": models, **fields}
    task = TaskConfig.model_validate(
        {"name": "t", "system_prompt": "", "user_template": "?", "graders": [grader]}
    )
    [grade] = grade_answer(AnswerToGrade(task, CASE, Completion("answered", "x")), context(*replies))
    return grade


def test_the_majority_decides_and_is_counted_in_words(context) -> None:
    grade = graded(context, [score(5), score(4), score(2)])
    assert (grade.passed, grade.reason) == (True, "2 of 3 pass (a 5, b 4, c 2)")
    assert grade.score == pytest.approx((1 + 0.75 + 0.25) / 3)


def test_the_mean_decides_where_it_is_asked_to(context) -> None:
    grade = graded(context, [score(5), score(4), score(2)], panel="mean")
    assert grade.passed is False
    assert grade.reason == "mean score 0.67, 2 of 3 pass (a 5, b 4, c 2)"
    assert graded(context, [score(5), score(5), score(2)], panel="mean").passed is True


@pytest.mark.parametrize(("replies", "passed"), [((5, 3), True), ((4, 2), False)])
def test_a_tie_of_scores_is_broken_by_their_mean(replies: tuple[int, int], passed: bool, context) -> None:
    assert graded(context, [score(one) for one in replies]).passed is passed


def test_a_tie_of_verdicts_is_an_error(context) -> None:
    grade = graded(context, ["VALID", "INVALID"], type="verdict")
    assert (grade.passed, grade.reason) == (None, "the panel is evenly split: 1 of 2 pass")


def test_a_member_without_an_opinion_is_borne_while_a_majority_answers(context) -> None:
    grade = graded(context, [score(5), BROKEN, score(4)])
    assert grade.passed is True
    assert grade.reason.startswith("2 of 2 pass (a 5, b: the last line of the grader's reply is not")


@pytest.mark.parametrize("replies", [[score(5), BROKEN, BROKEN], [score(5), BROKEN], [BROKEN, BROKEN]])
def test_a_panel_most_of_which_has_no_opinion_decides_nothing(replies: list[str], context) -> None:
    grade = graded(context, replies)
    assert grade.passed is None
    assert "b: the last line" in grade.reason


def test_details_have_every_members_say_and_the_share_of_agreeing_pairs(context) -> None:
    details = graded(context, [score(5), score(4), score(2), BROKEN]).details
    assert details["agreement"] == pytest.approx(1 / 3)
    assert details["members"][2] == {
        "model": "c",
        "passed": False,
        "score": 0.25,
        "said": "2",
        "reason": "r2",
        "value": 2,
    }
    assert set(details["members"][3]) == {"model", "error"}


def test_every_model_is_asked_the_same(context) -> None:
    at = context(score(5), score(5))
    task = TaskConfig.model_validate(
        {
            "name": "t",
            "system_prompt": "",
            "user_template": "?",
            "graders": [{"type": "rubric", "rubric": "Is it good?", "models": ["a", "b"]}],
        }
    )
    grade_answer(AnswerToGrade(task, CASE, Completion("answered", "x")), at)
    assert [model for model, _ in at.asked] == ["a", "b"]
    assert at.asked[0][1] == at.asked[1][1]
