"""HTTP requests with every byte of the test's choosing, which a browser or a client would refuse to send."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from patience import PATIENCE_S


@dataclass(frozen=True)
class Reply:
    """What the server said; header names in lower case."""

    status: int
    headers: dict[str, str]
    text: str


@contextmanager
def connection(url: str) -> Iterator[socket.socket]:
    """A plain connection to the server."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE_S) as opened:
        yield opened


def ask(
    url: str, target: str, *, method: str = "GET", headers: dict[str, str] | None = None, body: bytes = b""
) -> Reply:
    """Send one request and read the whole reply; `headers` replace ours."""
    ours = {"host": urlsplit(url).netloc, "connection": "close"}
    if body:
        ours |= {"content-type": "application/x-www-form-urlencoded", "content-length": str(len(body))}
    lines = [f"{method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in (ours | (headers or {})).items())]
    with connection(url) as opened:
        opened.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        return read_reply(opened)


def read_reply(opened: socket.socket) -> Reply:
    """Everything until the server closes."""
    content = b""
    while part := opened.recv(65536):
        content += part
    head, _, rest = content.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in fields:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Reply(int(status.split()[1]), headers, rest.decode("utf-8", "replace"))


@dataclass(frozen=True)
class RawSession:
    """A session of the pages: its cookie, and the token its forms carry."""

    cookie: str
    csrf: str


def open_session(url: str, path: str = "/review/sign-in") -> RawSession:
    """Begin a session as a browser would, by a page with a form."""
    reply = ask(url, path)
    found = re.search('name="csrf" value="([0-9a-f]+)"', reply.text)
    assert found, reply.text[:300]
    return RawSession(reply.headers["set-cookie"].partition(";")[0], found[1])
