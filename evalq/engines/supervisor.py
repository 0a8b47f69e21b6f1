"""The supervisor of a data folder: keeps its engines and fleet running while a command uses them.

It is a process of its own, so that commands share one fleet, and so that a command killed by SIGKILL leaves
nothing behind: the kernel releases its lease, and the supervisor stops everything.
"""

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from evalq.engines import head_start
from evalq.engines.data_folder import DataFolder
from evalq.engines.embedded import Engines, attach
from evalq.engines.fleet import QUEUES, WorkerFleet, open_fleet, worker_argv
from evalq.engines.flower import FlowerPlace
from evalq.engines.postgres import make_template
from evalq.engines.processes import is_locked, take_lock, wait_until
from evalq.engines.zygote import fork_worker
from evalq.errors import Unreachable
from evalq.keys import without_keys
from evalq.records import SANDBOX_QUEUE

if TYPE_CHECKING:
    from evalq.engines.broker import Broker

_LOG = "supervisor.log"
_POLL_S = 0.05
_REAP_EVERY_S = 5.0
# A call in flight is paid for: it gets this long to be answered before its worker is killed.
_DRAIN_S = 120.0
_LEAVE_S = _DRAIN_S + 30

SANDBOX_SLOTS = 4
"""Programs at once: each takes a core while it runs."""


def ensure_supervisor(
    data_dir: Path,
    *,
    processes: int,
    slots: int,
    providers: Collection[str] = (),
    flower: FlowerPlace | None = None,
    env: Mapping[str, str],
) -> bool:
    """Start a supervisor unless one runs, and say which; the caller must hold a lease on the engines.

    Its workers have the SDKs of `providers` imported from the start. With a place for it, Flower runs
    too, and hears of every job.
    """
    folder = DataFolder.of(data_dir)
    if is_locked(folder.supervisor_lock):
        head_start.dismiss()
        return False
    order = _Order(str(folder.path), processes, slots, sorted(providers), asdict(flower) if flower else None)
    head_start.give_order(asdict(order), environ=env, log=folder.logs / _LOG)
    return True


def wait_for_fleet(data_dir: Path, *, timeout_s: float = 60) -> None:
    """Wait until a supervisor has started its fleet."""
    folder = DataFolder.of(data_dir)

    def has_started() -> bool:
        return is_locked(folder.supervisor_lock) and folder.supervisor_pid() > 0

    if not wait_until(has_started, timeout_s=timeout_s):
        raise Unreachable(f"the worker fleet did not start within {timeout_s:.0f} s; see {folder.logs}")


def wait_until_stopped(data_dir: Path) -> None:
    """Wait until the supervisor has stopped everything, if this was the last command."""
    folder = DataFolder.of(data_dir)
    if folder.read().kept:
        return
    wait_until(lambda: set(folder.attached()) != {folder.supervisor_pid()}, timeout_s=_LEAVE_S)
    with folder.locked():
        return


def stop_supervisor(data_dir: Path) -> bool:
    """Undo `evalq up`: the supervisor leaves once no command uses the engines; False if there was none."""
    folder = DataFolder.of(data_dir)
    if not folder.users.exists() or not is_locked(folder.supervisor_lock):
        return False
    with folder.locked():
        folder.write(folder.read().no_longer_kept())
    wait_until_stopped(data_dir)
    return True


@dataclass(frozen=True)
class _Order:
    """What a command asks of a supervisor."""

    folder: str
    processes: int
    slots: int
    providers: Sequence[str]
    flower: dict[str, Any] | None = None


def main() -> None:
    """Be the supervisor that a command orders, unless its data folder has one."""
    gc.disable()  # nothing that is imported can be freed
    order = _await_order()
    if order is None:
        return
    folder = DataFolder.of(Path(order.folder))
    _log_to(folder.logs / _LOG)
    descriptor = take_lock(folder.supervisor_lock, wait_s=0)
    if descriptor is None:
        return
    signal.signal(signal.SIGTERM, _leave)
    import_module("workers.preload").import_adapters(order.providers)
    with attach(folder.path) as engines:
        _run_fleet(folder, descriptor, engines, order)
    make_template()  # now that no command waits for it


