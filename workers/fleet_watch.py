"""Watches runs and the fleet for what people must know: from reap, and from beat when no worker is left."""

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import closing

import psycopg
from celery.signals import beat_init

from evalq.bakeoff.run_alerts import raise_dead_fleet, raise_run_alerts
from evalq.drift.alerts import deliver
from evalq.engines.broker import Broker
from evalq.errors import EvalqError
from evalq.keys import environment_with_keys
from evalq.settings import Settings
from evalq.store.database import Database

log = logging.getLogger(__name__)

_EVERY_S = 60.0


class Turn:
    """Lets something through once a minute: reap comes every few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, every_s: float = _EVERY_S) -> None:
        self._clock = clock
        self._every_s = every_s
        self._next = float("-inf")

    def is_due(self) -> bool:
        """Whether the time has come; then it begins anew."""
        now = self._clock()
        if now < self._next:
            return False
        self._next = now + self._every_s
        return True


_turn = Turn()


def watch_runs(db: Database) -> None:
    """Raise alerts about runs, at most once a minute for each worker process."""
    if _turn.is_due():
        raise_run_alerts(db)


def watch_fleet(db: Database, broker: Broker, settings: Settings) -> None:
    """Raise and deliver the alert that no worker is left: workers cannot do that."""
    if raise_dead_fleet(db, lambda: bool(broker.workers())):
        deliver(db, settings.alerts, environment_with_keys(os.environ))


@beat_init.connect  # type: ignore[untyped-decorator]
def _watch_from_beat(**_: object) -> None:
    threading.Thread(target=_watch_forever, name="fleet watch", daemon=True).start()


def _watch_forever() -> None:
    from workers.app import SETTINGS, app

    broker, pause = Broker(app), threading.Event()
    while not pause.wait(_EVERY_S):
        try:
            # Opened each time: beat may start before the database.
            with closing(Database(SETTINGS.database_url or "", max_size=1)) as db:
                watch_fleet(db, broker, SETTINGS)
        except EvalqError as exc:
            log.warning("the fleet could not be watched: %s", exc)
        except psycopg.Error as exc:
            log.warning("the fleet could not be watched: %s", type(exc).__name__)
