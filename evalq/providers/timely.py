"""Connections that keep a call's deadline: every read and write gets only the time that is left."""

import http.client
import io
import socket
import threading
import time
from typing import Any

import urllib3.connection

from evalq.failpoints import failpoint


class Call(threading.local):
    """The call this thread is making: when it must be over, and whether anything of it has left."""

    ends_at: float = 0.0
    is_sent: bool = False

    def begin(self, deadline_s: float) -> None:
        """Start the clock."""
        self.ends_at = time.monotonic() + deadline_s
        self.is_sent = False

    def time_left_s(self) -> float:
        """Seconds until the deadline; TimeoutError once there are none."""
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline of the call has passed")
        return left


call = Call()


class _TimelyStream(io.RawIOBase):
    """A socket's stream whose reads end with the call; a socket's own timeout starts anew with every byte."""

    def __init__(self, sock: socket.socket, stream: io.RawIOBase) -> None:
        self._sock = sock
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(call.time_left_s())
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _TimelyResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_TimelyStream(sock, self.fp.detach()))


class _Timely:
    """A connection that sends a request in one piece: one packet, one TLS record, one deadline."""

    _pieces: list[bytes] | None = None

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._pieces = []
        try:
            super().request(*args, **kwargs)  # type: ignore[misc]
            whole = b"".join(self._pieces)
        finally:
            self._pieces = None
        self._open()
        call.is_sent = True
        self.send(whole)
        failpoint("after_send")

    def send(self, data: Any) -> None:
        if self._pieces is None:
            super().send(data)  # type: ignore[misc]
        else:
            self._pieces.append(data)

    def _open(self) -> None:
        connection: Any = self
        if connection.sock is None:
            connection.connect()
        connection.sock.settimeout(call.time_left_s())


class TimelyConnection(_Timely, urllib3.connection.HTTPConnection):
    """Plain HTTP."""

    response_class = _TimelyResponse


class TimelyTlsConnection(_Timely, urllib3.connection.HTTPSConnection):
    """HTTPS."""

    response_class = _TimelyResponse


class Pool(urllib3.HTTPConnectionPool):
    """Connections to one host."""

    ConnectionCls = TimelyConnection


class TlsPool(urllib3.HTTPSConnectionPool):
    """TLS connections to one host."""

    ConnectionCls = TimelyTlsConnection
