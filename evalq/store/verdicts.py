"""Stored verdicts of model graders, and the outcomes a summary is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from evalq.records import Verdict
from evalq.store.database import Connection, Database


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


def evidence(db: Database | Connection, bakeoff_id: int, *, run_id: int | None = None) -> Evidence:
    """The outcomes, calls and scores of a bake-off, or of one of its runs."""
    saved = db.row("cache_savings", bakeoff_id=bakeoff_id)
    return Evidence(
        tuple(OutcomeRow(**row) for row in db.rows("verdicts", bakeoff_id=bakeoff_id, run_id=run_id)),
        _calls(db, bakeoff_id),
        {
            (row["run_id"], row["grader"]): tuple(row["scores"])
            for row in db.rows("grade_scores", bakeoff_id=bakeoff_id)
        },
        Savings(**saved) if saved else Savings(),
    )


def _calls(db: Database | Connection, bakeoff_id: int) -> dict[tuple[int, str], CallTotals]:
    rows = db.rows("call_costs", bakeoff_id=bakeoff_id)
    return {(row.pop("run_id"), row.pop("purpose")): CallTotals(**row) for row in rows}
