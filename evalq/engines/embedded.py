"""The embedded Valkey and Postgres of a data folder, shared by every command attached to it."""

import signal
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from evalq.engines.daemon import StartCancelled
from evalq.engines.data_folder import DataFolder, EnginesRecord, RunningServer, open_data_folder
from evalq.engines.fleet import reap_stale_fleets
from evalq.engines.postgres import Postgres
from evalq.engines.processes import Lease, delay_signals, is_running, send_signal
from evalq.engines.valkey import Valkey
from evalq.errors import Refused

EngineName = Literal["valkey", "postgres"]
Engine = Valkey | Postgres


@dataclass(frozen=True)
class ServerStatus:
    """One engine as the data folder records it, and whether it still runs."""

    name: str
    running: bool
    pid: int
    version: str


@dataclass(frozen=True)
class EngineStatus:
    """The engines of a data folder: the servers, who uses them, and whether `evalq up` keeps them."""

    data_dir: Path
    servers: tuple[ServerStatus, ...]
    kept: bool
    attached_pids: tuple[int, ...]

    @property
    def running(self) -> bool:
        """Whether at least one server runs."""
        return any(server.running for server in self.servers)


class Engines:
    """A command's hold on the engines; the last one to detach stops them, unless they are kept."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._lease = Lease.take(folder.users)
        self._servers: dict[str, RunningServer] = {}

    @property
    def database_url(self) -> str:
        """For psycopg; empty if Postgres was not wanted."""
        return self._url_of("postgres")

    @property
    def broker_url(self) -> str:
        """For Celery and redis; empty if Valkey was not wanted."""
        return self._url_of("valkey")

    @property
    def log_dir(self) -> Path:
        """Where the engines log, and the fleet should."""
        return self._folder.logs

    def _url_of(self, name: EngineName) -> str:
        return self._servers[name].url if name in self._servers else ""

    def ensure(self, want: Collection[EngineName], *, keep: bool = False) -> None:
        """Make the wanted engines run: adopt those that do, start the others."""
        with self._folder.locked():
            self._folder.drop_stale_leases()
            before = self._folder.read()
            engines = _engines_of(self._folder)
            any_survived = any(engine.daemon.is_alive() for engine in engines)
            self._servers = _ensure_all([engine for engine in engines if engine.name in want])
            kept = keep or (before.kept and any_survived)
            self._folder.write(EnginesRecord(kept, before.servers | self._servers))

    def revive(self) -> None:
        """Restart engines that were killed; stopped ones are no longer recorded and stay down."""
        mine = [engine for engine in _engines_of(self._folder) if engine.name in self._servers]
        if all(engine.daemon.is_alive() for engine in mine):
            return
        record = self._folder.read()
        if record.servers:
            self.ensure(("valkey", "postgres"), keep=record.kept)

    def detach(self) -> None:
        """Let go of the engines; twice is harmless."""
        with delay_signals():
            self._lease.release()
            if self._folder.users.exists():
                self._stop_if_last()
            else:
                self._end_orphans()

    def _stop_if_last(self) -> None:
        with self._folder.locked():
            if not self._folder.attached() and not self._folder.read().kept:
                _stop_all(self._folder)

    def _end_orphans(self) -> None:
        """End servers whose folder was removed under them: they have nothing left to save."""
        for server in self._servers.values():
            if is_running(server.pid, server.born):
                quick_end = signal.SIGQUIT if server.name == "postgres" else signal.SIGKILL
                send_signal(server.pid, quick_end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()


def attach(
    data_dir: Path,
    *,
    keep: bool = False,
    want: Collection[EngineName] = ("valkey", "postgres"),
    before_start: Callable[[], None] = lambda: None,
) -> Engines:
    """Use the engines of `data_dir`, started if need be; `keep` leaves them running until `stop_engines`.

    `before_start` is called once this command is registered as their user, before they are started.
    If anything goes wrong, Ctrl-C included, nothing that only this command wanted is left running.
    """
    with open_data_folder(data_dir) as folder:
        folder.prepare()
        reap_stale_fleets(folder.logs)
        engines = Engines(folder)
        try:
            before_start()
            engines.ensure(want, keep=keep)
        except BaseException:
            engines.detach()
            raise
        return engines


def stop_engines(data_dir: Path, *, force: bool = False) -> bool:
    """Stop the engines even if kept; False when none ran. Refused while commands use them, unless forced."""
    with open_data_folder(data_dir) as folder:
        if not folder.users.exists():
            return False
        reap_stale_fleets(folder.logs)
        with delay_signals(), folder.locked():
            pids = ", ".join(map(str, folder.attached()))
            if pids and not force:
                raise Refused(
                    f"other evalq commands use the engines (pid {pids}); wait for them, or force it"
                )
            return _stop_all(folder)


def describe(data_dir: Path) -> EngineStatus | None:
    """What runs in the data folder; None if it never held engines. Changes nothing."""
    with open_data_folder(data_dir) as folder:
        engines = _engines_of(folder)
        if not any((folder.path / engine.name).exists() for engine in engines):
            return None
        record = folder.read()
        servers = tuple(_describe_server(engine, record.servers.get(engine.name)) for engine in engines)
        return EngineStatus(folder.path, servers, record.kept, tuple(folder.attached()))


def _describe_server(engine: Engine, known: RunningServer | None) -> ServerStatus:
    if known is None:
        return ServerStatus(engine.name, engine.daemon.is_alive(), engine.daemon.pid() or 0, "")
    running = engine.daemon.is_alive() and is_running(known.pid, known.born)
    return ServerStatus(engine.name, running, known.pid, known.version)


def _engines_of(folder: DataFolder) -> tuple[Engine, ...]:
    return (Valkey(folder.path), Postgres(folder.path))


def _ensure_all(engines: Sequence[Engine]) -> dict[str, RunningServer]:
    """Start all at once; the first failure or Ctrl-C cancels the others and waits for them.

    A KeyboardInterrupt could strike while one engine is starting and the other is not. So it sets an event
    that the starts watch, and is raised once none of them is under way.
    """
    cancelled = threading.Event()
    finished: list[Future[RunningServer]] = []
    with delay_signals(cancelled.set), ThreadPoolExecutor(max_workers=len(engines)) as pool:
        for future in as_completed([pool.submit(engine.ensure, cancelled) for engine in engines]):
            finished.append(future)
            if future.exception() is not None:
                cancelled.set()
    try:
        servers = [future.result() for future in finished]
    except StartCancelled:
        raise KeyboardInterrupt from None  # the caller's own signal handler did not raise anything
    return {server.name: server for server in servers}


def _stop_all(folder: DataFolder) -> bool:
    """Stop what runs, all at once; returns whether anything did."""
    alive = [engine for engine in _engines_of(folder) if engine.daemon.is_alive()]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda engine: engine.stop(), alive))
    folder.forget()
    return bool(alive)
