"""Processes and what they leave on disk: identities, signals, logs, file locks and leases."""

import contextlib
import fcntl
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from evalq.errors import Unreachable

_POLL_S = 0.02


@dataclass(frozen=True)
class Identity:
    """A process: its pid and its birth, since pids are reused."""

    pid: int
    name: str
    born: str


def identify(pid: int) -> Identity | None:
    """The running process with this pid; None if it has ended or is a zombie."""
    return _identify_by_proc(pid) if sys.platform == "linux" else _identify_by_psutil(pid)


def _identify_by_proc(pid: int) -> Identity | None:
    """Birth in clock ticks since boot: psutil's create_time moves when the wall clock is set."""
    try:
        head, _, tail = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    state, *fields = tail.split()
    if state in "ZX":
        return None
    return Identity(pid, name=head.partition("(")[2], born=fields[18])


def _identify_by_psutil(pid: int) -> Identity | None:
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Identity(pid, process.name(), str(process.create_time()))
    except psutil.Error:
        return None


def is_running(pid: int, born: str) -> bool:
    """Whether this process still runs, not another one with its pid."""
    found = identify(pid)
    return found is not None and found.born == born


def send_signal(pid: int, signum: signal.Signals) -> None:
    """Send a signal to a process that may just have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signum)


def wait_until(condition: Callable[[], bool], *, timeout_s: float, every_s: float = _POLL_S) -> bool:
    """Poll until the condition holds; False if the time runs out first."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(every_s)
    return True


def read_log_tail(path: Path, lines: int = 12) -> str:
    """The last lines of a log, indented for an error message."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return ""
    return "".join(f"\n  {line}" for line in text.splitlines()[-lines:])


@contextlib.contextmanager
def delay_signals(on_signal: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM until the block ends; its waits must be bounded, or ended by `on_signal`.

    Python runs signal handlers in the main thread only, so other threads need no protection.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def remember(signum: int, _frame: FrameType | None) -> None:
        arrived.append(signum)
        on_signal()

    before = {signum: signal.signal(signum, remember) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, signal.SIG_DFL if handler is None else handler)
        for number in arrived[:1]:
            signal.raise_signal(number)


def take_lock(path: Path, *, wait_s: float) -> int | None:
    """A descriptor that locks `path` exclusively, or None if others still hold it after `wait_s`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + wait_s
    try:
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(_POLL_S)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def hold_lock(path: Path, *, wait_s: float) -> Iterator[None]:
    """Let one process at a time into the block; Unreachable if the wait is too long."""
    descriptor = take_lock(path, wait_s=wait_s)
    if descriptor is None:
        raise Unreachable(
            f"another evalq command has been starting or stopping engines for {wait_s:.0f} s: {path}"
        )
    try:
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether any process locks `path` exclusively.

    Tried with a shared lock, so that two callers do not mistake each other for the holder.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


@dataclass
class Lease:
    """A file that stays locked while its process lives; the kernel unlocks it even after SIGKILL."""

    path: Path
    descriptor: int | None

    @classmethod
    def take(cls, folder: Path) -> "Lease":
        """A new lease in `folder`; its name starts with this process's id."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        hidden = folder / f".{name}"
        descriptor = take_lock(hidden, wait_s=0)
        assert descriptor is not None
        # Visible only once it is locked: a scan must never see a live lease that looks stale.
        hidden.rename(folder / name)
        return cls(folder / name, descriptor)

    def note(self, text: str) -> None:
        """Replace the text of the lease, for the process that finds it stale."""
        assert self.descriptor is not None
        data = text.encode()
        os.pwrite(self.descriptor, data, 0)
        os.ftruncate(self.descriptor, len(data))

    def release(self) -> None:
        """Give the lease back; twice is harmless."""
        if self.descriptor is not None:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
            os.close(self.descriptor)
            self.descriptor = None


def live_leases(folder: Path) -> list[Path]:
    """The leases of processes that still live."""
    return [path for path in _lease_files(folder) if is_locked(path)]


def stale_leases(folder: Path) -> Iterator[str]:
    """The text of each dead process's lease; a lease is removed once the caller has dealt with it."""
    for path in _lease_files(folder):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                if _try_lock(descriptor, fcntl.LOCK_EX):
                    yield path.read_text()
                    path.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _lease_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_file())
