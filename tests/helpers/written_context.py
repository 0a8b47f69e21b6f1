"""A context for graders whose models say what the test has written down, and are asked nothing else."""

from collections.abc import Callable
from typing import TypeVar

from evalq.errors import UngradableAnswer
from evalq.grading.sandbox.program import Program, ProgramRun
from evalq.records import Prompt

Read = TypeVar("Read")
Result = TypeVar("Result")


class WrittenContext:
    """Replies in order; opponents by name. `asked` is what was put to which model."""

    def __init__(self, *replies: str, opponents: dict[str, str] | None = None) -> None:
        self._replies = list(replies)
        self._opponents = opponents or {}
        self.asked: list[tuple[str | None, Prompt]] = []

    async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Read]) -> Read:
        assert self._replies, "no grader model is to be asked here"
        self.asked.append((model, prompt))
        return read(self._replies.pop(0))

    async def run(self, program: Program) -> ProgramRun:
        raise AssertionError(f"{program.function} is not to be run here")

    async def answer_of(self, judge: str) -> str:
        if judge not in self._opponents:
            raise UngradableAnswer(f"{judge} has no answer")
        return self._opponents[judge]

    async def apart(self, work: Callable[[], Result]) -> Result:
        return work()
