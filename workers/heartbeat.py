"""The heartbeat of a worker process: keeps the leases of its jobs, and has the process leave when it must."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import psycopg

from evalq.calling.spool import Spool
from evalq.errors import Unreachable
from evalq.settings import Fleet
from evalq.store import jobs
from evalq.store.database import Database, is_known_schema
from workers.leaving import leave

log = logging.getLogger(__name__)


class Heartbeat:
    """Extends all leases of this process in one statement, from a thread of its own."""

    def __init__(self, db: Database, spool: Spool, fleet: Fleet) -> None:
        self._db = db
        self._spool = spool
        self._fleet = fleet
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_loop_alive = True
        self._held: dict[int, int] = {}
        self._given_up: dict[int, int] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Beat four times per lease, until the process ends."""
        threading.Thread(target=self._beat_forever, name="heartbeat", daemon=True).start()

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch the loop that runs the jobs: one job that blocks it blocks them all."""
        self._loop = loop

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

    def release_later(self, job: jobs.Job) -> None:
        """Put a job back once the database returns, so it does not count as lost."""
        with self._lock:
            self._given_up[job.id] = job.fence

    def release_all(self) -> None:
        """Put back every job in hand."""
        with suppress(Unreachable):  # then the leases run out
            jobs.release_held(self._db, self._in_hand())

    def beat(self) -> None:
        """Do one round; whatever the database says, the next round must come."""
        held = self._in_hand()
        try:
            _leave_if_outdated(self._db)
            if held:
                jobs.extend(self._db, held, lease_s=self._fleet.lease_s)
            self._spool.replay()
            self._release_given_up()
        except Unreachable:
            log.warning("no heartbeat for %s jobs: the database is away", len(held))
        except psycopg.Error:
            log.exception("no heartbeat for %s jobs: the database refuses", len(held))
        self._restart_if_grown()
        self._leave_if_stuck()

    def _beat_forever(self) -> None:
        pause = threading.Event()
        while not pause.wait(self._fleet.lease_s / 4):
            self.beat()

    def _in_hand(self) -> list[tuple[int, int]]:
        with self._lock:
            return [*self._held.items(), *self._given_up.items()]

    def _release_given_up(self) -> None:
        """Put back the jobs given up earlier; the spool has stored their answers by now."""
        with self._lock:
            given_up = dict(self._given_up)
        if given_up:
            jobs.release_held(self._db, list(given_up.items()))
            with self._lock:
                self._given_up = dict(self._given_up.items() - given_up.items())

    def _leave_if_stuck(self) -> None:
        """Leave when the loop has not gone round since the last beat; the jobs then go to other workers."""
        if self._loop is None:
            return
        if not self._is_loop_alive:
            leave("its jobs have been stuck since the last heartbeat", and_restart=True)
        self._is_loop_alive = False
        self._loop.call_soon_threadsafe(self._note_alive)

    def _note_alive(self) -> None:
        self._is_loop_alive = True

    def _restart_if_grown(self) -> None:
        used_mb = psutil.Process().memory_info().rss // 1_000_000
        if used_mb > self._fleet.memory_mb:
            leave(f"{used_mb} MB in use, {self._fleet.memory_mb} allowed", and_restart=True)


def _leave_if_outdated(db: Database) -> None:
    """Leave when the schema was upgraded under this worker, which would misread the new one."""
    if not is_known_schema(db):
        leave("the database has another schema than this worker knows; upgrade it")
