"""The one way out of a process: an httpx2 client over urllib3 connections, each call within its deadline."""

import http.client
import io
import ipaddress
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from functools import cached_property
from http.client import RemoteDisconnected
from typing import Any, NamedTuple
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import httpx2
import urllib3
import urllib3.connection
from urllib3.exceptions import HTTPError, NameResolutionError, NewConnectionError, ProxySchemeUnknown
from urllib3.exceptions import TimeoutError as AnyTimeout

from evalq.calling.failpoints import failpoint
from evalq.records import Prompt

MAX_ANSWER_BYTES = 20_000_000
_CHUNK_BYTES = 65_536
_CONNECT_S = 10.0
_DEFAULT_DEADLINE_S = 120.0
_IDLE_CONNECTIONS = 1024
"""Per host: more than the slots of any worker, so that none is thrown away and opened again."""

_WIRE_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})

# A long answer is silent for minutes: without these probes a NAT on the way forgets the connection.
_SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
]
for _name, _value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5)):
    if hasattr(socket, _name):  # not on every platform
        _SOCKET_OPTIONS.append((socket.IPPROTO_TCP, getattr(socket, _name), _value))


class OngoingCall(threading.local):
    """The call this thread is making: when it must end, and whether any of it was sent."""

    ends_at: float = 0.0
    is_sent: bool = False

    def begin(self, deadline_s: float) -> None:
        """Start the clock."""
        self.ends_at = time.monotonic() + deadline_s
        self.is_sent = False

    def time_left_s(self) -> float:
        """Seconds until the deadline; TimeoutError once there are none."""
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline of the call has passed")
        return left


current_call = OngoingCall()


class _TimelyStream(io.RawIOBase):
    """A socket's stream whose reads end at the call's deadline; a plain timeout restarts with every byte."""

    def __init__(self, sock: socket.socket, stream: io.RawIOBase) -> None:
        self._sock = sock
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(current_call.time_left_s())
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _TimelyResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_TimelyStream(sock, self.fp.detach()))


_METADATA = tuple(
    ipaddress.ip_network(network)
    for network in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "168.63.129.16/32", "192.0.0.192/32")
)


class MetadataAddress(HTTPError):
    """The connection led to an address where a machine in a cloud keeps its secrets; nothing was sent."""


