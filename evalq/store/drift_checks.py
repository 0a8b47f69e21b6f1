"""Drift checks in Postgres: scheduled, opened with a bake-off, confirmed, decided."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from evalq.store.database import Connection, Database


@dataclass(frozen=True)
class DriftCheck:
    """An undecided check, and what its run was given."""

    run_id: int
    rule: str
    confirm_run_id: int | None
    numbers: dict[str, object]
    judge: str
    judge_sha: str
    bakeoff_id: int
    uid: UUID
    task_name: str
    eval_set_name: str
    scorer_mode: str
    grader_model: str | None
    task_sha: str
    eval_set_sha: str
    grader_shas: dict[str, str]
    cap_usd: Decimal
    spent_usd: Decimal
    git_sha: str | None
    ambiguous_repeats: int
    n_judges: int


@dataclass(frozen=True)
class CheckRow:
    """A check of one judge on one set, decided or not."""

    task_name: str
    eval_set_name: str
    judge: str
    run_id: int
    rule: str
    verdict: str | None
    numbers: dict[str, Any]
    decided_at: datetime | None
    confirm_run_id: int | None
    confirm_bakeoff_id: int | None


@dataclass(frozen=True)
class SeriesPoint:
    """One check in the past of a judge; the counts are None while its run is on its way."""

    run_id: int
    created_at: datetime
    task_sha: str
    verdict: str | None
    numbers: dict[str, Any]
    n_pass: int | None
    n_fail: int | None


@dataclass(frozen=True)
class AcceptedRun:
    """A run that a user accepted as the baseline of its judge and set."""

    id: int
    run_id: int
    task_name: str
    eval_set_name: str
    judge: str
    accepted_at: datetime
    eval_set_sha: str
    task_sha: str


@dataclass(frozen=True)
class ConcludedRun:
    """A run that could be accepted as a baseline."""

    id: int
    task_name: str
    eval_set_name: str
    judge: str
    n_pass: int
    n_fail: int
    n_error: int
    accuracy: Decimal | None
    excluded: str | None


@dataclass(frozen=True)
class EarlierRun:
    """A run that a check may be compared with, and the task it was given."""

    id: int
    task_sha: str


@dataclass(frozen=True)
class CasePasses:
    """How many of a case's first samples were graded in one run, and how many passed."""

    run_id: int
    case_id: str
    passes: int
    graded: int


@dataclass(frozen=True)
class ProviderSample:
    """What a run shows of its provider: the models that answered, how fast, for how much."""

    run_id: int
    models: Sequence[str] | None
    p50_latency_ms: int | None
    cost_per_case_usd: Decimal


@dataclass(frozen=True)
class DetectorState:
    """The evidence of the sequential detector since a baseline was accepted."""

    level: float
    weeks: int
    alerted: bool


@dataclass(frozen=True)
class RunEnd:
    """How a run ended: with its row in eval_runs, without a rank, or stopped."""

    state: str
    pause_reason: str | None
    bakeoff_state: str
    stop_reason: str | None
    excluded: str | None


@dataclass(frozen=True)
class Episode:
    """An unbroken line of checks with one verdict: its first run, and how many days it has lasted."""

    run_id: int
    days: int


def try_lock_schedules(tx: Connection) -> bool:
    """Become the only opener of scheduled checks until the transaction ends; False when another is."""
    row = tx.row("try_lock_schedules")
    return row is not None and row["got"]


def is_known_tick(db: Database | Connection, schedule: str, tick: datetime) -> bool:
    """Whether a schedule's instant was handled."""
    return db.row("tick", schedule=schedule, tick=tick) is not None


def add_tick(
    tx: Connection,
    schedule: str,
    tick: datetime,
    *,
    bakeoff_id: int | None = None,
    problem: str | None = None,
) -> None:
    """Note that a schedule's instant was handled: by a bake-off, or with a problem."""
    tx.row("add_tick", schedule=schedule, tick=tick, bakeoff_id=bakeoff_id, problem=problem)


def has_checks_under_way(tx: Connection, schedule: str) -> bool:
    """Whether checks that a schedule opened are still moving towards their verdict."""
    row = tx.row("checks_under_way", schedule=schedule)
    return row is not None and row["n"] > 0


def add_checks(tx: Connection, bakeoff_id: int, *, rule: str) -> None:
    """Open a check for every run of a bake-off."""
    tx.run("add_drift_checks", bakeoff_id=bakeoff_id, rule=rule)


def ripe_run_ids(db: Database) -> list[int]:
    """The runs of undecided checks that have ended, or whose confirmation has."""
    return [row["run_id"] for row in db.rows("ripe_drift_checks")]


def lock_series(tx: Connection, run_id: int) -> None:
    """Allow one decision on a run's judge and set at a time, until the transaction ends."""
    tx.row("lock_drift_series", run_id=run_id)


