"""Processes seen from outside: who a pid is, what a server logged last, and Ctrl-C held back for a moment."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_POLL_S = 0.02


@dataclass(frozen=True)
class Identity:
    """A process: its pid, and when it was born, since pids are reused."""

    pid: int
    name: str
    born: str


def identify(pid: int) -> Identity | None:
    """The running process with this pid; None when it is gone or only waits to be reaped."""
    return _identify_by_proc(pid) if sys.platform == "linux" else _identify_by_psutil(pid)


def _identify_by_proc(pid: int) -> Identity | None:
    """Birth in clock ticks since boot: psutil's create_time moves when the wall clock is set."""
    try:
        head, _, tail = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    fields = tail.split()
    return None if fields[0] in "ZX" else Identity(pid, head.partition("(")[2], fields[19])


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
    """Whether this very process runs, not another that was given its pid."""
    found = identify(pid)
    return found is not None and found.born == born


def send(pid: int, signum: signal.Signals) -> None:
    """Send a signal to a process that may just have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signum)


def wait_until(condition: Callable[[], bool], *, timeout_s: float, every_s: float = _POLL_S) -> bool:
    """Poll until the condition holds; False when the time is over first."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(every_s)
    return True


def log_tail(path: Path, lines: int = 12) -> str:
    """The last lines of a log, indented for an error message."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return ""
    return "".join(f"\n  {line}" for line in text.splitlines()[-lines:])


@contextlib.contextmanager
def uninterrupted(on_signal: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM until the block is over; its waits are bounded, or ended by `on_signal`.

    Python runs signal handlers in the main thread only, so any other thread needs no shield.
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
