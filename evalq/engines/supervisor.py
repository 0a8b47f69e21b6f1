"""The supervisor of a data folder: keeps its engines and fleet running for as long as a command uses them.

A process of its own, so that commands that come and go share one fleet, and so that a command's death by
SIGKILL leaves nothing behind: the kernel releases the dead command's lease and the supervisor goes home.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evalq.engines import processes as locks
from evalq.engines.embedded import Engines, Folder, attach
from evalq.engines.fleet import WorkerFleet, start_fleet, worker_argv
from evalq.engines.processes import wait_until
from evalq.errors import Unreachable
from evalq.keys import without_keys
from evalq.records import SANDBOX_QUEUE

if TYPE_CHECKING:
    from evalq.engines.broker import Broker

_POLL_S = 0.2
_REAP_EVERY_S = 5.0
# A judge's call in flight is paid for: it gets this long to come home before its worker is killed.
_DRAIN_S = 120.0
_LEAVE_S = _DRAIN_S + 30

SANDBOX_SLOTS = 4
"""Programs at once: each takes a core for as long as it runs."""


def ensure_supervisor(
    data_dir: Path, *, processes: int, slots: int, queues: Sequence[str], env: Mapping[str, str]
) -> None:
    """See that a supervisor is at work; the caller must hold a lease on the engines."""
    folder = Folder.of(data_dir)
    if locks.is_held(folder.supervisor_lock):
        return
    with (folder.logs / "supervisor.log").open("ab") as log:
        subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "evalq.engines.supervisor",
                str(folder.path),
                str(processes),
                str(slots),
                ",".join(queues),
            ],
            env={**env, "PYTHONPATH": _python_path(env)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _python_path(env: Mapping[str, str]) -> str:
    """Where this evalq was imported from, in case it is not installed."""
    here = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(part for part in (env.get("PYTHONPATH", ""), here) if part)


def wait_for_fleet(data_dir: Path, *, timeout_s: float = 60) -> None:
    """Wait until a supervisor has started its fleet."""
    folder = Folder.of(data_dir)
    if not wait_until(
        lambda: locks.is_held(folder.supervisor_lock) and folder.supervisor_pid() > 0, timeout_s=timeout_s
    ):
        raise Unreachable(f"the worker fleet did not start within {timeout_s:.0f} s; see {folder.logs}")


def wait_until_gone(data_dir: Path) -> None:
    """After the last command has let go: wait until the supervisor has stopped everything."""
    folder = Folder.of(data_dir)
    if folder.read().kept:
        return
    wait_until(lambda: set(folder.attached()) != {folder.supervisor_pid()}, timeout_s=_LEAVE_S)
    with folder.locked():
        return


def stop_supervisor(data_dir: Path) -> bool:
    """Take back `evalq up`: the supervisor leaves once nobody uses the engines; False when there was none."""
    folder = Folder.of(data_dir)
    if not folder.users.exists() or not locks.is_held(folder.supervisor_lock):
        return False
    with folder.locked():
        folder.write(folder.read().no_longer_kept())
    wait_until_gone(data_dir)
    return True


def main(argv: Sequence[str]) -> None:
    """Be the supervisor of a folder, unless it has one."""
    folder = Folder.of(Path(argv[0]))
    descriptor = locks.take(folder.supervisor_lock, wait_s=0)
    if descriptor is None:
        return
    with attach(folder.path) as engines:
        env = {
            **os.environ,
            "EVALQ_DATABASE_URL": engines.database_url,
            "EVALQ_BROKER_URL": engines.broker_url,
        }
        fleet = start_fleet(
            int(argv[1]), int(argv[2]), queues=argv[3].split(","), env=env, log_dir=engines.log_dir
        )
        sandbox = _SandboxWorker(folder, fleet, index=int(argv[1]) + 1, env=without_keys(env))
        try:
            os.ftruncate(descriptor, os.pwrite(descriptor, str(os.getpid()).encode(), 0))
            _attend(folder, descriptor, engines, fleet, sandbox)
        finally:
            fleet.stop(grace_s=_DRAIN_S)
            folder.sandbox_request.unlink(missing_ok=True)


@dataclass
class _SandboxWorker:
    """The worker that runs code for graders: started when somebody has some, without any key."""

    folder: Folder
    fleet: WorkerFleet
    index: int
    env: Mapping[str, str]
    is_started: bool = False

    def start_if_wanted(self) -> None:
        """Start it once; the fleet keeps it running."""
        if not self.is_started and self.folder.sandbox_request.exists():
            self.fleet.add(worker_argv(self.index, SANDBOX_SLOTS, [SANDBOX_QUEUE]), self.env)
            self.is_started = True


def _attend(
    folder: Folder, descriptor: int, engines: Engines, fleet: WorkerFleet, sandbox: _SandboxWorker
) -> None:
    """Stay for as long as needed, and start again what is killed.

    Nobody may be watching a kept fleet, so have what is lost brought back.
    """
    next_reap = time.monotonic() + _REAP_EVERY_S
    while not _may_leave(folder, descriptor):
        time.sleep(_POLL_S)
        with contextlib.suppress(Unreachable):  # it does not start just now; the next time perhaps
            engines.revive()
            fleet.revive()
            sandbox.start_if_wanted()
        if folder.read().kept and time.monotonic() >= next_reap:
            _ask_for_reaping(engines.broker_url)
            next_reap = time.monotonic() + _REAP_EVERY_S


def _ask_for_reaping(broker_url: str) -> None:
    with contextlib.suppress(Unreachable):  # the broker restarts; the next time will do
        _broker(broker_url).send("reap")


@cache
def _broker(url: str) -> "Broker":
    from evalq.engines.broker import Broker, make_app

    return Broker(make_app(url))


def _may_leave(folder: Folder, descriptor: int) -> bool:
    """Nobody else uses the engines and nobody keeps them.

    Decided under the folder's lock, and the supervisor's own lock is given up inside it: a command that
    attaches afterwards sees no supervisor and starts another.
    """
    if folder.read().kept or set(folder.attached()) - {os.getpid()}:
        return False
    with folder.locked():
        if folder.read().kept or set(folder.attached()) - {os.getpid()}:
            return False
        os.close(descriptor)
        return True


if __name__ == "__main__":
    main(sys.argv[1:])
