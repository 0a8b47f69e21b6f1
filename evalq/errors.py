"""The errors of evalq: one tree, each with the exit code it ends a command with.

EvalqError
├── InputError        the user wrote it: file, line, reason, remedy (exit 2)
├── CapReached        no more dollars under the cap (exit 4)
├── Refused           a guard said no: holdout, sandbox (exit 5)
├── Unreachable       broker, database or provider away (exit 6)
├── ProviderFault     one call to a provider failed; its kind says what to do
├── PutBack           the job cannot go on now: it returns to ready and is tried later
└── UngradableAnswer  a grader could not decide; never a fail
"""

from dataclasses import dataclass
from typing import Literal

FaultKind = Literal["rate", "transient", "ambiguous", "permanent", "fatal"]


class EvalqError(Exception):
    """Whatever evalq raises on purpose."""

    exit_code = 1


@dataclass(frozen=True)
class Problem:
    """One thing the user can mend: where it is, what is wrong, what to write instead."""

    message: str
    remedy: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return place + self.message + (f"; {self.remedy}" if self.remedy else "")


class InputError(EvalqError):
    """The user's files or words are wrong; every problem found is in `problems`."""

    exit_code = 2

    def __init__(self, *problems: Problem | str) -> None:
        self.problems = tuple(Problem(p) if isinstance(p, str) else p for p in problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class CapReached(EvalqError):
    """The next call's worst case does not fit under the cap."""

    exit_code = 4


class Refused(EvalqError):
    """A guard refused; the message says what to type instead."""

    exit_code = 5


class Unreachable(EvalqError):
    """Broker, database or provider cannot be reached."""

    exit_code = 6


class ProviderFault(EvalqError):
    """A call that failed, mapped from whatever the provider's client raised.

    rate: asked to slow down · transient: not processed, ask again · ambiguous: perhaps processed and
    billed · permanent: this request will never work · fatal: this judge will never work (key, quota).
    """

    exit_code = 6

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        retry_after_s: float | None = None,
        request_id: str | None = None,
    ) -> None:
        self.kind: FaultKind = kind
        self.message = message
        self.retry_after_s = retry_after_s
        self.request_id = request_id
        super().__init__(f"{kind}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        return _fault, (self.kind, self.message, self.retry_after_s, self.request_id)


def _fault(
    kind: FaultKind, message: str, retry_after_s: float | None, request_id: str | None
) -> ProviderFault:
    """Rebuild a pickled fault: exceptions do not pickle keyword arguments by themselves."""
    return ProviderFault(kind, message, retry_after_s=retry_after_s, request_id=request_id)


class PutBack(EvalqError):
    """The job cannot go on now; it loses nothing and is tried again after `wait_s`."""

    def __init__(self, reason: str, *, wait_s: float = 0.0) -> None:
        self.wait_s = wait_s
        super().__init__(reason)


class UngradableAnswer(EvalqError):
    """The grader cannot decide: the answer or the grader's reply is not in the agreed form."""
