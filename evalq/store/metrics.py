"""Figures for monitoring in Postgres: jobs by state, calls of the day, dollars under caps, what is stuck."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from evalq.records import Purpose
from evalq.store.database import Database


@dataclass(frozen=True)
class JobCount:
    """Jobs of one judge in a running bake-off that are in one state, or ended with one verdict."""

    bakeoff_id: int
    judge: str
    state: str
    n: int


@dataclass(frozen=True)
class CallCount:
    """Calls of today that ended: `outcome` is answered, lost, or the kind of the fault."""

    provider: str
    judge: str
    purpose: Purpose
    outcome: str
    n: int
    cost_usd: Decimal


@dataclass(frozen=True)
class LatencyCount:
    """Answered calls of today in one bucket of latency, counted from 0."""

    judge: str
    purpose: Purpose
    bucket: int
    n: int
    total_s: float


@dataclass(frozen=True)
class BakeoffSpending:
    """A running bake-off's dollars under its cap."""

    bakeoff_id: int
    task_name: str
    cap_usd: Decimal
    spent_usd: Decimal
    reserved_usd: Decimal


@dataclass(frozen=True)
class DailySpending:
    """Today's dollars under a daily cap: scope `day` or `provider:NAME`."""

    scope: str
    cap_usd: Decimal
    spent_usd: Decimal
    reserved_usd: Decimal
    day: date


@dataclass(frozen=True)
class StuckBakeoff:
    """A running bake-off in which nothing happens."""

    bakeoff_id: int
    task_name: str
    last_sign: datetime


@dataclass(frozen=True)
class WaitingBakeoff:
    """A running bake-off whose published jobs no worker claims."""

    bakeoff_id: int
    since: datetime


def count_jobs(db: Database) -> list[JobCount]:
    """The jobs of running bake-offs."""
    return [JobCount(**row) for row in db.rows("metric_jobs")]


def count_calls(db: Database) -> list[CallCount]:
    """The ended calls of today (UTC)."""
    return [CallCount(**row) for row in db.rows("metric_calls")]


def count_latencies(db: Database, bounds_ms: Sequence[int]) -> list[LatencyCount]:
    """The answered calls of today (UTC) by bucket: a latency equal to a bound is below it."""
    return [LatencyCount(**row) for row in db.rows("metric_latencies", bounds_ms=list(bounds_ms))]


def bakeoff_spending(db: Database) -> list[BakeoffSpending]:
    """The dollars of running bake-offs."""
    return [BakeoffSpending(**row) for row in db.rows("metric_bakeoff_spending")]


def daily_spending(db: Database) -> list[DailySpending]:
    """The dollars of today under the daily caps."""
    return [DailySpending(**row) for row in db.rows("metric_daily_spending")]


def stuck_bakeoffs(db: Database, *, older_s: float) -> list[StuckBakeoff]:
    """Running bake-offs in which nothing happened for `older_s`."""
    return [StuckBakeoff(**row) for row in db.rows("stuck_bakeoffs", older_s=older_s)]


def waiting_bakeoffs(db: Database, *, older_s: float) -> list[WaitingBakeoff]:
    """Running bake-offs with jobs that were published `older_s` ago or earlier, and not claimed since."""
    return [WaitingBakeoff(**row) for row in db.rows("waiting_bakeoffs", older_s=older_s)]
