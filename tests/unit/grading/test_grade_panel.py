"""A panel decides by its majority or its mean, says how far it agrees, and bears the loss of a member."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from answers import grade_now
from patience import PATIENCE_S

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.errors import CapReached, EvalqError, PutBack
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, Grade, Prompt

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
    [grade] = grade_now(AnswerToGrade(task, CASE, Completion("answered", "x")), context(*replies))
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
    grade_now(AnswerToGrade(task, CASE, Completion("answered", "x")), at)
    assert [model for model, _ in at.asked] == ["a", "b"]
    assert at.asked[0][1] == at.asked[1][1]


class Meeting:
    """A context whose models all reply once as many are asked; some of them fail instead."""

    def __init__(self, models: int, faults: dict[str, EvalqError] | None = None) -> None:
        self._barrier = asyncio.Barrier(models)
        self._faults = faults or {}
        self.replied: set[str | None] = set()

    async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Any]) -> Any:
        fault = self._faults.get(model or "")
        if fault is not None:
            await self._barrier.wait()
            raise fault
        await asyncio.wait_for(self._barrier.wait(), PATIENCE_S)
        for _ in range(10):  # a fault of another model comes first
            await asyncio.sleep(0)
        self.replied.add(model)
        return read(score(5))


def test_a_panel_of_three_is_asked_at_once() -> None:
    grade = graded(lambda *_: Meeting(3), [score(5)] * 3)
    assert grade.reason == "3 of 3 pass (a 5, b 5, c 5)"


def test_an_error_of_one_member_waits_for_the_replies_to_the_others() -> None:
    at = Meeting(3, {"a": PutBack("the gate of a is closed")})
    with pytest.raises(PutBack, match="gate of a"):
        graded(lambda *_: at, [score(5)] * 3)
    assert at.replied == {"b", "c"}


def test_of_two_errors_that_of_the_first_member_counts() -> None:
    at = Meeting(3, {"b": CapReached("the cap of b"), "c": PutBack("the gate of c is closed")})
    with pytest.raises(CapReached, match="cap of b"):
        graded(lambda *_: at, [score(5)] * 3)
    assert at.replied == {"a"}
