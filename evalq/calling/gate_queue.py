"""Callers of this process that wait for a place at a gate where all places are taken."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

_LOOK_EVERY_S = 0.1
"""How often the first in line looks for a place freed by another process; those behind look less often."""


class GateQueue:
    """A line in front of one gate: a call that ends here lets the next one ask again, at once."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._sleep = sleep
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self) -> float:
        """Wait until it is worth asking again; return for how long, in seconds.

        Raises PutBack when the worker stops.
        """
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        began = loop.time()
        look_s = _LOOK_EVERY_S * (1 + len(self._waiting))
        self._waiting.append(turn)
        sleeping = asyncio.ensure_future(self._sleep(look_s))
        try:
            await asyncio.wait((turn, sleeping), return_when=asyncio.FIRST_COMPLETED)
            if sleeping.done():
                sleeping.result()
                return look_s
            return loop.time() - began
        finally:
            sleeping.cancel()
            if turn in self._waiting:
                self._waiting.remove(turn)

    def call_next(self) -> None:
        """Let the first in line ask again."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
