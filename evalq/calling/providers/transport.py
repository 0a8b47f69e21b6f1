"""The one way out of a process: an httpx2 client over lean connections, each call within its deadline."""

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import httpx2

from evalq.calling.providers.connection import Connection
from evalq.calling.providers.reply_reader import Reply
from evalq.calling.providers.routes import PORTS, NeverConnects, Route, build_basic_auth, build_head
from evalq.records import Prompt

_CONNECT_S = 10.0
_DEFAULT_DEADLINE_S = 120.0
_WIRE_HEADERS = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
"""Headers about the body as it travelled; it is unpacked when anybody reads them."""


class _LoopRoutes:
    """The routes of one loop; they close when the loop shuts down its generators, as asyncio.run does."""

    def __init__(self) -> None:
        self.by_host: dict[tuple[bytes, bytes, int | None], Route] = {}
        self._guard = self._close_at_end()

    async def begin(self) -> None:
        """Make the loop know the guard."""
        await anext(self._guard)

    async def close(self) -> None:
        """Close the connections, those in use when their calls end."""
        await self._guard.aclose()

    async def _close_at_end(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            for route in self.by_host.values():
                route.close()
            await asyncio.sleep(0)  # the loop closes the sockets in its next round


class Client(httpx2.AsyncClient):
    """An httpx2 client for the SDKs, without features that a call to a model never needs.

    It follows no redirect (one SDK would send its key along), keeps no cookie, sends nothing twice. The read
    timeout of a request bounds the whole call: name lookup, connecting, sending, waiting and reading. One
    client serves every loop of the process; connections belong to the loop that opened them.
    """

    def __init__(self) -> None:
        super().__init__(transport=httpx2.AsyncBaseTransport(), headers={"accept-encoding": "gzip, deflate"})
        self._loops: dict[asyncio.AbstractEventLoop, _LoopRoutes] = {}

    def build_request(self, method: str, url: httpx2.URL | str, **fields: Any) -> httpx2.Request:
        """A request as httpx2 builds it; the few URLs of a process are parsed once."""
        return super().build_request(method, _parse_url(url) if isinstance(url, str) else url, **fields)

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        """One request, one answer read to its end."""
        deadline_s = request.extensions.get("timeout", {}).get("read") or _DEFAULT_DEADLINE_S
        ends_at = asyncio.get_running_loop().time() + deadline_s
        try:
            route = await self._find_route(request.url)
            message = _build_message(request, route)
            connection = await _connect(route, ends_at)
            reply = await connection.exchange(message, method=request.method, ends_at=ends_at)
        except httpx2.TransportError as exc:
            exc.request = request
            raise
        route.keep(connection)
        return _build_response(reply, request)

    async def aclose(self) -> None:
        """Close the connections of the running loop; the client can still be used."""
        routes = self._loops.pop(asyncio.get_running_loop(), None)
        if routes is not None:
            await routes.close()

    def forget_connections(self) -> None:
        """Drop every connection without a word to its server: after a fork they belong to the parent."""
        self._loops = {}

    async def _find_route(self, url: httpx2.URL) -> Route:
        loop = asyncio.get_running_loop()
        known = self._loops.get(loop)
        if known is None:
            known = await self._serve_loop(loop)
        key = (url.raw_scheme, url.raw_host, url.port)
        route = known.by_host.get(key)
        if route is None:
            if url.scheme not in PORTS or not url.raw_host:
                raise NeverConnects("its address is not an http or https URL")
            route = known.by_host[key] = Route(url, lambda: self._tls)
        return route

    async def _serve_loop(self, loop: asyncio.AbstractEventLoop) -> _LoopRoutes:
        for other in list(self._loops):
            if other.is_closed():
                del self._loops[other]
        made = self._loops[loop] = _LoopRoutes()
        await made.begin()
        return made

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


@lru_cache(maxsize=256)
def _parse_url(url: str) -> httpx2.URL:
    return httpx2.URL(url)


def _build_message(request: httpx2.Request, route: Route) -> bytes:
    """The whole request as it goes out, in one piece: one packet, one TLS record."""
    url, headers = request.url, request.headers.raw
    if url.userinfo:
        headers = [header for header in headers if header[0].lower() != b"authorization"]
        headers.append((b"authorization", build_basic_auth(url)))
    target = url.raw_path
    if route.is_forwarded:
        target = str(url.copy_with(userinfo=b"")).encode("ascii")
        headers = [*headers, *route.proxy_headers]
    return build_head(request.method, target, headers) + request.read()


def _build_response(reply: Reply, request: httpx2.Request) -> httpx2.Response:
    """Headers stay bytes: a server may send any of them, and httpx2 refuses text that is not ASCII."""
    kept = [header for header in reply.headers if header[0] not in _WIRE_HEADERS]
    return httpx2.Response(reply.status, headers=kept, content=reply.body, request=request)


async def _connect(route: Route, ends_at: float) -> Connection:
    """A connection that can be used at once, until then nothing has been sent."""
    connection = route.take_idle() or await _open(route, ends_at)
    if ends_at <= asyncio.get_running_loop().time():
        connection.close()
        raise httpx2.ConnectTimeout("no connection in time")
    if not connection.is_open:
        raise httpx2.ConnectError("no connection")
    return connection


async def _open(route: Route, ends_at: float) -> Connection:
    """A new connection. Nothing has been sent before, so every failure is one of connecting."""
    limit = min(ends_at, asyncio.get_running_loop().time() + _CONNECT_S)
    try:
        async with asyncio.timeout_at(limit):
            return await route.open(limit)
    except (TimeoutError, httpx2.TimeoutException) as exc:
        raise httpx2.ConnectTimeout("no connection in time") from exc
    except ssl.SSLCertVerificationError as exc:
        raise NeverConnects("the server's certificate is not trusted") from exc
    except (socket.gaierror, UnicodeError) as exc:
        raise httpx2.ConnectError("its name is not known") from exc
    except OSError as exc:
        raise httpx2.ConnectError(
            "the connection is refused" if _is_refused(exc) else "no connection"
        ) from exc
    except (httpx2.ReadError, httpx2.RemoteProtocolError) as exc:  # of the proxy
        raise httpx2.ConnectError("no connection") from exc


def _is_refused(exc: OSError) -> bool:
    """Whether an address refused; asyncio puts the errors of several addresses into one message."""
    return isinstance(exc, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(exc)
