"""One connection, with a loop and a transport of our own: order, delays, resets, drips."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from evalq.engines.simulator.exchange import Delivery, How, HttpRequest, response
from evalq.engines.simulator.ledger import Ledger, LedgerEntry
from evalq.engines.simulator.server import HANG_S, ClientConnection

ANSWER = response(200, b"0123456789")


class Timer:
    """Something to be done later, unless cancelled."""

    def __init__(self, at: float, act: Callable[[], None]) -> None:
        self.at, self.act, self.is_cancelled = at, act, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop:
    """As much of an event loop as a connection uses; time passes when it is told to."""

    def __init__(self) -> None:
        self.now, self.timers = 0.0, list[Timer]()

    def call_later(self, delay: float, act: Callable[..., None], *arguments: Any) -> Timer:
        self.timers.append(Timer(self.now + delay, lambda: act(*arguments)))
        return self.timers[-1]

    def call_soon(self, act: Callable[..., None], *arguments: Any) -> Timer:
        return self.call_later(0, act, *arguments)

    def run(self, until: float) -> None:
        while due := [timer for timer in self.timers if timer.at <= until and not timer.is_cancelled]:
            timer = min(due, key=lambda one: one.at)
            self.timers.remove(timer)
            self.now = timer.at
            timer.act()
        self.now = until


class Transport(asyncio.Transport):
    """Remembers what was done with it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.ends, self.options = bytearray(), list[str](), list[Any]()

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.ends.append("closed")

    def abort(self) -> None:
        self.ends.append("reset" if self.options else "aborted")

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)


class Wire:
    """A client's end of a connection whose provider delivers as told."""

    def __init__(self, how: How = "send", delay_s: float = 0.0) -> None:
        self.loop, self.transport, self.ledger = Loop(), Transport(), Ledger()
        self.how, self.delay_s, self.asked = how, delay_s, list[str]()
        self.connection = ClientConnection(self.handle, self.loop)  # type: ignore[arg-type]
        self.connection.connection_made(self.transport)

    def handle(self, request: HttpRequest) -> Delivery:
        self.asked.append(request.target)
        entry = LedgerEntry(len(self.asked), 0.0, "m", "openai", "k", True, None, 1, 1, 200)
        return Delivery(self.how, ANSWER, self.delay_s, self.ledger.open(entry))

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    def in_flight(self) -> int:
        return self.ledger._all.in_flight


def get(target: str, headers: str = "") -> bytes:
    return f"GET {target} HTTP/1.1\r\n{headers}\r\n".encode()


def test_a_request_in_pieces_is_answered_once() -> None:
    wire = Wire()
    for byte in get("/a"):
        wire.send(bytes([byte]))
    assert wire.asked == ["/a"]
    assert wire.transport.sent == ANSWER
    assert wire.in_flight() == 0


def test_requests_sent_ahead_are_answered_in_their_order() -> None:
    wire = Wire(delay_s=1.0)
    wire.send(get("/a") + get("/b") + get("/c"))
    assert wire.asked == ["/a"]
    wire.loop.run(1.5)
    assert wire.asked == ["/a", "/b"]
    wire.loop.run(10)
    assert wire.asked == ["/a", "/b", "/c"]
    assert wire.transport.sent == ANSWER * 3
    assert wire.ledger.document()["peak_in_flight"] == 1


def test_an_answer_waits_for_its_latency() -> None:
    wire = Wire(delay_s=0.2)
    wire.send(get("/a"))
    wire.loop.run(0.1)
    assert (bytes(wire.transport.sent), wire.in_flight()) == (b"", 1)
    wire.loop.run(0.3)
    assert (wire.transport.sent, wire.in_flight()) == (ANSWER, 0)


def test_who_leaves_is_not_answered_and_no_longer_in_flight() -> None:
    wire = Wire(delay_s=0.2)
    wire.send(get("/a") + get("/b"))
    wire.connection.connection_lost(None)
    wire.loop.run(1)
    assert (bytes(wire.transport.sent), wire.in_flight(), wire.asked) == (b"", 0, ["/a"])


def test_a_client_may_ask_for_the_end() -> None:
    wire = Wire()
    wire.send(get("/a", "Connection: close\r\n") + get("/b"))
    wire.loop.run(1)
    assert (wire.asked, wire.transport.ends) == (["/a"], ["closed"])


def test_a_reset_is_a_reset() -> None:
    wire = Wire("reset")
    wire.send(get("/a"))
    assert (bytes(wire.transport.sent), wire.transport.ends) == (b"", ["reset"])


def test_a_reset_amid_the_body_comes_after_half_of_it() -> None:
    wire = Wire("send_half")
    wire.send(get("/a"))
    assert wire.transport.sent == ANSWER[:-5]
    wire.loop.run(1)
    assert wire.transport.ends == ["reset"]


def test_an_end_without_an_answer_is_no_reset() -> None:
    wire = Wire("eof")
    wire.send(get("/a"))
    assert (bytes(wire.transport.sent), wire.transport.ends) == (b"", ["closed"])


def test_a_hanging_call_ends_some_day() -> None:
    wire = Wire("hang")
    wire.send(get("/a"))
    wire.loop.run(HANG_S - 1)
    assert (wire.transport.ends, wire.in_flight()) == ([], 1)
    wire.loop.run(HANG_S)
    assert wire.transport.ends == ["aborted"]


def test_a_drip_is_one_byte_each_tenth_of_a_second() -> None:
    wire = Wire("drip")
    wire.send(get("/a"))
    wire.loop.run(0.45)
    assert wire.transport.sent == ANSWER[:-5]
    wire.loop.run(2)
    assert (wire.transport.sent, wire.in_flight()) == (ANSWER, 0)


def test_nonsense_is_refused_and_the_connection_ended() -> None:
    wire = Wire()
    wire.send(b"nonsense\r\n\r\n")
    assert wire.transport.sent.startswith(b"HTTP/1.1 400 ")
    assert wire.transport.ends == ["closed"]


def test_a_client_that_waits_to_go_on_is_told_so_once() -> None:
    wire = Wire()
    wire.send(b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n")
    wire.send(b"a")
    wire.send(b"bc")
    assert wire.transport.sent == b"HTTP/1.1 100 Continue\r\n\r\n" + ANSWER


@pytest.mark.parametrize(("megabytes", "ends"), [(31, []), (33, ["aborted"])])
def test_who_sends_ahead_without_end_is_thrown_out(megabytes: int, ends: list[str]) -> None:
    wire = Wire(delay_s=1.0)
    wire.send(get("/a"))
    for _ in range(megabytes):
        wire.send(b"x" * 1_000_000)
    assert wire.transport.ends == ends
