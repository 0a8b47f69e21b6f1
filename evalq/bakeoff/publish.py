"""Publishing: ready jobs leave Postgres for the queue, a window per gate at a time."""

from evalq.engines.broker import Broker
from evalq.store import bakeoffs, jobs
from evalq.store.database import Database


def open_chords(db: Database, broker: Broker, bakeoff_id: int) -> None:
    """Set up the chord of every run of a bake-off."""
    uid = bakeoffs.get(db, bakeoff_id).uid
    for run in bakeoffs.runs(db, bakeoff_id):
        broker.open_chord(uid, run.id, run.n_jobs)


def pump(db: Database, broker: Broker, *gates: str) -> int:
    """Publish the next window of each gate; return how many jobs went out.

    The rows are marked before their messages are sent: whoever dies in between leaves queued rows without
    a message, which reap notices. Gates are interleaved, so that judges sharing a queue advance together.
    """
    batch = [job for gate in gates for job in _take(db, gate)]
    if batch:
        broker.publish(sorted(batch, key=lambda job: job.place))
    return len(batch)


def pump_all(db: Database, broker: Broker) -> int:
    """Publish the next window of every gate that has ready jobs."""
    return pump(db, broker, *jobs.gates_with_ready_jobs(db))


def _take(db: Database, gate: str) -> list[jobs.QueuedJob]:
    with db.transaction() as tx:
        return jobs.queue_window(tx, gate)