def read_check(tx: Connection, run_id: int) -> DriftCheck | None:
    """A check that can be decided now; None when it was."""
    row = tx.row("drift_check", run_id=run_id)
    return DriftCheck(**row) if row else None


def read_run_end(tx: Connection, run_id: int) -> RunEnd:
    """How a run ended."""
    row = tx.row("run_end", run_id=run_id)
    assert row is not None
    return RunEnd(**row)


def earlier_runs(tx: Connection, check: DriftCheck, *, since: datetime, limit: int) -> list[EarlierRun]:
    """Runs that a check may be compared with, newest first."""
    rows = tx.rows(
        "baseline_runs",
        **_series(check),
        eval_set_sha=check.eval_set_sha,
        scorer_mode=check.scorer_mode,
        grader_model=check.grader_model,
        run_id=check.run_id,
        since=since,
        limit=limit,
    )
    return [EarlierRun(**row) for row in rows]


def accepted_run(tx: Connection, check: DriftCheck) -> AcceptedRun | None:
    """The baseline accepted last for a check's judge and set."""
    row = tx.row("accepted_baseline", **_series(check))
    return AcceptedRun(**row) if row else None


def case_passes(tx: Connection, run_ids: Sequence[int], *, samples: int) -> list[CasePasses]:
    """The passes of every case of some runs, over its first samples."""
    return [CasePasses(**row) for row in tx.rows("case_passes", run_ids=list(run_ids), samples=samples)]


def provider_facts(tx: Connection, run_ids: Sequence[int]) -> dict[int, ProviderSample]:
    """What some runs show of their provider, by run; without those that have no answer."""
    return {row["run_id"]: ProviderSample(**row) for row in tx.rows("provider_facts", run_ids=list(run_ids))}


def detector_state(db: Database | Connection, baseline_id: int) -> DetectorState | None:
    """The detector's evidence since a baseline; None before its first check."""
    row = db.row("detector_state", baseline_id=baseline_id)
    if row is None:
        return None
    numbers = row["numbers"]
    return DetectorState(numbers["level"], numbers["weeks"], numbers["alerted"])


def start_confirmation(
    tx: Connection, run_id: int, *, bakeoff_id: int, numbers: Mapping[str, object]
) -> None:
    """Turn a check into a watch that another bake-off confirms."""
    tx.run("start_confirmation", run_id=run_id, bakeoff_id=bakeoff_id, numbers=json.dumps(numbers))


def decide_check(tx: Connection, run_id: int, *, verdict: str, numbers: Mapping[str, object]) -> None:
    """Write the verdict of a check."""
    tx.run("decide_drift_check", run_id=run_id, verdict=verdict, numbers=json.dumps(numbers))


def read_episode(tx: Connection, check: DriftCheck, verdict: str) -> Episode:
    """The episode that a check, just decided with this verdict, belongs to."""
    row = tx.row("drift_episode", **_series(check), rule=check.rule, verdict=verdict)
    assert row is not None, "the check itself is one"
    return Episode(**row)


def _series(check: DriftCheck) -> dict[str, str]:
    """Which judge on which set."""
    return {"task_name": check.task_name, "eval_set_name": check.eval_set_name, "judge": check.judge}


def checks_of(db: Database, bakeoff_id: int) -> list[CheckRow]:
    """The checks of a bake-off, in the order its judges were named."""
    return [CheckRow(**row) for row in db.rows("checks_of", bakeoff_id=bakeoff_id)]


def recent_checks(db: Database, *, task: str | None, limit: int) -> list[CheckRow]:
    """The newest checks of every judge and set, of one task or of all."""
    return [CheckRow(**row) for row in db.rows("recent_checks", task_name=task, limit=limit)]


def series(db: Database, run_id: int, *, limit: int) -> list[SeriesPoint]:
    """The last checks of a run's judge on its set up to that run, oldest first."""
    rows = db.rows("drift_series", run_id=run_id, limit=limit)
    return [SeriesPoint(**row) for row in reversed(rows)]


def accepted_runs(db: Database, *, task: str | None) -> list[AcceptedRun]:
    """The current baseline of every judge and set, of one task or of all."""
    return [AcceptedRun(**row) for row in db.rows("current_baselines", task_name=task)]


def concluded_run(tx: Connection, run_id: int) -> ConcludedRun | None:
    """A run with its numbers; None when it is not concluded."""
    row = tx.row("acceptable_run", run_id=run_id)
    return ConcludedRun(**row) if row else None


def accept_run(tx: Connection, run_id: int) -> int:
    """Make a run the baseline of its judge and set; return the baseline's id."""
    row = tx.row("add_baseline", run_id=run_id)
    assert row is not None
    return int(row["id"])
