"""What `evalq fsck` reads and writes in Postgres: rows that break a promise, and their repairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from evalq.store.database import Connection, Database


@dataclass(frozen=True)
class BrokenRow:
    """A row that should not exist: its bake-off (None: the fleet's), its id, and the values that name it."""

    bakeoff_id: int | None
    id: int
    values: Mapping[str, object]


@dataclass(frozen=True)
class JudgeVotes:
    """One judge's majority verdict on each case; None where no sample was graded."""

    judge: str
    vendor: str
    votes: Mapping[str, bool | None]


@dataclass(frozen=True)
class StoredKappa:
    """The agreement of two judges as stored."""

    a: str
    b: str
    kappa: Decimal
    n: int
    degenerate: bool


@dataclass(frozen=True)
class ForgottenRun:
    """What a removed row of eval_runs held and no outcome can restore."""

    id: int
    finished_at: datetime
    notes: str | None


Find = Callable[[Database, int | None], Sequence[BrokenRow]]
"""Finds the broken rows of one bake-off, or of all."""


def _finder(query: str) -> Find:
    def find(db: Database, bakeoff_id: int | None) -> list[BrokenRow]:
        rows = db.rows(query, bakeoff_id=bakeoff_id)
        return [BrokenRow(row["bakeoff_id"], row["id"], row) for row in rows]

    return find


find_stuck_leases = _finder("stuck_leases")
find_forgotten_leases = _finder("forgotten_leases")
find_stuck_messages = _finder("stuck_messages")
find_jobs_without_outcome = _finder("jobs_without_outcome")
find_open_jobs_with_outcome = _finder("open_jobs_with_outcome")
find_misplaced_outcomes = _finder("misplaced_outcomes")
find_repeated_outcomes = _finder("repeated_outcomes")
find_miscounted_runs = _finder("miscounted_runs")
find_invented_verdicts = _finder("invented_verdicts")
find_orphaned_calls = _finder("orphaned_calls")
find_lost_answers = _finder("lost_answers")
find_wrong_budgets = _finder("wrong_budgets")
find_wrong_spending = _finder("wrong_spending")
find_overspent_bakeoffs = _finder("overspent_bakeoffs")
find_overspent_days = _finder("overspent_days")
find_missing_eval_runs = _finder("missing_eval_runs")
find_early_eval_runs = _finder("early_eval_runs")
find_wrong_eval_runs = _finder("wrong_eval_runs")
find_unconcluded_runs = _finder("unconcluded_runs")
find_half_concluded_bakeoffs = _finder("half_concluded_bakeoffs")
find_bakeoffs_without_result = _finder("bakeoffs_without_result")
find_unclosed_bakeoffs = _finder("unclosed_bakeoffs")
find_stray_kappas = _finder("stray_kappas")


def count_bakeoffs(db: Database, bakeoff_id: int | None) -> int:
    """How many bake-offs there are; with an id 1 if that one exists."""
    row = db.row("count_bakeoffs", bakeoff_id=bakeoff_id)
    assert row is not None
    return int(row["n"])


def compared_bakeoffs(db: Database, bakeoff_id: int | None) -> list[int]:
    """The concluded bake-offs of more than one judge."""
    return [row["id"] for row in db.rows("compared_bakeoffs", bakeoff_id=bakeoff_id)]


def judge_votes(db: Database, bakeoff_id: int) -> list[JudgeVotes]:
    """The votes of a bake-off's ranked judges."""
    return [
        JudgeVotes(row["judge"], row["vendor"], dict(zip(row["cases"], row["votes"], strict=True)))
        for row in db.rows("votes", bakeoff_id=bakeoff_id)
    ]


def stored_kappas(db: Database, bakeoff_id: int) -> list[StoredKappa]:
    """The agreement of a bake-off's judges as stored."""
    return [StoredKappa(**row) for row in db.rows("kappas", bakeoff_id=bakeoff_id)]


def lock_idle_jobs(tx: Connection, job_ids: Sequence[int]) -> list[int]:
    """Those of the jobs that no worker holds; none can take them until the transaction ends.

    It waits for no lock: a job that is being changed is left out, and the next round looks again.
    """
    return [row["id"] for row in tx.rows("lock_idle_jobs", job_ids=list(job_ids))]


def put_back_stuck(tx: Connection, job_ids: Sequence[int]) -> None:
    """Make jobs ready whose lease or message has no age, so that it never expires."""
    tx.run("put_back_stuck", job_ids=list(job_ids))


def put_back_endless(tx: Connection, job_ids: Sequence[int]) -> list[int]:
    """Make done jobs without an outcome ready; return their runs."""
    rows = tx.rows("put_back_endless", job_ids=list(job_ids))
    return sorted({row["run_id"] for row in rows})


def supersede_invented(tx: Connection, job_ids: Sequence[int]) -> None:
    """Set verdicts aside that have no answer behind them."""
    tx.run("supersede_invented", job_ids=list(job_ids))


def end_open(tx: Connection, job_ids: Sequence[int]) -> None:
    """Mark jobs done that have an outcome."""
    tx.run("end_open", job_ids=list(job_ids))


def place_outcomes(tx: Connection, job_ids: Sequence[int]) -> None:
    """Give outcomes the run, case and sample of their jobs."""
    tx.run("park_outcomes", job_ids=list(job_ids))
    tx.run("place_outcomes", job_ids=list(job_ids))


def ask_again(tx: Connection, job_ids: Sequence[int]) -> None:
    """Let jobs whose paid answer is lost be asked again, from the first try."""
    tx.run("ask_again", job_ids=list(job_ids))


def recompute_budget(tx: Connection, bakeoff_id: int) -> None:
    """Sum a bake-off's dollars up from the journal, while no call can change them."""
    tx.row("lock_budget", bakeoff_id=bakeoff_id)
    tx.run("recompute_budget", bakeoff_id=bakeoff_id)


def recompute_spending(tx: Connection) -> None:
    """Sum the dollars under daily caps up from the journal, while no call can change them."""
    tx.run("open_spending")
    tx.rows("lock_spending")
    tx.run("recompute_spending")


def drop_stray_kappas(db: Database, bakeoff_id: int) -> None:
    """Remove the agreement of runs that never answered the same cases of the same task."""
    db.run("drop_stray_kappas", bakeoff_id=bakeoff_id)


def forget_eval_runs(tx: Connection, run_ids: Sequence[int]) -> list[ForgottenRun]:
    """Remove the rows of some runs; return what cannot be computed again."""
    return [ForgottenRun(**row) for row in tx.rows("forget_eval_runs", run_ids=list(run_ids))]


def restore_eval_run(db: Database, run: ForgottenRun) -> None:
    """Give a row that was written again its notes, and its date unless a job has ended later."""
    db.run("restore_eval_run", **vars(run))


def reopen_concluded_runs(tx: Connection, run_ids: Sequence[int]) -> None:
    """Let concluded runs go on."""
    tx.run("reopen_concluded", run_ids=list(run_ids))


def pause_concluded(tx: Connection, bakeoff_id: int, reason: str) -> None:
    """Pause a concluded bake-off that has jobs to run: the user decides whether to pay for them."""
    tx.run("reopen_bakeoff", bakeoff_id=bakeoff_id, reason=reason)


def rerun_bakeoff(tx: Connection, bakeoff_id: int) -> bool:
    """Let a bake-off be concluded again; False when it has something left to run."""
    return tx.row("rerun_bakeoff", bakeoff_id=bakeoff_id) is not None
