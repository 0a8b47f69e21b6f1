"""A worker's desk: what it does for one job, with the connections of its process."""

import os
from collections.abc import Callable
from decimal import Decimal
from functools import cached_property
from typing import TypeVar

from evalq.bakeoff.verdict_cache import cached_reply
from evalq.calling.metered import ConnectedJudge, Meter
from evalq.calling.pricing import worst_case_usd
from evalq.definitions.prompt import answer_prompt
from evalq.definitions.task import TaskConfig
from evalq.errors import PutBack, UngradableAnswer
from evalq.grading.grade import ask_people, grade_answer, grader_calls, stages
from evalq.grading.grader import AnswerToGrade
from evalq.grading.sandbox.availability import require_sandbox
from evalq.grading.sandbox.program import Program, ProgramRun
from evalq.grading.sandbox.running import run as run_program
from evalq.records import Completion, Grade, Prompt
from evalq.store import jobs
from evalq.store.jobs import Job
from workers.app import SETTINGS
from workers.connections import Connections

Read = TypeVar("Read")

_OPPONENT_WAIT_S = 2.0


class CaseRun:
    """Asks the judge and has the answer graded; the context its graders work in."""

    def __init__(self, connections: Connections, job: Job) -> None:
        self._at = connections
        self._job = job

    @cached_property
    def task(self) -> TaskConfig:
        """The task as it was when the bake-off was recorded."""
        return self._at.snapshots.task(self._job.task_sha)

    def subject(self, completion: Completion) -> AnswerToGrade:
        """The answer as graders see it."""
        return AnswerToGrade(self.task, self._job.case, completion, self._job.judge)

    def answer(self) -> Completion:
        """The judge's answer: within limits and caps, stored in the statement that settles it."""
        prompt = answer_prompt(self.task, self._job.case, sample=self._job.sample, seed=self._job.seed)
        return self._meter.ask(
            self._at.caller(self._job.judge_sha), prompt, "answer", margin_usd=self._margin_usd()
        )

    def grade(self, completion: Completion) -> list[Grade]:
        """One mark per grader that can work here, after those given elsewhere; none for what is no answer."""
        subject = self.subject(completion)
        if not subject.is_answer:
            return []
        if self._job.stage == "call":
            here = grade_answer(subject, self)
            return here if self.leaves_code(completion) else here + ask_people(subject)
        before = jobs.grades_so_far(self._at.db, self._job)
        return before + grade_answer(subject, self, stage="sandbox") + ask_people(subject)

    def leaves_code(self, completion: Completion) -> bool:
        """Whether there is code to run: that is for a worker without keys."""
        is_here = self._job.stage == "call"
        return is_here and completion.is_answer and "sandbox" in stages(self.task, self._job.case)

    def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Read]) -> Read:
        """A grader model's reply as `read` takes it: from the cache, or by a call metered like any other."""
        grader = self._grader(model)
        ask = lambda asked: self._meter.ask(grader, asked, "grade")  # noqa: E731 - an Ask, bound to this job
        return cached_reply(self._at.db, self._job, grader.judge, ask, prompt, read=read)

    def run(self, program: Program) -> ProgramRun:
        """Run code in the sandbox of this machine; Refused where it has none."""
        return run_program(program, isolation=require_sandbox(SETTINGS.sandbox, os.environ))

    def answer_of(self, judge: str) -> str:
        """What another judge said to this case; waited for while it is on its way."""
        job = self._job
        row = self._at.db.row(
            "opponent", bakeoff_id=job.bakeoff_id, judge=judge, case_id=job.case.id, sample=job.sample
        )
        if row is None:
            raise UngradableAnswer(f"judge {judge!r} is not in this bake-off")
        if row["state"] is None and row["job_state"] != "done" and row["run_state"] == "running":
            raise PutBack(f"{judge} has not answered yet", wait_s=_OPPONENT_WAIT_S)
        if row["state"] != "answered":
            raise UngradableAnswer(f"{judge} has no answer to compare with")
        return str(row["answer"])

    def _grader(self, model: str | None) -> ConnectedJudge:
        sha = self._job.grader_shas.get(model or "")
        if sha is None:
            raise UngradableAnswer(f"the bake-off has no grader model {model or ''}".rstrip())
        return self._at.caller(sha)

    def _margin_usd(self) -> Decimal:
        """What must stay free beside an answer, so that it can be graded."""
        asked = grader_calls(self.task, self._job.case, "")
        return sum((worst_case_usd(self._grader(one.model).judge, one.prompt) for one in asked), Decimal(0))

    @cached_property
    def _meter(self) -> Meter:
        return Meter(self._at.db, self._at.gatekeeper, self._at.spool, self._job)
