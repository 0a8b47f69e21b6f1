"""Requests to a system under test, as eval files write them."""

import ipaddress
import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

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
    """One request: where it goes within the system, and what it carries. Placeholders stay in it."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = None

    def document(self) -> dict[str, Any]:
        """As a case's input has it."""
        return asdict(self)

    def text(self) -> str:
        """For those who read: the request line, its headers, its body."""
        query = f"?{json.dumps(self.query, ensure_ascii=False)}" if self.query else ""
        lines = [f"{self.method} {self.path}{query}", *(f"{k}: {v}" for k, v in self.headers.items())]
        body = self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False)
        return "\n".join(lines + ([] if self.body is None else ["", body]))


def is_request(value: Any) -> bool:
    """Whether an input is written as a request."""
    return isinstance(value, dict) and bool({"endpoint", "path", "url"} & value.keys())


def read_request(value: Any) -> tuple[SystemRequest, str | None]:
    """The request, and the base URL if it names one; ValueError for what cannot be one."""
    if isinstance(value, str):
        found = _LINE.fullmatch(value.strip())
        value = found.groupdict() if found else {"path": value.strip()}
    if not isinstance(value, dict):
        raise ValueError("a request is a mapping; write method and path")
    unknown = sorted(set(value) - set(_KEYS))
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r} in a request; known are {', '.join(_KEYS)}")
    parts = {_KEYS[key]: item for key, item in value.items()}
    base_url, path = _split(str(parts.get("path", "")))
    return (
        SystemRequest(
            _method(parts.get("method", "GET")),
            _path(path),
            _headers(parts.get("headers") or {}),
            _query(parts.get("query") or {}),
            parts.get("body"),
        ),
        base_url or parts.get("base_url"),
    )


def check_base_url(url: str) -> str:
    """The address of a system under test; ValueError for one that no tested system has."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the base URL is no address; write one such as http://127.0.0.1:8000") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("the base URL is no http address; write one such as http://127.0.0.1:8000")
    if parts.username or parts.password:
        raise ValueError("the base URL holds a password; put it into a header by a placeholder")
    if parts.query or parts.fragment:
        raise ValueError("the base URL has more than a path; put the rest into the requests")
    if _is_link_local(host):
        raise ValueError("the base URL is a link-local address, where machines keep secrets; name another")
    return url.rstrip("/")


def _is_link_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_link_local or bool(mapped and mapped.is_link_local)


def _split(path: str) -> tuple[str | None, str]:
    """A whole address as its base and its path."""
    if "://" not in path:
        return None, path
    scheme, _, rest = path.partition("://")
    host, slash, inner = rest.partition("/")
    return f"{scheme}://{host}", f"{slash}{inner}" or "/"


def _method(value: Any) -> str:
    method = str(value).upper()
    if method not in METHODS:
        raise ValueError(f"method cannot be {value!r}; write one of {', '.join(METHODS)}")
    return method


def _path(path: str) -> str:
    """A path of the system itself: never another host, however it is written."""
    if not path.startswith("/") or path.startswith("//") or "\\" in path or not path.isprintable():
        raise ValueError("the path of a request is none; write one that begins with /, such as /api/v1/users")
    return path


def _headers(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
        raise ValueError("headers is no mapping of names to texts; write 'Name: value' pairs")
    return {name: str(item) for name, item in value.items()}


def _query(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("query is not a mapping; write 'name: value' pairs")
    return value
