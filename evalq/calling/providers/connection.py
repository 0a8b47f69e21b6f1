"""One HTTP/1.1 connection: a request leaves in one write, and its reply comes within a deadline."""

import asyncio
import select
import socket
import ssl
from typing import Self

import httpx2

from evalq.calling.failpoints import failpoint
from evalq.calling.providers.reply_reader import Reply, ReplyReader

_EYEBALLS_S = 0.25
"""How long one address of a name may be silent before the next is tried beside it."""

# A long answer is silent for minutes: without these probes a NAT on the way forgets the connection.
_SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
]
for _name, _value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5)):
    if hasattr(socket, _name):  # not on every platform
        _SOCKET_OPTIONS.append((socket.IPPROTO_TCP, getattr(socket, _name), _value))


class Connection(asyncio.Protocol):
    """A connection for one request at a time; it belongs to the loop on which it was opened."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._reader = ReplyReader()
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Reply] | None = None
        self._poll = select.poll()
        self._is_open = False

    @classmethod
    async def open(
        cls, host: str, port: int, *, tls: ssl.SSLContext | None = None, server_name: str | None = None
    ) -> Self:
        """Connect, with TLS if there is a context; the certificate is `server_name`'s, or else the host's."""
        name = (server_name or host) if tls else None
        _, connection = await asyncio.get_running_loop().create_connection(
            cls, host, port, ssl=tls, server_hostname=name, happy_eyeballs_delay=_EYEBALLS_S
        )
        return connection

    async def start_tls(self, tls: ssl.SSLContext, server_name: str) -> None:
        """Speak TLS from here on, with the server at the other end of a tunnel."""
        self._reader = ReplyReader()
        transport = await self._loop.start_tls(self._transport, self, tls, server_hostname=server_name)
        if transport is None:
            raise ConnectionResetError("the tunnel was closed")
        self._transport = transport

    @property
    def peer(self) -> str:
        """The address that was connected to."""
        return str(self._transport.get_extra_info("peername")[0])

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it, as far as the loop has noticed."""
        return self._is_open

    def is_usable(self) -> bool:
        """Whether a request can be sent: the server has neither closed it nor said a word since the last one.

        The socket itself is asked: a busy loop notices late.
        """
        return self._is_open and not self._poll.poll(0)

    async def exchange(self, request: bytes, *, method: str, ends_at: float) -> Reply:
        """Send a request and wait for its reply until `ends_at`, by the loop's clock.

        Raises only httpx2.TransportError, and only after the request was sent, perhaps in part. Unless a
        reply ends the wait, the connection is closed.
        """
        self._reader.expect(method)
        self._waiter = self._loop.create_future()
        timer = self._loop.call_at(ends_at, self._fail, httpx2.ReadTimeout("no answer within the deadline"))
        self._transport.write(request)
        failpoint("after_send")
        try:
            reply = await self._waiter
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
            self._waiter = None
        if not self._reader.can_continue or self._transport.get_write_buffer_size():
            self.close()
        return reply

    def close(self) -> None:
        """Close at once; what was not sent yet is dropped."""
        self._is_open = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The loop has connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._is_open = True
        sock = transport.get_extra_info("socket")
        for option in _SOCKET_OPTIONS:
            sock.setsockopt(*option)
        self._poll.register(sock.fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Bytes came; those that nobody waits for spoil the connection."""
        if self._waiter is None or self._waiter.done():
            self.close()
            return
        try:
            self._reader.feed(data)
        except httpx2.TransportError as exc:
            self._fail(exc)
            return
        if self._reader.reply is not None:
            self._waiter.set_result(self._reader.reply)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended; so has a reply of no stated length."""
        self._is_open = False
        if self._waiter is None or self._waiter.done():
            return
        try:
            self._end_reply(exc)
        except httpx2.TransportError as failure:
            self._fail(failure)

    def _end_reply(self, exc: Exception | None) -> None:
        match exc:
            case None:
                self._reader.end()
            case TimeoutError():
                raise httpx2.ReadTimeout("the network gave up")
            case ConnectionError():
                raise httpx2.ReadError(type(exc).__name__)
            case _:
                raise httpx2.RemoteProtocolError(type(exc).__name__)
        assert self._waiter
        assert self._reader.reply
        self._waiter.set_result(self._reader.reply)

    def _fail(self, failure: httpx2.TransportError) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_exception(failure)
