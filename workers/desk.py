"""A worker's desk: what it does for one job, with the connections of its process."""

from functools import cached_property

from evalq.calling.metered import metered
from evalq.definitions.task import TaskConfig
from evalq.errors import UngradableAnswer
from evalq.grading.marking import grade_answer
from evalq.question import answer_prompt
from evalq.records import Completion, Grade, Prompt
from evalq.store.jobs import Job
from evalq.verdict_cache import cached_decide
from workers.connections import Connections


class Desk:
    """Asks the judge, has the answer graded, asks for more work."""

    def __init__(self, connections: Connections, job: Job) -> None:
        self._at = connections
        self._job = job

    @cached_property
    def task(self) -> TaskConfig:
        """The task as it was when the bake-off was recorded."""
        return self._at.snapshots.task(self._job.task_sha)

    def ask_for_more(self) -> None:
        """The job in the middle of a window has the next one published."""
        if self._job.refill:
            self._at.broker.send("pump", self._job.gate)

    def answer(self) -> Completion:
        """The judge's answer: within the cap, stored in the statement that settles it."""
        prompt = answer_prompt(self.task, self._job.case, sample=self._job.sample, seed=self._job.seed)
        ask = metered(self._at.db, self._job, self._at.caller(self._job.judge_sha), purpose="answer")
        return ask(prompt)

    def grade(self, completion: Completion) -> list[Grade]:
        """One mark per grader of the task; what is no answer gets none."""
        if not completion.is_answer:
            return []
        return grade_answer(self.task, self._job.case, completion.text, self._decide)

    def _decide(self, prompt: Prompt) -> bool:
        """A grader model's verdict: from the cache, or by a call metered like any other."""
        if self._job.grader_sha is None:
            raise UngradableAnswer("the bake-off has no grader model")
        grader = self._at.caller(self._job.grader_sha)
        ask = metered(self._at.db, self._job, grader, purpose="grade")
        return cached_decide(self._at.db, self._job, grader.judge, ask)(prompt)
