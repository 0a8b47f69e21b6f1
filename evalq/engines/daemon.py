"""A server that outlives the command that started it: start it, find it again, wait for it, stop it."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from evalq.engines.processes import identify, is_locked, read_log_tail, send_signal, take_lock
from evalq.engines.run_as import Account
from evalq.errors import Unreachable

_POLL_S = 0.02
_Answer = TypeVar("_Answer")

Argv = Sequence[str | Path]

# Servers this process started, by their proof-of-life file: kept so that they can be reaped.
_children: dict[Path, subprocess.Popen[bytes]] = {}


class ServerEnded(Exception):
    """The server ended before it was ready."""


class StartCancelled(Exception):
    """The command was interrupted while the server was starting."""


@dataclass(frozen=True)
class Daemon:
    """One server of a data folder.

    The server inherits a lock on `alive`, which the kernel releases when the last of the server's processes
    ends. So no stale pid file, reused pid, orphaned backend or other pid namespace can fake a running server.
    """

    title: str
    programs: tuple[str, ...]
    alive: Path
    pid_file: Path
    log: Path
    remedy: str

    def is_alive(self) -> bool:
        """Whether any process of the server is left."""
        if child := _children.get(self.alive):
            child.poll()
        return is_locked(self.alive)

    def spawn(
        self,
        argv: Argv,
        *,
        cwd: Path = Path("/"),
        account: Account | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> None:
        """Start the server in a session of its own, where the terminal's Ctrl-C does not reach it."""
        with self.proof_of_life() as proof:
            self._reap()
            # Nothing of this server lives, so the pid in its file belongs to another process by now.
            self.pid_file.unlink(missing_ok=True)
            child = self.run(argv, cwd=cwd, account=account, pass_fds=(proof, *pass_fds))
            _children[self.alive] = child

    @contextlib.contextmanager
    def proof_of_life(self) -> Iterator[int]:
        """The lock on `alive`, for a process to inherit."""
        proof = take_lock(self.alive, wait_s=10)
        if proof is None:
            raise self.failure(
                "does not start: processes of an earlier start remain, perhaps in another container"
            )
        try:
            yield proof
        finally:
            os.close(proof)

    def run(
        self,
        argv: Argv,
        *,
        cwd: Path = Path("/"),
        account: Account | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> subprocess.Popen[bytes]:
        """Start one of the server's programs, its output in the log; the log before it is kept."""
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        try:
            with self.log.open("wb") as log:
                return subprocess.Popen(
                    [str(part) for part in argv],
                    cwd=cwd,
                    env=_server_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=pass_fds,
                    start_new_session=True,
                    user=account.uid if account else None,
                    group=account.gid if account else None,
                    extra_groups=[] if account else None,
                )
        except OSError as exc:
            raise self.failure(f"cannot be started: {exc}") from exc

    def pid(self) -> int | None:
        """The server's main process; None before it has written its pid file and after it has ended."""
        child = _children.get(self.alive)
        if child and child.poll() is None:
            return child.pid
        with contextlib.suppress(OSError, ValueError, IndexError):
            found = identify(int(self.pid_file.read_text().split()[0]))
            if found and found.name in self.programs and is_locked(self.alive):
                return found.pid
        return None

    def wait_for(
        self, probe: Callable[[], _Answer | None], *, cancelled: threading.Event, timeout_s: float
    ) -> _Answer:
        """The first answer of `probe`; ServerEnded when the server ends before it gives one."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not self.is_alive():
                raise ServerEnded
            if (answer := probe()) is not None:
                return answer
            if cancelled.wait(_POLL_S):
                raise StartCancelled
        raise self.failure(f"did not answer within {timeout_s:.0f} s")

    def stop(self, *steps: tuple[signal.Signals, float]) -> None:
        """Stop the server by these signals in turn, each with its seconds to take effect."""
        if not any(self._ends_after(signum, patience_s) for signum, patience_s in steps):
            raise self.failure("does not stop")
        self._reap()

    def _reap(self) -> None:
        """Wait for our child process: its lock is free a moment before it can be waited for."""
        if child := _children.pop(self.alive, None):
            child.wait(timeout=10)

    def _ends_after(self, signum: signal.Signals, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        asked = False
        while self.is_alive():
            pid = None if asked else self.pid()
            if pid is not None:
                send_signal(pid, signum)
                asked = True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def failure(self, what: str) -> Unreachable:
        """An error that shows the end of the log and which URL to set instead."""
        return Unreachable(f"the embedded {self.title} {what}; {self.remedy}{self._quote_log()}")

    def _quote_log(self) -> str:
        tail = read_log_tail(self.log)
        return f"\n{self.log} ends with:{tail}" if tail else ""


def _server_environment() -> dict[str, str]:
    """The part of our environment that a server needs; API keys stay out of its /proc/PID/environ."""
    names = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {name: os.environ[name] for name in names if name in os.environ} | {"LC_ALL": "C", "TZ": "UTC"}


def find_on_path(*programs: str) -> Path | None:
    """The first of these programs on the PATH."""
    for program in programs:
        if path := shutil.which(program):
            return Path(path)
    return None
