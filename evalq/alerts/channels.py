"""The channels of alerts: one small function each, in one table."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from evalq.alerts.message import DEADLINE_S, Message, Undelivered
from evalq.definitions.channel import Channel

_TELEGRAM_URL = "https://api.telegram.org/bot{token}/sendMessage"
_LONGEST_MESSAGE = 4000  # characters; Telegram takes 4096
_JSON = {"content-type": "application/json"}


class Post(Protocol):
    """How a document is sent to an address."""

    def __call__(
        self, url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool = False
    ) -> None: ...


def _post(url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool = False) -> None:
    # Imported by the first alert: a worker starts faster without an HTTP client.
    from evalq.alerts.target import post

    post(url, body, headers, allow_private=allow_private)


@dataclass(frozen=True)
class Means:
    """What a channel sends with: the environment that holds its secrets, and the way out."""

    environ: Mapping[str, str]
    post: Post = _post

    def secret(self, name: str) -> str:
        """A variable's value; Undelivered names the variable when it is missing."""
        value = self.environ.get(name, "").strip()
        if not value:
            raise Undelivered(f"{name} is not set")
        if not (value.isascii() and value.isprintable()):
            raise Undelivered(f"{name} holds characters that cannot be sent")
        return value


def send(channel: Channel, message: Message, means: Means) -> None:
    """Send an alert once; Undelivered says why it did not arrive."""
    _SENDERS[channel.kind](channel, message, means)


def _telegram(channel: Channel, message: Message, means: Means) -> None:
    assert channel.telegram
    url = _TELEGRAM_URL.format(token=means.secret(channel.telegram.token_env))
    chat = means.secret(channel.telegram.chat_id_env)
    means.post(url, _bytes({"chat_id": chat, "text": message.text[:_LONGEST_MESSAGE]}), _JSON)


def _slack(channel: Channel, message: Message, means: Means) -> None:
    assert channel.slack
    # Slack reads <…> as links and & as an escape.
    text = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    means.post(means.secret(channel.slack.url_env), _bytes({"text": text}), _JSON)


def _webhook(channel: Channel, message: Message, means: Means) -> None:
    hook = channel.webhook
    assert hook
    headers = {name.lower(): means.secret(variable) for name, variable in hook.headers_env.items()}
    url = hook.url or means.secret(hook.url_env or "")
    body = _bytes({**message.document, "text": message.text})
    means.post(url, body, {**_JSON, **headers}, allow_private=hook.allow_private)


def _command(channel: Channel, message: Message, means: Means) -> None:
    """The program gets the document on its standard input; it has no business with evalq's own settings."""
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


_SENDERS: dict[str, Callable[[Channel, Message, Means], None]] = {
    "telegram": _telegram,
    "slack": _slack,
    "webhook": _webhook,
    "command": _command,
}


def _bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, default=str).encode()
