"""The transport against servers that misbehave below HTTP: the deadline holds, and nothing grows forever."""

import contextlib
import gzip
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from evalq.calling.providers.transport import AnswerTooLarge, NeverConnects, client

Handler = Callable[[socket.socket], object]
Serve = Callable[[Handler], str]
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server by what it does with each connection once the request has come."""
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
    client.forget_connections()


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            raise ConnectionError
        data += more
    return data


def answering(reply: bytes) -> Handler:
    def handle(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(reply)

    return handle


def dripping(head: bytes, drop: bytes) -> Handler:
    def handle(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(head)
        while True:
            connection.sendall(drop)
            time.sleep(0.05)

    return handle


def send(url: str, *, deadline_s: float = 60.0, body: bytes = b"{}") -> httpx2.Response:
    return client.send(client.build_request("POST", url, content=body, timeout=deadline_s))


def silent(connection: socket.socket) -> None:
    time.sleep(5)


@pytest.mark.parametrize(
    "handle",
    [
        silent,
        dripping(b"", b"HTTP/1.1 200 OK\r\nx: "),
        dripping(OK + b"x-a: ", b"y"),
        dripping(OK + b"content-length: 9999\r\n\r\n", b" "),
        dripping(OK + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        dripping(OK + b"\r\n", b" "),
        dripping(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
def test_the_deadline_holds_whatever_the_server_does(handle: Handler, serve: Serve) -> None:
    with pytest.raises(httpx2.TimeoutException):  # most of these servers never end
        send(serve(handle), deadline_s=0.5)


def test_a_deadline_too_short_for_anything_sends_nothing(serve: Serve) -> None:
    with pytest.raises(httpx2.ConnectTimeout):
        send(serve(silent), deadline_s=1e-9)


def test_a_server_that_reads_nothing_stops_no_large_prompt(serve: Serve) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        send(serve(silent), deadline_s=2.0, body=b"x" * 50_000_000)


def reset(connection: socket.socket) -> None:
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    ("handle", "error"),
    [
        (reset, httpx2.ReadError),
        (read_request, httpx2.RemoteProtocolError),
        (answering(OK + b"content-length: 9\r\n\r\nabc"), httpx2.RemoteProtocolError),
        (answering(OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n"), httpx2.RemoteProtocolError),
        (
            answering(OK + b"content-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc"),
            httpx2.RemoteProtocolError,
        ),
        (answering(b"\x00\x01\r\n\r\n"), httpx2.RemoteProtocolError),
    ],
)
def test_a_broken_answer_is_an_error_the_sdks_know(
    handle: Handler, error: type[Exception], serve: Serve
) -> None:
    with pytest.raises(error):
        send(serve(handle))


def test_an_answer_without_end_is_left_unread(serve: Serve) -> None:
    endless = dripping(OK + b"transfer-encoding: chunked\r\n\r\n", b"fffff\r\n" + b" " * 0xFFFFF + b"\r\n")
    with pytest.raises(AnswerTooLarge):
        send(serve(endless))


def test_a_small_body_cannot_unpack_to_gigabytes(serve: Serve) -> None:
    bomb = gzip.compress(bytes(100_000_000), 1)
    head = OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)
    with pytest.raises(AnswerTooLarge):
        send(serve(answering(head + bomb)))


def test_a_packed_answer_is_unpacked(serve: Serve) -> None:
    packed = gzip.compress(b'{"a": 1}')
    head = OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    response = send(serve(answering(head + packed)))
    assert response.json() == {"a": 1}
    assert "content-encoding" not in response.headers


def test_a_connection_is_used_again(serve: Serve) -> None:
    connections: list[socket.socket] = []

    def handle(connection: socket.socket) -> None:
        connections.append(connection)
        while True:
            read_request(connection)
            connection.sendall(OK + b"content-length: 2\r\n\r\nok")

    url = serve(handle)
    assert [send(url).text for _ in range(5)] == ["ok"] * 5
    assert len(connections) == 1


def test_a_connection_the_server_closed_meanwhile_is_replaced(serve: Serve) -> None:
    url = serve(answering(OK + b"content-length: 2\r\n\r\nok"))
    for _ in range(3):
        assert send(url).text == "ok"
        time.sleep(0.05)


def test_no_redirect_is_followed(serve: Serve) -> None:
    elsewhere: list[socket.socket] = []
    target = serve(elsewhere.append)
    redirect = b"HTTP/1.1 307 Go\r\nlocation: %s\r\ncontent-length: 0\r\n\r\n" % target.encode()
    assert send(serve(answering(redirect))).status_code == 307
    assert elsewhere == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://no-such-host.invalid/"])
def test_a_failure_before_anything_was_sent_is_one_of_connecting(url: str) -> None:
    with pytest.raises(httpx2.ConnectError):
        send(url)


def test_a_handshake_that_does_not_end_is_one_of_connecting(serve: Serve) -> None:
    with pytest.raises(httpx2.ConnectTimeout):
        send(serve(silent).replace("http", "https"), deadline_s=0.5)


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    client.forget_connections()
    yield monkeypatch
    client.forget_connections()


def test_a_proxy_is_asked_for_the_whole_url(serve: Serve, proxied: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    def handle(connection: socket.socket) -> None:
        seen.append(read_request(connection))
        connection.sendall(OK + b"content-length: 2\r\n\r\nok")

    proxied.setenv("http_proxy", serve(handle).replace("//", "//me:p%40ss@"))
    assert send("http://user:word@api.example.com/v1/x?q=1").text == "ok"
    assert seen[0].startswith(b"POST http://api.example.com/v1/x?q=1 HTTP/1.1\r\n")
    assert b"\r\nproxy-authorization: Basic bWU6cEBzcw==\r\n" in seen[0]


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
    assert send(serve(answering(OK + b"content-length: 2\r\n\r\nok"))).text == "ok"


def certificate(folder: Path) -> Path:
    """A key and a certificate for 127.0.0.1, signed by itself, in one file."""
    x509 = pytest.importorskip("cryptography.x509")
    from ipaddress import ip_address

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "evalq test")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "server.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(key.private_bytes(pem, *form) + signed.public_bytes(pem))
    return file


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
    url = serve(over_tls(file, answering(OK + b"content-length: 2\r\n\r\nok"))).replace("http", "https")
    assert send(url).text == "ok"
    drip = over_tls(file, dripping(OK + b"content-length: 9999\r\n\r\n", b" "))
    with pytest.raises(httpx2.ReadTimeout):
        send(serve(drip).replace("http", "https"), deadline_s=2.0)


@pytest.mark.usefixtures("fresh_tls")
def test_a_certificate_nobody_signed_is_never_trusted(serve: Serve, tmp_path: Path) -> None:
    url = serve(over_tls(certificate(tmp_path), silent)).replace("http", "https")
    with pytest.raises(NeverConnects, match="not trusted"):
        send(url)
