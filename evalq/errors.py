"""The errors of evalq: one tree, each with the exit code it ends a command with.

EvalqError
├── InputError        the user's files or words are wrong: file, line, reason, remedy (exit 2)
├── CapReached        the next call does not fit under the cap (exit 4)
├── Refused           a guard refused: holdout, sandbox (exit 5)
├── Unreachable       broker, database or provider cannot be reached (exit 6)
│   └── Contended     the database is there, but other transactions are in the way
├── ProviderFault     a call to a provider failed; its kind decides what happens next
├── PutBack           the job cannot go on now and is tried again later
└── UngradableAnswer  a grader could not decide; never a fail
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from evalq.records import RateHints

FaultKind = Literal["rate", "transient", "ambiguous", "permanent", "fatal"]


class EvalqError(Exception):
    """Every error evalq raises on purpose."""

    exit_code = 1


@dataclass(frozen=True)
class Problem:
    """One thing the user can fix: where it is, what is wrong, what to write instead."""

    message: str
    remedy: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        text = self.message
        if self.remedy:
            text = f"{text}; {self.remedy}"
        if self.line:
            return f"{self.file}:{self.line}: {text}"
        if self.file:
            return f"{self.file}: {text}"
        return text


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
    """A guard refused; the message names what to type instead."""

    exit_code = 5


class Unreachable(EvalqError):
    """Broker, database or provider cannot be reached."""

    exit_code = 6


class Contended(Unreachable):
    """Other transactions got in the way; like a database that is away, it is worth trying again later."""


class ProviderFault(EvalqError):
    """A failed call, mapped from the exception of the provider's client.

    rate: asked to slow down · transient: not processed, call again · ambiguous: perhaps processed and
    billed · permanent: this request will never work · fatal: this judge will never work (key, quota).
    `rate_hints` are the limits the reply named; `is_unreachable`: no connection, so nothing was sent.
    """

    exit_code = 6

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        retry_after_s: float | None = None,
        request_id: str | None = None,
        rate_hints: "RateHints | None" = None,
        is_unreachable: bool = False,
    ) -> None:
        self.kind: FaultKind = kind
        self.message = message
        self.retry_after_s = retry_after_s
        self.request_id = request_id
        self.rate_hints = rate_hints
        self.is_unreachable = is_unreachable
        super().__init__(f"{kind}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        fields = {name: value for name, value in vars(self).items() if name not in ("kind", "message")}
        return _rebuild_fault, (self.kind, self.message, fields)


def _rebuild_fault(kind: FaultKind, message: str, fields: dict[str, Any]) -> ProviderFault:
    """Rebuild a pickled fault: exceptions do not pickle their keyword arguments."""
    return ProviderFault(kind, message, **fields)


class PutBack(EvalqError):
    """The job cannot go on now; it is tried again after `wait_s` and loses nothing."""

    def __init__(self, reason: str, *, wait_s: float = 0.0) -> None:
        self.wait_s = wait_s
        super().__init__(reason)


class UngradableAnswer(EvalqError):
    """The grader cannot decide: the answer or the grader's reply is not in the agreed form."""
