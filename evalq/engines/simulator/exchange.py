"""What passes between the parts of the simulator: requests, replies and how they are delivered."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from random import Random
from typing import Any, Literal, NamedTuple

from evalq.engines.simulator.ledger import Tally

Finish = Literal["stop", "length", "empty", "blocked", "refusal"]
How = Literal["send", "reset", "send_half", "eof", "hang", "drip"]

CHARS_PER_TOKEN = 4
_ENVELOPE_TOKENS = 8


@dataclass(slots=True)
class ModelRequest:
    """A request as far as the simulator reads it; `user` is the last user message."""

    model: str
    system: str
    user: str
    prompt: str
    max_tokens: int | None = None
    has_temperature: bool = False
    is_structured: bool = False
    is_streamed: bool = False

    @property
    def input_tokens(self) -> int:
        """About four characters a token, a few tokens for the envelope."""
        return len(self.prompt) // CHARS_PER_TOKEN + _ENVELOPE_TOKENS


@dataclass(slots=True)
class ModelReply:
    """The model's text and the tokens billed for it; thinking is billed beside the answer."""

    text: str
    finish: Finish
    input_tokens: int
    answer_tokens: int
    thinking_tokens: int

    @property
    def output_tokens(self) -> int:
        """Everything billed as output."""
        return self.answer_tokens + self.thinking_tokens


class Delivery(NamedTuple):
    """What a connection does with a request, and after how long; it closes `tally` when done."""

    how: How
    data: bytes = b""
    delay_s: float = 0.0
    tally: Tally | None = None


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("parts"))
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


_UNIT = float(1 << 64)


def digest(*words: str) -> str:
    """A fingerprint of the words, in hexadecimal."""
    return hashlib.sha256("\x1f".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def draw(*words: str) -> float:
    """A number from 0 up to, but not including, 1."""
    return int(digest(*words)[:16], 16) / _UNIT


def generator(*words: str) -> Random:
    """A whole generator, where one number is not enough."""
    return Random(digest(*words))  # noqa: S311 - a simulation, not a secret


MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 32_000_000

_REASONS = {status.value: status.phrase for status in HTTPStatus} | {529: "Site is overloaded"}


class BadRequest(Exception):
    """Not a request this server reads; `status` is the answer, after which the connection ends."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(_REASONS[status])


@dataclass
class HttpRequest:
    """One request. `head` is everything before the body; headers are looked up on demand."""

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
        return _read_header(self.head, self._lower, name)

    @property
    def wants_close(self) -> bool:
        """Whether the connection ends with this request."""
        return b"\r\nconnection: close" in self._lower


def split_request(buffer: bytes | bytearray) -> tuple[HttpRequest, int] | None:
    """The first request of a buffer and its length; None while it is not whole."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        _refuse_if_longer(len(buffer), MAX_HEAD_BYTES, 431)
        return None
    head = bytes(buffer[: end + 2])
    length = end + 4 + _read_body_length(head, head.lower())
    if len(buffer) < length:
        _refuse_if_longer(length, MAX_BODY_BYTES, 413)
        return None
    method, target = _read_request_line(head)
    return HttpRequest(method, target, head, bytes(buffer[end + 4 : length])), length


def awaits_continue(buffer: bytes | bytearray) -> bool:
    """Whether the client waits for `100 Continue` before it sends the body."""
    return buffer.endswith(b"\r\n\r\n") and b"\r\nexpect: 100-continue" in buffer.lower()


def response(status: int, body: bytes, headers: str = "", content_type: str = "application/json") -> bytes:
    """A whole response; `headers` are lines, each with its end."""
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: {content_type}\r\n"
        f"content-length: {len(body)}\r\n{headers}\r\n"
    )
    return head.encode("latin-1") + body


def _read_header(head: bytes, lower: bytes, name: bytes) -> str:
    at = lower.find(b"\r\n" + name + b":")
    if at < 0:
        return ""
    start = at + len(name) + 3
    return head[start : head.index(b"\r\n", start)].strip().decode("latin-1")


def _read_request_line(head: bytes) -> tuple[str, str]:
    parts = head[: head.index(b"\r\n")].split(b" ")
    if len(parts) != 3 or not parts[2].startswith(b"HTTP/1."):
        raise BadRequest(400)
    return parts[0].decode("latin-1"), parts[1].decode("latin-1")


def _read_body_length(head: bytes, lower: bytes) -> int:
    """The length of the body, which every SDK sends."""
    if b"\r\ntransfer-encoding:" in lower:
        raise BadRequest(411)
    length = _read_header(head, lower, b"content-length") or "0"
    if not length.isdecimal() or len(length) > 12:
        raise BadRequest(400)
    return int(length)


def _refuse_if_longer(length: int, limit: int, status: int) -> None:
    if length > limit:
        raise BadRequest(status)
