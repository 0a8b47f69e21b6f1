"""Bake-offs as pages list them: filtered and paged, as series over time, and what their jobs wait for."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from evalq.results import BakeOffState
from evalq.store.database import Database

_LAST_ID = 2**62


@dataclass(frozen=True)
class BakeOffFilter:
    """Which bake-offs a page lists; None lets all through."""

    task: str | None = None
    eval_set: str | None = None
    run_type: str | None = None
    state: str | None = None
    search: str | None = None
    before: int | None = None


@dataclass(frozen=True)
class BakeOffLine:
    """A bake-off with its leader, once it is concluded; `n_done` is None then: all jobs have ended."""

    id: int
    task_name: str
    eval_set_name: str
    name: str | None
    run_type: str
    state: BakeOffState
    spent_usd: Decimal
    cap_usd: Decimal
    created_at: datetime
    n_jobs: int
    n_done: int | None
    is_partial: bool
    leader: str | None
    leader_excluded: str | None
    accuracy: float | None
    ci_low: float | None
    ci_high: float | None
    n: int | None


@dataclass(frozen=True)
class SeriesRun:
    """One run of a drift timeline."""

    run_id: int
    bakeoff_id: int
    judge: str
    eval_set_name: str
    run_type: str
    accuracy: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    excluded: str | None
    started_at: datetime
    task_sha: str
    verdict: str | None
    rule: str | None
    numbers: Mapping[str, Any] | None
    model: str | None


@dataclass(frozen=True)
class DriftTask:
    """A task with drift checks or final decisions."""

    task: str
    n: int
    latest: datetime


@dataclass(frozen=True)
class GateJobs:
    """The open jobs of running bake-offs at one gate."""

    gate: str
    ready: int
    queued: int
    leased: int


def page(db: Database, wanted: BakeOffFilter, *, limit: int) -> list[BakeOffLine]:
    """The newest bake-offs that a filter lets through, below its `before`."""
    rows = db.rows(
        "bakeoff_page",
        before=_LAST_ID if wanted.before is None else wanted.before,
        task=wanted.task,
        eval_set=wanted.eval_set,
        run_type=wanted.run_type,
        state=wanted.state,
        search=wanted.search,
        limit=limit,
    )
    return [BakeOffLine(**row) for row in rows]


def facets(db: Database) -> Mapping[str, list[str]]:
    """The names of tasks, sets and run types to filter by."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in db.rows("bakeoff_facets"):
        found[row["facet"]].append(row["name"])
    return found


def drift_series(db: Database, task: str, *, since: datetime) -> list[SeriesRun]:
    """The runs of a task's drift checks and final decisions, oldest first."""
    return [SeriesRun(**row) for row in reversed(db.rows("drift_timeline", task=task, since=since))]


def drift_tasks(db: Database) -> list[DriftTask]:
    """The tasks that have a timeline."""
    return [DriftTask(**row) for row in db.rows("drift_tasks")]


def gate_jobs(db: Database) -> list[GateJobs]:
    """The open jobs of running bake-offs, by gate."""
    return [GateJobs(**row) for row in db.rows("queue_states")]
