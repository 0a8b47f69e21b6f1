"""What a worker process holds open: database, broker, spool, heartbeat, and the judges it has met."""

import asyncio
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from celery.signals import worker_ready

from evalq.calling.metered import CallControl, ConnectedJudge
from evalq.calling.providers import connect
from evalq.calling.rate_limit import Gatekeeper
from evalq.calling.spool import Spool
from evalq.definitions.task import TaskConfig
from evalq.engines.async_scripts import AsyncScripts
from evalq.engines.broker import Broker
from evalq.errors import InputError, Refused, Unreachable
from evalq.keys import environment_with_keys, keys_version
from evalq.settings import Settings, spool_dir
from evalq.store.batches import Batches
from evalq.store.database import Database, is_known_schema, require_schema
from evalq.store.definitions import Snapshots
from workers import isolated
from workers.app import SETTINGS, app, slots_of_process
from workers.heartbeat import Heartbeat
from workers.leaving import leave, release_after_drain, sleep_or_stop

# For the heartbeat and the jobs in threads: the slots share two connections of their own.
_POOL_SIZE = 2
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
        self.batches = Batches(db.url, lease_s=settings.fleet.lease_s, patience_s=_DATABASE_PATIENCE_S)
        self.spool = Spool(spool_dir(settings, Path.cwd(), environ), db, self.batches)
        self.heartbeat = Heartbeat(db, self.spool, settings.fleet)
        self.slots = asyncio.Semaphore(slots_of_process())
        self.isolated = asyncio.Semaphore(isolated.AT_ONCE)
        self._scripts = AsyncScripts(settings.broker_url or "")
        self.control = CallControl(db, self.batches, self._open_gates(), self.spool, self.slots)
        self._snapshots = Snapshots(db)
        self._tasks: dict[str, TaskConfig] = {}
        self._judges: dict[tuple[str, object], ConnectedJudge] = {}

    def _open_gates(self) -> Gatekeeper:
        fleet = self.settings.fleet
        is_adaptive = fleet.slots is None and slots_of_process() == fleet.slots_per_process
        return Gatekeeper(
            self._scripts, sleep=sleep_or_stop, dead_after_s=fleet.dead_after_s, is_adaptive=is_adaptive
        )

    async def close(self) -> None:
        """Let what the jobs left under way end, then disconnect the loop from database and broker."""
        await self.control.gatekeeper.drain()
        await self.batches.close()
        await self._scripts.close()

    async def task(self, task_sha: str) -> TaskConfig:
        """The task as it was when the bake-off was recorded."""
        if task_sha not in self._tasks:
            self._tasks[task_sha] = await asyncio.to_thread(self._snapshots.task, task_sha)
        return self._tasks[task_sha]

    async def connected_judge(self, judge_sha: str) -> ConnectedJudge:
        """A judge ready to be asked; the first job that needs it connects it while the others wait.

        Rebuilt when the keys file changes, so fixing a key needs no restart.
        """
        name = (judge_sha, keys_version(self.environ))
        if name not in self._judges:
            await asyncio.to_thread(self._connect_judge, name)
        return self._judges[name]

    def _connect_judge(self, name: tuple[str, object]) -> None:
        """In a thread: importing a provider's SDK takes a second, and the other slots go on."""
        with _lock:
            if name not in self._judges:
                judge = self._snapshots.judge(name[0])
                adapter = connect(judge, self.environment_with_keys())
                self._judges[name] = ConnectedJudge(judge, adapter)

    def environment_with_keys(self) -> dict[str, str]:
        """The environment with the keys file under it; Refused when that file is malformed."""
        try:
            return environment_with_keys(self.environ)
        except InputError as exc:
            raise Refused(str(exc)) from exc


async def connections_of_loop() -> Connections:
    """This process's connections, for a job on the loop."""
    if _open_once.cache_info().currsize == 0:
        await asyncio.to_thread(connections)
    here = _open_once()
    # Every time: a job in a thread may have opened the connections first.
    here.heartbeat.watch(asyncio.get_running_loop())
    return here


@worker_ready.connect  # type: ignore[untyped-decorator]
def _open_early(**_: object) -> None:
    """Open them while no job has come yet; if that fails, the first job tries again and says why."""

    def open_or_leave() -> None:
        with suppress(Unreachable):
            connections()

    threading.Thread(target=open_or_leave, name="opening", daemon=True).start()


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
    release_after_drain(opened.heartbeat.release_all, drain_s=settings.fleet.drain_s)
    return opened
