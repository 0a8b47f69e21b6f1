"""The result of a bake-off or portfolio, as JSON too, and the live progress, as plain values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal

SCHEMA = "evalq.bakeoff/1"
PORTFOLIO_SCHEMA = "evalq.portfolio/1"

BakeOffState = Literal["running", "paused", "capped", "cancelled", "concluded"]
CiMethod = Literal["wilson", "clopper_pearson", "beta", "bootstrap"]

FEW_CASES = 10
"""With fewer cases a 95 % interval is at least 29 points wide: too wide to act on."""


@dataclass(frozen=True)
class Rate:
    """A mean over n cases with its interval and the method behind it; the numbers are None for n = 0."""

    n: int
    accuracy: float | None
    ci_low: float | None
    ci_high: float | None
    method: str = "wilson"
    few: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "few", self.n < FEW_CASES)


@dataclass(frozen=True)
class Share:
    """k of n with its 95 % Wilson interval; the three numbers are None for n = 0."""

    k: int
    n: int
    rate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None

    def __str__(self) -> str:
        if self.rate is None:
            return f"{self.k} of {self.n}"
        return f"{self.k} of {self.n} ({self.rate:.0%}, 95 % CI {self.ci_low:.0%} to {self.ci_high:.0%})"


@dataclass(frozen=True)
class PassK:
    """pass@k and pass^k, as means over the cases with at least k graded samples; `skipped` had fewer.

    `pass_hat_k` is the plain (c/n)^k, biased upwards; the other two are unbiased. An interval is a pair.
    """

    k: int
    pass_at_k: float | None
    pass_hat_k: float | None
    pass_hat_k_unbiased: float | None
    n_cases: int
    skipped: int
    pass_at_k_ci: tuple[float, float] | None = None
    pass_hat_k_ci: tuple[float, float] | None = None
    pass_hat_k_unbiased_ci: tuple[float, float] | None = None
    ci_method: str = "wilson_by_case"


@dataclass(frozen=True)
class RunResult:
    """One judge on the evalset. `excluded` is the reason it has no rank, None if it has one.

    `accuracy` pools all answers (micro); `macro` is the mean over strata, None when the cases have none.
    `pass_k` is empty for one sample a case. `n_pending` answers wait for people. `rescored_from` is the run
    whose answers were graded again.
    """

    run_id: int
    judge: str
    vendor: str
    n_cases: int
    n_pass: int
    n_fail: int
    n_error: int
    accuracy: float | None
    ci_low: float | None
    ci_high: float | None
    ci_method: str
    p50_latency_ms: int | None
    p95_latency_ms: int | None
    total_cost_usd: Decimal
    judging_cost_usd: Decimal
    grading_cost_usd: Decimal
    retries: int
    errors: Mapping[str, int] = field(default_factory=dict)
    per_stratum: Mapping[str, Rate] = field(default_factory=dict)
    metrics: Mapping[str, Rate] = field(default_factory=dict)
    excluded: str | None = None
    macro: Rate | None = None
    pass_k: tuple[PassK, ...] = ()
    n_pending: int = 0
    rescored_from: int | None = None

    @property
    def n_graded(self) -> int:
        """Answers with a verdict: the n behind `accuracy`."""
        return self.n_pass + self.n_fail

    @property
    def n_ended(self) -> int:
        """Jobs that ended, with or without a verdict: all of them were paid for."""
        return self.n_graded + self.n_error + self.n_pending


@dataclass(frozen=True)
class Comparison:
    """Two judges on the cases both have a verdict for; `diff` is a minus b.

    `a_only` cases went better for a, `b_only` for b. `cases_needed` is about how many cases would separate
    the two if the difference is as large as it looks; None when they are separated, or it is zero.
    """

    a: str
    b: str
    n: int
    diff: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float
    separable: bool
    a_only: int = 0
    b_only: int = 0
    cases_needed: int | None = None
    method: str = "tango_mcnemar"


@dataclass(frozen=True)
class Agreement:
    """Chance-corrected agreement of two judges' verdicts; `kappa` is None when a rater is constant."""

    a: str
    b: str
    n: int
    kappa: float | None
    ac1: float | None
    degenerate: bool
    flag: str | None = None
    ci_low: float | None = None
    ci_high: float | None = None


@dataclass(frozen=True)
class GradingNote:
    """How far to trust the grader models here: a panel's agreement, or a position bias."""

    grader: str
    about: Literal["panel", "position_bias"]
    text: str
    is_warning: bool
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """What a bake-off's numbers allow: ship a judge, call a tie, or collect more; `caveats` qualify it.

    `judge` is the one to take; of judges that cannot be told apart, the cheapest. None when there is none.
    """

    kind: Literal["ship", "tie", "not_decidable", "interim"]
    judge: str | None
    sentence: str
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calls:
    """Provider calls of the whole bake-off, grading included."""

    sent: int = 0
    settled: int = 0
    unknown: int = 0
    cached_verdicts: int = 0


