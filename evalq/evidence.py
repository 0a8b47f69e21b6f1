"""What Postgres holds of a bake-off, as plain values: the material its numbers are made of."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from evalq.records import Verdict
from evalq.results import BakeOffState


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


@dataclass(frozen=True)
class RunRow:
    """A run on its way."""

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
    """One job's end as statistics see it."""

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
        """True for what a rate counts: neither errored nor waiting for people."""
        return self.verdict in ("passed", "failed")


@dataclass(frozen=True)
class CallTotals:
    """The calls of one run for one purpose."""

    cost_usd: Decimal = Decimal(0)
    sent: int = 0
    settled: int = 0
    unknown: int = 0
    retries: int = 0


@dataclass(frozen=True)
class Savings:
    """What the verdict cache spared a bake-off."""

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
    """By grader: what each of its grader models said of each answer."""
