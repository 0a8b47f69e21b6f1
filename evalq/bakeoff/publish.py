"""Publishes ready jobs from Postgres to the queue, one window per gate at a time."""

from evalq.engines.broker import Broker
from evalq.store import bakeoffs, jobs
from evalq.store.database import Database

_SHORTEST_WINDOW = 256
_ROUNDS_AHEAD = 4
_FIRST_JOBS = 64


def open_chords(db: Database, broker: Broker, bakeoff_id: int) -> None:
    """Set up the chord of every run of a bake-off."""
    uid = bakeoffs.get(db, bakeoff_id).uid
    for run in bakeoffs.runs(db, bakeoff_id):
        broker.open_chord(uid, run.id, run.n_jobs)


def pump(db: Database, broker: Broker, *gates: str, most: int | None = None) -> int:
    """Publish the next window of each gate, or `most` jobs of it; return the number of jobs published.

    Rows are marked before their messages are sent: a crash in between leaves queued rows without a message,
    which reap returns. Gates are interleaved, so judges that share a queue advance together.
    """
    batch: list[jobs.QueuedJob] = []
    for gate in gates:
        batch += jobs.queue_window(db, gate, most=most or _most_jobs(broker, gate))
    if batch:
        broker.publish(sorted(batch, key=lambda job: job.place))
    return len(batch)


def _most_jobs(broker: Broker, gate: str) -> int | None:
    """The most jobs to have on their way to a gate that has learned how many calls at once it takes."""
    room = broker.learned_room(gate)
    return None if room is None else max(_SHORTEST_WINDOW, _ROUNDS_AHEAD * room)


def pump_first(db: Database, broker: Broker) -> None:
    """Publish a new bake-off's first jobs: a few of each gate, so that the fleet begins, then the rest."""
    gates = jobs.gates_with_ready_jobs(db)
    pump(db, broker, *gates, most=_FIRST_JOBS)
    pump(db, broker, *gates)


def pump_all(db: Database, broker: Broker) -> int:
    """Publish the next window of every gate that has ready jobs."""
    return pump(db, broker, *jobs.gates_with_ready_jobs(db))
