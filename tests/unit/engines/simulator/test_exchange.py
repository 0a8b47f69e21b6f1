"""Requests out of a buffer, in whatever pieces they come."""

import pytest

from evalq.engines.simulator.exchange import (
    MAX_BODY_BYTES,
    BadRequest,
    awaits_continue,
    response,
    split_request,
)

HEAD = b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nX-API-Key: sK-1\r\nContent-Length: 4\r\n\r\n"


def test_a_whole_request_is_taken_apart() -> None:
    found = split_request(HEAD + b"body")
    assert found
    request, length = found
    assert (request.method, request.target, request.path) == (
        "POST",
        "/v1/messages?beta=true",
        "/v1/messages",
    )
    assert (request.body, length) == (b"body", len(HEAD) + 4)
    assert request.header(b"x-api-key") == "sK-1"
    assert request.header(b"authorization") == ""
    assert not request.wants_close


def test_a_request_is_waited_for_until_it_is_whole() -> None:
    whole = HEAD + b"body"
    assert all(split_request(whole[:end]) is None for end in range(len(whole)))


def test_requests_behind_each_other_are_taken_one_by_one() -> None:
    buffer = bytearray((HEAD + b"body") * 2 + HEAD)
    for _ in range(2):
        found = split_request(buffer)
        assert found
        assert found[0].body == b"body"
        del buffer[: found[1]]
    assert split_request(buffer) is None


def test_a_request_may_have_no_body_and_end_the_connection() -> None:
    found = split_request(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert found
    assert found[0].body == b""
    assert found[0].wants_close


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413),
        (b"x" * 70_000, 431),
    ],
)
def test_what_is_no_request_is_refused(sent: bytes, status: int) -> None:
    with pytest.raises(BadRequest) as caught:
        split_request(sent)
    assert caught.value.status == status


def test_a_client_may_wait_to_be_told_to_go_on() -> None:
    head = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\ncontent-length: 4\r\n\r\n"
    assert awaits_continue(head)
    assert not awaits_continue(head + b"b")
    assert not awaits_continue(HEAD)


def test_a_response_has_its_length_and_headers() -> None:
    assert response(529, b"{}", "x-a: 1\r\n") == (
        b"HTTP/1.1 529 Site is overloaded\r\ncontent-type: application/json\r\n"
        b"content-length: 2\r\nx-a: 1\r\n\r\n{}"
    )
