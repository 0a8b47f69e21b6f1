"""What a worker process holds open: database, broker, spool, heartbeat, and the judges it has met."""

import os
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from evalq.calling.metered import ConnectedJudge
from evalq.calling.providers import connect
from evalq.calling.rate_limit import Gatekeeper
from evalq.calling.spool import Spool
from evalq.engines.broker import Broker
from evalq.errors import InputError, Refused, Unreachable
from evalq.keys import environment_with_keys, keys_version
from evalq.settings import Settings, spool_dir
from evalq.store.database import Database, is_known_schema, require_schema
from evalq.store.definitions import Snapshots
from workers.app import SETTINGS, app
from workers.heartbeat import Heartbeat, leave, release_after_drain, sleep_or_stop

# Smaller than the slots: a job spends its time waiting for a provider, not for Postgres.
_POOL_SIZE = 8
# Short, since a paid answer can be kept on disk instead of waiting for the database.
_DATABASE_PATIENCE_S = 5.0

_lock = threading.RLock()


class Connections:
    """Everything the slots of one process share."""

    def __init__(self, db: Database, settings: Settings, environ: Mapping[str, str]) -> None:
        self.db = db
        self.settings = settings
        self.environ = environ
        self.broker = Broker(app)
        self.spool = Spool(spool_dir(settings, Path.cwd(), environ), db)
        self.snapshots = Snapshots(db)
        self.heartbeat = Heartbeat(db, self.spool, settings.fleet)
        self.gatekeeper = Gatekeeper(
            self.broker, sleep=sleep_or_stop, dead_after_s=settings.fleet.dead_after_s
        )
        self._judges: dict[tuple[str, object], ConnectedJudge] = {}

    def connected_judge(self, judge_sha: str) -> ConnectedJudge:
        """A judge ready to be asked; the first job that needs it connects it while the others wait.

        Rebuilt when the keys file changes, so fixing a key needs no restart.
        """
        name = (judge_sha, keys_version(self.environ))
        if name not in self._judges:
            with _lock:
                if name not in self._judges:
                    judge = self.snapshots.judge(judge_sha)
                    adapter = connect(judge, self.environment_with_keys())
                    self._judges[name] = ConnectedJudge(judge, adapter)
        return self._judges[name]

    def environment_with_keys(self) -> dict[str, str]:
        """The environment with the keys file under it; Refused when that file is malformed."""
        try:
            return environment_with_keys(self.environ)
        except InputError as exc:
            raise Refused(str(exc)) from exc


def connections() -> Connections:
    """This process's connections, opened by the first job that needs them."""
    with _lock:
        return _open_once()


@cache
def _open_once() -> Connections:
    return open_connections(SETTINGS, os.environ)


def open_connections(settings: Settings, environ: Mapping[str, str]) -> Connections:
    """Open everything and start the heartbeat; when the schema is another one, tell the worker to leave."""
    if settings.database_url is None:
        raise Unreachable("this worker has no database; set EVALQ_DATABASE_URL")
    db = Database(settings.database_url, max_size=_POOL_SIZE, patience_s=_DATABASE_PATIENCE_S)
    try:
        if not is_known_schema(db):
            leave("the database has another schema than this worker knows")
        require_schema(db)
        opened = Connections(db, settings, environ)
    except BaseException:
        db.close()
        raise
    opened.heartbeat.start()
    release_after_drain(opened.heartbeat, drain_s=settings.fleet.drain_s)
    return opened
