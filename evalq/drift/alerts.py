"""Delivers alerts to their channels; a failed delivery is retried with growing waits for a day."""

import asyncio
import ipaddress
import json
import logging
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import httpx2

from evalq.calling.providers.connection import Connection
from evalq.calling.providers.routes import PORTS, build_basic_auth, build_head, refuse_metadata
from evalq.definitions.alert_channels import AlertChannel, name_channels
from evalq.store import alerts
from evalq.store.alerts import AlertDelivery
from evalq.store.database import Database

log = logging.getLogger(__name__)

DEADLINE_S = 10.0
"""Limit of one delivery, for every channel."""


@dataclass(frozen=True)
class AlertMessage:
    """The text for people and the document for programs."""

    text: str
    document: dict[str, Any]


class Undelivered(Exception):
    """A delivery failed; the message holds neither address nor secret."""


def post(url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool = False) -> None:
    """Send one document within ten seconds; raise Undelivered unless the answer is a success.

    The name is resolved once and that address is connected to, so neither a second lookup nor a redirect
    leads elsewhere. Private, loopback, link-local and metadata addresses are refused.
    """
    target = _parse_url(url)
    if target.scheme == "http" and not allow_private:
        raise Undelivered("its address is not https; only a private one may be plain http")
    address = _address(target.host, target.port or PORTS[target.scheme], allow_private=allow_private)
    sent = [(b"host", target.netloc), (b"connection", b"close"), (b"content-length", b"%d" % len(body))]
    sent += [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
    if target.userinfo:
        sent.append((b"authorization", build_basic_auth(target)))
    try:
        message = build_head("POST", target.raw_path, sent) + body
        status = asyncio.run(_exchange(target, address, message))
    except (OSError, httpx2.TransportError) as exc:
        # The words of these errors hold the address, which may be the secret.
        raise Undelivered(f"no answer: {type(exc).__name__}") from None
    if not 200 <= status < 300:
        raise Undelivered(f"it was answered with {status}")


def _parse_url(url: str) -> httpx2.URL:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in PORTS or not parsed.host:
        raise Undelivered("its address is not an http or https URL")
    return parsed


async def _exchange(target: httpx2.URL, address: str, message: bytes) -> int:
    """The status that the server at this address answers; connecting and waiting share one deadline."""
    ends_at = asyncio.get_running_loop().time() + DEADLINE_S
    tls = httpx2.create_ssl_context() if target.scheme == "https" else None
    name = target.raw_host.decode("ascii")
    async with asyncio.timeout_at(ends_at):
        connection = await Connection.open(
            address, target.port or PORTS[target.scheme], tls=tls, server_name=name
        )
        refuse_metadata(connection)
        reply = await connection.exchange(message, method="POST", ends_at=ends_at)
    return reply.status


def _address(host: str, port: int, *, allow_private: bool) -> str:
    """The address to connect to; refused if any address of the name is private."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Undelivered("its name is not known") from None
    addresses = [str(entry[4][0]) for entry in found]
    if not allow_private and not all(is_public(address) for address in addresses):
        raise Undelivered("its address is a private one; set allow_private: true if that is meant")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address is public: for IPv6 one that leads to no IPv4 address in disguise."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or _nat64(ip)
        if inner:
            return is_public(str(inner))
        return ip in _GLOBAL_IPV6 and ip.is_global and not (ip.sixtofour or ip.teredo)
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _CLOUD_SERVICES)


def _nat64(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    is_inside = ip in ipaddress.IPv6Network("64:ff9b::/96")
    return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if is_inside else None


_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
_CLOUD_SERVICES = (
    ipaddress.IPv4Network("192.0.0.0/24"),  # Oracle's metadata
    ipaddress.IPv4Network("168.63.129.16/32"),  # Azure's host
)


_TELEGRAM_URL = "https://api.telegram.org/bot{token}/sendMessage"
_LONGEST_MESSAGE = 4000  # characters; Telegram takes 4096
_JSON = {"content-type": "application/json"}


class Post(Protocol):
    """How a document is sent to an address."""

    def __call__(
        self, url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool = False
    ) -> None: ...


@dataclass(frozen=True)
class AlertSender:
    """Sends for channels: the environment holds their secrets, `post` sends."""

    environ: Mapping[str, str]
    post: Post = post

    def secret(self, name: str) -> str:
        """The value of a variable; raise Undelivered with its name if it is missing."""
        value = self.environ.get(name, "").strip()
        if not value:
            raise Undelivered(f"{name} is not set")
        if not (value.isascii() and value.isprintable()):
            raise Undelivered(f"{name} holds characters that cannot be sent")
        return value


def send(channel: AlertChannel, message: AlertMessage, means: AlertSender) -> None:
    """Send an alert once; raise Undelivered with the reason if it fails."""
    _SENDERS[channel.kind](channel, message, means)


def _telegram(channel: AlertChannel, message: AlertMessage, means: AlertSender) -> None:
    assert channel.telegram
    url = _TELEGRAM_URL.format(token=means.secret(channel.telegram.token_env))
    chat = means.secret(channel.telegram.chat_id_env)
    means.post(url, _bytes({"chat_id": chat, "text": message.text[:_LONGEST_MESSAGE]}), _JSON)


def _slack(channel: AlertChannel, message: AlertMessage, means: AlertSender) -> None:
    assert channel.slack
    # Slack reads <…> as links and & as an escape.
    text = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    means.post(means.secret(channel.slack.url_env), _bytes({"text": text}), _JSON)


def _webhook(channel: AlertChannel, message: AlertMessage, means: AlertSender) -> None:
    hook = channel.webhook
    assert hook
    headers = {name.lower(): means.secret(variable) for name, variable in hook.headers_env.items()}
    url = hook.url or means.secret(hook.url_env or "")
    body = _bytes({**message.document, "text": message.text})
    means.post(url, body, {**_JSON, **headers}, allow_private=hook.allow_private)


def _command(channel: AlertChannel, message: AlertMessage, means: AlertSender) -> None:
    """Give the document to a program on its standard input, without evalq settings in its environment."""
    assert channel.command
    environ = {name: value for name, value in means.environ.items() if not name.startswith("EVALQ_")}
    try:
        process = subprocess.Popen(
            channel.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,
        )
    except OSError as exc:
        raise Undelivered(f"the command cannot be started: {exc.strerror}") from None
    with process:
        try:
            process.communicate(_bytes({**message.document, "text": message.text}), timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise Undelivered(f"the command did not end within {DEADLINE_S:.0f} s") from None
    if process.returncode != 0:
        raise Undelivered(f"the command ended with exit code {process.returncode}")


_SENDERS: dict[str, Callable[[AlertChannel, AlertMessage, AlertSender], None]] = {
    "telegram": _telegram,
    "slack": _slack,
    "webhook": _webhook,
    "command": _command,
}


def _bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, default=str).encode()


_AT_ONCE = 50
"""Deliveries of one call; the rest waits for the next."""


def are_due(db: Database, channels: Sequence[AlertChannel]) -> bool:
    """Whether deliveries are due; new alerts are assigned to their channels first."""
    names = list(name_channels(channels))
    if not names:
        return False
    alerts.assign_deliveries(db, names)
    return alerts.has_due_deliveries(db, names)


def deliver(db: Database, channels: Sequence[AlertChannel], environ: Mapping[str, str]) -> int:
    """Try every due delivery once; return how many arrived. Safe from several processes at once.

    At least once: a crash between sending and noting it sends the alert again.
    """
    if not are_due(db, channels):
        return 0
    by_name, means, arrived = name_channels(channels), AlertSender(environ), 0
    for _ in range(_AT_ONCE):
        delivery = alerts.claim_delivery(db, list(by_name))
        if delivery is None:
            break
        arrived += _deliver_one(db, delivery, by_name[delivery.channel], means)
    return arrived


def _deliver_one(db: Database, delivery: AlertDelivery, channel: AlertChannel, means: AlertSender) -> bool:
    raised_at = delivery.raised_at.isoformat()
    document = {"id": delivery.alert_id, "raised_at": raised_at, **delivery.document}
    error = try_to_send(channel, AlertMessage(delivery.text, document), means)
    if error:
        place = (delivery.alert_id, delivery.channel, delivery.attempts)
        log.warning("alert %s to %s, try %s: %s", *place, error)
    alerts.end_delivery(db, delivery, error=error)
    return error is None


def try_to_send(channel: AlertChannel, message: AlertMessage, means: AlertSender) -> str | None:
    """Send once; return the reason if it fails, None if it arrives."""
    try:
        send(channel, message, means)
    except Undelivered as exc:
        return str(exc)
    return None
