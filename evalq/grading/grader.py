"""What a grader gets and returns: the answer to grade, the context it may use, and its mark."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.grading.sandbox.program import Program, ProgramRun
from evalq.records import Completion, Prompt

Read = TypeVar("Read")
Result = TypeVar("Result")

MAX_QUOTED = 5


@dataclass(frozen=True)
class AnswerToGrade:
    """One judge's answer to one case, with what the call took."""

    task: TaskConfig
    case: EvalCase
    completion: Completion
    judge: str = ""

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.completion.text

    @property
    def is_gradable(self) -> bool:
        """True for an answer a grader may mark, including silence where the case expects just that."""
        is_wanted_silence = self.completion.state == "empty" and self.expected.get("answer") == ""
        return self.completion.is_answer or is_wanted_silence

    @property
    def expected(self) -> Mapping[str, Any]:
        """What the case expects; empty when it expects nothing."""
        return self.case.expected or {}


@dataclass(frozen=True)
class Mark:
    """What one grader decides: passed or not, a score from 0 to 1 that agrees with it, and why.

    `details` is JSON that reports show beyond the reason.
    """

    passed: bool
    score: float
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def negated(self) -> "Mark":
        """The opposite mark."""
        return Mark(not self.passed, 1 - self.score, f"not: {self.reason}", self.details)


def mark(passed: bool, reason: str, **details: Any) -> Mark:
    """A mark with score 1 or 0."""
    return Mark(passed, float(passed), reason, details)


def quote(value: Any, width: int = 80) -> str:
    """A value as a reason quotes it, cut to about `width` characters."""
    if isinstance(value, str):
        text = repr(value[: width + 1])
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else text[: width - 1] + "…"


def quote_first(values: Sequence[Any]) -> str:
    """The first few of several values, and how many more there are."""
    names = ", ".join(quote(value, 40) for value in values[:MAX_QUOTED])
    if len(values) <= MAX_QUOTED:
        return names
    return f"{names} and {len(values) - MAX_QUOTED} more"


class GradingContext(Protocol):
    """What graders may use beyond the answer; the caller of the graders provides it."""

    async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Read]) -> Read:
        """Send a prompt to a grader model (None: the bake-off's own) and read its reply.

        `read` raises UngradableAnswer for a reply in another form than asked for; `consult` raises it when
        there is no reply.
        """
        ...

    async def run(self, program: Program) -> ProgramRun:
        """Run code in the sandbox; raise UngradableAnswer if the sandbox cannot start."""
        ...

    async def answer_of(self, judge: str) -> str:
        """Another judge's answer to the same case; raise UngradableAnswer if it has none."""
        ...

    async def apart(self, work: Callable[[], Result]) -> Result:
        """Do work that may take long; where other answers are graded meanwhile, in a thread of its own."""
        ...
