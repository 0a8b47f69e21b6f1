"""A worker's desk: what it does for one job, with the connections of its process."""

from decimal import Decimal
from functools import cached_property

from evalq.calling.metered import Caller, Meter
from evalq.definitions.task import TaskConfig
from evalq.errors import UngradableAnswer
from evalq.grading.judge_model import verdict_prompt
from evalq.grading.marking import grade_answer
from evalq.pricing import worst_case_usd
from evalq.question import answer_prompt
from evalq.records import Completion, Grade, Prompt
from evalq.store.jobs import Job
from evalq.verdict_cache import cached_decide
from workers.connections import Connections


class Desk:
    """Asks the judge and has the answer graded."""

    def __init__(self, connections: Connections, job: Job) -> None:
        self._at = connections
        self._job = job

    @cached_property
    def task(self) -> TaskConfig:
        """The task as it was when the bake-off was recorded."""
        return self._at.snapshots.task(self._job.task_sha)

    def answer(self) -> Completion:
        """The judge's answer: within limits and caps, stored in the statement that settles it."""
        prompt = answer_prompt(self.task, self._job.case, sample=self._job.sample, seed=self._job.seed)
        margin = worst_case_usd(self._grader.judge, self._verdict_prompt("")) if self._grader else Decimal(0)
        return self._meter.ask(self._at.caller(self._job.judge_sha), prompt, "answer", margin_usd=margin)

    def grade(self, completion: Completion) -> list[Grade]:
        """One mark per grader of the task; what is no answer gets none."""
        if not completion.is_answer:
            return []
        return grade_answer(self.task, self._job.case, completion.text, self._decide)

    def _decide(self, prompt: Prompt) -> bool:
        """A grader model's verdict: from the cache, or by a call metered like any other."""
        if self._grader is None:
            raise UngradableAnswer("the bake-off has no grader model")
        grader = self._grader
        ask = lambda asked: self._meter.ask(grader, asked, "grade")  # noqa: E731 - an Ask, bound to this job
        return cached_decide(self._at.db, self._job, grader.judge, ask)(prompt)

    @cached_property
    def _grader(self) -> Caller | None:
        return self._at.caller(self._job.grader_sha) if self._job.grader_sha else None

    def _verdict_prompt(self, graded_text: str) -> Prompt:
        return verdict_prompt(self.task, self._job.case, graded_text)

    @cached_property
    def _meter(self) -> Meter:
        return Meter(self._at.db, self._at.gatekeeper, self._at.spool, self._job)
