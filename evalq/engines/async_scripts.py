"""Lua scripts at the broker for an event loop: those asked for at the same time leave in one pipeline."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from evalq.errors import Unreachable
from evalq.store.coalescer import Coalescer

if TYPE_CHECKING:
    from redis.asyncio import Redis

_PATIENCE_S = 5.0
_REDIS_SCHEMES = {"valkey": "redis", "valkeys": "rediss"}


@dataclass(frozen=True)
class _Script:
    text: str
    keys: list[str]
    args: list[Any]

    def by_hash(self) -> tuple[Any, ...]:
        return ("EVALSHA", _hash(self.text), len(self.keys), *self.keys, *self.args)

    def by_text(self) -> tuple[Any, ...]:
        return ("EVAL", self.text, len(self.keys), *self.keys, *self.args)


class AsyncScripts:
    """Runs scripts in the order they are asked for, over one connection, opened when it is first used.

    Belongs to the event loop that uses it. A broker that does not answer for `patience_s` is Unreachable.
    """

    def __init__(self, broker_url: str, *, patience_s: float = _PATIENCE_S) -> None:
        self._url = redis_url(broker_url)
        self._patience_s = patience_s
        self._client: Redis | None = None
        self._sent: set[str] = set()
        self._pipeline: Coalescer[_Script, Any] = Coalescer(self._send, tick_s=0)

    async def run_script(self, text: str, keys: list[str], args: list[Any]) -> Any:
        """Run a Lua script atomically; raises Unreachable when the broker is away."""
        return await self._pipeline.ask(_Script(text, keys, args))

    async def close(self) -> None:
        """Close the connection; the next script opens another one."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _send(self, scripts: Sequence[_Script]) -> list[Any]:
        from redis.exceptions import NoScriptError

        with _reachable():
            async with asyncio.timeout(self._patience_s):
                replies = await self._execute([self._command(script) for script in scripts])
                # The server forgets its scripts when it restarts: sending a text once teaches it again.
                unknown = [at for at, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
                if unknown:
                    again = await self._execute([scripts[at].by_text() for at in unknown])
                    for at, reply in zip(unknown, again, strict=True):
                        replies[at] = reply
        return replies

    def _command(self, script: _Script) -> tuple[Any, ...]:
        """By text the first time, so that no script overtakes one that the server does not know yet."""
        if script.text in self._sent:
            return script.by_hash()
        self._sent.add(script.text)
        return script.by_text()

    async def _execute(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self._client is None:
            self._client = _connect(self._url)
        async with self._client.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
        return replies


def redis_url(broker_url: str) -> str:
    """The broker's URL as redis-py spells it: it differs from Celery over Valkey and certificates."""
    scheme, separator, rest = broker_url.partition("://")
    for mode in ("NONE", "OPTIONAL", "REQUIRED"):
        rest = rest.replace(f"ssl_cert_reqs=CERT_{mode}", f"ssl_cert_reqs={mode.lower()}")
    return _REDIS_SCHEMES.get(scheme, scheme) + separator + rest


def _connect(url: str) -> "Redis":
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.maint_notifications import MaintNotificationsConfig

    return Redis.from_url(
        url,
        # Not repeated by the client: a script that was sent may have run, and nothing may be taken twice.
        retry=Retry(NoBackoff(), 0),
        # With them, redis-py does not notice that an idle connection was closed by the server.
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
    )


@cache
def _hash(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


@contextmanager
def _reachable() -> Iterator[None]:
    """Raise Unreachable when the broker is away or does not answer."""
    import redis.exceptions

    try:
        yield
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, TimeoutError) as exc:
        raise Unreachable(
            f"the broker cannot be reached: {type(exc).__name__}; check EVALQ_BROKER_URL"
        ) from exc
