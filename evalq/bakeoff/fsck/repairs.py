"""The repairs: each looks again under a lock, then writes, and does no harm when it runs twice."""

from collections.abc import Sequence

from evalq.bakeoff import reviewed
from evalq.bakeoff.conclude import conclude, conclude_again, conclude_paused
from evalq.store import bakeoffs, calls, fsck, jobs, outcomes
from evalq.store.database import Connection, Database, transactional

_REOPENED = "fsck found jobs that have not ended"


@transactional
def put_back_stuck(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Make jobs ready whose lease or message never expires; calls they had in flight count as spent."""
    del bakeoff_id
    idle = fsck.lock_idle_jobs(tx, job_ids)
    fsck.put_back_stuck(tx, idle)
    calls.close_in_flight(tx, idle)


def return_expired(db: Database, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Return every lease that ran out, as reap does."""
    del bakeoff_id, job_ids
    jobs.return_expired(db)


@transactional
def end_open(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Mark jobs done that have an outcome."""
    del bakeoff_id
    idle = fsck.lock_idle_jobs(tx, job_ids)
    fsck.end_open(tx, idle)
    calls.close_in_flight(tx, idle)


@transactional
def place_outcomes(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Give outcomes the keys of their jobs."""
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    fsck.place_outcomes(tx, job_ids)


@transactional
def take_back_verdicts(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Set verdicts without an answer aside, and let their jobs run again."""
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    idle = fsck.lock_idle_jobs(tx, job_ids)
    fsck.supersede_invented(tx, idle)
    _reopen_jobs(tx, bakeoff_id, idle)


@transactional
def put_back_endless(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Let done jobs without an outcome run again."""
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    _reopen_jobs(tx, bakeoff_id, fsck.lock_idle_jobs(tx, job_ids))


@transactional
def close_orphaned(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Count calls in flight of jobs that no worker holds as spent; none claims these jobs until then."""
    del bakeoff_id
    calls.close_in_flight(tx, fsck.lock_idle_jobs(tx, job_ids))


@transactional
def ask_again(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    """Let jobs whose paid answer is lost be asked again, from the first try."""
    del bakeoff_id
    fsck.ask_again(tx, fsck.lock_idle_jobs(tx, job_ids))


@transactional
def recompute_budget(tx: Connection, bakeoff_id: int, keys: Sequence[int]) -> None:
    """Sum a bake-off's dollars up again while no call can change them."""
    del keys
    fsck.recompute_budget(tx, bakeoff_id)


@transactional
def recompute_spending(tx: Connection, bakeoff_id: int, keys: Sequence[int]) -> None:
    """Sum the dollars under daily caps up again while no call can change them."""
    del bakeoff_id, keys
    fsck.recompute_spending(tx)


@transactional
def regrade_reviews(tx: Connection, bakeoff_id: int, item_ids: Sequence[int]) -> None:
    """Bring grades, outcomes and rows in line with people's ratings."""
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    conclude_again(tx, bakeoff_id, reviewed.regrade(tx, item_ids))


def redo_runs(db: Database, bakeoff_id: int, run_ids: Sequence[int]) -> None:
    """Remove the rows of runs; conclude those again whose jobs have all ended, dated as before."""

    def reopen(tx: Connection) -> list[fsck.ForgottenRun]:
        bakeoffs.lock_conclusions(tx, bakeoff_id)
        return _reopen_runs(tx, bakeoff_id, run_ids)

    forgotten = db.in_transaction(reopen)
    for run_id in run_ids:
        conclude(db, run_id)
    for run in forgotten:
        fsck.restore_eval_run(db, run)


@transactional
def reopen_bakeoff(tx: Connection, bakeoff_id: int, keys: Sequence[int]) -> None:
    """Pause a concluded bake-off that has jobs to run."""
    del keys
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    fsck.pause_concluded(tx, bakeoff_id, _REOPENED)


def redo_bakeoff(db: Database, bakeoff_id: int, keys: Sequence[int]) -> None:
    """Conclude a bake-off with nothing left to run again: its agreement and its result."""
    del keys

    def reopen(tx: Connection) -> None:
        bakeoffs.lock_conclusions(tx, bakeoff_id)
        if fsck.rerun_bakeoff(tx, bakeoff_id):
            outcomes.drop_kappas(tx, [run.id for run in bakeoffs.runs(tx, bakeoff_id)])

    db.in_transaction(reopen)
    conclude_paused(db, bakeoff_id)


def drop_stray_kappas(db: Database, bakeoff_id: int, keys: Sequence[int]) -> None:
    """Remove the agreement of runs on different cases."""
    del keys
    fsck.drop_stray_kappas(db, bakeoff_id)


def _reopen_jobs(tx: Connection, bakeoff_id: int, job_ids: Sequence[int]) -> None:
    _reopen_runs(tx, bakeoff_id, fsck.put_back_endless(tx, job_ids))


def _reopen_runs(tx: Connection, bakeoff_id: int, run_ids: Sequence[int]) -> list[fsck.ForgottenRun]:
    """Remove rows and agreement of runs, since neither may exist while a job is open; pause the bake-off."""
    outcomes.drop_kappas(tx, run_ids)
    forgotten = fsck.forget_eval_runs(tx, run_ids)
    fsck.reopen_concluded_runs(tx, run_ids)
    fsck.pause_concluded(tx, bakeoff_id, _REOPENED)
    return forgotten
