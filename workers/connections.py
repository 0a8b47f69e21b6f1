"""What a worker process holds open: database, broker, heartbeat, and the judges it has met."""

import os
import threading

from celery.signals import worker_shutting_down

from evalq.broker import Broker
from evalq.calling.metered import Caller
from evalq.calling.rate_limit import Gatekeeper
from evalq.errors import PutBack
from evalq.keys import environment_with_keys, keys_version
from evalq.providers import connect
from evalq.store.database import Database
from evalq.store.definitions import Snapshots
from evalq.store.schema import require_schema
from workers.app import app
from workers.heartbeat import Heartbeat

# Smaller than the slots: a job spends its time waiting for a provider, not for Postgres.
_POOL_SIZE = 8

_lock = threading.RLock()


_stopping = threading.Event()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _wake_the_waiting(**_: object) -> None:
    _stopping.set()


def rest(seconds: float) -> None:
    """Wait in a slot; a worker that is told to stop gives the job back at once."""
    if _stopping.wait(seconds):
        raise PutBack("the worker is stopping")


class Connections:
    """Everything shared by the slots of one process."""

    def __init__(self, database_url: str) -> None:
        self.db = Database(database_url, max_size=_POOL_SIZE)
        require_schema(self.db)
        self.broker = Broker(app)
        self.snapshots = Snapshots(self.db)
        self.heartbeat = Heartbeat(self.db)
        self.gatekeeper = Gatekeeper(self.broker, sleep=rest)
        self._callers: dict[tuple[str, object], Caller] = {}

    def caller(self, judge_sha: str) -> Caller:
        """A judge that can be asked; built by the first job that meets it while the others wait.

        Built anew when the keys file has changed: who mends a key does not have to restart the fleet.
        """
        name = (judge_sha, keys_version(os.environ))
        if name not in self._callers:
            with _lock:
                if name not in self._callers:
                    judge = self.snapshots.judge(judge_sha)
                    self._callers[name] = Caller(judge, connect(judge, environment_with_keys(os.environ)))
        return self._callers[name]


_here: list[Connections] = []


def connections() -> Connections:
    """This process's connections, made by the first job that needs them."""
    if not _here:
        with _lock:
            if not _here:
                _here.append(Connections(os.environ["EVALQ_DATABASE_URL"]))
    return _here[0]
