"""The heartbeat: one thread per process keeps the leases of the jobs in hand, and looks after the process."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil
from celery.signals import worker_shutdown, worker_shutting_down

from evalq.calling.spool import Spool
from evalq.errors import PutBack, Unreachable
from evalq.store import jobs
from evalq.store.database import Database, is_known_schema
from workers.app import FLEET

log = logging.getLogger(__name__)

_stopping = threading.Event()
_restarting = threading.Event()


def sleep_or_stop(seconds: float) -> None:
    """Wait in a slot; a worker that is told to stop gives the job back at once."""
    if _stopping.wait(seconds):
        raise PutBack("the worker is stopping")


def leave(reason: str, *, and_restart: bool = False) -> None:
    """Stop this worker as SIGTERM does: the jobs in hand come to their end first."""
    if _stopping.is_set():
        return
    log.warning("leaving: %s", reason)
    if and_restart:
        _restarting.set()
    os.kill(os.getpid(), signal.SIGTERM)


def on_overtime(release_all: Callable[[], None]) -> None:
    """Have this called, and the process ended, when jobs are still in hand after the time to drain."""

    def wait_and_go() -> None:
        _stopping.wait()
        threading.Event().wait(FLEET.drain_s)
        log.warning("jobs still in hand after %s s; they are put back", FLEET.drain_s)
        release_all()
        _go()

    threading.Thread(target=wait_and_go, name="overtime", daemon=True).start()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _wake_the_waiting(**_: object) -> None:
    _stopping.set()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _restart(**_: object) -> None:
    """Everything has ended: become a fresh process of the same number, so that no supervisor is needed."""
    if _restarting.is_set():
        _go()


def _go() -> None:
    logging.shutdown()
    if _restarting.is_set():
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - no shell is the point
    os._exit(0)


_BEAT_S = FLEET.lease_s / 4


class Heartbeat:
    """Extends all leases of this process in one statement, as long as it has any."""

    def __init__(self, db: Database, spool: Spool) -> None:
        self._db = db
        self._spool = spool
        self._held: dict[int, int] = {}
        self._given_up: dict[int, int] = {}
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

    def give_up(self, job: jobs.Job) -> None:
        """Have a job put back as soon as the database is there again: nobody died with it in hand."""
        with self._lock:
            self._given_up[job.id] = job.fence

    def release_all(self) -> None:
        """Put back every job in hand."""
        with suppress(Unreachable):  # then the leases run out
            jobs.release_held(self._db, self._in_hand())

    def _in_hand(self) -> list[tuple[int, int]]:
        with self._lock:
            return [*self._held.items(), *self._given_up.items()]

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT_S):
            held = self._in_hand()
            try:
                if held:
                    jobs.extend(self._db, held, lease_s=FLEET.lease_s)
                self._spool.replay()
                self._put_back()
                _leave_if_outdated(self._db)
            except Unreachable:
                log.warning("no heartbeat for %s jobs: the database is away", len(held))
            _leave_if_grown()

    def _put_back(self) -> None:
        """Jobs given up go back, now that their answers are stored."""
        with self._lock:
            given_up = dict(self._given_up)
        if given_up:
            jobs.release_held(self._db, list(given_up.items()))
            with self._lock:
                self._given_up = dict(self._given_up.items() - given_up.items())


def _leave_if_outdated(db: Database) -> None:
    """The schema may be upgraded under a running worker, which would not know what its words mean now."""
    if not is_known_schema(db):
        leave("the database has another schema than this worker knows; upgrade it")


def _leave_if_grown() -> None:
    used_mb = psutil.Process().memory_info().rss // 1_000_000
    if used_mb > FLEET.memory_mb:
        leave(f"{used_mb} MB in use, {FLEET.memory_mb} allowed", and_restart=True)
