"""One run of one case: ask the judge, grade the answer, with the connections of this process."""

import asyncio
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
from evalq.store import answers
from evalq.store.jobs import Job
from workers.connections import Connections

Read = TypeVar("Read")
Result = TypeVar("Result")

_OPPONENT_WAIT_S = 2.0


class CaseRun:
    """Asks the judge and has the answer graded; the context its graders work in."""

    def __init__(self, here: Connections, job: Job, task: TaskConfig) -> None:
        self._here = here
        self._job = job
        self._task = task

    async def answer(self) -> Completion:
        """The judge's answer: within limits and caps, stored in the statement that settles it."""
        judge = await self._here.connected_judge(self._job.judge_sha)
        prompt = answer_prompt(self._task, self._job.case, sample=self._job.sample, seed=self._job.seed)
        return await self._meter.ask(judge, prompt, "answer", margin_usd=await self._grading_usd())

    async def grade(self, completion: Completion) -> list[Grade]:
        """One grade per grader that works here, after those given elsewhere; none if there is no answer."""
        answer = self.to_grade(completion)
        if not answer.is_gradable:
            return []
        if self.leaves_code(completion):
            return await grade_answer(answer, self)
        if self._job.stage == "call":
            return await grade_answer(answer, self) + ask_people(answer)
        before = await asyncio.to_thread(answers.grades, self._here.db, [self._job.id])
        return before[self._job.id] + await grade_answer(answer, self, stage="sandbox") + ask_people(answer)

    def leaves_code(self, completion: Completion) -> bool:
        """Whether a worker without keys still has code to run on the answer."""
        if self._job.stage != "call" or not self.to_grade(completion).is_gradable:
            return False
        return "sandbox" in stages(self._task, self._job.case)

    def to_grade(self, completion: Completion) -> AnswerToGrade:
        """The answer as graders see it."""
        return AnswerToGrade(self._task, self._job.case, completion, self._job.judge)

    async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Read]) -> Read:
        """A grader model's reply, parsed by `read`: from the cache, or from a metered call."""
        grader = await self._grader(model)

        async def ask(asked: Prompt) -> Completion:
            return await self._meter.ask(grader, asked, "grade")

        return await cached_reply(self._here.db, self._job, grader.judge, ask, prompt, read=read)

    async def run(self, program: Program) -> ProgramRun:
        """Run code in this machine's sandbox; Refused if it has none."""
        isolation = require_sandbox(self._here.settings.sandbox, self._here.environ)
        async with self._here.slots:
            return await asyncio.to_thread(run_program, program, isolation=isolation)

    async def answer_of(self, judge: str) -> str:
        """Another judge's answer to this case; PutBack while that is on its way."""
        other = await asyncio.to_thread(answers.opponent_answer, self._here.db, self._job, judge)
        if other is None:
            raise UngradableAnswer(f"judge {judge!r} is not in this bake-off")
        if other.state is None and other.job_state != "done" and other.run_state == "running":
            raise PutBack(f"{judge} has not answered yet", wait_s=_OPPONENT_WAIT_S)
        if other.state != "answered":
            raise UngradableAnswer(f"{judge} has no answer to compare with")
        return str(other.answer)

    async def apart(self, work: Callable[[], Result]) -> Result:
        """The result of the work, done in a thread."""
        return await asyncio.to_thread(work)

    async def _grader(self, model: str | None) -> ConnectedJudge:
        sha = self._job.grader_shas.get(model or "")
        if sha is None:
            raise UngradableAnswer(f"the bake-off has no grader model {model or ''}".rstrip())
        return await self._here.connected_judge(sha)

    async def _grading_usd(self) -> Decimal:
        """What must stay under the cap beside an answer, so that it can be graded."""
        total = Decimal(0)
        for call in grader_calls(self._task, self._job.case, ""):
            grader = await self._grader(call.model)
            total += worst_case_usd(grader.judge, call.prompt)
        return total

    @cached_property
    def _meter(self) -> Meter:
        return Meter(self._here.control, self._job)
