"""How a worker leaves: jobs in hand end first, waits end at once, what is left is put back."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from celery.signals import worker_shutdown, worker_shutting_down

from evalq.errors import PutBack

log = logging.getLogger(__name__)

_stopping = threading.Event()
_restarting = threading.Event()
_sleepers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()


async def sleep_or_stop(seconds: float) -> None:
    """Wait in a slot; raises PutBack at once when the worker stops."""
    sleeper = (asyncio.get_running_loop(), asyncio.Event())
    _sleepers.add(sleeper)
    try:
        if not _stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(sleeper[1].wait(), seconds)
    finally:
        _sleepers.discard(sleeper)
    if _stopping.is_set():
        raise PutBack("the worker is stopping")


def leave(reason: str, *, and_restart: bool = False) -> None:
    """Stop this worker as SIGTERM does: the jobs in hand finish first."""
    if _stopping.is_set():
        return
    log.warning("leaving: %s", reason)
    if and_restart:
        _restarting.set()
    os.kill(os.getpid(), signal.SIGTERM)


def release_after_drain(release_all: Callable[[], None], *, drain_s: float) -> None:
    """Once the worker stops, give its jobs `drain_s`; then put the rest back and end the process."""

    def wait_and_end() -> None:
        _stopping.wait()
        threading.Event().wait(drain_s)
        log.warning("jobs still in hand after %s s; they are put back", drain_s)
        release_all()
        _end_process()

    threading.Thread(target=wait_and_end, name="overtime", daemon=True).start()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _wake_sleepers(**_: object) -> None:
    _stopping.set()
    for loop, event in tuple(_sleepers):
        with suppress(RuntimeError):  # that loop has ended
            loop.call_soon_threadsafe(event.set)


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _restart(**_: object) -> None:
    """After the last job, replace this process by a fresh one with the same pid: no supervisor is needed."""
    if _restarting.is_set():
        _end_process()


def _end_process() -> None:
    logging.shutdown()
    if _restarting.is_set():
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - no shell is the point
    os._exit(0)
