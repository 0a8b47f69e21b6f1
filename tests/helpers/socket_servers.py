"""Servers by what they do with a connection, byte by byte, and requests to them."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import httpx2

from evalq.calling.providers.transport import client

Handler = Callable[[socket.socket], object]
Serve = Callable[[Handler], str]
OK = b"HTTP/1.1 200 OK\r\n"
OK_2 = OK + b"content-length: 2\r\n\r\nok"


@contextlib.contextmanager
def serving() -> Iterator[Serve]:
    """Start servers by what each does with a connection; they end with the block, and so do their waits."""
    listeners: list[socket.socket] = []

    def start(handle: Handler) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=accept, args=(listener, handle), daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/"

    def accept(listener: socket.socket, handle: Handler) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection, handle), daemon=True).start()

    def talk(connection: socket.socket, handle: Handler) -> None:
        with connection, contextlib.suppress(OSError):
            handle(connection)

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def read_request(connection: socket.socket) -> bytes:
    """The head of a request and what came with it."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            raise ConnectionError
        data += more
    return data


def wait_for_end(connection: socket.socket) -> None:
    """Until the other side leaves."""
    while connection.recv(65536):
        pass


def silent(connection: socket.socket) -> None:
    """Reads and never says a word."""
    wait_for_end(connection)


def deaf(connection: socket.socket) -> None:
    """Reads nothing at all for a minute."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    threading.Event().wait(60)


def reset(connection: socket.socket) -> None:
    """Reads a request, then resets the connection."""
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def answering(reply: bytes) -> Handler:
    """Answers one request and leaves."""

    def handle(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(reply)

    return handle


def staying(*replies: bytes) -> Handler:
    """Answers one request after the other, then waits for the other side to leave."""

    def handle(connection: socket.socket) -> None:
        for reply in replies:
            read_request(connection)
            connection.sendall(reply)
        wait_for_end(connection)

    return handle


def dripping(head: bytes, drop: bytes) -> Handler:
    """Answers with a head at once and then with drops, for ever."""

    def handle(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(head)
        pause = threading.Event()
        while True:
            connection.sendall(drop)
            pause.wait(0.05)

    return handle


async def ask(
    url: str, *, deadline_s: float = 60.0, body: bytes = b"{}", method: str = "POST"
) -> httpx2.Response:
    """One request."""
    return await client.send(client.build_request(method, url, content=body, timeout=deadline_s))


def send(url: str, *, deadline_s: float = 60.0, body: bytes = b"{}", method: str = "POST") -> httpx2.Response:
    """One request on a loop of its own."""
    return asyncio.run(ask(url, deadline_s=deadline_s, body=body, method=method))


def send_in_turn(url: str, times: int) -> list[str]:
    """Texts of the answers to several requests on one loop, one after the other; an error by its type."""

    async def run() -> list[str]:
        texts = []
        for _ in range(times):
            try:
                texts.append((await ask(url)).text)
            except httpx2.TransportError as exc:
                texts.append(type(exc).__name__)
        return texts

    return asyncio.run(run())
