"""The heartbeat: one thread per process keeps the leases of the jobs in hand."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from evalq.errors import Unreachable
from evalq.store import jobs
from evalq.store.database import Database

log = logging.getLogger(__name__)

LEASE_S = 60.0
_BEAT_S = LEASE_S / 4


class Heartbeat:
    """Extends all leases of this process in one statement, as long as it has any."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._held: dict[int, int] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    @contextmanager
    def holding(self, job: jobs.Job) -> Iterator[None]:
        """Keep a job's lease while the block runs."""
        with self._lock:
            self._held[job.id] = job.fence
        try:
            yield
        finally:
            with self._lock:
                # A slower holder of the same job must not drop the newer one's beat.
                if self._held.get(job.id) == job.fence:
                    del self._held[job.id]

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT_S):
            with self._lock:
                held = list(self._held.items())
            if held:
                self._extend(held)

    def _extend(self, held: list[tuple[int, int]]) -> None:
        try:
            jobs.extend(self._db, held, lease_s=LEASE_S)
        except Unreachable:
            log.warning("no heartbeat for %s jobs: the database is away", len(held))
