"""Writes a run's row when its last job has ended or it stops; concludes the bake-off with its last run.

The statistics are imported where they are computed: a command that shows a stored result starts without them.
"""

import contextlib
import dataclasses
import json
from collections.abc import Collection, Sequence

from evalq.bakeoff import holdout
from evalq.bakeoff.reviewed import catch_up
from evalq.calling.failpoints import failpoint
from evalq.records import BakeOffRow, RunRow
from evalq.results import BakeOffResult, CiMethod
from evalq.store import bakeoffs, case_rollups, jobs, outcomes
from evalq.store.database import Connection, Database, transactional
from evalq.store.outcomes import evidence
from evalq.summary.decision import decide


def conclude(db: Database, run_id: int) -> bool:
    """Write a run's row once all its jobs have ended; return whether this call wrote it.

    Idempotent and safe to call at any time: the rows in Postgres decide, not the messages that arrived.
    """
    is_concluded = _conclude(db, run_id)
    if is_concluded:
        failpoint("conclude_after_commit")
    return is_concluded


@transactional
def _conclude(tx: Connection, run_id: int) -> bool:
    place = bakeoffs.place_of_run(tx, run_id)
    if place is None:
        return False
    bakeoff_id, _ = place
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    if jobs.has_open_jobs(tx, run_id) or not bakeoffs.conclude_run(tx, run_id):
        return False
    changed = catch_up(tx, bakeoff_id)
    conclude_again(tx, bakeoff_id, {*changed, run_id})
    if _is_last(tx, bakeoff_id):
        _write_bakeoff(tx, bakeoff_id)
    failpoint("conclude_before_commit")
    return True


@transactional
def conclude_paused(tx: Connection, bakeoff_id: int) -> None:
    """Conclude a bake-off whose last judges were paused, once no call of it is in flight."""
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    if bakeoffs.get(tx, bakeoff_id).state == "running" and _is_last(tx, bakeoff_id):
        _write_bakeoff(tx, bakeoff_id)


def record_stopped(db: Database, bakeoff_id: int | None = None) -> None:
    """Write the rows of runs that were stopped and have no job in hand, so that what was paid is on record.

    Of all bake-offs, or of one. A run that goes on writes its row again at its end.
    """
    for stopped_id in bakeoffs.unrecorded_runs(db, bakeoff_id):
        _record_stopped(db, stopped_id)


@transactional
def _record_stopped(tx: Connection, bakeoff_id: int) -> None:
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    _write_runs(tx, bakeoff_id, bakeoffs.unrecorded_runs(tx, bakeoff_id).get(bakeoff_id, ()))


def conclude_again(tx: Connection, bakeoff_id: int, run_ids: Collection[int]) -> None:
    """Recompute the stored results of these runs and their bake-off after outcomes changed.

    The caller holds the lock of conclusions. A run that is on its way is left to its end.
    """
    _write_runs(tx, bakeoff_id, run_ids)
    if run_ids and bakeoffs.get(tx, bakeoff_id).state == "concluded":
        _write_bakeoff(tx, bakeoff_id)


def result_of(db: Database, bakeoff_id: int, *, ci: CiMethod = "wilson") -> BakeOffResult:
    """The stored result of a concluded bake-off, or its result as of now.

    Another `ci` than the stored one is computed from the outcomes, and so is a result that another version
    stored in another form.
    """
    bakeoff = bakeoffs.get(db, bakeoff_id)
    if bakeoff.state == "concluded" and bakeoff.result and ci == "wilson":
        with contextlib.suppress(ValueError):
            stored = BakeOffResult.from_dict(json.loads(bakeoff.result))
            # A call that was written off may be settled late, at its true price.
            return with_decision(dataclasses.replace(stored, spent_usd=bakeoff.spent_usd))
    from evalq.summary.summarise import summarise

    result = summarise(bakeoff, bakeoffs.runs(db, bakeoff_id), evidence(db, bakeoff_id), ci=ci)
    return with_decision(holdout.annotate(db, bakeoff, result))


def with_decision(result: BakeOffResult) -> BakeOffResult:
    """The result with what it decides, in the words of this version."""
    return dataclasses.replace(result, decision=decide(result))


def ranked_runs(result: BakeOffResult) -> list[int]:
    """The runs that are in the ranking: a broken judge does not make every case a disagreement."""
    return [run.run_id for run in result.runs if run.excluded is None]


@transactional
def write_rollups(tx: Connection, bakeoff_id: int, ranked: Sequence[int]) -> None:
    """Write the rows that pages list of a bake-off which an older version concluded without them."""
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    if not case_rollups.has_rows(tx, bakeoff_id):
        case_rollups.write(tx, bakeoff_id, ranked)


def _is_last(tx: Connection, bakeoff_id: int) -> bool:
    """Whether no judge is running and no job of a paused judge is leased: those still change the result."""
    return not bakeoffs.has_running_runs(tx, bakeoff_id) and jobs.count_leased(tx, bakeoff_id) == 0


def _write_runs(tx: Connection, bakeoff_id: int, run_ids: Collection[int]) -> None:
    """Write the rows of these runs, except of those that are on their way."""
    bakeoff = bakeoffs.get(tx, bakeoff_id)
    for run in bakeoffs.runs(tx, bakeoff_id):
        state = _end_state(bakeoff, run)
        if run.id in run_ids and state is not None:
            _write_run(tx, bakeoff, run, state)


def _end_state(bakeoff: BakeOffRow, run: RunRow) -> str | None:
    """How a run ended or was stopped; None while it is on its way."""
    if run.state == "concluded":
        return run.state
    if bakeoff.state not in ("running", "concluded"):
        return bakeoff.state
    return run.state if run.state == "paused" else None


def _write_run(tx: Connection, bakeoff: BakeOffRow, run: RunRow, state: str) -> None:
    from evalq.summary.summarise import summarise_run

    facts = evidence(tx, bakeoff.id, run_id=run.id)
    result = summarise_run(bakeoff, run, facts.outcomes, facts)
    if state != "concluded":
        result = dataclasses.replace(result, n_cases=len({row.case_id for row in facts.outcomes}))
    outcomes.write_eval_run(tx, result, state=state)


def _write_bakeoff(tx: Connection, bakeoff_id: int) -> None:
    from evalq.summary.summarise import summarise

    bakeoff = dataclasses.replace(bakeoffs.get(tx, bakeoff_id), state="concluded")
    result = summarise(bakeoff, bakeoffs.runs(tx, bakeoff_id), evidence(tx, bakeoff_id))
    ids = {run.judge: run.run_id for run in result.runs}
    # A second conclusion may rank the judges, and so pair them, in another order.
    outcomes.drop_kappas(tx, list(ids.values()))
    outcomes.keep_kappas(tx, result.kappa, ids)
    case_rollups.write(tx, bakeoff_id, ranked_runs(result))
    closed = with_decision(holdout.close_bakeoff(tx, bakeoff, result))
    bakeoffs.conclude(tx, bakeoff_id, closed.to_dict())
