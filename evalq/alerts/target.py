"""Posting to an address somebody wrote down: resolved once, refused when private, never redirected."""

import ipaddress
import socket
import ssl
from collections.abc import Mapping
from typing import Any

import httpx2
import urllib3
from urllib3.exceptions import HTTPError

from evalq.alerts.message import DEADLINE_S, Undelivered
from evalq.providers.timely import Pool, TlsPool, call

_PORTS = {"http": 80, "https": 443}


def post(url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool = False) -> None:
    """Send one document within ten seconds; Undelivered unless the answer is a success.

    The address is looked up here and connected to as found: a name that changes its mind in between, or a
    redirect, leads nowhere else. Private, loopback, link-local and metadata addresses are refused.
    """
    parsed = urllib3.util.parse_url(url)
    scheme, host = parsed.scheme, (parsed.host or "").strip("[]")
    if scheme not in _PORTS or not host:
        raise Undelivered("its address is not an http or https URL")
    if scheme == "http" and not allow_private:
        raise Undelivered("its address is not https; only a private one may be plain http")
    port = parsed.port or _PORTS[scheme]
    call.begin(DEADLINE_S)
    pool = _pool(scheme, host, _address(host, port, allow_private=allow_private), port)
    shown = f"[{host}]" if ":" in host else host
    sent = {"host": shown if parsed.port is None else f"{shown}:{port}", **headers}
    if parsed.auth:
        sent |= urllib3.make_headers(basic_auth=parsed.auth)
    _exchange(pool, parsed.request_uri, body, sent)


def _exchange(pool: urllib3.HTTPConnectionPool, path: str, body: bytes, headers: Mapping[str, str]) -> None:
    try:
        answer = pool.urlopen(
            "POST",
            path,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(connect=call.time_left_s(), read=call.time_left_s()),
            retries=False,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
        )
        answer.close()
    except (HTTPError, TimeoutError) as exc:
        # The words of these errors hold the address, which may be the secret.
        raise Undelivered(f"no answer: {type(exc).__name__}") from None
    finally:
        pool.close()
    if not 200 <= answer.status < 300:
        raise Undelivered(f"it was answered with {answer.status}")


def _pool(scheme: str, host: str, address: str, port: int) -> urllib3.HTTPConnectionPool:
    if scheme == "http":
        return Pool(address, port)
    tls: Any = _tls()
    return TlsPool(address, port, ssl_context=tls, server_hostname=host, assert_hostname=host)


def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _address(host: str, port: int, *, allow_private: bool) -> str:
    """The address to connect to; refused when any of the name's addresses is not a public one."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Undelivered("its name is not known") from None
    addresses = [str(entry[4][0]) for entry in found]
    if not allow_private and not all(is_public(address) for address in addresses):
        raise Undelivered("its address is a private one; set allow_private: true if that is meant")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address is one of the open Internet's, also when it is an IPv4 one in IPv6 clothes."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and (inner := ip.ipv4_mapped or ip.sixtofour or _nat64(ip)):
        return inner.is_global and not inner.is_multicast
    return ip.is_global and not ip.is_multicast


def _nat64(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    is_inside = ip in ipaddress.IPv6Network("64:ff9b::/96")
    return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if is_inside else None
