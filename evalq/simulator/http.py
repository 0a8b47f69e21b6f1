"""HTTP/1.1 as far as the simulator needs it: one request out of a buffer, one response as bytes."""

from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus

MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 32_000_000

_REASONS = {status.value: status.phrase for status in HTTPStatus} | {529: "Site is overloaded"}


class BadRequest(Exception):
    """Not a request this server reads; `status` is the answer, after which the connection ends."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(_REASONS[status])


@dataclass
class Request:
    """One request. `head` is everything before the body; headers are looked up when someone asks."""

    method: str
    target: str
    head: bytes
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @cached_property
    def _lower(self) -> bytes:
        return self.head.lower()

    def header(self, name: bytes) -> str:
        """A header's value by its lower-case name; "" without one."""
        return _value(self.head, self._lower, name)

    @property
    def wants_close(self) -> bool:
        """True when the connection is to end with this request."""
        return b"\r\nconnection: close" in self._lower


def split_request(buffer: bytes | bytearray) -> tuple[Request, int] | None:
    """The first request of a buffer and its length; None while it is not whole."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        _refuse_when_longer(len(buffer), MAX_HEAD_BYTES, 431)
        return None
    head = bytes(buffer[: end + 2])
    length = end + 4 + _body_length(head, head.lower())
    if len(buffer) < length:
        _refuse_when_longer(length, MAX_BODY_BYTES, 413)
        return None
    method, target = _request_line(head)
    return Request(method, target, head, bytes(buffer[end + 4 : length])), length


def awaits_continue(buffer: bytes | bytearray) -> bool:
    """True for a head whose body is sent only when the client is told to."""
    return buffer.endswith(b"\r\n\r\n") and b"\r\nexpect: 100-continue" in buffer.lower()


def response(status: int, body: bytes, headers: str = "", content_type: str = "application/json") -> bytes:
    """A whole response; `headers` are lines, each with its end."""
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: {content_type}\r\n"
        f"content-length: {len(body)}\r\n{headers}\r\n"
    )
    return head.encode("latin-1") + body


def _value(head: bytes, lower: bytes, name: bytes) -> str:
    at = lower.find(b"\r\n" + name + b":")
    if at < 0:
        return ""
    start = at + len(name) + 3
    return head[start : head.index(b"\r\n", start)].strip().decode("latin-1")


def _request_line(head: bytes) -> tuple[str, str]:
    parts = head[: head.index(b"\r\n")].split(b" ")
    if len(parts) != 3 or not parts[2].startswith(b"HTTP/1."):
        raise BadRequest(400)
    return parts[0].decode("latin-1"), parts[1].decode("latin-1")


def _body_length(head: bytes, lower: bytes) -> int:
    """Bodies come with their length: every SDK knows it."""
    if b"\r\ntransfer-encoding:" in lower:
        raise BadRequest(411)
    length = _value(head, lower, b"content-length") or "0"
    if not length.isdecimal() or len(length) > 12:
        raise BadRequest(400)
    return int(length)


def _refuse_when_longer(length: int, limit: int, status: int) -> None:
    if length > limit:
        raise BadRequest(status)
