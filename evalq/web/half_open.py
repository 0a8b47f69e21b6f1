"""Connections of the web server that must send their request in time, and make room for others until then."""

import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 20.0
"""From the connection, or the last answer, to the end of the next request."""

MAX_WAITING = 64
"""Connections whose request is not complete; one more, and the oldest is closed."""


class TimelyProtocol(H11Protocol):
    """A connection with one deadline for each request, headers and body together."""

    waiting_since = 0.0
    _deadline: Any = None

    @property
    def is_waiting(self) -> bool:
        """Whether the other side still has to send something."""
        if self.transport.is_closing():
            return False
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: Any) -> None:
        """Start the clock; if too many keep us waiting, close the one that did so longest."""
        super().connection_made(transport)
        self._start_clock()
        waiting = [one for one in self.connections if isinstance(one, TimelyProtocol) and one.is_waiting]
        if len(waiting) > MAX_WAITING:
            min(waiting, key=lambda one: one.waiting_since).transport.abort()

    def on_response_complete(self) -> None:
        """Start the clock for the next request."""
        super().on_response_complete()
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.waiting_since = time.monotonic()
        self._deadline = self.loop.call_later(REQUEST_S, self._close_if_waiting)

    def _close_if_waiting(self) -> None:
        if self.is_waiting:
            self.transport.abort()
