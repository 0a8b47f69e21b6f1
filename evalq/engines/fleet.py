"""The worker processes that a command starts for itself, and that do not outlive it."""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from evalq.calling.providers import PROVIDERS
from evalq.engines.processes import (
    Lease,
    delay_signals,
    identify,
    is_running,
    send_signal,
    stale_leases,
    wait_until,
)
from evalq.engines.zygote import Process, StartWorker, spawn_worker
from evalq.records import CONTROL_QUEUE, SANDBOX_QUEUE

_KEPT_LOGS = 40
_KILL_PATIENCE_S = 5
_EARLY_S, _EARLY_DEATHS = 3.0, 5

CALL_QUEUES = tuple(f"calls.{provider}" for provider in PROVIDERS)
QUEUES = (*CALL_QUEUES, CONTROL_QUEUE)
"""Of a worker with keys; the sandbox queue is for workers without."""

WorkerArgv = Callable[[int, int, Sequence[str]], list[str]]


def job_queue(stage: str, provider: str) -> str:
    """The queue of a job: its provider's, or the sandbox's if there is code to run."""
    return SANDBOX_QUEUE if stage == "sandbox" else f"calls.{provider}"


def worker_argv(index: int, slots: int, queues: Sequence[str], *, events: bool = False) -> list[str]:
    """The command line of one Celery worker; its node name is unique, since fleets share brokers.

    With `events` it tells Flower of every job, which costs a tenth of its time.
    """
    node = f"evalq-{os.getpid()}-{index}@{socket.gethostname()}"
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    pool = ["--concurrency", str(slots), "-Q", ",".join(queues), "--hostname", node]
    return process_argv("worker", *pool, *quiet, *(["-E"] if events else []))


def process_argv(kind: Literal["worker", "beat", "flower"], *options: str) -> list[str]:
    """The command line of one process of the fleet, with Celery's own options."""
    script = str(Path(__file__).with_name("die_with_parent.py"))
    application = "workers.monitor" if kind == "flower" else "workers.app"
    return [sys.executable, "-P", script, "workers.process", application, kind, *options]


@dataclass
class _Worker:
    """One worker: how it was started, and how often it died soon after its start."""

    argv: Sequence[str]
    env: Mapping[str, str]
    start: StartWorker
    process: Process
    born: float
    early_deaths: int = 0

    @property
    def may_restart(self) -> bool:
        """Whether it is dead, but does not die at every start."""
        age_s = time.monotonic() - self.born
        return self.process.poll() is not None and self.early_deaths < _EARLY_DEATHS and age_s > _EARLY_S


class WorkerFleet:
    """Worker processes that end when stopped, and also when this command ends in any other way."""

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._lease = Lease.take(log_dir / "fleets")
        self._child_end, self._our_end = os.pipe()
        self._workers: dict[Path, _Worker] = {}

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers that run."""
        return tuple(one.process.pid for one in self._workers.values() if one.process.poll() is None)

    def add(self, argv: Sequence[str], env: Mapping[str, str], *, start: StartWorker = spawn_worker) -> None:
        """Start one worker, this time and whenever it must be restarted by `start`."""
        path = self._log_dir / f"worker-{os.getpid()}-{len(self._workers) + 1}.log"
        process = self._start(path, argv, env, start)
        self._workers[path] = _Worker(argv, env, start, process, time.monotonic())
        self._note_pids()

    def revive(self) -> None:
        """Restart the workers that ended by themselves, but not those that die at every start."""
        dead = [(path, worker) for path, worker in self._workers.items() if worker.may_restart]
        for path, worker in dead:
            lived_s = time.monotonic() - worker.born
            worker.early_deaths = worker.early_deaths + 1 if lived_s < 2 * _EARLY_S else 0
            worker.process = self._start(path, worker.argv, worker.env, worker.start)
            worker.born = time.monotonic()
        if dead:
            self._note_pids()

    def _start(self, path: Path, argv: Sequence[str], env: Mapping[str, str], start: StartWorker) -> Process:
        with path.open("ab") as log:
            return start(argv, env, log.fileno(), self._child_end)

    def _note_pids(self) -> None:
        """Write the running workers into the lease, for the command that finds it stale."""
        found = [identify(pid) for pid in self.pids]
        running = [[process.pid, process.born] for process in found if process]
        self._lease.note(json.dumps(running))

    def stop(self, grace_s: float = 10.0) -> None:
        """Let the workers finish for `grace_s` at most, then kill them; twice is harmless."""
        with delay_signals():
            for pid in self.pids:
                send_signal(pid, signal.SIGTERM)
            if not wait_until(lambda: not self.pids, timeout_s=grace_s):
                self._kill()
            self._release()

    def _kill(self) -> None:
        for pid in self.pids:
            _kill_group(pid)
        wait_until(lambda: not self.pids, timeout_s=_KILL_PATIENCE_S)

    def _release(self) -> None:
        self._lease.release()
        for descriptor in (self._child_end, self._our_end):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._child_end = self._our_end = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def open_fleet(log_dir: Path) -> WorkerFleet:
    """A fleet without workers yet; what dead fleets left behind is removed."""
    log_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    reap_stale_fleets(log_dir)
    _drop_old_logs(log_dir)
    return WorkerFleet(log_dir)


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
    fleet = open_fleet(log_dir)
    try:
        for index in range(1, processes + 1):
            fleet.add(argv(index, slots, queues), env)
    except BaseException:
        fleet.stop(grace_s=0)
        raise
    return fleet


def reap_stale_fleets(log_dir: Path, *, grace_s: float = 5.0) -> int:
    """End the workers of commands that died without stopping them; returns how many."""
    reaped = 0
    for note in stale_leases(log_dir / "fleets"):
        running = [worker for worker in _read_note(note) if is_running(*worker)]
        for pid, _ in running:
            send_signal(pid, signal.SIGTERM)
        wait_until(lambda: not _any_left(running), timeout_s=grace_s)  # noqa: B023 - called before the next turn
        for pid, born in running:
            if is_running(pid, born):
                _kill_group(pid)
        reaped += len(running)
    return reaped


def _read_note(note: str) -> list[tuple[int, str]]:
    """The workers named in a lease; none if its command was killed before it wrote them."""
    try:
        return [(int(pid), str(born)) for pid, born in json.loads(note)]
    except ValueError:
        return []


def _any_left(workers: Sequence[tuple[int, str]]) -> bool:
    return any(is_running(pid, born) for pid, born in workers)


def _kill_group(pid: int) -> None:
    """Kill the worker and all it started: it leads a session of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _drop_old_logs(log_dir: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # another command tidies up at the same time
        logs = sorted(log_dir.glob("worker-*.log"), key=lambda path: path.stat().st_mtime)
        for log in logs[:-_KEPT_LOGS]:
            log.unlink(missing_ok=True)
