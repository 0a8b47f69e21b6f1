"""The way to a host: direct or through the environment's proxy, never to an address of cloud metadata."""

import ipaddress
import ssl
from base64 import b64encode
from collections.abc import Callable
from urllib.request import getproxies, proxy_bypass

import httpx2

from evalq.calling.providers.connection import Connection
from evalq.calling.providers.reply_reader import Headers

PORTS = {"http": 80, "https": 443}

_METADATA = tuple(
    ipaddress.ip_network(network)
    for network in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "168.63.129.16/32", "192.0.0.192/32")
)


class NeverConnects(httpx2.ConnectError):
    """No retry would help: the certificate is not trusted, or the proxy speaks another protocol."""


class Route:
    """The way to one host, and the connections on it that wait for their next request."""

    def __init__(self, url: httpx2.URL, tls: Callable[[], ssl.SSLContext]) -> None:
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or PORTS[url.scheme]
        self._tls = tls() if url.scheme == "https" else None
        self._proxy = _find_proxy(url)
        self._proxy_tls = tls() if self._proxy and self._proxy.scheme == "https" else None
        self._idle: list[Connection] = []
        self._is_closed = False
        self.is_forwarded = self._proxy is not None and self._tls is None
        """Whether a proxy reads the requests, which must then contain the whole URL."""

    @property
    def proxy_headers(self) -> Headers:
        """The headers that a proxy wants in the requests it reads."""
        if self._proxy is None or not self._proxy.userinfo:
            return []
        return [(b"proxy-authorization", build_basic_auth(self._proxy))]

    def take_idle(self) -> Connection | None:
        """The connection used last, or the last before it that can still be used."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return None

    def keep(self, connection: Connection) -> None:
        """Keep a connection for the next request, if it is still open.

        There are never more than were busy at once, so none is thrown away to be opened again.
        """
        if self._is_closed:
            connection.close()
        elif connection.is_open:
            self._idle.append(connection)

    def close(self) -> None:
        """Close the connections that wait, and any that comes back later."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    async def open(self, ends_at: float) -> Connection:
        """A new connection. OSError or httpx2.TransportError if there is none: nothing has been sent then."""
        if self._proxy is None:
            connection = await Connection.open(self._host, self._port, tls=self._tls)
        else:
            port = self._proxy.port or PORTS[self._proxy.scheme]
            connection = await Connection.open(self._proxy.host, port, tls=self._proxy_tls)
        refuse_metadata(connection)
        if self._proxy is not None and self._tls is not None:
            await self._open_tunnel(connection, self._tls, ends_at)
        return connection

    async def _open_tunnel(self, connection: Connection, tls: ssl.SSLContext, ends_at: float) -> None:
        """Ask the proxy for a way to the host, and speak TLS with the host itself."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        place = f"{host}:{self._port}".encode()
        request = build_head("CONNECT", place, [(b"host", place), *self.proxy_headers])
        reply = await connection.exchange(request, method="CONNECT", ends_at=ends_at)
        if not 200 <= reply.status < 300:
            connection.close()
            raise httpx2.ConnectError("no connection")
        await connection.start_tls(tls, self._host)


def build_head(method: str, target: bytes, headers: Headers) -> bytes:
    """The head of a request; NeverConnects if a line break in it would make it two."""
    lines = [b"%s %s HTTP/1.1" % (method.encode("ascii"), target)]
    lines += [b"%s: %s" % header for header in headers]
    head = b"\r\n".join(lines)
    if head.count(b"\n") != len(lines) - 1 or head.count(b"\r") != len(lines) - 1:
        raise NeverConnects("a header of the request holds a line break")
    return head + b"\r\n\r\n"


def build_basic_auth(url: httpx2.URL) -> bytes:
    """The header's value for the name and password in a URL."""
    return b"Basic " + b64encode(f"{url.username}:{url.password}".encode())


def _find_proxy(url: httpx2.URL) -> httpx2.URL | None:
    """The proxy the environment names for a URL, as httpx reads it."""
    proxies = getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")
    if not found or proxy_bypass(url.host):
        return None
    try:
        proxy = httpx2.URL(found if "://" in found else f"http://{found}")
    except httpx2.InvalidURL:
        proxy = httpx2.URL("")
    if proxy.scheme not in PORTS or not proxy.host:
        raise NeverConnects("the environment names a proxy that is neither http nor https")
    return proxy


def refuse_metadata(connection: Connection) -> None:
    """Raise NeverConnects, and close, if this leads to where a machine in a cloud keeps its secrets."""
    if _is_metadata(connection.peer):
        connection.close()
        raise NeverConnects("its address is link-local, where machines keep secrets")


def _is_metadata(address: str) -> bool:
    """Judged by the address that was connected to, however the URL wrote it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    inner = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return any((inner or ip) in network for network in _METADATA)
