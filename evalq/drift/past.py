"""What a check is held against, read from Postgres: earlier runs, the accepted one, the evidence so far."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from evalq.drift.rules import BASELINE_RUNS, Verdicts
from evalq.stats import DriftEvidence
from evalq.store.database import Connection, Row

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_ALL = 10_000


@dataclass(frozen=True)
class Check:
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


def read_check(tx: Connection, run_id: int) -> Check | None:
    """A check that is ready to be decided; None when somebody has."""
    row = tx.row("drift_check", run_id=run_id)
    return Check(**row) if row else None


def last_runs(tx: Connection, check: Check) -> Past:
    """The four runs before it, fewer when there are not as many."""
    return _past(tx, check, _earlier(tx, check, since=_BEGINNING, limit=BASELINE_RUNS))


def runs_since(tx: Connection, check: Check, baseline: Baseline) -> Past:
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


def accepted(tx: Connection, check: Check) -> Baseline | None:
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


def _earlier(tx: Connection, check: Check, *, since: datetime, limit: int) -> list[Row]:
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


def _past(tx: Connection, check: Check, newest_first: Sequence[Row]) -> Past:
    run_ids = tuple(row["id"] for row in reversed(newest_first))
    is_changed = any(row["task_sha"] != check.task_sha for row in newest_first)
    return Past(run_ids, tuple(chosen_runs(tx, run_ids)), is_changed)


def _passed(passes: int | None) -> bool | None:
    return None if passes is None else passes > 0
