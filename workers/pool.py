"""The pool of a worker whose jobs wait: coroutines on one event loop, everything else in a few threads."""

import asyncio
import inspect
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from billiard.einfo import ExceptionInfo
from celery.app.task import Context
from celery.concurrency.base import BasePool, apply_target
from celery.exceptions import SoftTimeLimitExceeded
from celery.signals import worker_shutting_down
from kombu.serialization import loads, prepare_accept_content

from workers.chords import ChordParts

_THREADS = 8
_TICK_S = 0.02
"""Jobs that end within a tick are acknowledged together, and replaced by one fetch."""

Finish = Callable[[], None]


class Pool(BasePool):  # type: ignore[misc]
    """Celery's objects are touched by the consumer's thread alone; the loop tells it what has ended."""

    signal_safe = False
    body_can_be_buffer = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._loop = asyncio.new_event_loop()
        self._loop_thread = threading.Thread(target=self._run_loop, name="jobs", daemon=True)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="job")
        self._chords = ChordParts(self.app)
        self._accepts = prepare_accept_content(self.app.conf.accept_content)  # type: ignore[no-untyped-call]
        self._arrived: deque[_Job] = deque()
        self._ended: deque[Finish] = deque()
        self._n_open = 0
        self._n_at_work = 0
        self._hub: Any = None
        self._is_waking = False
        self._is_telling = False
        self._has_ended = threading.Event()

    def on_start(self) -> None:
        """Start the loop."""
        self._loop_thread.start()

    def register_with_event_loop(self, hub: Any) -> None:
        """Have the consumer's own loop woken when jobs have ended, and when it is to stop."""
        self._hub = hub
        worker_shutting_down.connect(self._wake_consumer)

    def on_apply(
        self,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        callback: Callable[..., Any] | None = None,
        accept_callback: Callable[..., Any] | None = None,
        **options: Any,
    ) -> "_Job":
        """Take on one job, called by the consumer's thread."""
        job = _Job(args, callback, options)
        self._n_open += 1
        task = self.app.tasks[args[0]]
        if inspect.iscoroutinefunction(task.run):
            assert accept_callback is not None
            accept_callback(os.getpid(), time.monotonic())
            self._arrived.append(job)
            if not self._is_waking:  # one wake-up for any number of arrivals
                self._is_waking = True
                self._loop.call_soon_threadsafe(self._start_arrived)
        else:
            self._threads.submit(self._run_in_thread, job, target, kwargs, accept_callback)
        return job

    def on_stop(self) -> None:
        """Drain: the jobs in hand end first."""
        while self._n_open:
            self._has_ended.wait(_TICK_S)
            self._finish_ended()
        self._threads.shutdown()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._loop_thread.join()

    def on_terminate(self) -> None:
        """Leave at once; the jobs in hand are returned by their leases."""

    def terminate_job(self, pid: int, signal: Any = None) -> None:
        """Nothing: a job is no process; Celery also asks the job's own handle, which cancels it."""

    def _get_info(self) -> dict[str, Any]:
        return {**super()._get_info(), "open": self._n_open, "threads": _THREADS}

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _start_arrived(self) -> None:
        self._is_waking = False  # first: an arrival from now on wakes the loop again
        while self._arrived:
            job = self._arrived.popleft()
            job.start(self._run(job))

    async def _run(self, job: "_Job") -> None:
        """Run one coroutine to its end, count it in its chord, and have it acknowledged."""
        started = time.monotonic()
        name, _, headers, body, content_type, encoding = job.message
        try:
            args, kwargs, embedded = self._read(body, content_type, encoding)
            request = Context({**headers, **embedded})
            result = await self._work(job, self.app.tasks[name].run(*args, **kwargs))
            await self._chords.count(request, is_last=not self._n_at_work)
        except _OutOfTime as late:
            self._end(late.report)
        except asyncio.CancelledError:
            self._end(_nothing)  # revoked: Celery has acknowledged it
        except BaseException as exc:  # noqa: BLE001 - a job that raises is reported to Celery, as in any pool
            failure = ExceptionInfo((type(exc), exc, exc.__traceback__))
            self._end(lambda: job.callback((1, failure, time.monotonic() - started)))
        else:
            self._end(lambda: job.callback((0, result, time.monotonic() - started)))

    async def _work(self, job: "_Job", work: Coroutine[Any, Any, Any]) -> Any:
        """Await the job's work, counted among those that do not wait for their chord yet."""
        self._n_at_work += 1
        try:
            return await job.within_limits(work)
        finally:
            self._n_at_work -= 1

    def _read(self, body: Any, content_type: str, encoding: str) -> Any:
        return loads(body, content_type, encoding, accept=self._accepts)  # type: ignore[no-untyped-call]

    def _run_in_thread(
        self, job: "_Job", target: Callable[..., Any], kwargs: Any, accept_callback: Callable[..., Any] | None
    ) -> None:
        """Run an ordinary job as Celery's own thread pool does; its end is left to the consumer's thread."""
        results: list[Any] = []
        try:
            apply_target(target, job.message, kwargs or {}, results.append, accept_callback)
        finally:  # whatever happened, the job is no longer in hand
            report = partial(job.callback, *results) if results else _nothing
            self._loop.call_soon_threadsafe(self._end, report)

    def _end(self, finish: Finish) -> None:
        """Leave the end of a job to the consumer's thread, told once a tick."""
        self._ended.append(finish)
        if not self._is_telling:
            self._is_telling = True
            self._loop.call_later(_TICK_S, self._tell_consumer)

    def _tell_consumer(self) -> None:
        self._is_telling = False
        self._has_ended.set()
        self._hub.call_soon(self._finish_ended)

    def _wake_consumer(self, **_: object) -> None:
        """Let the consumer see at once that it is to stop: it may sleep for a second otherwise.

        By the loop's thread, since Celery's loop does not hear its own thread while it sleeps.
        """
        self._loop.call_soon_threadsafe(self._hub.call_soon, _nothing)

    def _finish_ended(self) -> None:
        """Tell Celery which jobs have ended: it acknowledges them and sends its events."""
        self._has_ended.clear()
        while self._ended:
            finish = self._ended.popleft()
            self._n_open -= 1
            finish()


