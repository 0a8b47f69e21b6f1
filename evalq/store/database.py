"""A pool of Postgres connections that run named queries."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, LiteralString, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DeadlockDetected, SerializationFailure
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from evalq.errors import Unreachable

Row = dict[str, Any]
_Result = TypeVar("_Result")
_TRIES = 4
# The pool doubles its waits for a database that is away; it must not sleep for minutes when that is back.
_RECONNECT_S = 5.0
_NAME_LINE = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def named_queries() -> dict[str, LiteralString]:
    """Every statement of queries.sql by its name."""
    text = (Path(__file__).parent.parent / "queries.sql").read_text("utf-8")
    parts = _NAME_LINE.split(text)[1:]
    assert len(set(parts[::2])) == len(parts[::2]), "two queries have one name"
    return {
        name: cast(LiteralString, body.strip()) for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


class Connection:
    """One connection; inside `Database.transaction()` everything it runs is one transaction."""

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        self._raw = raw

    def rows(self, name: str, /, **params: object) -> list[Row]:
        """Run a query, return all its rows."""
        return self._raw.execute(named_queries()[name], params).fetchall()

    def row(self, name: str, /, **params: object) -> Row | None:
        """Run a query, return its first row if any."""
        return self._raw.execute(named_queries()[name], params).fetchone()

    def run(self, name: str, /, **params: object) -> int:
        """Run a statement, return how many rows it touched."""
        return self._raw.execute(named_queries()[name], params).rowcount

    def copy(self, name: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Stream rows into a table."""
        with self._raw.cursor() as cursor, cursor.copy(named_queries()[name]) as copy:
            for row in rows:
                copy.write_row(row)

    def script(self, sql: str) -> None:
        """Run a schema file."""
        self._raw.execute(sql.encode())


class Database:
    """Connections to one database, shared by the threads of a process."""

    def __init__(self, url: str, *, max_size: int = 8, patience_s: float = 30) -> None:
        self.url = url
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            url,
            min_size=1,
            max_size=max_size,
            open=False,
            timeout=patience_s,
            reconnect_timeout=_RECONNECT_S,
            kwargs={"autocommit": True, "row_factory": dict_row, **_timeout(url)},
        )
        self._open()

    def _open(self) -> None:
        # One plain connection first: the pool would retry in the background for its whole timeout
        # and hide the reason.
        with reachable():
            psycopg.connect(self.url, **_timeout(self.url)).close()
            self._pool.open(wait=True, timeout=30)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection on which every statement commits by itself."""
        with reachable(), self._pool.connection() as raw:
            yield Connection(raw)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection on which everything commits together, or nothing."""
        with reachable(), self._pool.connection() as raw, raw.transaction():
            yield Connection(raw)

    def rows(self, name: str, /, **params: object) -> list[Row]:
        """Run a query by itself, return all its rows."""
        return self.alone(lambda connection: connection.rows(name, **params))

    def row(self, name: str, /, **params: object) -> Row | None:
        """Run a query by itself, return its first row if any."""
        return self.alone(lambda connection: connection.row(name, **params))

    def run(self, name: str, /, **params: object) -> int:
        """Run a statement by itself, return how many rows it touched."""
        return self.alone(lambda connection: connection.run(name, **params))

    def alone(self, statement: Callable[[Connection], _Result]) -> _Result:
        """Run what is its own transaction; a deadlock's victim has left nothing, so it is run again."""
        with reachable():
            for _ in range(_TRIES - 1):
                with suppress(DeadlockDetected, SerializationFailure), self._pool.connection() as raw:
                    return statement(Connection(raw))
            with self._pool.connection() as raw:
                return statement(Connection(raw))


def _timeout(url: str) -> dict[str, Any]:
    """Ten seconds to connect, unless the address says otherwise."""
    with reachable():
        return {} if "connect_timeout" in conninfo_to_dict(url) else {"connect_timeout": 10}


@contextmanager
def reachable() -> Iterator[None]:
    """Say plainly that the database is away; its own words may hold the URL's password."""
    try:
        yield
    except (psycopg.OperationalError, PoolTimeout) as exc:
        reason = re.sub(r"password=\S+", "password=…", str(exc)).strip().splitlines()[0]
        raise Unreachable(f"the database cannot be reached: {reason}; check EVALQ_DATABASE_URL") from exc
