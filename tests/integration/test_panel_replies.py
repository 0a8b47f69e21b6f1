"""The replies to a panel are kept when one of its models fails: the next try pays for nothing twice."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from evalq.bakeoff.verdict_cache import cached_reply
from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.task import TaskConfig
from evalq.errors import PutBack
from evalq.grading.grade import grade_answer
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, Grade, Prompt
from evalq.store import jobs
from evalq.store.database import Database

MODELS = ["a", "b", "c"]


class PanelContext:
    """A context whose models say 5 and whose replies are cached; those in `closed` cannot be asked."""

    def __init__(self, db: Database, job: jobs.Job, judge: Callable[..., SimulatedJudge]) -> None:
        self._db, self._job, self._judge = db, job, judge
        self.closed: set[str] = set()
        self.asked: list[str | None] = []

    async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Any]) -> Any:
        async def ask(prompt: Prompt) -> Completion:
            del prompt
            self.asked.append(model)
            if model in self.closed:
                raise PutBack(f"the gate of {model} is closed")
            return Completion("answered", "SCORE=5 REASON=r", cost_usd=Decimal("0.01"))

        return await cached_reply(self._db, self._job, self._judge(model), ask, prompt, read=read)


@pytest.fixture
def at(
    db: Database,
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    judge: Callable[..., SimulatedJudge],
) -> PanelContext:
    job = jobs.claim(db, job_ids(record(1))[0], lease_s=60)
    assert job
    return PanelContext(db, job, judge)


def graded(at: PanelContext) -> Grade:
    grader = {"type": "rubric", "rubric": "Is it good?", "models": MODELS}
    task = TaskConfig.model_validate(
        {"name": "t", "system_prompt": "", "user_template": "?", "graders": [grader]}
    )
    answer = AnswerToGrade(task, EvalCase(id="c", inputs={}), Completion("answered", "x"))
    [grade] = asyncio.run(grade_answer(answer, at))  # type: ignore[arg-type]
    return grade


def test_a_failing_member_leaves_the_replies_of_the_others_in_the_cache(
    at: PanelContext, sql: Callable[..., list[tuple[Any, ...]]]
) -> None:
    at.closed = {"a"}
    with pytest.raises(PutBack):
        graded(at)
    assert sorted(map(str, at.asked)) == MODELS
    cached = sql("SELECT grader_model, cost_usd FROM verdict_cache ORDER BY grader_model")
    assert cached == [("b", Decimal("0.01")), ("c", Decimal("0.01"))]


def test_the_next_try_asks_only_the_member_that_failed(at: PanelContext) -> None:
    at.closed = {"a"}
    with pytest.raises(PutBack):
        graded(at)
    at.closed, at.asked = set(), []
    assert graded(at).passed is True
    assert at.asked == ["a"]
