"""kombu's Redis transport with one client per channel instead of a new one for every acknowledgement."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis


class Channel(redis.Channel):
    """Building a client costs more than the command it sends, and a message needs three of them."""

    _kept: tuple[Any, Any] = (None, None)

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """A client of the channel's pool; a new one only when the pool is, after a reconnect."""
        if client is None:
            pool, client = self._kept
            if pool is not self.pool:
                client = self._create_client()  # type: ignore[no-untyped-call]
                self._kept = (self.pool, client)
        yield client


class Transport(redis.Transport):
    """The transport of those channels."""

    Channel = Channel
