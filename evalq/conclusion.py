"""Concluding: when a run's last job has ended its row is written, with the last run the bake-off's result."""

import dataclasses
import json
from collections.abc import Collection

from evalq import holdout, reviewed
from evalq.evidence import BakeOffRow
from evalq.failpoints import failpoint
from evalq.results import BakeOffResult, CiMethod, RunResult
from evalq.store import bakeoffs, kappas
from evalq.store.database import Connection, Database
from evalq.store.verdicts import evidence
from evalq.summary.numbers import summarise, summarise_run


def conclude(db: Database, run_id: int) -> bool:
    """Write a run's row if all its jobs have ended and nobody has; True when this call did.

    Idempotent and safe to call at any time: Postgres rows decide, not the number of messages seen.
    """
    with db.transaction() as tx:
        run = tx.row("run", run_id=run_id)
        if run is None:
            return False
        tx.row("lock_bakeoff", bakeoff_id=run["bakeoff_id"])
        if _has_open_jobs(tx, run_id) or not tx.row("conclude_run", run_id=run_id):
            return False
        changed = reviewed.catch_up(tx, run["bakeoff_id"])
        conclude_again(tx, run["bakeoff_id"], {*changed, run_id})
        if _is_last(tx, run["bakeoff_id"]):
            _write_bakeoff(tx, run["bakeoff_id"])
        failpoint("conclude_before_commit")
    failpoint("conclude_after_commit")
    return True


def conclude_paused(db: Database, bakeoff_id: int) -> None:
    """Conclude a bake-off whose last judges were paused, once the calls in flight are home."""
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        if _bakeoff(tx, bakeoff_id).state == "running" and _is_last(tx, bakeoff_id):
            _write_bakeoff(tx, bakeoff_id)


def conclude_again(tx: Connection, bakeoff_id: int, run_ids: Collection[int]) -> None:
    """Write anew what is concluded of some runs and of their bake-off, now that outcomes have changed.

    The caller holds the lock of conclusions. What is not concluded yet will be, from the same outcomes.
    """
    for run in bakeoffs.runs(tx, bakeoff_id):
        if run.id in run_ids and run.state == "concluded":
            _write_run(tx, bakeoff_id, run.id)
    if run_ids and _bakeoff(tx, bakeoff_id).state == "concluded":
        _write_bakeoff(tx, bakeoff_id)


def result_of(db: Database, bakeoff_id: int, *, ci: CiMethod = "wilson") -> BakeOffResult:
    """A bake-off's result as of now; of a concluded one it is what was written then, for the same `ci`."""
    bakeoff = bakeoffs.get(db, bakeoff_id)
    result = summarise(bakeoff, bakeoffs.runs(db, bakeoff_id), evidence(db, bakeoff_id), ci=ci)
    return holdout.annotate(db, bakeoff, result)


def _has_open_jobs(tx: Connection, run_id: int) -> bool:
    row = tx.row("open_jobs", run_id=run_id)
    return row is None or row["n"] > 0


def _is_last(tx: Connection, bakeoff_id: int) -> bool:
    """True when no judge is running and no job of a paused one is in hand: its end is part of the result."""
    counts = [tx.row(name, bakeoff_id=bakeoff_id) for name in ("running_runs", "leased_jobs")]
    return all(row is not None and row["n"] == 0 for row in counts)


def _write_run(tx: Connection, bakeoff_id: int, run_id: int) -> None:
    bakeoff, facts = _bakeoff(tx, bakeoff_id), evidence(tx, bakeoff_id, run_id=run_id)
    run = next(run for run in bakeoffs.runs(tx, bakeoff_id) if run.id == run_id)
    _add_eval_run(tx, summarise_run(bakeoff, run, facts.outcomes, facts))


def _add_eval_run(tx: Connection, result: RunResult) -> None:
    names = ("run_id", "n_cases", "n_pass", "n_fail", "n_error", "accuracy", "ci_low", "ci_high", "ci_method")
    more = ("p50_latency_ms", "p95_latency_ms", "total_cost_usd", "excluded", "n_pending")
    strata = {name: dataclasses.asdict(rate) for name, rate in result.per_stratum.items()}
    tx.run(
        "add_eval_run",
        **{name: getattr(result, name) for name in names + more},
        per_stratum=json.dumps(strata),
    )


def _write_bakeoff(tx: Connection, bakeoff_id: int) -> None:
    bakeoff = dataclasses.replace(_bakeoff(tx, bakeoff_id), state="concluded")
    result = summarise(bakeoff, bakeoffs.runs(tx, bakeoff_id), evidence(tx, bakeoff_id))
    ids = {run.judge: run.run_id for run in result.runs}
    tx.run("drop_kappas", run_ids=list(ids.values()))  # a second conclusion may rank, and so pair, otherwise
    kappas.keep(tx, result.kappa, ids)
    bakeoffs.conclude(tx, bakeoff_id, holdout.close_bakeoff(tx, bakeoff, result).to_dict())


def _bakeoff(tx: Connection, bakeoff_id: int) -> BakeOffRow:
    row = tx.row("bakeoff", bakeoff_id=bakeoff_id)
    assert row is not None
    return BakeOffRow(**row)
