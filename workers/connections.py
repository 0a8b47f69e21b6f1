"""What a worker process holds open: database, broker, spool, heartbeat, and the judges it has met."""

import os
import threading
from pathlib import Path

from evalq.calling.metered import ConnectedJudge
from evalq.calling.providers import connect
from evalq.calling.rate_limit import Gatekeeper
from evalq.calling.spool import Spool
from evalq.engines.broker import Broker
from evalq.keys import environment_with_keys, keys_version
from evalq.settings import spool_dir
from evalq.store.database import Database, is_known_schema, require_schema
from evalq.store.definitions import Snapshots
from workers.app import SETTINGS, app
from workers.heartbeat import Heartbeat, leave, on_overtime, sleep_or_stop

# Smaller than the slots: a job spends its time waiting for a provider, not for Postgres.
_POOL_SIZE = 8
# An answer in hand is not to wait long for a database that is away: the disk is nearer.
_PATIENCE_S = 5.0

_lock = threading.RLock()


class Connections:
    """Everything shared by the slots of one process."""

    def __init__(self, database_url: str) -> None:
        self.db = Database(database_url, max_size=_POOL_SIZE, patience_s=_PATIENCE_S)
        self._require_schema()
        self.broker = Broker(app)
        self.spool = Spool(spool_dir(SETTINGS, Path.cwd(), os.environ), self.db)
        self.snapshots = Snapshots(self.db)
        self.heartbeat = Heartbeat(self.db, self.spool)
        self.gatekeeper = Gatekeeper(self.broker, sleep=sleep_or_stop)
        self._callers: dict[tuple[str, object], ConnectedJudge] = {}
        on_overtime(self.heartbeat.release_all)

    def _require_schema(self) -> None:
        if not is_known_schema(self.db):
            leave("the database has another schema than this worker knows")
        require_schema(self.db)

    def caller(self, judge_sha: str) -> ConnectedJudge:
        """A judge that can be asked; built by the first job that meets it while the others wait.

        Built anew when the keys file has changed: who mends a key does not have to restart the fleet.
        """
        name = (judge_sha, keys_version(os.environ))
        if name not in self._callers:
            with _lock:
                if name not in self._callers:
                    judge = self.snapshots.judge(judge_sha)
                    self._callers[name] = ConnectedJudge(
                        judge, connect(judge, environment_with_keys(os.environ))
                    )
        return self._callers[name]


_here: list[Connections] = []


def connections() -> Connections:
    """This process's connections, made by the first job that needs them."""
    if not _here:
        with _lock:
            if not _here:
                _here.append(Connections(os.environ["EVALQ_DATABASE_URL"]))
    return _here[0]
