"""Connections between calls: used again while they are good, and nothing is ever sent twice."""

import asyncio
import os
import socket
import threading
import warnings

import pytest
from socket_servers import (
    OK,
    OK_2,
    Serve,
    ask,
    read_request,
    send,
    send_in_turn,
    wait_for_end,
)

from evalq.calling.providers.transport import client

PATIENCE_S = 60.0


class Counting:
    """A server that counts; `answer` has replies by number of connection and request, empty ones end it."""

    def __init__(self, answer: dict[tuple[int, int], bytes] | None = None) -> None:
        self.connections = 0
        self.requests = 0
        self.answer = answer or {}
        self.ended = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            number = self.connections
        try:
            for at in range(1, 1000):
                read_request(connection)
                with self._lock:
                    self.requests += 1
                reply = self.answer.get((number, at), OK_2)
                if not reply:
                    return
                connection.sendall(reply)
        except ConnectionError:
            self.ended.set()


def test_a_connection_is_used_again(serve: Serve) -> None:
    server = Counting()
    assert send_in_turn(serve(server), 5) == ["ok"] * 5
    assert server.connections == 1


@pytest.mark.parametrize(
    "reply",
    [
        OK_2 + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
        OK_2 + b"evil",
        OK + b"connection: close\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    ],
)
def test_a_connection_with_a_rest_or_an_end_is_not_used_again(reply: bytes, serve: Serve) -> None:
    server = Counting({(1, 1): reply})
    assert send_in_turn(serve(server), 2) == ["ok", "ok"]
    assert server.connections == 2


def test_a_connection_closed_in_the_middle_of_a_call_is_not_tried_again(serve: Serve) -> None:
    """The server closes it just when it is used again: nobody knows whether it read the request."""
    server = Counting({(1, 2): b""})
    assert send_in_turn(serve(server), 3) == ["ok", "RemoteProtocolError", "ok"]
    assert (server.connections, server.requests) == (2, 3)


@pytest.mark.parametrize("last_words", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"])
def test_a_connection_spoiled_while_the_loop_was_busy_is_replaced(last_words: bytes, serve: Serve) -> None:
    go, gone, seen = threading.Event(), threading.Event(), 0

    def handle(connection: socket.socket) -> None:
        nonlocal seen
        seen += 1
        read_request(connection)
        connection.sendall(OK_2)
        go.wait(PATIENCE_S)
        connection.sendall(last_words)
        connection.shutdown(socket.SHUT_WR)
        gone.set()

    async def run(url: str) -> list[str]:
        first = await ask(url)
        go.set()
        gone.wait(PATIENCE_S)  # the loop stands still, and has noticed nothing
        return [first.text, (await ask(url)).text]

    assert asyncio.run(run(serve(handle))) == ["ok", "ok"]
    assert seen == 2


def test_as_many_connections_wait_as_were_busy_at_once(serve: Serve) -> None:
    count, all_here, connections = 100, threading.Barrier(100, timeout=PATIENCE_S), 0

    def handle(connection: socket.socket) -> None:
        nonlocal connections
        connections += 1
        for _ in range(2):
            read_request(connection)
            all_here.wait()
            connection.sendall(OK_2)
        wait_for_end(connection)

    async def run(url: str) -> None:
        for _ in range(2):
            await asyncio.gather(*[ask(url) for _ in range(count)])

    asyncio.run(run(serve(handle)))
    assert connections == count


def test_an_answer_before_the_request_was_read_ends_the_connection(serve: Serve) -> None:
    seen = 0

    def handle(connection: socket.socket) -> None:
        nonlocal seen
        seen += 1
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Large\r\ncontent-length: 2\r\n\r\nno")
        threading.Event().wait(PATIENCE_S)

    async def run(url: str) -> list[int]:
        return [(await ask(url, body=b"x" * 50_000_000)).status_code for _ in range(2)]

    assert asyncio.run(run(serve(handle))) == [413, 413]
    assert seen == 2


def test_a_call_that_is_cancelled_closes_its_connection(serve: Serve) -> None:
    came, left = threading.Event(), threading.Event()

    def handle(connection: socket.socket) -> None:
        read_request(connection)
        came.set()
        wait_for_end(connection)
        left.set()

    async def run(url: str) -> bool:
        call = asyncio.create_task(ask(url))
        await asyncio.to_thread(came.wait, PATIENCE_S)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return await asyncio.to_thread(left.wait, PATIENCE_S)

    assert asyncio.run(run(serve(handle)))


def test_connections_end_with_their_loop(serve: Serve) -> None:
    server = Counting()
    url = serve(server)
    assert send(url).text == "ok"
    assert server.ended.wait(PATIENCE_S)
    assert send(url).text == "ok"
    assert server.connections == 2


def test_a_closed_client_opens_new_connections(serve: Serve) -> None:
    server = Counting()

    async def run(url: str) -> bool:
        await ask(url)
        await client.aclose()
        ended = await asyncio.to_thread(server.ended.wait, PATIENCE_S)
        await ask(url)
        return ended

    assert asyncio.run(run(serve(server)))
    assert server.connections == 2


def test_a_client_closed_during_a_call_closes_its_connection_after_it(serve: Serve) -> None:
    came, go, left = threading.Event(), threading.Event(), threading.Event()

    def handle(connection: socket.socket) -> None:
        read_request(connection)
        came.set()
        go.wait(PATIENCE_S)
        connection.sendall(OK_2)
        wait_for_end(connection)
        left.set()

    async def run(url: str) -> tuple[str, bool]:
        call = asyncio.create_task(ask(url))
        await asyncio.to_thread(came.wait, PATIENCE_S)
        await client.aclose()
        go.set()
        text = (await call).text
        return text, await asyncio.to_thread(left.wait, PATIENCE_S)

    assert asyncio.run(run(serve(handle))) == ("ok", True)


def test_a_forked_process_leaves_the_connections_to_its_parent(serve: Serve) -> None:
    server = Counting()

    async def run(url: str) -> int:
        await ask(url)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of threads
            pid = os.fork()
        if pid == 0:
            os._exit(len(client._loops))
        _, status = os.waitpid(pid, 0)
        await ask(url)
        return os.waitstatus_to_exitcode(status)

    assert asyncio.run(run(serve(server))) == 0
    assert server.connections == 1
