"""The worker processes a command starts for itself, and which do not outlive it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from evalq.engines.processes import (
    Lease,
    identify,
    is_running,
    log_tail,
    send,
    stale_leases,
    uninterrupted,
    wait_until,
)

_KEPT_LOGS = 40
_KILL_PATIENCE_S = 5
_EARLY_S, _EARLY_DEATHS = 3.0, 5

WorkerArgv = Callable[[int, int, Sequence[str]], list[str]]


def worker_argv(index: int, slots: int, queues: Sequence[str]) -> list[str]:
    """The command line of one Celery worker; its node name is this process's own, as fleets share brokers."""
    node = f"evalq-{os.getpid()}-{index}@{socket.gethostname()}"
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    pool = ["--pool", "threads", "--concurrency", str(slots), "-Q", ",".join(queues), "--hostname", node]
    return process_argv("worker", *pool, *quiet)


def process_argv(kind: Literal["worker", "beat"], *options: str) -> list[str]:
    """The command line of one process of the fleet, with Celery's own options."""
    leash = str(Path(__file__).with_name("die_with_parent.py"))
    return [sys.executable, "-P", leash, "workers.process", "workers.app", kind, *options]


@dataclass
class _Worker:
    """One worker: how it was started, and how often it did not live long."""

    argv: Sequence[str]
    env: Mapping[str, str]
    process: subprocess.Popen[bytes]
    born: float
    early_deaths: int = 0

    @property
    def may_begin_again(self) -> bool:
        """Dead, and not one that dies whenever it is started."""
        age_s = time.monotonic() - self.born
        return self.process.poll() is not None and self.early_deaths < _EARLY_DEATHS and age_s > _EARLY_S


class WorkerFleet:
    """Worker processes on a leash: they end when stopped, and when this command ends in any other way."""

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._lease = Lease.take(log_dir / "fleets")
        self._leash, self._hand = os.pipe()
        self._workers: dict[Path, _Worker] = {}

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers that run."""
        return tuple(one.process.pid for one in self._workers.values() if one.process.poll() is None)

    def fallen(self) -> list[str]:
        """One message for each worker that ended by itself: its exit code and the end of its log."""
        codes = {log: worker.process.poll() for log, worker in self._workers.items()}
        return [
            f"a worker ended with code {code}:{log_tail(log)}"
            for log, code in codes.items()
            if code is not None
        ]

    def add(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start one worker in a session of its own, out of reach of the terminal's Ctrl-C."""
        path = self._log_dir / f"worker-{os.getpid()}-{len(self._workers) + 1}.log"
        self._workers[path] = _Worker(argv, env, self._start(path, argv, env), time.monotonic())
        self._note()

    def revive(self) -> None:
        """Start the workers again that have ended by themselves, but not those that never live."""
        dead = [(path, worker) for path, worker in self._workers.items() if worker.may_begin_again]
        for path, worker in dead:
            lived_s = time.monotonic() - worker.born
            worker.early_deaths = worker.early_deaths + 1 if lived_s < 2 * _EARLY_S else 0
            worker.process, worker.born = self._start(path, worker.argv, worker.env), time.monotonic()
        if dead:
            self._note()

    def _start(self, path: Path, argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with path.open("ab") as log:
            return subprocess.Popen(
                argv,
                env={**env, "EVALQ_PARENT_PIPE_FD": str(self._leash)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(self._leash,),
                start_new_session=True,
            )

    def _note(self) -> None:
        """Leave word of who runs, for whoever comes after a killed command."""
        found = [identify(pid) for pid in self.pids]
        self._lease.note(json.dumps([[who.pid, who.born] for who in found if who]))

    def stop(self, grace_s: float = 10.0) -> None:
        """Ask the workers to finish what they do, for `grace_s` at most, then end them; twice is harmless."""
        with uninterrupted():
            for pid in self.pids:
                send(pid, signal.SIGTERM)
            if not wait_until(lambda: not self.pids, timeout_s=grace_s):
                self._kill()
            self._let_go()

    def _kill(self) -> None:
        for pid in self.pids:
            _kill_group(pid)
        wait_until(lambda: not self.pids, timeout_s=_KILL_PATIENCE_S)

    def _let_go(self) -> None:
        self._lease.release()
        for descriptor in (self._leash, self._hand):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._leash = self._hand = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_fleet(
    processes: int,
    slots: int,
    *,
    queues: Sequence[str],
    env: Mapping[str, str],
    log_dir: Path,
    argv: WorkerArgv = worker_argv,
) -> WorkerFleet:
    """Start `processes` workers of `slots` slots each; `env` is their whole environment, URLs included."""
    log_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    reap_stale_fleets(log_dir)
    _drop_old_logs(log_dir)
    fleet = WorkerFleet(log_dir)
    try:
        for index in range(1, processes + 1):
            fleet.add(argv(index, slots, queues), env)
    except BaseException:
        fleet.stop(grace_s=0)
        raise
    return fleet


def reap_stale_fleets(log_dir: Path, *, grace_s: float = 5.0) -> int:
    """End the workers of commands that died without stopping them; how many there were."""
    reaped = 0
    for note in stale_leases(log_dir / "fleets"):
        running = [worker for worker in _noted(note) if is_running(*worker)]
        for pid, _ in running:
            send(pid, signal.SIGTERM)
        wait_until(lambda: not _any_left(running), timeout_s=grace_s)  # noqa: B023 - called before the next turn
        for pid, born in running:
            if is_running(pid, born):
                _kill_group(pid)
        reaped += len(running)
    return reaped


def _noted(note: str) -> list[tuple[int, str]]:
    """The workers a lease names; none when its command was killed before it could say."""
    try:
        return [(int(pid), str(born)) for pid, born in json.loads(note)]
    except ValueError:
        return []


def _any_left(workers: Sequence[tuple[int, str]]) -> bool:
    return any(is_running(pid, born) for pid, born in workers)


def _kill_group(pid: int) -> None:
    """The worker and whatever it started: it leads a session of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _drop_old_logs(log_dir: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # another command tidies up at the same time
        logs = sorted(log_dir.glob("worker-*.log"), key=lambda path: path.stat().st_mtime)
        for log in logs[:-_KEPT_LOGS]:
            log.unlink(missing_ok=True)
