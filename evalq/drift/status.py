"""How every judge under watch stands: its last checks, its baseline, its evidence, its next check."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from evalq.definitions.schedule import DriftSchedule
from evalq.store.database import Database, Row

SCHEMA = "evalq.drift/1"
_Series = tuple[str, str, str]


def read_status(
    db: Database, schedules: Sequence[DriftSchedule], *, task: str | None, now: datetime, limit: int = 5
) -> dict[str, Any]:
    """The `evalq.drift/1` document."""
    checks = db.rows("recent_checks", task_name=task, limit=limit)
    baselines = {_series(row): row for row in db.rows("current_baselines", task_name=task)}
    found = dict.fromkeys([*(_series(row) for row in checks), *baselines])
    chosen = [schedule for schedule in schedules if task in (None, schedule.task)]
    return {
        "schema": SCHEMA,
        "judges": [_judge(db, one, checks, baselines.get(one)) for one in found],
        "schedules": [_schedule(schedule, now) for schedule in chosen],
    }


def _series(row: Row) -> _Series:
    return row["task_name"], row["eval_set_name"], row["judge"]


def _judge(db: Database, series: _Series, checks: Sequence[Row], baseline: Row | None) -> dict[str, Any]:
    task, eval_set, judge = series
    return {
        "task": task,
        "eval_set": eval_set,
        "judge": judge,
        "baseline": _baseline(baseline),
        "detector": _detector(db, baseline),
        "checks": [_check(row) for row in checks if _series(row) == series],
    }


def _baseline(row: Row | None) -> dict[str, Any] | None:
    return row and {"run_id": row["run_id"], "accepted_at": row["accepted_at"].isoformat()}


def _detector(db: Database, baseline: Row | None) -> dict[str, Any] | None:
    """The evidence since the baseline; none before its first check."""
    row = db.row("detector_state", baseline_id=baseline["id"]) if baseline else None
    return row and {name: row["numbers"][name] for name in ("level", "weeks", "alerted")}


def _check(row: Row) -> dict[str, Any]:
    return {
        "run_id": row["run_id"],
        "rule": row["rule"],
        "verdict": row["verdict"],
        "decided_at": row["decided_at"] and row["decided_at"].isoformat(),
        "confirm_run_id": row["confirm_run_id"],
        "numbers": row["numbers"],
    }


def _schedule(schedule: DriftSchedule, now: datetime) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "task": schedule.task,
        "eval_set": schedule.eval_set,
        "judges": schedule.judges,
        "rule": schedule.rule,
        "schedule": schedule.schedule if schedule.every_s is None else f"every {schedule.every_s:g} s",
        "next": schedule.next_tick(now).isoformat(),
    }
