"""The history a drift check compares with: earlier runs, the accepted baseline, the evidence so far."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from evalq.definitions.schedules import DriftSchedule
from evalq.drift.rules import BASELINE_RUNS, Verdicts
from evalq.errors import InputError, Problem
from evalq.stats import DriftEvidence
from evalq.store import drift_checks
from evalq.store.database import Connection, Database
from evalq.store.drift_checks import AcceptedRun, CheckRow, DriftCheck, EarlierRun

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_ALL = 10_000


@dataclass(frozen=True)
class EarlierRuns:
    """Earlier runs, oldest first."""

    run_ids: tuple[int, ...]
    runs: tuple[Verdicts, ...]
    is_task_changed: bool


def last_runs(tx: Connection, check: DriftCheck) -> EarlierRuns:
    """The four runs before the check's own, or as many as there are."""
    return _read_earlier(
        tx, check, drift_checks.earlier_runs(tx, check, since=_BEGINNING, limit=BASELINE_RUNS)
    )


def runs_since(tx: Connection, check: DriftCheck, baseline: AcceptedRun) -> EarlierRuns:
    """The accepted run and every run started since it was accepted."""
    since = drift_checks.earlier_runs(tx, check, since=baseline.accepted_at, limit=_ALL)
    later = [run for run in since if run.id != baseline.run_id]
    return _read_earlier(tx, check, [*later, EarlierRun(baseline.run_id, baseline.task_sha)])


def chosen_runs(tx: Connection, run_ids: Sequence[int]) -> list[Verdicts]:
    """Whether each case passed, for each of these runs."""
    found = case_passes(tx, run_ids, samples=1)
    runs: list[Verdicts] = []
    for run_id in run_ids:
        runs.append({case: None if n is None else n > 0 for case, n in found[run_id].items()})
    return runs


def case_passes(
    tx: Connection, run_ids: Sequence[int], *, samples: int
) -> defaultdict[int, dict[str, int | None]]:
    """Passes per run and case over the first `samples`; None unless all of them were graded."""
    found: defaultdict[int, dict[str, int | None]] = defaultdict(dict)
    for case in drift_checks.case_passes(tx, run_ids, samples=samples):
        found[case.run_id][case.case_id] = case.passes if case.graded == samples else None
    return found


def evidence_since(tx: Connection, baseline_id: int) -> DriftEvidence:
    """The detector's evidence since a baseline was accepted."""
    kept = drift_checks.detector_state(tx, baseline_id)
    if kept is None:
        return DriftEvidence()
    return DriftEvidence(float(kept.level), int(kept.weeks), bool(kept.alerted))


def _read_earlier(tx: Connection, check: DriftCheck, newest_first: Sequence[EarlierRun]) -> EarlierRuns:
    run_ids = tuple(run.id for run in reversed(newest_first))
    is_changed = any(run.task_sha != check.task_sha for run in newest_first)
    return EarlierRuns(run_ids, tuple(chosen_runs(tx, run_ids)), is_changed)


@dataclass(frozen=True)
class AcceptedBaseline:
    """A run that was accepted as baseline."""

    baseline_id: int
    run_id: int
    task: str
    eval_set: str
    judge: str
    n: int
    accuracy: Decimal | None


def accept(db: Database, run_id: int) -> AcceptedBaseline:
    """Compare a judge with this run from now on; the evidence gathered so far is dropped."""
    with db.transaction() as tx:
        run = drift_checks.concluded_run(tx, run_id)
        if run is None:
            raise InputError(
                Problem(
                    f"there is no concluded run {run_id}", "`evalq drift status` and `evalq runs` list them"
                )
            )
        if run.excluded:
            raise InputError(
                Problem(f"run {run_id} tells nothing about {run.judge}: {run.excluded}", "accept another")
            )
        baseline_id = drift_checks.accept_run(tx, run_id)
    names = (run.task_name, run.eval_set_name, run.judge)
    return AcceptedBaseline(baseline_id, run_id, *names, n=run.n_pass + run.n_fail, accuracy=run.accuracy)


SCHEMA = "evalq.drift/1"
_Series = tuple[str, str, str]


def read_status(
    db: Database, schedules: Sequence[DriftSchedule], *, task: str | None, now: datetime, limit: int = 5
) -> dict[str, Any]:
    """The `evalq.drift/1` document."""
    checks = drift_checks.recent_checks(db, task=task, limit=limit)
    baselines = {_series(run): run for run in drift_checks.accepted_runs(db, task=task)}
    found = dict.fromkeys([*(_series(row) for row in checks), *baselines])
    chosen = [schedule for schedule in schedules if task in (None, schedule.task)]
    return {
        "schema": SCHEMA,
        "judges": [_judge(db, one, checks, baselines.get(one)) for one in found],
        "schedules": [_schedule(schedule, now) for schedule in chosen],
    }


def _series(row: CheckRow | AcceptedRun) -> _Series:
    return row.task_name, row.eval_set_name, row.judge


def _judge(
    db: Database, series: _Series, checks: Sequence[CheckRow], baseline: AcceptedRun | None
) -> dict[str, Any]:
    task, eval_set, judge = series
    return {
        "task": task,
        "eval_set": eval_set,
        "judge": judge,
        "baseline": _baseline(baseline),
        "detector": _detector(db, baseline),
        "checks": [_check(row) for row in checks if _series(row) == series],
    }


def _baseline(run: AcceptedRun | None) -> dict[str, Any] | None:
    return {"run_id": run.run_id, "accepted_at": run.accepted_at.isoformat()} if run else None


def _detector(db: Database, baseline: AcceptedRun | None) -> dict[str, Any] | None:
    """The evidence since the baseline; none before its first check."""
    state = drift_checks.detector_state(db, baseline.id) if baseline else None
    return asdict(state) if state else None


def _check(check: CheckRow) -> dict[str, Any]:
    return {
        "run_id": check.run_id,
        "rule": check.rule,
        "verdict": check.verdict,
        "decided_at": check.decided_at and check.decided_at.isoformat(),
        "confirm_run_id": check.confirm_run_id,
        "numbers": check.numbers,
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
