"""The transport against servers that misbehave below HTTP: the deadline holds, and nothing grows forever."""

import gzip
import socket
import struct
import zlib

import httpx2
import pytest
from socket_servers import (
    OK,
    OK_2,
    Handler,
    Serve,
    answering,
    deaf,
    dripping,
    read_request,
    reset,
    send,
    silent,
    staying,
)

from evalq.calling.providers.reply_reader import MAX_ANSWER_BYTES, AnswerTooLarge

CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def zipped(body: bytes) -> bytes:
    return gzip.compress(body, 1, mtime=0)


def packed(body: bytes, coding: bytes = b"gzip") -> bytes:
    return OK + b"content-encoding: %s\r\ncontent-length: %d\r\n\r\n" % (coding, len(body)) + body


@pytest.mark.parametrize(
    "handle",
    [
        silent,
        dripping(b"", b"HTTP/1.1 200 OK\r\nx: "),
        dripping(OK + b"x-a: ", b"y"),
        dripping(OK + b"content-length: 9999\r\n\r\n", b" "),
        dripping(CHUNKED, b"1\r\nx\r\n"),
        dripping(CHUNKED + b"1;", b"x"),
        dripping(CHUNKED + b"0\r\n", b"x: y\r\n"),
        dripping(OK + b"\r\n", b" "),
        dripping(CONTINUE, CONTINUE),
        staying(OK + b"content-le"),
        staying(OK + b"content-length: 2\r\n\r\no"),
        staying(CHUNKED + b"ffffffffffffffff\r\nx"),
    ],
)
def test_the_deadline_holds_whatever_the_server_does(handle: Handler, serve: Serve) -> None:
    with pytest.raises(httpx2.TimeoutException):  # these servers never end
        send(serve(handle), deadline_s=0.5)


def test_a_deadline_too_short_for_anything_sends_nothing(serve: Serve) -> None:
    with pytest.raises(httpx2.ConnectTimeout):
        send(serve(silent), deadline_s=1e-9)


def test_a_server_that_reads_nothing_stops_no_large_prompt(serve: Serve) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        send(serve(deaf), deadline_s=3.0, body=b"x" * 50_000_000)


def reset_early(connection: socket.socket) -> None:
    """Resets while the request is still coming."""
    connection.recv(1000)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    ("handle", "error"),
    [
        (reset, httpx2.ReadError),
        (reset_early, httpx2.ReadError),
        (read_request, httpx2.RemoteProtocolError),
        (answering(OK + b"content-length: 9\r\n\r\nabc"), httpx2.RemoteProtocolError),
        (answering(OK + b"content-length: -9\r\n\r\nabc"), httpx2.RemoteProtocolError),
        (
            answering(OK + b"content-length: 3\r\ncontent-length: 4\r\n\r\nabcd"),
            httpx2.RemoteProtocolError,
        ),
        (
            answering(OK + b"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n"),
            httpx2.RemoteProtocolError,
        ),
        (answering(CHUNKED + b"zz\r\n"), httpx2.RemoteProtocolError),
        (answering(CHUNKED + b"-1\r\nx"), httpx2.RemoteProtocolError),
        (answering(CHUNKED + b"5\r\nabc"), httpx2.RemoteProtocolError),
        (answering(CHUNKED + b"ffffffffffffffff\r\nabc"), httpx2.RemoteProtocolError),
        (answering(CHUNKED + b"fffffffffffffffff\r\nabc"), httpx2.RemoteProtocolError),
        (answering(OK + b"half: a hea"), httpx2.RemoteProtocolError),
        (answering(packed(b"abc")), httpx2.RemoteProtocolError),
        (answering(packed(zipped(b"hello" * 100)[:-12])), httpx2.RemoteProtocolError),
        (answering(packed(zipped(b"a") + b"more")), httpx2.RemoteProtocolError),
        (answering(packed(b"abc", b"gzip, gzip, gzip, gzip")), httpx2.RemoteProtocolError),
        (answering(b"\x00\x01\r\n\r\n"), httpx2.RemoteProtocolError),
        (answering(b"garbage\r\n" + OK_2), httpx2.RemoteProtocolError),
        (answering(b"HTTP/1.1 abc OK\r\n\r\n"), httpx2.RemoteProtocolError),
        (
            answering(b"HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nxx"),
            httpx2.RemoteProtocolError,
        ),
    ],
)
def test_a_broken_answer_is_an_error_the_sdks_know(
    handle: Handler, error: type[Exception], serve: Serve
) -> None:
    with pytest.raises(error):
        send(serve(handle), body=b"x" * 10_000_000 if handle is reset_early else b"{}")


