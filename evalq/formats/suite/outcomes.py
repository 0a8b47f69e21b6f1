"""What became of the evals of a suite: their attempts, and the one verdict those come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["passed", "failed", "skipped"]
Why = Literal["errored", "pending_review", "not_run", "no_baseline"]
"""Why an eval has no verdict."""


@dataclass(frozen=True)
class Attempt:
    """One answer as it was marked; `verdict` is None for one that was never given."""

    verdict: str | None
    reason: str = ""
    error_kind: str | None = None
    answer: str = ""
    latency_ms: int | None = None
    grades: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_graded(self) -> bool:
        """Passed or failed; anything else says nothing about the system."""
        return self.verdict in ("passed", "failed")


@dataclass(frozen=True)
class EvalOutcome:
    """One eval of one judge: its first attempts, one per sample, and those made after a failure."""

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
        """Of the first attempts: how many were graded, how many passed."""
        graded = [one for one in self.samples if one.is_graded]
        return len(graded), sum(one.verdict == "passed" for one in graded)

    @property
    def status(self) -> Status:
        """Passed by most of its samples, or by one attempt more; skipped without any verdict."""
        graded, passed = self.tally
        if (graded and passed * 2 > graded) or any(one.verdict == "passed" for one in self.retries):
            return "passed"
        return "failed" if graded or any(one.is_graded for one in self.retries) else "skipped"

    @property
    def why_skipped(self) -> Why | None:
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
        """Rounds it took: one, and one for every retry."""
        return 1 + len(self.retries)

    @property
    def decisive(self) -> Attempt | None:
        """The attempt that tells most: of a failure the last that failed, else the last there is."""
        every = [one for one in (*self.samples, *self.retries) if one.verdict is not None]
        failed = [one for one in every if one.verdict == "failed"]
        if self.status == "failed" and failed:
            return failed[-1]
        return every[-1] if every else None


@dataclass(frozen=True)
class JudgeOutcomes:
    """All evals of one judge, in the order of the suite."""

    judge: str
    model: str
    evals: tuple[EvalOutcome, ...]


@dataclass(frozen=True)
class SuiteRun:
    """One run of a suite: what was run, when, how long it took, and what became of it."""

    suite: str
    run_id: str
    timestamp: str
    duration_s: float
    judges: tuple[JudgeOutcomes, ...]
    version: str = ""
    samples: int = 1
    bakeoffs: tuple[int, ...] = ()
    spent_usd: str = "0.00"
    timed_out: bool = False
    include_details: bool = True
    environment: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    ks: tuple[int, ...] = ()
    """Further k of pass@k and pass^k that somebody asks for."""
