"""What a check is held against, read from Postgres: earlier runs, the accepted one, the evidence so far."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from evalq.definitions.schedules import DriftSchedule
from evalq.drift.rules import BASELINE_RUNS, Verdicts
from evalq.errors import InputError, Problem
from evalq.stats import DriftEvidence
from evalq.store.database import Connection, Database, Row

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_ALL = 10_000


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

    @property
    def series(self) -> dict[str, str]:
        """Which judge on which set."""
        return {"task_name": self.task_name, "eval_set_name": self.eval_set_name, "judge": self.judge}


@dataclass(frozen=True)
class Baseline:
    """A run somebody accepted."""

    id: int
    run_id: int
    accepted_at: datetime
    eval_set_sha: str
    task_sha: str


@dataclass(frozen=True)
class Past:
    """Earlier runs, oldest first."""

    run_ids: tuple[int, ...]
    runs: tuple[Verdicts, ...]
    is_task_changed: bool


def read_check(tx: Connection, run_id: int) -> DriftCheck | None:
    """A check that is ready to be decided; None when somebody has."""
    row = tx.row("drift_check", run_id=run_id)
    return DriftCheck(**row) if row else None


def last_runs(tx: Connection, check: DriftCheck) -> Past:
    """The four runs before it, fewer when there are not as many."""
    return _past(tx, check, _earlier(tx, check, since=_BEGINNING, limit=BASELINE_RUNS))


def runs_since(tx: Connection, check: DriftCheck, baseline: Baseline) -> Past:
    """The accepted run and every one started since it was accepted."""
    since = _earlier(tx, check, since=baseline.accepted_at, limit=_ALL)
    accepted: Row = {"id": baseline.run_id, "task_sha": baseline.task_sha}
    return _past(tx, check, [*(row for row in since if row["id"] != baseline.run_id), accepted])


def chosen_runs(tx: Connection, run_ids: Sequence[int]) -> list[Verdicts]:
    """The verdicts of runs chosen before."""
    found = case_passes(tx, run_ids, samples=1)
    return [{case: _passed(n) for case, n in found[run_id].items()} for run_id in run_ids]


def case_passes(
    tx: Connection, run_ids: Sequence[int], *, samples: int
) -> defaultdict[int, dict[str, int | None]]:
    """Passes per run and case over its first samples; None unless all of these were graded."""
    found: defaultdict[int, dict[str, int | None]] = defaultdict(dict)
    for row in tx.rows("case_passes", run_ids=list(run_ids), samples=samples):
        found[row["run_id"]][row["case_id"]] = row["passes"] if row["graded"] == samples else None
    return found


def accepted(tx: Connection, check: DriftCheck) -> Baseline | None:
    """The run accepted last for the check's judge and set."""
    row = tx.row("accepted_baseline", **check.series)
    return Baseline(**row) if row else None


def evidence_since(tx: Connection, baseline_id: int) -> DriftEvidence:
    """What the detector has gathered since a baseline was accepted."""
    row = tx.row("detector_state", baseline_id=baseline_id)
    if row is None:
        return DriftEvidence()
    kept = row["numbers"]
    return DriftEvidence(float(kept["level"]), int(kept["weeks"]), bool(kept["alerted"]))


def _earlier(tx: Connection, check: DriftCheck, *, since: datetime, limit: int) -> list[Row]:
    """Newest first."""
    return tx.rows(
        "baseline_runs",
        **check.series,
        eval_set_sha=check.eval_set_sha,
        scorer_mode=check.scorer_mode,
        grader_model=check.grader_model,
        run_id=check.run_id,
        since=since,
        limit=limit,
    )


def _past(tx: Connection, check: DriftCheck, newest_first: Sequence[Row]) -> Past:
    run_ids = tuple(row["id"] for row in reversed(newest_first))
    is_changed = any(row["task_sha"] != check.task_sha for row in newest_first)
    return Past(run_ids, tuple(chosen_runs(tx, run_ids)), is_changed)


def _passed(passes: int | None) -> bool | None:
    return None if passes is None else passes > 0


@dataclass(frozen=True)
class Accepted:
    """A run that is a baseline from now on."""

    baseline_id: int
    run_id: int
    task: str
    eval_set: str
    judge: str
    n: int
    accuracy: Decimal | None


def accept(db: Database, run_id: int) -> Accepted:
    """Hold a judge against this run from now on; the evidence gathered so far is forgotten."""
    with db.transaction() as tx:
        run = tx.row("acceptable_run", run_id=run_id)
        if run is None:
            raise InputError(
                Problem(
                    f"there is no concluded run {run_id}", "`evalq drift status` and `evalq runs` list them"
                )
            )
        if run["excluded"]:
            raise InputError(
                Problem(f"run {run_id} says nothing of {run['judge']}: {run['excluded']}", "accept another")
            )
        row = tx.row("add_baseline", run_id=run_id)
    assert row is not None
    graded = run["n_pass"] + run["n_fail"]
    names = (run["task_name"], run["eval_set_name"], run["judge"])
    return Accepted(row["id"], run_id, *names, n=graded, accuracy=run["accuracy"])


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
