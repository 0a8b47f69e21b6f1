"""What a grader is given and what it gives back: the subject, the context it works at, and its mark."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.grading.sandbox.program import Program, ProgramRun
from evalq.records import Completion, Prompt

Read = TypeVar("Read")


@dataclass(frozen=True)
class AnswerToGrade:
    """One answer under grading: whose it is, which case it is for, and what the call took."""

    task: TaskConfig
    case: EvalCase
    completion: Completion
    judge: str = ""

    @property
    def answer(self) -> str:
        """What the judge said."""
        return self.completion.text

    @property
    def is_answer(self) -> bool:
        """True for what a grader may mark: silence too, where the case expects exactly that."""
        is_wanted_silence = self.completion.state == "empty" and self.expected.get("answer") == ""
        return self.completion.is_answer or is_wanted_silence

    @property
    def expected(self) -> Mapping[str, Any]:
        """What the case expects; empty when it says nothing."""
        return self.case.expected or {}


@dataclass(frozen=True)
class Mark:
    """A grader's finding: passed or not, a score from 0 to 1 that agrees with it, and why.

    `details` is what reports show beyond the reason, as JSON has it.
    """

    passed: bool
    score: float
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def negated(self) -> "Mark":
        """The mark turned round."""
        return Mark(not self.passed, 1 - self.score, f"not: {self.reason}", self.details)


def mark(passed: bool, reason: str, **details: Any) -> Mark:
    """A mark that is all or nothing."""
    return Mark(passed, float(passed), reason, details)


class GradingContext(Protocol):
    """What graders may use beyond the answer; whoever has answers graded provides it."""

    def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Read]) -> Read:
        """Put a prompt to a grader model (None: the bake-off's own) and read its reply.

        `read` raises UngradableAnswer for a reply that is not in the agreed form; so does this when there
        is no reply.
        """
        ...

    def run(self, program: Program) -> ProgramRun:
        """Run code in the sandbox; UngradableAnswer when that could not be set up."""
        ...

    def answer_of(self, judge: str) -> str:
        """What another judge of the bake-off said to the same case; UngradableAnswer if it said nothing."""
        ...
