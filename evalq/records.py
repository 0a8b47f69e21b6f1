"""The values that travel through a bake-off: prompt, completion, grade, outcome."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from evalq.results import BakeOffState

CONTROL_QUEUE = "control"
SANDBOX_QUEUE = "sandbox"

Executor = Literal["python", "javascript", "shell"]
"""What runs the code of an answer in the sandbox: Python, Node.js, or bash."""

Purpose = Literal["answer", "grade"]
CompletionState = Literal["answered", "empty", "refused", "blocked", "truncated", "malformed"]
Verdict = Literal["passed", "failed", "errored", "pending_review"]
Role = Literal["user", "assistant"]
AnswerForm = Literal["text", "findings", "ranking", "decision"]
ReplyForm = Literal["verdict", "score", "criteria", "category", "boolean", "preference", "trigger"]


@dataclass(frozen=True)
class CaseContext:
    """The case behind a prompt; never sent to a model.

    Local systems on trial (`python`, `command`) read the inputs. Simulated judges also read the expected
    answer, so that they can be right or wrong in the task's own format.
    """

    task: str
    case_id: str
    sample: int = 1
    seed: int = 0
    attempt: int = 1
    call_key: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)
    stratum: Mapping[str, str] = field(default_factory=dict)
    is_positive: bool = True
    answer_form: AnswerForm = "text"
    graded_text: str = ""
    reply_form: ReplyForm = "verdict"
    choices: tuple[str, ...] = ()
    scale: tuple[int, int] = (1, 5)


@dataclass(frozen=True)
class Turn:
    """One earlier turn of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True)
class ToolCall:
    """A tool call the judge asked for, its arguments as written."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Prompt:
    """One rendered prompt for a model. `turns` come before `user`, oldest first.

    `reply_schema` is a JSON Schema for the reply, for providers that can enforce one.
    """

    system: str
    user: str
    max_tokens: int
    about: CaseContext
    temperature: float | None = None
    reply_schema: Mapping[str, Any] | None = None
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider billed them; `raw` is its own record, unchanged.

    Not `is_stated`: the reply names no tokens, or numbers that cannot be true.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    thinking_tokens: int = 0
    raw: Mapping[str, Any] = field(default_factory=dict)
    is_stated: bool = True


NO_USAGE = Usage(is_stated=False)


@dataclass(frozen=True)
class RateHints:
    """The limits in a provider's response headers, per minute; None for a missing one."""

    rpm: float | None = None
    input_tpm: int | None = None
    output_tpm: int | None = None


@dataclass(frozen=True)
class Completion:
    """A model's answer: its state, text and tool calls, and what it cost.

    `stated_usd` is a cost that a system of the user's own reports. `is_cost_assumed`: nothing states the
    cost, so the whole reservation counts.
    """

    state: CompletionState
    text: str
    usage: Usage = NO_USAGE
    latency_ms: int = 0
    cost_usd: Decimal = Decimal(0)
    model: str | None = None
    request_id: str | None = None
    rate_hints: RateHints | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    stated_usd: Decimal | None = None
    is_cost_assumed: bool = False

    @property
    def is_answer(self) -> bool:
        """True for text a grader can mark; every other state counts as errored, never as failed."""
        return self.state == "answered"


Ask = Callable[[Prompt], Awaitable[Completion]]


@dataclass(frozen=True)
class Grade:
    """One grader's mark: passed or not, or None and the reason it could not decide.

    `pending`: people have not decided yet. `kind` is the grader's type, `grader` its name in the task.
    """

    grader: str
    passed: bool | None
    score: float | None
    reason: str = ""
    required: bool = True
    weight: float = 1.0
    kind: str = ""
    pending: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The end of a job, provisional while people review it; an errored one has its kind and message."""

    verdict: Verdict
    error_kind: str | None = None
    message: str | None = None


@dataclass(frozen=True)
class BakeOffRow:
    """A bake-off as stored."""

    id: int
    uid: uuid.UUID
    task_name: str
    eval_set_name: str
    scorer_mode: str
    grader_model: str | None
    run_type: str
    task_sha: str
    eval_set_sha: str
    seed: int
    samples: int
    state: BakeOffState
    cap_usd: Decimal
    reserved_usd: Decimal
    spent_usd: Decimal
    created_at: datetime
    read_at: datetime
    result: str | None
    prices_as_of: str | None = None
    stop_reason: str | None = None
    rescored_from: int | None = None
    ended_at: datetime | None = None
    """When it concluded, or the last job of a stopped one ended; None while it runs."""


@dataclass(frozen=True)
class RunRow:
    """A run as stored."""

    id: int
    judge: str
    vendor: str
    provider: str
    gate: str
    n_jobs: int
    state: str
    pause_reason: str | None = None
    rescored_from: int | None = None
    grades_itself: bool = False


@dataclass(frozen=True)
class OutcomeRow:
    """A job's outcome as statistics use it."""

    run_id: int
    case_id: str
    sample: int
    ordinal: int
    stratum: str
    verdict: Verdict
    error_kind: str | None
    latency_ms: int | None

    @property
    def is_graded(self) -> bool:
        """True for outcomes a rate counts: neither errored nor waiting for people."""
        return self.verdict in ("passed", "failed")


def describe_errors(count: int, total: int, kind: str | None) -> str:
    """What is wrong with a judge none of whose answers is graded: 93/93 empty outputs, 5/5 calls failed."""
    if kind and kind.startswith("call_"):
        return f"{count}/{total} calls failed"
    return f"{count}/{total} {(kind or 'errored').replace('_', ' ')} outputs"


@dataclass(frozen=True)
class CallTotals:
    """The calls of one run for one purpose.

    `assumed`: calls whose cost nothing states. `above`: calls that cost more than was set aside for them.
    """

    cost_usd: Decimal = Decimal(0)
    sent: int = 0
    settled: int = 0
    unknown: int = 0
    retries: int = 0
    assumed: int = 0
    above: int = 0


@dataclass(frozen=True)
class Savings:
    """The calls and dollars the verdict cache saved a bake-off."""

    n: int = 0
    saved_usd: Decimal = Decimal(0)


@dataclass(frozen=True)
class Evidence:
    """Everything a bake-off's numbers are computed from."""

    outcomes: tuple[OutcomeRow, ...]
    calls: Mapping[tuple[int, str], CallTotals] = field(default_factory=dict)
    scores: Mapping[tuple[int, str], tuple[float, ...]] = field(default_factory=dict)
    savings: Savings = Savings()
    opinions: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """By grader: the details of each of its grades, with every grader model's opinion."""
    first_faults: Mapping[int, str] = field(default_factory=dict)
    """By run: what the first call that failed ended with."""
