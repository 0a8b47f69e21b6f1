"""Checks that may take long run apart, so that other answers are graded meanwhile; cheap ones run at once."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from answers import NoContext, completion, grade_now, task_of
from patience import PATIENCE_S

from evalq.definitions.evalset import EvalCase
from evalq.grading.grade import CHEAP_CHARS, CHEAP_CHECKS, CHECKS, grade_answer
from evalq.grading.grader import AnswerToGrade
from evalq.records import Grade

CASE = EvalCase(id="c", inputs={}, expected={"answer": "Rome"})
CONTAINS = {"type": "contains", "value": "Rome"}
REGEX = {"type": "regex", "pattern": "R.me"}


class Counting(NoContext):
    """A context that counts what runs apart."""

    def __init__(self) -> None:
        self.apart_count = 0

    async def apart(self, work: Callable[[], Any]) -> Any:
        self.apart_count += 1
        return work()


class Held(NoContext):
    """A context in which work in a thread takes until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    async def apart(self, work: Callable[[], Any]) -> Any:
        return await asyncio.to_thread(self._work_late, work)

    def _work_late(self, work: Callable[[], Any]) -> Any:
        assert self.let_go.wait(PATIENCE_S)
        return work()


def subject(grader: dict[str, Any], answer: str = "It is Rome.") -> AnswerToGrade:
    return AnswerToGrade(task_of(grader), CASE, completion(answer))


def test_an_answer_is_graded_while_a_slow_check_of_another_goes_on() -> None:
    at = Held()

    async def grade_another() -> list[Grade]:
        found = await grade_answer(subject(CONTAINS), at)
        at.let_go.set()
        return found

    async def grade_both() -> list[list[Grade]]:
        return await asyncio.gather(grade_answer(subject(REGEX), at), grade_another())

    [[slow], [quick]] = asyncio.run(grade_both())
    assert (slow.passed, quick.passed) == (True, True)


@pytest.mark.parametrize(
    ("grader", "answer", "apart_count"),
    [
        (CONTAINS, "x" * CHEAP_CHARS, 0),
        (CONTAINS, "x" * (CHEAP_CHARS + 1), 1),
        (REGEX, "x", 1),
        ({"type": "levenshtein", "value": "Rome"}, "x", 1),
    ],
    ids=["cheap", "cheap on a long answer", "pattern", "edits"],
)
def test_what_is_not_sure_to_be_cheap_runs_apart(
    grader: dict[str, Any], answer: str, apart_count: int
) -> None:
    at = Counting()
    grade_now(subject(grader, answer), at)
    assert at.apart_count == apart_count


@pytest.mark.parametrize(("length", "apart_count"), [(CHEAP_CHARS, 0), (CHEAP_CHARS + 1, 1)])
def test_strict_scoring_of_a_long_answer_runs_apart(length: int, apart_count: int) -> None:
    at = Counting()
    scoring = {"mode": "strict_substring", "pass_rule": "any_substring"}
    task = task_of().model_validate({**task_of().model_dump(), "scoring": scoring})
    [grade] = grade_now(AnswerToGrade(task, CASE, completion("Rome".ljust(length))), at)
    assert (grade.passed, at.apart_count) == (True, apart_count)


def test_only_real_checks_are_called_cheap() -> None:
    assert CHEAP_CHECKS - set(CHECKS) == {"strict_substring"}