@dataclass(frozen=True)
class BakeOffResult:
    """The final state of a bake-off, or the interim one while it runs; runs in rank order, excluded last."""

    id: int
    task: str
    eval_set: str
    scorer: str
    grader: str | None
    seed: int
    samples: int
    state: BakeOffState
    spent_usd: Decimal
    cap_usd: Decimal
    saved_usd: Decimal
    calls: Calls
    runs: tuple[RunResult, ...]
    comparisons: tuple[Comparison, ...]
    kappa: tuple[Agreement, ...]
    warnings: tuple[str, ...]
    next: tuple[str, ...]
    n_jobs: int
    n_done: int
    prices_as_of: str | None = None
    holdout_head: str | None = None
    holdout_look: int | None = None
    rescored_from: int | None = None
    grading: tuple[GradingNote, ...] = ()
    decision: Decision | None = None

    @property
    def is_partial(self) -> bool:
        """True when a judge is excluded, a call got no answer, or jobs or reviews are open: exit code 3."""
        if self.n_done < self.n_jobs:
            return True
        for run in self.runs:
            if run.n_pending or run.excluded or any(kind.startswith("call_") for kind in run.errors):
                return True
        return False

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.bakeoff/1` document: money as strings, everything else as JSON has it."""
        return {"schema": SCHEMA, **plain(asdict(self)), "partial": self.is_partial}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "BakeOffResult":
        """Read a document that `to_dict` wrote; ValueError if another version wrote it differently."""
        return _result_reader().validate_python(document)  # type: ignore[no-any-return]


@cache
def _result_reader() -> Any:
    from pydantic import TypeAdapter  # late: rendering does not need it; once: making one takes long

    return TypeAdapter(BakeOffResult)


def plain(value: Any) -> Any:
    """The value as JSON has it: decimals become strings, tuples lists, recursively."""
    if isinstance(value, Decimal):
        return _format_money(value)
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def _format_money(amount: Decimal) -> str:
    """The exact amount with at least two places and no further zeros: 5.00, 0.9731."""
    whole, _, places = f"{amount:f}".partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}"


@dataclass(frozen=True)
class JudgeProgress:
    """One line of the live display: a judge's jobs so far."""

    judge: str
    total: int
    done: int
    n_pass: int
    n_fail: int
    n_error: int
    cost_usd: Decimal
    p95_latency_ms: int | None
    retries: int
    rpm: float
    broken: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Progress:
    """The live state of a bake-off at one instant."""

    bakeoff_id: int
    task: str
    eval_set: str
    state: BakeOffState
    started_at: datetime
    now: datetime
    cap_usd: Decimal
    spent_usd: Decimal
    reserved_usd: Decimal
    judges: tuple[JudgeProgress, ...]
    cached_verdicts: int = 0
    graded_findings: int = 0

    @property
    def done(self) -> int:
        """Jobs ended, over all judges."""
        return sum(judge.done for judge in self.judges)

    @property
    def total(self) -> int:
        """Jobs planned, over all judges."""
        return sum(judge.total for judge in self.judges)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the bake-off was recorded, until its end if it has ended."""
        return (self.now - self.started_at).total_seconds()


@dataclass(frozen=True)
class Offer:
    """A judge's accuracy for its price, on one task or over all of them.

    `n` answers have a verdict; the dollars, grading included, are over the `n_cases` that ended, errored too.
    `dominated_by` is the cheapest judge that is at least as cheap and as good, and better in one of the two;
    None on the frontier. `not_separable_from` are the cheaper judges the paired test cannot tell it from.
    """

    judge: str
    n: int
    n_cases: int
    accuracy: float
    ci_low: float
    ci_high: float
    ci_method: str
    usd_per_case: Decimal
    total_cost_usd: Decimal
    on_frontier: bool
    dominated_by: str | None
    not_separable_from: tuple[str, ...]


@dataclass(frozen=True)
class OverallComparison:
    """Two judges over all tasks: the mean of the tasks' paired differences, a minus b, on `n` cases."""

    a: str
    b: str
    n: int
    diff: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float
    separable: bool


@dataclass(frozen=True)
class LeftOut:
    """A judge left off a task's frontier and the overall one, and why."""

    task: str
    judge: str
    reason: str


@dataclass(frozen=True)
class Frontier:
    """The offers of each task and of all, cheapest first."""

    per_task: Mapping[str, tuple[Offer, ...]]
    overall: tuple[Offer, ...]
    comparisons: tuple[OverallComparison, ...]
    excluded: tuple[LeftOut, ...]


@dataclass(frozen=True)
class PortfolioResult:
    """Bake-offs of the same judges, one per task; `not_started` names the other tasks.

    `cap_usd` is the cap they shared; None when they were not run together.
    """

    bakeoffs: tuple[BakeOffResult, ...]
    not_started: tuple[str, ...]
    frontier: Frontier
    cap_usd: Decimal | None
    warnings: tuple[str, ...]
    next: tuple[str, ...]

    @property
    def spent_usd(self) -> Decimal:
        """Dollars of all bake-offs together."""
        return sum((result.spent_usd for result in self.bakeoffs), Decimal(0))

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.portfolio/1` document, each task's `evalq.bakeoff/1` in it."""
        return {
            "schema": PORTFOLIO_SCHEMA,
            "tasks": [result.to_dict() for result in self.bakeoffs],
            "not_started": list(self.not_started),
            "frontier": plain(asdict(self.frontier)),
            "spent_usd": plain(self.spent_usd),
            "cap_usd": plain(self.cap_usd),
            "warnings": list(self.warnings),
            "next": list(self.next),
        }