class _OutOfTime(Exception):
    """A job ran into its time limit; `report` tells Celery."""

    def __init__(self, report: Finish) -> None:
        super().__init__()
        self.report = report


class _Job:
    """One job in the pool; Celery keeps it as the handle by which a job is cancelled."""

    def __init__(self, message: Any, callback: Callable[..., Any] | None, options: dict[str, Any]) -> None:
        assert callback is not None
        self.message = message
        self.callback = callback
        self._options = options
        self._task: asyncio.Task[None] | None = None
        self._is_cancelled = False

    def start(self, running: Coroutine[Any, Any, None]) -> None:
        """Begin, on the loop's thread."""
        self._task = asyncio.get_running_loop().create_task(running)
        if self._is_cancelled:
            self._task.cancel()

    def terminate(self, signum: Any) -> None:
        """Cancel the job, from the consumer's thread: `revoke(terminate=True)`."""
        del signum
        self._is_cancelled = True
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def within_limits(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of the job's work; at its soft or hard time limit it is cancelled."""
        soft_s, hard_s = self._options.get("soft_timeout"), self._options.get("timeout")
        limit_s = min((limit for limit in (soft_s, hard_s) if limit), default=None)
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
            report = self._options["timeout_callback"]
            if limit_s == soft_s:
                report(True, soft_s)
                raise SoftTimeLimitExceeded(soft_s) from None
            raise _OutOfTime(lambda: report(False, hard_s)) from None


def _nothing() -> None:
    """There is nothing left to tell Celery."""
