"""Bake-offs that go on: stopped ones are reopened, and what ended as errored is run again."""

from collections.abc import Sequence
from decimal import Decimal

from evalq.evidence import RunRow
from evalq.queues import SANDBOX_QUEUE
from evalq.store import bakeoffs
from evalq.store.database import Connection, Database

_ON_ITS_WAY_S = 5.0
"""A message sent so shortly ago is not published again: somebody else has the bake-off go on just now."""

_STOPPED = ["paused", "capped", "cancelled", "concluded"]


def reopen(db: Database, bakeoff_id: int, *, cap_usd: Decimal | None) -> bool:
    """Let a stopped bake-off and its stopped judges go on; False when every job has ended."""
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        runs = bakeoffs.runs(tx, bakeoff_id)
        if all(run.state == "concluded" for run in runs):
            return False
        paused = [run.id for run in runs if run.state == "paused"]
        _go_on(tx, bakeoff_id, runs=runs, reopened=paused, cap_usd=cap_usd)
    return True


def retry_errors(db: Database, bakeoff_id: int, *, run_ids: Sequence[int], cap_usd: Decimal | None) -> int:
    """Make the errored jobs of some runs ready again, and the bake-off running; return how many they are.

    Under the lock of conclusions: an aggregate is there when all its jobs have ended, and only then.
    """
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        runs = bakeoffs.runs(tx, bakeoff_id)
        errored = [row["run_id"] for row in tx.rows("supersede_errors", run_ids=list(run_ids))]
        if errored:
            again = sorted(set(errored))
            tx.run("drop_eval_runs", run_ids=again)
            _go_on(tx, bakeoff_id, runs=runs, reopened=again, cap_usd=cap_usd)
    return len(errored)


def _go_on(
    tx: Connection,
    bakeoff_id: int,
    *,
    runs: Sequence[RunRow],
    reopened: Sequence[int],
    cap_usd: Decimal | None,
) -> None:
    """Reopen the bake-off and some runs, and make ready what nobody holds and whose message may be gone."""
    row = tx.row("bakeoff", bakeoff_id=bakeoff_id)
    is_stopped = row is not None and row["state"] != "running"
    stopped = [run.id for run in runs if is_stopped or run.state == "paused"]
    # Nobody marks jobs of these gates as queued meanwhile: two who lock many rows may wait for each other.
    for gate in sorted({run.gate for run in runs} | {SANDBOX_QUEUE}):
        tx.row("lock_gate", gate=gate)
    tx.run("reopen_queued", bakeoff_id=bakeoff_id, stopped=stopped, older_s=_ON_ITS_WAY_S)
    tx.run("reopen_runs", run_ids=list(reopened))
    # The bake-off's row last: calls that are being settled need it.
    if cap_usd is not None:
        bakeoffs.set_cap(tx, bakeoff_id, cap_usd)
    tx.run("set_bakeoff_state", bakeoff_id=bakeoff_id, state="running", from_states=_STOPPED)
