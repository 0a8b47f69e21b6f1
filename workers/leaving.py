"""How a worker leaves: told to stop, outdated or grown too large; in bounded time, nothing in hand."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable

from celery.signals import worker_shutdown, worker_shutting_down

from evalq.errors import PutBack
from workers.app import FLEET

log = logging.getLogger(__name__)

_stopping = threading.Event()
_beginning_anew = threading.Event()


def rest(seconds: float) -> None:
    """Wait in a slot; a worker that is told to stop gives the job back at once."""
    if _stopping.wait(seconds):
        raise PutBack("the worker is stopping")


def leave(reason: str, *, and_begin_anew: bool = False) -> None:
    """Stop this worker as SIGTERM does: the jobs in hand come to their end first."""
    if _stopping.is_set():
        return
    log.warning("leaving: %s", reason)
    if and_begin_anew:
        _beginning_anew.set()
    os.kill(os.getpid(), signal.SIGTERM)


def on_overtime(let_go: Callable[[], None]) -> None:
    """Have this called, and the process ended, when jobs are still in hand after the time to drain."""

    def wait_and_go() -> None:
        _stopping.wait()
        threading.Event().wait(FLEET.drain_s)
        log.warning("jobs still in hand after %s s; they are put back", FLEET.drain_s)
        let_go()
        _go()

    threading.Thread(target=wait_and_go, name="overtime", daemon=True).start()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _wake_the_waiting(**_: object) -> None:
    _stopping.set()


@worker_shutdown.connect  # type: ignore[untyped-decorator]
def _begin_anew(**_: object) -> None:
    """Everything has ended: become a fresh process of the same number, so that no supervisor is needed."""
    if _beginning_anew.is_set():
        _go()


def _go() -> None:
    logging.shutdown()
    if _beginning_anew.is_set():
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - no shell is the point
    os._exit(0)
