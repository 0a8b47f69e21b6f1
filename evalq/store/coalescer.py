"""Many askers, one round trip: what coroutines ask for within a tick goes out together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Generic, TypeVar

from evalq.errors import Unreachable

_FIRST_TICK_S = 0.002
_IDLE_S = 0.5
"""After so long without an asker the first ones are answered almost at once: few others will join them."""

Item = TypeVar("Item")
Result = TypeVar("Result")

Flush = Callable[[Sequence[Item]], Awaitable[Sequence[Result | BaseException]]]
"""Answers a batch, one result per item and in their order; an exception among them is that item's own."""


@dataclass
class _Asked(Generic[Item, Result]):
    item: Item
    at_s: float
    answer: asyncio.Future[Result]


class Coalescer(Generic[Item, Result]):
    """Gathers items for `tick_s`, then has them flushed as one batch; while that is out, the next gathers.

    An asker goes on only when its own item is answered. A batch that fails is flushed again in halves, so
    that one bad item fails alone; when the other side is unreachable all askers are told at once. A batch has
    at most `most` items, and together they have at most `max_size` by `size_of`; a larger one goes alone.
    """

    def __init__(
        self,
        flush: Flush[Item, Result],
        *,
        tick_s: float,
        most: int = 500,
        size_of: Callable[[Item], int] = lambda _: 0,
        max_size: int = 0,
    ) -> None:
        self._flush = flush
        self._tick_s = tick_s
        self._most = most
        self._size_of = size_of
        self._max_size = max_size
        self._waiting: list[_Asked[Item, Result]] = []
        self._sender: asyncio.Task[None] | None = None
        self._alarm: asyncio.Future[None] | None = None
        self._has_last = False
        self._answered_at_s = float("-inf")

    async def ask(self, item: Item, *, is_last: bool = False) -> Result:
        """The answer to one item, after a round trip shared with others.

        An asker that `is_last` expects no other soon, and ends the wait for others.
        """
        loop = asyncio.get_running_loop()
        asked: _Asked[Item, Result] = _Asked(item, loop.time(), loop.create_future())
        self._waiting.append(asked)
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_all())
        if is_last:
            self._has_last = True
            if self._alarm is not None:
                _ring(self._alarm)
        return await asked.answer

    async def drain(self) -> None:
        """Wait until everything asked so far is answered."""
        while self._sender is not None:
            await asyncio.wait([self._sender])

    async def _send_all(self) -> None:
        loop = asyncio.get_running_loop()
        is_first = loop.time() - self._answered_at_s > _IDLE_S
        try:
            while self._waiting:
                tick_s = min(self._tick_s, _FIRST_TICK_S) if is_first else self._tick_s
                # What was asked while the last batch was out has waited already.
                waited_s = loop.time() - self._waiting[0].at_s
                await self._wait(0 if self._has_last else max(tick_s - waited_s, 0))
                is_first = self._has_last = False
                await self._answer(self._next_batch())
        finally:
            self._sender = None
            self._answered_at_s = loop.time()

    async def _wait(self, delay_s: float) -> None:
        """Wait for others to ask, until the last one has."""
        loop = asyncio.get_running_loop()
        self._alarm = loop.create_future()
        timer = loop.call_later(delay_s, _ring, self._alarm)
        try:
            await self._alarm
        finally:
            timer.cancel()

    def _next_batch(self) -> list[_Asked[Item, Result]]:
        """Take the items that go out next, without those whose askers were cancelled since."""
        batch: list[_Asked[Item, Result]] = []
        size = 0
        for place, asked in enumerate(self._waiting):
            if asked.answer.done():
                continue
            size += self._size_of(asked.item)
            if batch and (len(batch) == self._most or size > self._max_size):
                self._waiting = self._waiting[place:]
                return batch
            batch.append(asked)
        self._waiting = []
        return batch

    async def _answer(self, batch: Sequence[_Asked[Item, Result]]) -> None:
        if not batch:
            return
        # In a task of its own: whatever it raises is handed to the askers, and never ends the sender.
        flushed = asyncio.ensure_future(self._flush_all([asked.item for asked in batch]))
        await asyncio.wait([flushed])
        error = flushed.exception()
        if error is None:
            _tell(batch, flushed.result())
        elif len(batch) == 1:
            _tell(batch, [error])
        elif isinstance(error, Unreachable):
            # A copy each: the traceback of an exception grows with everyone who raises it.
            _tell(batch, [copy(error) for _ in batch])
        else:
            half = len(batch) // 2
            await self._answer(batch[:half])
            await self._answer(batch[half:])

    async def _flush_all(self, items: Sequence[Item]) -> Sequence[Result | BaseException]:
        results = await self._flush(items)
        if len(results) != len(items):
            raise RuntimeError(f"{len(items)} items were flushed and {len(results)} results came back")
        return results


def _ring(alarm: "asyncio.Future[None]") -> None:
    if not alarm.done():
        alarm.set_result(None)


def _tell(batch: Sequence[_Asked[Item, Result]], results: Sequence[Result | BaseException]) -> None:
    for asked, result in zip(batch, results, strict=True):
        if asked.answer.done():
            continue
        if isinstance(result, BaseException):
            asked.answer.set_exception(result)
        else:
            asked.answer.set_result(result)
