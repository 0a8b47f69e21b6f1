"""Gatekeepers for tests without an event loop of their own: each call runs to its end before it returns."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evalq.calling.rate_limit import Gatekeeper, GateState, Permit, Scripts
from evalq.definitions.judge import JudgeConfig
from evalq.engines.async_scripts import AsyncScripts
from evalq.errors import ProviderFault
from evalq.records import Completion, Prompt


class FixedTime:
    """Scripts at a time of the test's own: the server's clock is replaced in their text."""

    def __init__(self, scripts: Scripts, *, now_ms: int) -> None:
        self._scripts = scripts
        self.now_ms = now_ms

    async def run_script(self, text: str, keys: list[str], args: list[Any]) -> Any:
        seconds, milliseconds = divmod(self.now_ms, 1000)
        assert text.count("redis.call('TIME')") == 1
        fixed = text.replace("redis.call('TIME')", f"{{'{seconds}', '{milliseconds * 1000}'}}")
        return await self._scripts.run_script(fixed, keys, args)


class DrivenGatekeeper:
    """A gatekeeper whose callers come one at a time; `sleep` sees each wait, and nobody really sleeps."""

    def __init__(
        self, runner: asyncio.Runner, scripts: Scripts, sleep: Callable[[float], Any] | None = None
    ) -> None:
        async def note_wait(seconds: float) -> None:
            if sleep:
                sleep(seconds)

        self._run = runner.run
        self._keeper = Gatekeeper(scripts, sleep=note_wait)

    def take(self, judge: JudgeConfig, prompt: Prompt) -> Permit:
        return self._run(self._keeper.take(judge, prompt))

    def answered(self, permit: Permit, completion: Completion) -> None:
        self._run(self._keeper.answered(permit, completion))
        self._run(self._keeper.drain())

    def failed(self, permit: Permit, fault: ProviderFault) -> GateState:
        return self._run(self._keeper.failed(permit, fault))

    def give_back(self, permit: Permit) -> None:
        self._run(self._keeper.give_back(permit))


MakeGatekeeper = Callable[..., DrivenGatekeeper]


@contextmanager
def driven_gatekeepers(broker_url: str) -> Iterator[MakeGatekeeper]:
    """Makes gatekeepers at a broker, each with a connection of its own; their time stands still."""
    opened: list[AsyncScripts] = []
    now_ms = round(time.time() * 1000)

    with asyncio.Runner() as runner:

        def make(sleep: Callable[[float], Any] | None = None) -> DrivenGatekeeper:
            opened.append(AsyncScripts(broker_url))
            return DrivenGatekeeper(runner, FixedTime(opened[-1], now_ms=now_ms), sleep)

        yield make
        for scripts in opened:
            runner.run(scripts.close())
