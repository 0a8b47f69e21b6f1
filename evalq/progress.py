"""How far a bake-off is, read from Postgres for the live display."""

from decimal import Decimal

from evalq.results import JudgeProgress, Progress
from evalq.store import bakeoffs
from evalq.store.database import Database, Row

_BROKEN_AFTER = 10
"""So many jobs ended without a single verdict: the judge is broken, say so while it runs."""


def read_progress(db: Database, bakeoff_id: int) -> Progress:
    """The state of a bake-off at this instant."""
    bakeoff = bakeoffs.get(db, bakeoff_id)
    costs = {row["judge"]: row for row in db.rows("progress_costs", bakeoff_id=bakeoff_id)}
    minutes = max((bakeoff.read_at - bakeoff.created_at).total_seconds(), 1.0) / 60
    saved = db.row("cache_savings", bakeoff_id=bakeoff_id)
    return Progress(
        bakeoff_id=bakeoff.id,
        task=bakeoff.task_name,
        eval_set=bakeoff.eval_set_name,
        state=bakeoff.state,
        started_at=bakeoff.created_at,
        now=bakeoff.read_at,
        cap_usd=bakeoff.cap_usd,
        spent_usd=bakeoff.spent_usd,
        reserved_usd=bakeoff.reserved_usd,
        judges=tuple(
            _judge(row, costs.get(row["judge"]), min(minutes, 1.0))
            for row in db.rows("progress", bakeoff_id=bakeoff_id)
        ),
        cached_verdicts=saved["n"] if saved else 0,
        graded_findings=sum(row["grade_calls"] for row in costs.values()),
    )


def _judge(row: Row, cost: Row | None, minutes: float) -> JudgeProgress:
    return JudgeProgress(
        judge=row["judge"],
        total=row["n_jobs"],
        done=row["done"],
        n_pass=row["n_pass"],
        n_fail=row["n_fail"],
        n_error=row["n_error"],
        cost_usd=cost["cost_usd"] if cost else Decimal(0),
        p95_latency_ms=row["p95_latency_ms"],
        retries=cost["retries"] if cost else 0,
        rpm=row["last_minute"] / minutes,
        broken=f"paused: {row['pause_reason']}" if row["pause_reason"] else _broken(row),
    )


def _broken(row: Row) -> str | None:
    if row["n_error"] < _BROKEN_AFTER or row["n_error"] < row["done"]:
        return None
    return f"{row['n_error']}/{row['done']} {row['error_kind']} outputs"