@pytest.mark.parametrize(
    "reply",
    [
        OK + b"x: " + b"y" * 10_000_000,
        OK + b"x: y\r\n" * 300 + b"content-length: 2\r\n\r\nok",
        OK + b"x: " + b"y" * 300_000 + b"\r\ncontent-length: 2\r\n\r\nok",
        CONTINUE * 20_000,
        CHUNKED + b"1;" + b"x" * 1_000_000,
        CHUNKED + b"0\r\n" + b"x: y\r\n" * 100_000,
    ],
    ids=[
        "one long header",
        "many headers",
        "a large header",
        "interim replies",
        "a chunk's name",
        "trailers",
    ],
)
def test_what_is_not_the_body_is_bounded_too(reply: bytes, serve: Serve) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        send(serve(staying(reply)))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (OK_2, "ok"),
        (OK + b"\r\nuntil the end", "until the end"),
        (CHUNKED + b"1\r\no\r\n1;x=y\r\nk\r\n0\r\nx-late: 1\r\n\r\n", "ok"),
        (CONTINUE + b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\n" + OK_2, "ok"),
        (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", "ok"),
        (b"HTTP/1.0 200 OK\ncontent-length: 2\n\nok", "ok"),
        (b"HTTP/1.1 204 None\r\n\r\n", ""),
        (b"HTTP/1.1 304 Same\r\ncontent-length: 9\r\n\r\n", ""),
        (packed(zipped(b"ok")), "ok"),
        (packed(zlib.compress(b"ok"), b"deflate"), "ok"),
        (packed(zlib.compress(b"ok")[2:-4], b"deflate"), "ok"),
        (packed(zipped(zipped(b"ok")), b"gzip, gzip"), "ok"),
        (packed(b"ok", b"identity"), "ok"),
        (packed(b"", b"gzip"), ""),
    ],
)
def test_a_reply_in_any_valid_form_is_read(reply: bytes, text: str, serve: Serve) -> None:
    response = send(serve(answering(reply)))
    assert response.text == text
    assert not {"content-encoding", "transfer-encoding", "link", "x-late"} & set(response.headers)


def test_a_reply_to_head_has_no_body_whatever_it_says(serve: Serve) -> None:
    response = send(serve(staying(OK + b"content-length: 500\r\n\r\n")), method="HEAD")
    assert (response.status_code, response.content) == (200, b"")


def test_a_header_may_hold_any_byte(serve: Serve) -> None:
    response = send(serve(answering(OK + b"x-name: caf\xe9\r\nx-empty:\r\ncontent-length: 0\r\n\r\n")))
    assert (response.headers["x-name"], response.headers["x-empty"]) == ("café", "")


def test_an_answer_without_end_is_left_unread(serve: Serve) -> None:
    endless = dripping(CHUNKED, b"fffff\r\n" + b" " * 0xFFFFF + b"\r\n")
    with pytest.raises(AnswerTooLarge):
        send(serve(endless))


@pytest.mark.parametrize("coding", [b"gzip", b"deflate", b"gzip, gzip"])
def test_a_small_body_cannot_unpack_to_gigabytes(coding: bytes, serve: Serve) -> None:
    plain = bytes(MAX_ANSWER_BYTES + 1)
    bomb = zlib.compress(plain) if coding == b"deflate" else zipped(plain)
    if coding == b"gzip, gzip":
        bomb = zipped(bomb)
    with pytest.raises(AnswerTooLarge):
        send(serve(answering(packed(bomb, coding))))


def test_no_redirect_is_followed(serve: Serve) -> None:
    elsewhere: list[socket.socket] = []
    target = serve(elsewhere.append)
    redirect = b"HTTP/1.1 307 Go\r\nlocation: %s\r\ncontent-length: 0\r\n\r\n" % target.encode()
    assert send(serve(answering(redirect))).status_code == 307
    assert elsewhere == []
