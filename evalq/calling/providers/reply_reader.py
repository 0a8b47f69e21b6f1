"""Reads HTTP/1.1 replies from the bytes of a connection, every part of them within bounds."""

import zlib
from typing import NamedTuple

import httptools
import httpx2

MAX_ANSWER_BYTES = 20_000_000
_MAX_HEAD_BYTES = 262_144
_MAX_HEADERS = 200
_MAX_CODINGS = 3
_PACKED = (b"gzip", b"x-gzip", b"deflate")
_LENGTHS = (b"content-length", b"transfer-encoding")
_GZIP_OR_ZLIB = 47
_RAW_DEFLATE = -15

Headers = list[tuple[bytes, bytes]]


class AnswerTooLarge(httpx2.RemoteProtocolError):
    """The answer is longer than any model writes; the rest was left unread."""


class Reply(NamedTuple):
    """What a server answered: names of headers in lower case, the body unpacked."""

    status: int
    headers: Headers
    body: bytes


class ReplyReader:
    """Reads the replies on one connection, one after the other; the parser calls the methods named `on_…`.

    Bounded is also what a server sends between two pieces of a body: chunk sizes, trailers, interim replies.
    """

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True)  # small servers forget it
        self.expect()

    def expect(self, method: str = "GET") -> None:
        """Get ready for a reply; one to HEAD or CONNECT has no body, whatever its headers say."""
        self.reply: Reply | None = None
        self._method = method
        self._failure: httpx2.TransportError | None = None
        self._bare_bytes = 0
        self.on_message_begin()

    def feed(self, data: bytes) -> None:
        """Read on; `reply` is set once it is whole. RemoteProtocolError if this is none."""
        size = self._body_bytes
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as exc:
            self.can_continue = False
            if self.reply is None:
                raise self._failure or httpx2.RemoteProtocolError("it is not HTTP/1.1") from exc
        self._bare_bytes = 0 if self._body_bytes > size else self._bare_bytes + len(data)
        if self._bare_bytes > _MAX_HEAD_BYTES:
            raise httpx2.RemoteProtocolError("its headers do not end")

    def end(self) -> None:
        """The connection has ended, and with it a body of no stated length; else RemoteProtocolError."""
        if not self._is_in_body or self._is_measured:
            raise httpx2.RemoteProtocolError("the connection ended before the reply")
        self._complete()

    def on_message_begin(self) -> None:
        """A reply begins: the first, one after an interim one, or one that nobody asked for."""
        self._headers: Headers = []
        self._parts: list[bytes] = []
        self._head_bytes = self._body_bytes = 0
        self._is_in_body = self._is_measured = False
        self.can_continue = False
        """Whether the connection can be used again: it stays open, and nothing follows the reply."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which is dropped."""
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > _MAX_HEAD_BYTES or len(self._headers) >= _MAX_HEADERS:
            self._fail(httpx2.RemoteProtocolError("its headers are too long"))
        if not self._is_in_body:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The body begins, if there is one."""
        self._is_in_body = True
        self._is_measured = any(name in _LENGTHS for name, _ in self._headers)
        if self._method in ("HEAD", "CONNECT") and self._parser.get_status_code() >= 200:
            self._complete()
            self.can_continue = self._method == "CONNECT"

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        self._parts.append(data)
        self._body_bytes += len(data)
        if self._body_bytes > MAX_ANSWER_BYTES:
            self._fail(_too_large())

    def on_message_complete(self) -> None:
        """A reply is whole; one below 200 only announces another."""
        if self._parser.get_status_code() >= 200 and self.reply is None:
            self._complete()
            self.can_continue = self._parser.should_keep_alive()

    def _complete(self) -> None:
        if self.reply is not None:
            return
        try:
            body = _unpack(b"".join(self._parts), self._headers)
        except httpx2.TransportError as exc:
            self._fail(exc)
        else:
            self.reply = Reply(self._parser.get_status_code(), self._headers, body)

    def _fail(self, failure: httpx2.TransportError) -> None:
        """Stop the parser; it hides what is raised inside it, so the reason is kept aside."""
        self._failure = failure
        raise failure


def _unpack(body: bytes, headers: Headers) -> bytes:
    """The body without its content codings; one that nobody asked for stays."""
    codings: list[bytes] = []
    for name, value in headers:
        if name == b"content-encoding":
            codings += value.lower().replace(b" ", b"").split(b",")
    if not codings or not body:
        return body
    if len(codings) > _MAX_CODINGS:
        raise httpx2.RemoteProtocolError("its body is packed too often")
    for coding in reversed(codings):
        if coding in _PACKED:
            body = _inflate(body)
    return body


def _inflate(packed: bytes) -> bytes:
    """The unpacked body, never more than the limit: a few bytes can hold gigabytes."""
    try:
        unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
        body = unpacker.decompress(packed, MAX_ANSWER_BYTES + 1)
    except zlib.error:
        body, unpacker = _inflate_raw(packed)
    if len(body) > MAX_ANSWER_BYTES:
        raise _too_large()
    if not unpacker.eof or unpacker.unused_data:
        raise httpx2.RemoteProtocolError("its packed body is not whole")
    return body


def _inflate_raw(packed: bytes) -> tuple[bytes, "zlib._Decompress"]:
    """Deflate without the frame around it, as some servers send it."""
    unpacker = zlib.decompressobj(_RAW_DEFLATE)
    try:
        return unpacker.decompress(packed, MAX_ANSWER_BYTES + 1), unpacker
    except zlib.error as exc:
        raise httpx2.RemoteProtocolError("its packed body cannot be read") from exc


def _too_large() -> AnswerTooLarge:
    return AnswerTooLarge(f"more than {MAX_ANSWER_BYTES // 1_000_000} MB")
