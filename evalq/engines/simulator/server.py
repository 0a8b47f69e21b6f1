"""The simulator's server: loopback only, one thread, everything on one event loop."""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

from evalq.engines.simulator.exchange import (
    MAX_BODY_BYTES,
    MAX_HEAD_BYTES,
    BadRequest,
    Delivery,
    HttpRequest,
    awaits_continue,
    response,
    split_request,
)
from evalq.engines.simulator.profile import SimulatorConfig
from evalq.engines.simulator.protocols import wire_of
from evalq.engines.simulator.provider import PREFIX, Provider, control
from evalq.errors import Unreachable

Handle = Callable[[HttpRequest], Delivery]

HANG_S = 60.0
_DRIP_S = 0.1
# Long enough for the client to read what was sent before the reset throws it away.
_BEFORE_RESET_S = 0.05
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class ClientConnection(asyncio.Protocol):
    """Requests that come early wait in the buffer: answers leave in the order of the questions."""

    def __init__(self, handle: Handle, loop: asyncio.AbstractEventLoop) -> None:
        self._handle = handle
        self._loop = loop
        self._buffer = bytearray()
        self._delivery: Delivery | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_last = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client came."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Bytes came: perhaps a request is whole now."""
        self._buffer += data
        if self._delivery is None:
            self._next()
        elif len(self._buffer) > MAX_BODY_BYTES + MAX_HEAD_BYTES:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client left, or was thrown out."""
        del exc
        if self._timer:
            self._timer.cancel()
        self._close_tally()
        self._is_last = True

    def _next(self) -> None:
        """Take the next request from the buffer, if it is whole and the client is still there."""
        if self._delivery is not None or self._is_last:
            return
        try:
            found = split_request(self._buffer)
        except BadRequest as exc:
            self._transport.write(response(exc.status, b"", "connection: close\r\n"))
            self._transport.close()
            return
        if found:
            self._begin(*found)
        elif awaits_continue(self._buffer):
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _begin(self, request: HttpRequest, length: int) -> None:
        del self._buffer[:length]
        self._is_last = request.wants_close
        self._delivery = delivery = self._handle(request)
        if delivery.delay_s > 0:
            self._later(delivery.delay_s, self._carry_out, delivery)
        else:
            self._carry_out(delivery)

    def _carry_out(self, delivery: Delivery) -> None:
        match delivery.how:
            case "send":
                self._transport.write(delivery.data)
                self._end()
            case "reset":
                self._reset()
            case "send_half":
                self._send_half(delivery.data)
            case "eof":
                self._transport.close()
            case "hang":
                self._later(HANG_S, self._transport.abort)
            case "drip":
                self._drip(delivery.data)

    def _reset(self) -> None:
        """RST instead of FIN: closing with a linger time of zero."""
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._transport.abort()

    def _send_half(self, data: bytes) -> None:
        body_at = data.index(b"\r\n\r\n") + 4
        self._transport.write(data[: (body_at + len(data)) // 2])
        self._later(_BEFORE_RESET_S, self._reset)

    def _drip(self, data: bytes) -> None:
        """The head at once, the body byte by byte."""
        body_at = data.index(b"\r\n\r\n") + 4
        self._transport.write(data[:body_at])
        self._drop(data, body_at)

    def _drop(self, data: bytes, at: int) -> None:
        if at == len(data):
            self._end()
        else:
            self._transport.write(data[at : at + 1])
            self._later(_DRIP_S, self._drop, data, at + 1)

    def _later(self, seconds: float, act: Callable[..., None], *arguments: object) -> None:
        self._timer = self._loop.call_later(seconds, act, *arguments)

    def _end(self) -> None:
        """The answer is out: close, or look for the next request, in its own turn so as not to recurse."""
        self._close_tally()
        if self._is_last:
            self._transport.close()
        elif self._buffer:
            self._loop.call_soon(self._next)

    def _close_tally(self) -> None:
        if self._delivery and self._delivery.tally:
            self._delivery.tally.close()
        self._delivery = None


HOST = "127.0.0.1"

_BACKLOG = 4096
_OPEN_FILES = 65_536


class SimulatorServer:
    """Listens from the start; serves while `run` runs."""

    def __init__(self, config: SimulatorConfig, *, port: int = 0, root: Path = Path()) -> None:
        self.provider = _provider(config, root)
        _allow_open_files()
        self._loop = asyncio.new_event_loop()
        make = partial(ClientConnection, partial(_handle, self.provider), self._loop)
        try:
            listen = self._loop.create_server(make, HOST, port, backlog=_BACKLOG)
            self._server = self._loop.run_until_complete(listen)
        except OSError as exc:
            self._loop.close()
            raise Unreachable(f"cannot listen on port {port}: {exc.strerror}; choose another port") from exc

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def stop_when_readable(self, descriptor: int, is_over: Callable[[], bool]) -> None:
        """Have `run` return when something can be read there and that means the end."""
        self._loop.add_reader(descriptor, lambda: self._loop.stop() if is_over() else None)

    def run(self) -> None:
        """Serve until stopped, interrupted or terminated."""
        try:
            self._loop.run_forever()
        finally:
            self._server.close()
            self._loop.close()


def _provider(config: SimulatorConfig, root: Path) -> Provider:
    from evalq.engines.simulator.answers import load_known

    return Provider(config.profiles, load_known(config.cases, root).answer)


def _handle(provider: Provider, request: HttpRequest) -> Delivery:
    if request.target.startswith(PREFIX):
        return control(provider, request)
    wire = wire_of(request.path) if request.method == "POST" else None
    if wire is None:
        error = {"message": f"The simulator does not know {request.method} {request.path}"}
        return Delivery("send", response(404, json.dumps({"error": error}).encode()))
    return provider.take(wire, request)


def _allow_open_files() -> None:
    """A connection is an open file; the usual limit of 1,024 is less than a fleet opens."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
