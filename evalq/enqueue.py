"""Publishing: ready jobs leave Postgres for the queue, a window per gate at a time."""

from evalq.broker import Broker
from evalq.store import bakeoffs, jobs
from evalq.store.database import Database

WINDOW = 4096
"""Messages out at once for a gate without limits."""


def open_chords(db: Database, broker: Broker, bakeoff_id: int) -> None:
    """Set up the chord of every run of a bake-off."""
    uid = bakeoffs.get(db, bakeoff_id).uid
    for run in bakeoffs.runs(db, bakeoff_id):
        broker.open_chord(uid, run.id, run.n_jobs)


def pump(db: Database, broker: Broker, gate: str) -> int:
    """Publish the next window of a gate; return how many jobs went out.

    The rows are marked first and the lock is held until the messages are out: whoever dies in between
    leaves queued rows whose messages are missing, which reap notices.
    """
    with db.transaction() as tx:
        batch = jobs.queue_window(tx, gate, window=WINDOW)
    if batch:
        broker.publish(batch)
    return len(batch)


def pump_all(db: Database, broker: Broker) -> int:
    """Publish the next window of every gate that has ready jobs."""
    return sum(pump(db, broker, gate) for gate in jobs.gates_with_ready_jobs(db))
