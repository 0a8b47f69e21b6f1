"""The way to a server: proxies of the environment, TLS, and what fails before anything was sent."""

import asyncio
import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from certificates import certificate
from socket_servers import (
    OK,
    OK_2,
    Handler,
    Serve,
    answering,
    dripping,
    read_request,
    send,
    send_in_turn,
    silent,
    staying,
)

from evalq.calling.providers.connection import Connection
from evalq.calling.providers.routes import NeverConnects, refuse_metadata
from evalq.calling.providers.transport import client


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://no-such-host.invalid/"])
def test_a_failure_before_anything_was_sent_is_one_of_connecting(url: str) -> None:
    with pytest.raises(httpx2.ConnectError):
        send(url)


def test_a_handshake_that_does_not_end_is_one_of_connecting(serve: Serve) -> None:
    with pytest.raises(httpx2.ConnectTimeout):
        send(serve(silent).replace("http", "https"), deadline_s=0.5)


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_a_proxy_is_asked_for_the_whole_url(serve: Serve, proxied: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    def handle(connection: socket.socket) -> None:
        seen.append(read_request(connection))
        connection.sendall(OK_2)

    proxied.setenv("http_proxy", serve(handle).replace("//", "//me:p%40ss@"))
    assert send("http://user:word@api.example.com/v1/x?q=1").text == "ok"
    assert seen[0].startswith(b"POST http://api.example.com/v1/x?q=1 HTTP/1.1\r\n")
    assert b"\r\nproxy-authorization: Basic bWU6cEBzcw==\r\n" in seen[0]


def test_a_name_and_a_password_in_the_url_become_a_header(serve: Serve) -> None:
    seen: list[bytes] = []

    def handle(connection: socket.socket) -> None:
        seen.append(read_request(connection))
        connection.sendall(OK_2)

    assert send(serve(handle).replace("//", "//me:p%40ss@")).text == "ok"
    assert b"\r\nauthorization: Basic bWU6cEBzcw==\r\n" in seen[0]
    assert b"@" not in seen[0]


@pytest.mark.parametrize("value", ["a\r\nx-evil: b", "a\nb", "a\rb"])
def test_a_line_break_in_a_header_is_never_sent(value: str, serve: Serve) -> None:
    seen: list[socket.socket] = []
    request = client.build_request("POST", serve(seen.append), headers={"x-a": value})
    with pytest.raises(NeverConnects, match="line break"):
        asyncio.run(client.send(request))
    assert seen == []


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1%eth0", "fd00:ec2::254", "168.63.129.16"],
)
def test_a_connection_to_metadata_is_closed_before_anything_is_sent(address: str) -> None:
    connection = Reached(address)
    with pytest.raises(NeverConnects, match="link-local"):
        refuse_metadata(connection)
    assert not connection.is_open


class Reached(Connection):
    """A connection that has led to an address."""

    def __init__(self, peer: str) -> None:
        self.address, self.was_closed = peer, False

    @property
    def peer(self) -> str:
        return self.address

    @property
    def is_open(self) -> bool:
        return not self.was_closed

    def close(self) -> None:
        self.was_closed = True


def test_a_proxy_that_opens_no_tunnel_is_one_of_connecting(serve: Serve, proxied: pytest.MonkeyPatch) -> None:
    proxied.setenv("https_proxy", serve(answering(b"HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n")))
    with pytest.raises(httpx2.ConnectError):
        send("https://api.example.com/")


def test_a_proxy_of_another_kind_is_never_reached(proxied: pytest.MonkeyPatch) -> None:
    proxied.setenv("all_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(NeverConnects, match="neither http nor https"):
        send("http://api.example.com/")


def test_no_proxy_is_used_where_the_environment_says_so(serve: Serve, proxied: pytest.MonkeyPatch) -> None:
    proxied.setenv("http_proxy", "127.0.0.1:1")
    proxied.setenv("no_proxy", "127.0.0.1")
    assert send(serve(answering(OK_2))).text == "ok"


def over_tls(file: Path, handle: Handler) -> Handler:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)

    def wrapped(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            handle(secure)

    return wrapped


@pytest.fixture
def fresh_tls(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    vars(client).pop("_tls", None)
    yield monkeypatch
    vars(client).pop("_tls", None)


def test_tls_keeps_the_deadline_too(serve: Serve, tmp_path: Path, fresh_tls: pytest.MonkeyPatch) -> None:
    file = certificate(tmp_path)
    fresh_tls.setenv("SSL_CERT_FILE", os.fspath(file))
    url = serve(over_tls(file, answering(OK_2))).replace("http", "https")
    assert send(url).text == "ok"
    drip = over_tls(file, dripping(OK + b"content-length: 9999\r\n\r\n", b" "))
    with pytest.raises(httpx2.ReadTimeout):
        send(serve(drip).replace("http", "https"), deadline_s=2.0)


@pytest.mark.usefixtures("fresh_tls")
def test_a_certificate_nobody_signed_is_never_trusted(serve: Serve, tmp_path: Path) -> None:
    url = serve(over_tls(certificate(tmp_path), silent)).replace("http", "https")
    with pytest.raises(NeverConnects, match="not trusted"):
        send(url)


def tunnelling(seen: list[bytes]) -> Handler:
    """A proxy that opens a tunnel to where it is asked for."""

    def handle(connection: socket.socket) -> None:
        seen.append(read_request(connection))
        host, port = seen[-1].split()[1].decode().split(":")
        with socket.create_connection((host, int(port))) as far:
            connection.sendall(b"HTTP/1.0 200 Connection established\r\n\r\n")
            back = threading.Thread(target=copy, args=(far, connection), daemon=True)
            back.start()
            copy(connection, far)
            back.join()

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    return handle


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_tls_goes_through_a_proxys_tunnel(
    scheme: str,
    serve: Serve,
    tmp_path: Path,
    proxied: pytest.MonkeyPatch,
    fresh_tls: pytest.MonkeyPatch,
) -> None:
    file = certificate(tmp_path)
    fresh_tls.setenv("SSL_CERT_FILE", os.fspath(file))
    seen: list[bytes] = []
    proxy = tunnelling(seen) if scheme == "http" else over_tls(file, tunnelling(seen))
    proxied.setenv("https_proxy", serve(proxy).replace("http://", f"{scheme}://me:p%40ss@"))
    url = serve(over_tls(file, staying(OK_2, OK_2))).replace("http", "https")
    assert send_in_turn(url, 2) == ["ok", "ok"]
    assert len(seen) == 1
    assert b"\r\nproxy-authorization: Basic bWU6cEBzcw==\r\n" in seen[0]


def test_a_certificate_for_another_name_is_never_trusted(
    serve: Serve, tmp_path: Path, fresh_tls: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path)
    fresh_tls.setenv("SSL_CERT_FILE", os.fspath(file))
    url = serve(over_tls(file, silent)).replace("http", "https").replace("127.0.0.1", "localhost")
    with pytest.raises(NeverConnects, match="not trusted"):
        send(url)