def _is_metadata(address: str) -> bool:
    """Judged by the address that was connected to, however the URL wrote it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    inner = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return any((inner or ip) in network for network in _METADATA)


class _Timely:
    """A connection that sends a request in one piece: one packet, one TLS record, one deadline."""

    _pieces: list[bytes] | None = None

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._pieces = []
        try:
            super().request(*args, **kwargs)  # type: ignore[misc]
            whole = b"".join(self._pieces)
        finally:
            self._pieces = None
        self._open()
        current_call.is_sent = True
        self.send(whole)
        failpoint("after_send")

    def send(self, data: Any) -> None:
        if self._pieces is None:
            super().send(data)  # type: ignore[misc]
        else:
            self._pieces.append(data)

    def _open(self) -> None:
        connection: Any = self
        if connection.sock is None:
            connection.connect()
            self._refuse_metadata(connection)
        connection.sock.settimeout(current_call.time_left_s())

    def _refuse_metadata(self, connection: Any) -> None:
        if _is_metadata(connection.sock.getpeername()[0]):
            connection.close()
            raise MetadataAddress


class TimelyConnection(_Timely, urllib3.connection.HTTPConnection):
    """Plain HTTP."""

    response_class = _TimelyResponse


class TimelyTlsConnection(_Timely, urllib3.connection.HTTPSConnection):
    """HTTPS."""

    response_class = _TimelyResponse


class Pool(urllib3.HTTPConnectionPool):
    """Connections to one host."""

    ConnectionCls = TimelyConnection


class TlsPool(urllib3.HTTPSConnectionPool):
    """TLS connections to one host."""

    ConnectionCls = TimelyTlsConnection


class AnswerTooLarge(httpx2.RemoteProtocolError):
    """The answer is longer than any model writes; the rest was left unread."""


class NeverConnects(httpx2.ConnectError):
    """No retry would help: the certificate is not trusted, or the proxy speaks another protocol."""


class _Route(NamedTuple):
    """The connections to one host; a request that a proxy forwards contains the whole URL."""

    pool: urllib3.HTTPConnectionPool
    is_forwarded: bool


class Client(httpx2.Client):
    """An httpx2 client for the SDKs, without features that a call to a model never needs.

    It follows no redirect (one SDK would send its key along), keeps no cookie, sends nothing twice. The read
    timeout of a request bounds the whole call: connecting, sending, waiting and reading. Only the system's
    name lookup keeps its own time.
    """

    def __init__(self) -> None:
        super().__init__(transport=httpx2.BaseTransport(), headers={"accept-encoding": "gzip, deflate"})
        self._routes: dict[tuple[bytes, bytes, int | None], _Route] = {}
        self._lock = threading.Lock()

    def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        """One request, one answer read to its end."""
        current_call.begin(request.extensions.get("timeout", {}).get("read") or _DEFAULT_DEADLINE_S)
        if request.url.userinfo:
            name, password = request.url.username, request.url.password
            request.headers.update(urllib3.make_headers(basic_auth=f"{name}:{password}"))
        try:
            return self._exchange(request)
        except (HTTPError, TimeoutError) as exc:
            raise _translate_error(exc, request) from exc

    def forget_connections(self) -> None:
        """Drop every connection without closing it: after a fork they belong to the parent."""
        self._routes = {}
        self._lock = threading.Lock()

    def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        route = self._route(request.url)
        answer = route.pool.urlopen(
            request.method,
            _build_target(request.url, is_whole=route.is_forwarded),
            body=request.read() or None,
            headers={name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.raw},
            timeout=urllib3.Timeout(
                connect=min(_CONNECT_S, current_call.time_left_s()), read=current_call.time_left_s()
            ),
            retries=False,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
        )
        body = _read_body(answer)
        headers = _keep_headers(answer)
        return httpx2.Response(answer.status, headers=headers, content=body, request=request)

    def _route(self, url: httpx2.URL) -> _Route:
        key = (url.raw_scheme, url.raw_host, url.port)
        if key not in self._routes:
            with self._lock:
                if key not in self._routes:
                    self._routes[key] = self._open_route(url)
        return self._routes[key]

    def _open_route(self, url: httpx2.URL) -> _Route:
        settings: dict[str, Any] = {"maxsize": _IDLE_CONNECTIONS, "socket_options": _SOCKET_OPTIONS}
        if url.scheme == "https":
            settings["ssl_context"] = self._tls
        if proxy := _find_proxy(url):
            manager = urllib3.ProxyManager(proxy, proxy_headers=_proxy_headers(proxy), **settings)
            manager.pool_classes_by_scheme = {"http": Pool, "https": TlsPool}
            pool = manager.connection_from_host(url.host, url.port, url.scheme)
            return _Route(pool, is_forwarded=url.scheme == "http")
        make = TlsPool if url.scheme == "https" else Pool
        return _Route(make(url.host, url.port, **settings), is_forwarded=False)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """One for all: reading the certificates takes longer than a hundred calls."""
        return httpx2.create_ssl_context()


client = Client()
os.register_at_fork(after_in_child=client.forget_connections)


def call_headers(prompt: Prompt) -> Mapping[str, str]:
    """The headers of one call, which every adapter sends: the question's key in our journal.

    By this key a provider's log, or the simulator's ledger, can be compared with ours.
    """
    if not prompt.about.call_key:
        return {}
    return {"x-evalq-call": prompt.about.call_key}


def _build_target(url: httpx2.URL, *, is_whole: bool) -> str:
    return str(url.copy_with(userinfo=b"")) if is_whole else url.raw_path.decode("ascii")


def _keep_headers(answer: urllib3.BaseHTTPResponse) -> list[tuple[bytes, bytes]]:
    """The headers as bytes: a server may send any of them, and httpx2 refuses text that is not ASCII."""
    kept = []
    for name, value in answer.headers.items():
        if name.lower() not in _WIRE_HEADERS:
            kept.append((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")))
    return kept


def _read_body(answer: urllib3.BaseHTTPResponse) -> bytes:
    """The decoded body, in bounded steps: a small one can unpack to gigabytes."""
    parts, size = [], 0
    for part in answer.stream(_CHUNK_BYTES, decode_content=True):
        parts.append(part)
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            answer.close()
            raise AnswerTooLarge(f"more than {MAX_ANSWER_BYTES // 1_000_000} MB")
    return b"".join(parts)


def _translate_error(exc: Exception, request: httpx2.Request) -> httpx2.TransportError:
    """The httpx2 error that an SDK expects. Before anything was sent, every failure is one of connecting."""
    inner = next((arg for arg in exc.args if isinstance(arg, Exception)), exc)
    is_timeout = isinstance(exc, AnyTimeout) or isinstance(inner, TimeoutError)
    if not current_call.is_sent:
        return _connect_error(exc, inner, request, is_timeout=is_timeout)
    if is_timeout:
        return httpx2.ReadTimeout("no answer within the deadline", request=request)
    if isinstance(inner, ConnectionResetError) and not isinstance(inner, RemoteDisconnected):
        return httpx2.ReadError(type(inner).__name__, request=request)
    return httpx2.RemoteProtocolError(type(inner).__name__, request=request)


def _connect_error(
    exc: Exception, inner: Exception, request: httpx2.Request, *, is_timeout: bool
) -> httpx2.TransportError:
    if isinstance(inner, ssl.SSLCertVerificationError):
        return NeverConnects("the server's certificate is not trusted")
    if isinstance(exc, MetadataAddress):
        return NeverConnects("its address is link-local, where machines keep secrets")
    if isinstance(exc, ProxySchemeUnknown):
        return NeverConnects("the environment names a proxy that is neither http nor https")
    if is_timeout and not isinstance(exc, NewConnectionError):
        return httpx2.ConnectTimeout("no connection in time", request=request)
    if isinstance(exc, NameResolutionError):
        return httpx2.ConnectError("its name is not known", request=request)
    if isinstance(exc.__cause__ or exc.__context__, ConnectionRefusedError):
        return httpx2.ConnectError("the connection is refused", request=request)
    return httpx2.ConnectError("no connection", request=request)


def _find_proxy(url: httpx2.URL) -> str | None:
    """The proxy the environment names for a URL, as httpx reads it."""
    proxies = getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")
    if not found or proxy_bypass(url.host):
        return None
    return found if "://" in found else f"http://{found}"


def _proxy_headers(proxy: str) -> dict[str, str] | None:
    auth = urllib3.util.parse_url(proxy).auth
    return urllib3.make_headers(proxy_basic_auth=unquote(auth)) if auth else None
