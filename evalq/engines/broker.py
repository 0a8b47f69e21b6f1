"""The broker: the Celery application that producer and workers share, and publishing jobs in chords."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Literal
from uuid import UUID

import celery.utils.imports
import kombu.exceptions
import redis.exceptions
from celery import Celery
from kombu.entity import Exchange, Queue

from evalq.engines.fleet import QUEUES
from evalq.engines.job_messages import JobMessage, chord_id
from evalq.engines.transport import BatchChannel
from evalq.errors import Unreachable
from evalq.records import CONTROL_QUEUE, SANDBOX_QUEUE
from evalq.store.jobs import QueuedJob

# Longer than any job with its waits: a worker's death is noticed by its lease, long before this.
_VISIBILITY_TIMEOUT_S = 6 * 3600
_CHORD_EXPIRES_S = 14 * 24 * 3600
_CELERY_SCHEMES = {"valkey": "redis", "valkeys": "rediss"}
_TRANSPORTS = {
    "batched": "evalq.engines.transport:BatchTransport",
    "plain": "evalq.engines.transport:LeanTransport",
    "celery": None,
}
_EXCHANGE = Exchange("evalq")  # type: ignore[no-untyped-call]

# Celery imports by name with the working folder in front of the path: any file there would be run.
celery.utils.imports.cwd_in_path = nullcontext


def make_app(broker_url: str, *, messages: Literal["batched", "plain", "celery"] = "batched") -> Celery:
    """A Celery application with the settings that producer and workers must share."""
    url = celery_url(broker_url)
    app = Celery("evalq", broker=url, backend=url, set_as_current=False)
    app.conf.update(
        broker_transport=_TRANSPORTS[messages] if url.startswith("redis://") else None,
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        task_queues=[_make_queue(name) for name in (*QUEUES, SANDBOX_QUEUE)],
        task_default_queue=CONTROL_QUEUE,
        task_default_exchange=_EXCHANGE.name,
        task_default_routing_key=CONTROL_QUEUE,
        task_create_missing_queues=False,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        # Events cost a tenth of a worker's time; `evalq worker` turns them on, for Flower.
        worker_send_task_events=False,
        task_send_sent_event=False,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        result_backend_thread_safe=True,
        result_expires=_CHORD_EXPIRES_S,
        result_extended=False,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "max_connections": 1024,
            # Every priority is a queue of its own to look into, and nothing here has one.
            "priority_steps": [0],
            "visibility_timeout": _VISIBILITY_TIMEOUT_S,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
        },
        enable_utc=True,
        timezone="UTC",
    )
    return app


def _make_queue(name: str) -> Queue:
    return Queue(name, _EXCHANGE, routing_key=name)  # type: ignore[no-untyped-call]


def celery_url(broker_url: str) -> str:
    """The broker's URL with a scheme that Celery knows; Valkey speaks the protocol of Redis."""
    scheme, separator, rest = broker_url.partition("://")
    if scheme == "unix":
        path, _, query = rest.partition("?")
        query = re.sub(r"\bdb=", "virtual_host=", query)
        return f"redis+socket://{path}?{query}" if query else f"redis+socket://{path}"
    return _CELERY_SCHEMES.get(scheme, scheme) + separator + rest


class Broker:
    """Publishes jobs and control messages."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def ping(self) -> str:
        """The server's version; raises Unreachable when it is away."""
        with _reachable():
            return str(self._app.backend.client.info("server")["redis_version"])

    def workers(self) -> list[str]:
        """The names of the workers that answer."""
        with _reachable():
            return sorted(self._app.control.inspect(timeout=1.0).ping() or {})

    def queue_length(self, queue: str) -> int:
        """Messages waiting in a queue."""
        with _reachable():
            return int(self._app.backend.client.llen(queue))

    def gates(self) -> dict[str, dict[str, str]]:
        """The limiter's state of each gate."""
        client = self._app.backend.client
        found = {}
        with _reachable():
            keys = client.scan_iter(match="evalq:gate:*", count=1000, _type="HASH")
            for name in sorted(key.decode() for key in keys):
                found[name.removeprefix("evalq:gate:")] = _decode_fields(client.hgetall(name))
        return found

    def learned_room(self, gate: str) -> int | None:
        """How many calls in flight a gate has learned to take; None where that is not learned."""
        with _reachable():
            room = self._app.backend.client.hget(f"evalq:gate:{gate}", "room")
        return int(float(room)) if room else None

    def waiting_at(self, gate: str) -> tuple[int, int]:
        """How many calls are in flight at a gate, and how many callers wait."""
        client = self._app.backend.client
        with _reachable():
            now_ms = client.time()[0] * 1000
            calls = client.zcount(f"evalq:gate:{gate}:calls", now_ms, "+inf")
            waiting = client.zcount(f"evalq:gate:{gate}:waiting", now_ms, "+inf")
            return int(calls), int(waiting)

    def send(self, name: str, *args: object) -> None:
        """Send a job to the control workers."""
        with _reachable():
            self._app.send_task(name, args=args, queue=CONTROL_QUEUE, ignore_result=True)

    def open_chord(self, uid: UUID, run_id: int, size: int) -> None:
        """Set the size of a run's chord, before any of its jobs is published."""
        with _reachable():
            self._app.backend.set_chord_size(str(chord_id(uid, run_id)), size)

    def publish(self, jobs: Sequence[QueuedJob]) -> None:
        """Send the messages of some jobs in batches: each a member of its run's chord, ids only."""
        with _reachable(), self._app.producer_pool.acquire(block=True) as producer:
            if isinstance(producer.channel, BatchChannel):
                self._push(producer, jobs)
                return
            with producer.batch():
                for message, job in self._messages(jobs):
                    message.publish(producer, job)

    def _push(self, producer: Any, jobs: Sequence[QueuedJob]) -> None:
        """One command a queue instead of one a message."""
        texts: dict[str, list[str]] = {}
        for message, job in self._messages(jobs):
            texts.setdefault(message.queue, []).append(message.render(producer, job))
        for queue, messages in texts.items():
            producer.channel.push(queue, messages)

    def _messages(self, jobs: Sequence[QueuedJob]) -> Iterator[tuple[JobMessage, QueuedJob]]:
        """Each job with the message of its run and stage."""
        of_kind: dict[tuple[int, str], JobMessage] = {}
        for job in jobs:
            kind = (job.run_id, job.stage)
            if kind not in of_kind:
                of_kind[kind] = JobMessage(self._app, job)
            yield of_kind[kind], job


def _decode_fields(fields: dict[bytes, bytes]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in fields.items()}


@contextmanager
def _reachable() -> Iterator[None]:
    """Raise Unreachable when the broker is away."""
    try:
        yield
    except (
        redis.exceptions.ConnectionError,
        redis.exceptions.TimeoutError,
        kombu.exceptions.OperationalError,
    ) as exc:
        raise Unreachable(
            f"the broker cannot be reached: {type(exc).__name__}; check EVALQ_BROKER_URL"
        ) from exc
