"""Requests to a tested system, as eval files write them."""

import ipaddress
import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

_OLD_NUMBER = re.compile(r"0x[0-9a-f]{1,8}|0[0-7]{0,11}|[1-9][0-9]{0,9}", re.ASCII)

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")

_KEYS = {
    "method": "method",
    "endpoint": "path",
    "path": "path",
    "url": "path",
    "headers": "headers",
    "query": "query",
    "params": "query",
    "body": "body",
    "json": "body",
    "data": "body",
    "base_url": "base_url",
}
_LINE = re.compile(r"(?P<method>[A-Za-z]+)\s+(?P<path>\S+)")


@dataclass(frozen=True)
class SystemRequest:
    """One request to a path of the tested system; its placeholders are not filled."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = None

    def document(self) -> dict[str, Any]:
        """The request as the input of a case."""
        return asdict(self)

    def text(self) -> str:
        """The request for people to read: its line, its headers, its body."""
        query = f"?{json.dumps(self.query, ensure_ascii=False)}" if self.query else ""
        lines = [f"{self.method} {self.path}{query}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if isinstance(self.body, str):
            lines += ["", self.body]
        elif self.body is not None:
            lines += ["", json.dumps(self.body, ensure_ascii=False)]
        return "\n".join(lines)


def is_request(value: Any) -> bool:
    """Whether an input is written as a request."""
    return isinstance(value, dict) and bool({"endpoint", "path", "url"} & value.keys())


def read_request(value: Any) -> tuple[SystemRequest, str | None]:
    """The request and its base URL, if it has one; ValueError if it is invalid."""
    if isinstance(value, str):
        found = _LINE.fullmatch(value.strip())
        value = found.groupdict() if found else {"path": value.strip()}
    if not isinstance(value, dict):
        raise ValueError("a request is a mapping; write method and path")
    unknown = sorted(set(value) - set(_KEYS))
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r} in a request; known are {', '.join(_KEYS)}")
    parts = {_KEYS[key]: item for key, item in value.items()}
    base_url, path = _split_url(str(parts.get("path", "")))
    request = SystemRequest(
        _check_method(parts.get("method", "GET")),
        _check_path(path),
        _check_headers(parts.get("headers") or {}),
        _check_query(parts.get("query") or {}),
        parts.get("body"),
    )
    return request, base_url or parts.get("base_url")


def check_base_url(url: str) -> str:
    """The address of a tested system without its last slash; ValueError for an invalid or dangerous one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the base URL is not an address; write one such as http://127.0.0.1:8000") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("the base URL is not an http address; write one such as http://127.0.0.1:8000")
    if parts.username or parts.password:
        raise ValueError("the base URL holds a password; put it into a header by a placeholder")
    if parts.query or parts.fragment:
        raise ValueError("the base URL has more than a path; put the rest into the requests")
    if _is_link_local(host):
        raise ValueError("the base URL is a link-local address, where machines keep secrets; name another")
    return url.rstrip("/")


def _is_link_local(host: str) -> bool:
    """Whether a number is one, also as 2852039166 or 0xa9.254.43518; names are judged when connecting."""
    try:
        address = _read_old_ipv4(host) or ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_link_local or bool(mapped and mapped.is_link_local)


def _read_number(part: str) -> int:
    if part.startswith("0x"):
        return int(part, 16)
    return int(part, 8 if part.startswith("0") else 10)


def _read_old_ipv4(host: str) -> ipaddress.IPv4Address | None:
    """An IPv4 address as resolvers read it: up to four numbers, octal and hexadecimal too, the last large."""
    parts = host.lower().split(".")
    if len(parts) > 4 or not all(_OLD_NUMBER.fullmatch(part) for part in parts):
        return None
    numbers = [_read_number(part) for part in parts]
    total = numbers.pop()
    for place, number in enumerate(numbers):
        total += number << (24 - 8 * place)
    return ipaddress.IPv4Address(total) if total < 2**32 else None


def _split_url(path: str) -> tuple[str | None, str]:
    """Split a whole URL into its base and its path; a bare path has no base."""
    if "://" not in path:
        return None, path
    scheme, _, rest = path.partition("://")
    host, slash, inner = rest.partition("/")
    return f"{scheme}://{host}", f"{slash}{inner}" or "/"


def _check_method(value: Any) -> str:
    method = str(value).upper()
    if method not in METHODS:
        raise ValueError(f"method cannot be {value!r}; write one of {', '.join(METHODS)}")
    return method


def _check_path(path: str) -> str:
    """Refuse a path that could lead to another host."""
    if not path.startswith("/") or path.startswith("//") or "\\" in path or not path.isprintable():
        raise ValueError(
            "the path of a request is invalid; write one that begins with /, such as /api/v1/users"
        )
    return path


def _check_headers(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
        raise ValueError("headers is not a mapping of names to texts; write 'Name: value' pairs")
    return {name: str(item) for name, item in value.items()}


def _check_query(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("query is not a mapping; write 'name: value' pairs")
    return value
