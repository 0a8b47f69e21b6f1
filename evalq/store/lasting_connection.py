"""One asynchronous connection to Postgres that comes back after a loss."""

import asyncio
import select

import psycopg
from psycopg.errors import DeadlockDetected, SerializationFailure
from psycopg.rows import dict_row

from evalq.store.database import TRIES, Row, connection_options, mapped_errors, named_queries

PATIENCE_S = 5.0
"""How long a statement waits for a database that is away."""
_FIRST_WAIT_S = 0.05
_LONGEST_WAIT_S = 0.5

_RawConnection = psycopg.AsyncConnection[Row]


class LastingConnection:
    """A connection for the coroutines of one loop; its statements run one at a time, each commits."""

    def __init__(self, url: str, *, patience_s: float = PATIENCE_S) -> None:
        self._url = url
        self._patience_s = patience_s
        self._parameters = connection_options(url, timeout_s=round(PATIENCE_S))
        self._lock = asyncio.Lock()
        self._raw: _RawConnection | None = None

    async def open(self) -> None:
        """Connect now, without patience; raises Unreachable."""
        async with self._lock:
            with mapped_errors():
                await self._connected(deadline_s=0)

    async def close(self) -> None:
        """Close the connection after the statement that is under way."""
        async with self._lock:
            await self._drop()

    async def rows(self, name: str, /, *, is_repeatable: bool = False, **params: object) -> list[Row]:
        """Run a named query, return all its rows.

        Raises Unreachable when the database stays away, and when the connection is lost on the way, since the
        statement may have been committed. One that `is_repeatable` runs again on a new connection instead.
        """
        deadline_s = asyncio.get_running_loop().time() + self._patience_s
        async with self._lock:
            with mapped_errors():
                while True:
                    raw = await self._connected(deadline_s)
                    try:
                        return await _run(raw, name, params)
                    except psycopg.OperationalError:
                        is_late = asyncio.get_running_loop().time() > deadline_s
                        if is_late or not is_repeatable or not raw.closed:
                            raise

    async def _connected(self, deadline_s: float) -> _RawConnection:
        """The connection, replaced if it was lost; tries until the deadline, at least once."""
        if self._raw is not None and _is_alive(self._raw):
            return self._raw
        await self._drop()
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                self._raw = await self._connect()
                return self._raw
            except psycopg.OperationalError:
                if asyncio.get_running_loop().time() + wait_s > deadline_s:
                    raise
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _connect(self) -> _RawConnection:
        return await psycopg.AsyncConnection[Row].connect(
            self._url, autocommit=True, row_factory=dict_row, **{"prepare_threshold": 0, **self._parameters}
        )

    async def _drop(self) -> None:
        if self._raw is not None:
            raw, self._raw = self._raw, None
            await raw.close()


async def _run(raw: _RawConnection, name: str, params: dict[str, object]) -> list[Row]:
    """Run a query; the victim of a deadlock has left no trace, so it runs again."""
    query = named_queries()[name]
    for _ in range(TRIES - 1):
        try:
            return await (await raw.execute(query, params)).fetchall()
        except (DeadlockDetected, SerializationFailure):
            continue
    return await (await raw.execute(query, params)).fetchall()


def _is_alive(raw: _RawConnection) -> bool:
    """Whether an idle connection can be used; with something to read on it, the server has said goodbye."""
    if raw.closed:
        return False
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return not poll.poll(0)
