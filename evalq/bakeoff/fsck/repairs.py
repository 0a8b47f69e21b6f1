"""The repairs: each looks again under a lock, then writes, and twice does no harm."""

from collections.abc import Sequence

from evalq.bakeoff import conclude as reviewed
from evalq.bakeoff.conclude import conclude, conclude_again, conclude_paused
from evalq.store import bakeoffs, jobs
from evalq.store.database import Connection, Database, Row

_REOPENED = "fsck found jobs that have not ended"


def put_back_stuck(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Jobs that nobody can wait for become ready; calls they had in flight count as spent."""
    del bakeoff_id
    with db.transaction() as tx:
        idle = _idle(tx, job_ids)
        tx.run("put_back_stuck", job_ids=idle)
        tx.run("close_lost_calls", job_ids=idle)


def return_expired(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """What reap does: every lease that ran out is returned."""
    del bakeoff_id, job_ids
    jobs.return_expired(db)


def end_open(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Jobs that have an outcome are done."""
    del bakeoff_id
    with db.transaction() as tx:
        idle = _idle(tx, job_ids)
        tx.run("end_open", job_ids=idle)
        tx.run("close_lost_calls", job_ids=idle)


def place_outcomes(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Outcomes get the keys of their jobs."""
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        tx.run("park_outcomes", job_ids=list(job_ids))
        tx.run("place_outcomes", job_ids=list(job_ids))


def take_back_verdicts(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Verdicts without an answer are set aside, and their jobs are to be run again."""
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        idle = _idle(tx, job_ids)
        tx.run("supersede_invented", job_ids=idle)
        _reopen_jobs(tx, bakeoff_id, idle)


def put_back_endless(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Done jobs without an outcome are to be run again."""
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        _reopen_jobs(tx, bakeoff_id, _idle(tx, job_ids))


def close_orphaned(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Calls in flight of jobs that nobody holds count as spent; nobody claims these jobs meanwhile."""
    del bakeoff_id
    with db.transaction() as tx:
        tx.run("close_lost_calls", job_ids=_idle(tx, job_ids))


def ask_anew(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Jobs whose paid answer is lost are asked from the first try."""
    del bakeoff_id
    with db.transaction() as tx:
        tx.run("ask_anew", job_ids=_idle(tx, job_ids))


def recompute_budget(db: Database, bakeoff_id: int, keys: Sequence[int]) -> None:
    """A bake-off's dollars are summed up again while no call can change them."""
    del keys
    with db.transaction() as tx:
        tx.row("lock_budget", bakeoff_id=bakeoff_id)
        tx.run("recompute_budget", bakeoff_id=bakeoff_id)


def recompute_spending(db: Database, bakeoff_id: int, keys: Sequence[int]) -> None:
    """The dollars under daily caps are summed up again while no call can change them."""
    del bakeoff_id, keys
    with db.transaction() as tx:
        tx.run("open_spending")
        tx.rows("lock_spending")
        tx.run("recompute_spending")


def regrade_reviews(db: Database, bakeoff_id: int, item_ids: Sequence[int]) -> None:
    """Grades, outcomes and rows follow from what people said."""
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        conclude_again(tx, bakeoff_id, reviewed.regrade(tx, item_ids))


def redo_runs(db: Database, bakeoff_id: int, run_ids: Sequence[int]) -> None:
    """Runs lose their rows; those whose jobs have all ended are concluded again, dated as before."""
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        dropped = _reopen_runs(tx, bakeoff_id, run_ids)
    for run_id in run_ids:
        conclude(db, run_id)
    for row in dropped:
        db.run("restore_eval_run", **row)


def reopen_bakeoff(db: Database, bakeoff_id: int, keys: Sequence[int]) -> None:
    """A concluded bake-off that has jobs to run is paused."""
    del keys
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        tx.run("reopen_bakeoff", bakeoff_id=bakeoff_id, reason=_REOPENED)


def redo_bakeoff(db: Database, bakeoff_id: int, keys: Sequence[int]) -> None:
    """A bake-off with nothing left to run is concluded again: its agreement and its result."""
    del keys
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        if tx.row("rerun_bakeoff", bakeoff_id=bakeoff_id):
            tx.run("drop_kappas", run_ids=[run.id for run in bakeoffs.runs(tx, bakeoff_id)])
    conclude_paused(db, bakeoff_id)


def drop_stray_kappas(db: Database, bakeoff_id: int, keys: Sequence[int]) -> None:
    """Agreement of runs on other cases is no agreement."""
    del keys
    db.run("drop_stray_kappas", bakeoff_id=bakeoff_id)


def _idle(tx: Connection, job_ids: Sequence[int]) -> list[int]:
    """Those of the jobs that no worker has in hand, and none can take until the transaction ends.

    Nothing is waited for: whoever changes a job just now keeps it, and the next round looks again.
    """
    return [row["id"] for row in tx.rows("lock_idle_jobs", job_ids=list(job_ids))]


def _reopen_jobs(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    reopened = tx.rows("put_back_endless", job_ids=list(job_ids))
    _reopen_runs(tx, bakeoff_id, sorted({row["run_id"] for row in reopened}))


def _reopen_runs(tx: Connection, bakeoff_id: int, run_ids: Sequence[int]) -> list[Row]:
    """No aggregate stands while a job is open: rows and agreement go, a concluded bake-off is paused."""
    tx.run("drop_kappas", run_ids=list(run_ids))
    dropped = tx.rows("forget_eval_runs", run_ids=list(run_ids))
    tx.run("reopen_concluded", run_ids=list(run_ids))
    tx.run("reopen_bakeoff", bakeoff_id=bakeoff_id, reason=_REOPENED)
    return dropped
