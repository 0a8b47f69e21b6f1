"""Outcomes of a suite run: each eval's attempts, and the one verdict they give."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EvalStatus = Literal["passed", "failed", "skipped"]
SkipReason = Literal["errored", "pending_review", "not_run", "no_baseline"]

MAX_REASON_CHARS = 500


@dataclass(frozen=True)
class Attempt:
    """One graded answer; `verdict` is None when there was no answer."""

    verdict: str | None
    message: str = ""
    error_kind: str | None = None
    answer: str = ""
    latency_ms: int | None = None
    grades: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_graded(self) -> bool:
        """Whether it passed or failed; any other verdict does not measure the system."""
        return self.verdict in ("passed", "failed")


@dataclass(frozen=True)
class EvalOutcome:
    """One eval of one judge: its first attempts, one per sample, and its retries."""

    id: str
    name: str
    eval_type: str
    category: str = ""
    grader_types: tuple[str, ...] = ("code",)
    weight: float = 1.0
    criticality: str | None = None
    expected: str = ""
    samples: tuple[Attempt, ...] = ()
    retries: tuple[Attempt, ...] = ()
    lacks_baseline: bool = False
    answered_by: str = ""

    @property
    def tally(self) -> tuple[int, int]:
        """How many of the first attempts were graded, and how many passed."""
        graded = [one for one in self.samples if one.is_graded]
        return len(graded), sum(one.verdict == "passed" for one in graded)

    @property
    def status(self) -> EvalStatus:
        """Passed if most samples or any retry passed; skipped if nothing was graded."""
        graded, passed = self.tally
        if passed * 2 > graded or any(one.verdict == "passed" for one in self.retries):
            return "passed"
        if graded or any(one.is_graded for one in self.retries):
            return "failed"
        return "skipped"

    @property
    def why_skipped(self) -> SkipReason | None:
        """Why there is no verdict; None when there is one."""
        if self.status != "skipped":
            return None
        if self.lacks_baseline:
            return "no_baseline"
        verdicts = {one.verdict for one in self.samples}
        if "pending_review" in verdicts:
            return "pending_review"
        return "errored" if "errored" in verdicts else "not_run"

    @property
    def attempts(self) -> int:
        """One, plus one for every retry."""
        return 1 + len(self.retries)

    @property
    def decisive(self) -> Attempt | None:
        """The attempt to show: the last failed one of a failed eval, else the last with a verdict."""
        with_verdict = [one for one in (*self.samples, *self.retries) if one.verdict is not None]
        failed = [one for one in with_verdict if one.verdict == "failed"]
        if self.status == "failed" and failed:
            return failed[-1]
        return with_verdict[-1] if with_verdict else None

    @property
    def reason(self) -> str:
        """Why the eval did not pass, in one line."""
        if self.lacks_baseline:
            return "there is no baseline to compare with"
        if self.decisive is None:
            return "it was not run"
        failed = [grade for grade in self.decisive.grades if grade.get("passed") is False]
        reasons = "; ".join(str(grade["reason"]) for grade in failed if grade["reason"])
        reason = reasons or self.decisive.message or f"the answer is {self.decisive.verdict}"
        return reason[:MAX_REASON_CHARS]


@dataclass(frozen=True)
class JudgeOutcomes:
    """All evals of one judge, in the order of the suite."""

    judge: str
    model: str
    evals: tuple[EvalOutcome, ...]


@dataclass(frozen=True)
class SuiteRun:
    """One run of a suite: when, how long, at what cost, and the outcomes of each judge."""

    suite: str
    run_id: str
    timestamp: str
    duration_s: float
    judges: tuple[JudgeOutcomes, ...]
    id: str = ""
    """The id of the run in the database, such as suite-7; "" for a bake-off that no suite made."""
    version: str = ""
    samples: int = 1
    bakeoffs: tuple[int, ...] = ()
    spent_usd: str = "0.00"
    timed_out: bool = False
    include_details: bool = True
    environment: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    ks: tuple[int, ...] = ()
    """Further k to report pass@k and pass^k for."""

    @property
    def has_failures(self) -> bool:
        """Whether an eval failed for some judge."""
        return any(any(one.status == "failed" for one in found.evals) for found in self.judges)
