"""Publishes ready jobs from Postgres to the queue, one window per gate at a time."""

from evalq.engines.broker import Broker
from evalq.store import bakeoffs, jobs
from evalq.store.database import Database


def open_chords(db: Database, broker: Broker, bakeoff_id: int) -> None:
    """Set up the chord of every run of a bake-off."""
    uid = bakeoffs.get(db, bakeoff_id).uid
    for run in bakeoffs.runs(db, bakeoff_id):
        broker.open_chord(uid, run.id, run.n_jobs)


def pump(db: Database, broker: Broker, *gates: str) -> int:
    """Publish the next window of each gate; return the number of jobs published.

    Rows are marked before their messages are sent: a crash in between leaves queued rows without a message,
    which reap returns. Gates are interleaved, so judges that share a queue advance together.
    """
    batch: list[jobs.QueuedJob] = []
    for gate in gates:
        batch += jobs.queue_window(db, gate)
    if batch:
        broker.publish(sorted(batch, key=lambda job: job.place))
    return len(batch)


def pump_all(db: Database, broker: Broker) -> int:
    """Publish the next window of every gate that has ready jobs."""
    return pump(db, broker, *jobs.gates_with_ready_jobs(db))
