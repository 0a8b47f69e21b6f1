"""Celery's Redis transport with fewer round trips: messages are fetched and acknowledged many at once."""

import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import redis.exceptions
from kombu.transport import redis as redis_transport
from kombu.transport import virtual
from kombu.utils import json as kombu_json

log = logging.getLogger(__name__)

_MOST_TAGS = 500
_MOST_PUSHED = 1000
_SHARES = 8
"""A worker with room for n messages takes n/8 at a time: the others of the fleet take theirs in between."""

_FETCH = (Path(__file__).parent / "fetch_messages.lua").read_text("utf-8")


class LeanChannel(redis_transport.Channel):
    """Keeps its client: building one costs more than the command it sends, and a message needs three."""

    _kept: tuple[Any, Any] = (None, None)

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """The client of the channel's pool, rebuilt only when a reconnect replaced the pool."""
        if client is None:
            pool, client = self._kept
            if pool is not self.pool:
                client = self._create_client()  # type: ignore[no-untyped-call]
                self._kept = (self.pool, client)
        yield client


class LeanTransport(redis_transport.Transport):
    """The plain path: one message, one round trip."""

    Channel = LeanChannel


class BatchQoS(redis_transport.QoS):
    """Acknowledges messages together: those since the consumer's loop last went round."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self.recorded: set[str] = set()
        """Tags of fetched messages, whose receipts the fetch has written."""
        self.acked: list[str] = []
        """Tags to acknowledge with the next fetch."""

    def append(self, message: Any, delivery_tag: str) -> None:
        """Note a delivery."""
        if delivery_tag in self.recorded:
            self.recorded.remove(delivery_tag)
            virtual.QoS.append(self, message, delivery_tag)  # type: ignore[no-untyped-call]
        else:
            super().append(message, delivery_tag)  # type: ignore[no-untyped-call]

    def ack(self, delivery_tag: str) -> None:
        """Have a message acknowledged soon; if that is lost, it is delivered again, which harms nothing."""
        self.acked.append(delivery_tag)
        virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]
        if not self.channel.connection.has_loop:
            self.channel.send_acks()

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """At the end, acknowledge what is done before the rest goes back."""
        self.channel.send_acks()
        super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]


class BatchChannel(LeanChannel):
    """Fetches as many messages as there is room for; waits for one as kombu does when there is none."""

    QoS = BatchQoS
    _captured: list[str] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self._without_acks: set[str] = set()
        """Queues whose messages nobody acknowledges: kombu fetches those itself, and writes no receipts."""

    def basic_consume(self, queue: str, no_ack: bool, *args: Any, **kwargs: Any) -> Any:
        """Consume from a queue."""
        if no_ack:
            self._without_acks.add(queue)
        else:
            self._without_acks.discard(queue)
        return super().basic_consume(queue, no_ack, *args, **kwargs)  # type: ignore[no-untyped-call]

    @contextmanager
    def capturing(self) -> Iterator[list[str]]:
        """Collect the texts of messages that are published meanwhile, instead of sending them."""
        self._captured = []
        try:
            yield self._captured
        finally:
            self._captured = None

    def push(self, queue: str, messages: Sequence[str]) -> None:
        """Put messages into a queue, in their order."""
        key = self._q_for_pri(queue, self.priority_steps[0])  # type: ignore[no-untyped-call]
        with self.conn_or_acquire() as client:
            for at in range(0, len(messages), _MOST_PUSHED):
                client.lpush(key, *messages[at : at + _MOST_PUSHED])

    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        if self._captured is None:
            super()._put(queue, message, **kwargs)  # type: ignore[no-untyped-call]
        else:
            self._captured.append(kombu_json.dumps(message))  # type: ignore[no-untyped-call]

    def _brpop_start(self, timeout: float | None = None) -> None:
        self.exchange()
        if self.qos.can_consume():
            super()._brpop_start(timeout)  # type: ignore[no-untyped-call]

    def exchange(self) -> None:
        """Send the acknowledgements, take messages for the room there is, and deliver them."""
        self.send_acks(room=self._room())

    def send_acks(self, *, room: int = 0) -> None:
        """Send the acknowledgements; with `room`, fetch up to that many messages too."""
        while self.qos.acked or room > 0:
            tags = self.qos.acked[:_MOST_TAGS]
            fetched = self._run_fetch(tags, room)
            del self.qos.acked[: len(tags)]
            room = 0
            for one in fetched:
                self._deliver_fetched(one)

    def _room(self) -> int:
        """How many messages to fetch: none while kombu waits for one, which will be answered."""
        if self._in_poll or self._without_acks.issuperset(self.active_queues):
            return 0
        in_all = self.qos.prefetch_count
        free = int(self.qos.can_consume_max_estimate()) if in_all else _MOST_TAGS
        return min(free, max(1, (in_all or _MOST_TAGS) // _SHARES))

    def _run_fetch(self, tags: list[str], room: int) -> list["_Fetched"]:
        cycle = self._queue_cycle.consume(len(self.active_queues)) if room else []
        queues = [queue for queue in cycle if queue not in self._without_acks]
        keys = [self.unacked_index_key, self.unacked_key, *queues]
        with self.conn_or_acquire() as client:
            try:
                reply = self._fetch_script(keys=keys, args=[time.time(), room, *tags], client=client)
            except redis.exceptions.ResponseError as exc:
                # A server that is too old or full: kombu's own commands still work there.
                log.warning("messages are fetched one by one: %s", exc)
                self._ack_plainly(client, tags)
                return []
        fetched = [_Fetched(*reply[place : place + 3]) for place in range(0, len(reply), 3)]
        for queue in {one.queue for one in fetched}:
            self._queue_cycle.rotate(queue)  # the others are first in line next time
        return fetched

    def _ack_plainly(self, client: Any, tags: list[str]) -> None:
        if tags:
            client.zrem(self.unacked_index_key, *tags)
            client.hdel(self.unacked_key, *tags)

    @cached_property
    def _fetch_script(self) -> Any:
        return self.client.register_script(_FETCH)

    def _deliver_fetched(self, one: "_Fetched") -> None:
        payload = json.loads(one.message)
        if one.is_recorded:
            self.qos.recorded.add(payload["properties"]["delivery_tag"])
        self.connection._deliver(payload, one.queue)  # noqa: SLF001 - as kombu's own channel does


class _Fetched:
    """One message from a queue; `is_recorded` if its receipt is written."""

    def __init__(self, queue: bytes, message: bytes, is_recorded: int) -> None:
        self.queue = queue.decode()
        self.message = message
        self.is_recorded = bool(is_recorded)


class BatchTransport(redis_transport.Transport):
    """The fast path: as many messages in one round trip as there is room for."""

    Channel = BatchChannel
    has_loop = False
    """Whether a consumer's loop goes round, and sends the acknowledgements."""

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        """Exchange messages each time the loop goes round and there is something to acknowledge."""
        super().register_with_event_loop(connection, loop)  # type: ignore[no-untyped-call]
        loop.on_tick.add(self._exchange_all)
        self.has_loop = True

    def _exchange_all(self) -> None:
        for channel in self.channels:
            if channel.qos.acked:
                channel.exchange()