def _await_order() -> _Order | None:
    """Import what workers need until the command has made up its mind; None if it ended without an order."""
    for _ in import_module("workers.preload").import_step_by_step():
        if select.select([sys.stdin], [], [], 0)[0]:
            break
    line = sys.stdin.buffer.readline()
    if not line:
        return None
    for _ in import_module("workers.preload").import_step_by_step():
        pass
    return _Order(**json.loads(line))


def _log_to(path: Path) -> None:
    with path.open("ab") as log:
        for standard in (1, 2):
            os.dup2(log.fileno(), standard)


def _leave(_signum: int, _frame: FrameType | None) -> None:
    """On SIGTERM, end as when the last command has left: calls in flight come home first."""
    sys.exit(143)


def _run_fleet(folder: DataFolder, descriptor: int, engines: Engines, order: _Order) -> None:
    """Start the workers, stay while they are needed, and let them finish."""
    urls = {"EVALQ_DATABASE_URL": engines.database_url, "EVALQ_BROKER_URL": engines.broker_url}
    env = {**os.environ, **urls}
    # What is in memory now stays for good: collections, here and in the workers, need not visit it.
    gc.freeze()
    fleet = open_fleet(engines.log_dir)
    sandbox = _SandboxWorker(folder, fleet, index=order.processes + 1, env=without_keys(env))
    try:
        for index in range(1, order.processes + 1):
            argv = worker_argv(index, order.slots, QUEUES, events=order.flower is not None)
            fleet.add(argv, env, start=fork_worker)
        if order.flower is not None:
            flower = FlowerPlace(**order.flower)
            fleet.add(flower.argv(), flower.env(env))
        os.ftruncate(descriptor, os.pwrite(descriptor, str(os.getpid()).encode(), 0))
        _supervise(folder, descriptor, engines, fleet, sandbox)
    finally:
        fleet.stop(grace_s=_DRAIN_S)
        folder.sandbox_request.unlink(missing_ok=True)


@dataclass
class _SandboxWorker:
    """The worker that runs code for graders: started without any key, when there is code to run."""

    folder: DataFolder
    fleet: WorkerFleet
    index: int
    env: Mapping[str, str]
    is_started: bool = False

    def start_if_requested(self) -> None:
        """Start it once; the fleet restarts it when it dies."""
        if not self.is_started and self.folder.sandbox_request.exists():
            # Not forked: a copy of this process would have the keys in its memory.
            self.fleet.add(worker_argv(self.index, SANDBOX_SLOTS, [SANDBOX_QUEUE]), self.env)
            self.is_started = True


def _supervise(
    folder: DataFolder, descriptor: int, engines: Engines, fleet: WorkerFleet, sandbox: _SandboxWorker
) -> None:
    """Stay while needed, and restart what is killed.

    A kept fleet may have no command that watches it, so ask it to recover what is lost.
    """
    next_reap = time.monotonic() + _REAP_EVERY_S
    while not _may_leave(folder, descriptor):
        time.sleep(_POLL_S)
        with contextlib.suppress(Unreachable):  # it may start the next time
            engines.revive()
            fleet.revive()
            sandbox.start_if_requested()
        if folder.read().kept and time.monotonic() >= next_reap:
            _ask_for_reaping(engines.broker_url)
            next_reap = time.monotonic() + _REAP_EVERY_S


def _ask_for_reaping(broker_url: str) -> None:
    with contextlib.suppress(Unreachable):  # the broker restarts; the next time is soon enough
        _broker(broker_url).send("reap")


@cache
def _broker(url: str) -> "Broker":
    from evalq.engines.broker import Broker, make_app

    return Broker(make_app(url))


def _may_leave(folder: DataFolder, descriptor: int) -> bool:
    """Whether no other command uses the engines and they are not kept.

    Decided under the folder's lock, and the supervisor's own lock is released inside it: a command that
    attaches afterwards sees no supervisor and starts another.
    """
    if _is_needed(folder):
        return False
    with folder.locked():
        if _is_needed(folder):
            return False
        os.close(descriptor)
        return True


def _is_needed(folder: DataFolder) -> bool:
    return folder.read().kept or bool(set(folder.attached()) - {os.getpid()})


if __name__ == "__main__":
    main()
