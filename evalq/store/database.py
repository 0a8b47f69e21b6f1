"""A pool of Postgres connections that run named queries, and the schema they need."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any, Concatenate, LiteralString, ParamSpec, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DeadlockDetected, SerializationFailure
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from evalq.definitions.shipped import shipped_path
from evalq.errors import Contended, Refused, Unreachable
from evalq.store.schema_home import search_path_options, settle_home, show_seed_tables

Row = dict[str, Any]
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")
_RawConnection = psycopg.Connection[Row]

TRIES = 4
"""How often a statement or transaction runs when other transactions keep getting in its way."""
_RECONNECT_S = 5.0
"""The pool doubles its waits for a database that is away; it must not sleep for minutes after its return."""
_NAME_LINE = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def named_queries() -> dict[str, LiteralString]:
    """Every statement of queries/*.sql by its name."""
    queries: dict[str, LiteralString] = {}
    for path in sorted((Path(__file__).parent / "queries").glob("*.sql")):
        parts = _NAME_LINE.split(path.read_text("utf-8"))[1:]
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            assert name not in queries, f"two queries are named {name}"
            queries[name] = cast(LiteralString, body.strip())
    return queries


class Connection:
    """One connection; inside a transaction everything it runs commits together."""

    def __init__(self, raw: _RawConnection) -> None:
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

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of the transaction that can fail alone."""
        with self._raw.transaction():
            yield

    def script(self, sql: str) -> None:
        """Run a schema file."""
        self._raw.execute(sql.encode())


class Database:
    """Connections to one database, shared by the threads of a process."""

    def __init__(self, url: str, *, max_size: int = 8, patience_s: float = 30) -> None:
        self.url = url
        self._pool: ConnectionPool[_RawConnection] = ConnectionPool(
            url,
            min_size=1,
            max_size=max_size,
            open=False,
            timeout=patience_s,
            reconnect_timeout=_RECONNECT_S,
            kwargs={"autocommit": True, "row_factory": dict_row, **connection_options(url)},
        )
        # One plain connection first: the pool would retry in the background for its whole timeout
        # and hide the reason.
        with mapped_errors():
            psycopg.connect(url, **connection_options(url)).close()
            self._pool.open(wait=True, timeout=30)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def rows(self, name: str, /, **params: object) -> list[Row]:
        """Run a query by itself, return all its rows."""
        return self._run(lambda raw: Connection(raw).rows(name, **params))

    def row(self, name: str, /, **params: object) -> Row | None:
        """Run a query by itself, return its first row if any."""
        return self._run(lambda raw: Connection(raw).row(name, **params))

    def run(self, name: str, /, **params: object) -> int:
        """Run a statement by itself, return how many rows it touched."""
        return self._run(lambda raw: Connection(raw).run(name, **params))

    def in_transaction(self, work: Callable[[Connection], _Result]) -> _Result:
        """Run `work` as one transaction, again when a deadlock undid it.

        So `work` changes nothing but the database: `transaction()` is for the rest.
        """

        def run(raw: _RawConnection) -> _Result:
            with raw.transaction():
                return work(Connection(raw))

        return self._run(run)

    def _run(self, work: Callable[[_RawConnection], _Result]) -> _Result:
        """Run one transaction; the victim of a deadlock has left no trace, so it runs again."""
        with mapped_errors():
            for _ in range(TRIES - 1):
                try:
                    with self._pool.connection() as raw:
                        return work(raw)
                except (DeadlockDetected, SerializationFailure):
                    continue
            with self._pool.connection() as raw:
                return work(raw)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection on which everything commits together, or nothing; raises Contended on a deadlock."""
        with mapped_errors(), self._pool.connection() as raw, raw.transaction():
            yield Connection(raw)


def transactional(
    work: Callable[Concatenate[Connection, _Params], _Result],
) -> Callable[Concatenate[Database, _Params], _Result]:
    """Turn a function of a connection into one of a database that runs it with `in_transaction`."""

    @wraps(work)
    def run(db: Database, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        return db.in_transaction(lambda tx: work(tx, *args, **kwargs))

    return run


def connection_options(url: str, *, timeout_s: int = 10) -> dict[str, Any]:
    """What `psycopg.connect`, or a pool, is given beside the address.

    `timeout_s` to connect, and a search path that begins with schema evalq, unless the address has its own.
    An address with an empty `options=` leads to a pooler: it may hand every transaction another connection,
    so no statement is prepared.
    """
    with mapped_errors():
        given = conninfo_to_dict(url)
        found: dict[str, Any] = dict(search_path_options(url))
        if "connect_timeout" not in given:
            found["connect_timeout"] = timeout_s
        if given.get("options") == "":
            found["prepare_threshold"] = None
        return found


@contextmanager
def mapped_errors() -> Iterator[None]:
    """Raise Contended for a deadlock, Unreachable for a database that is away, neither with a password."""
    try:
        yield
    except (DeadlockDetected, SerializationFailure) as exc:
        raise Contended(
            "other transactions got in the way and nothing was written; the database is fine: try again"
        ) from exc
    except (psycopg.OperationalError, PoolTimeout) as exc:
        reason = re.sub(r"password=\S+", "password=…", str(exc)).strip().splitlines()[0]
        if "startup parameter" in str(exc):
            reason += " (the pooler refuses `options`: see docs/deployment.md, Behind PgBouncer)"
        raise Unreachable(f"the database cannot be reached: {reason}; check EVALQ_DATABASE_URL") from exc


def server_version(db: Database) -> str:
    """The version of the Postgres server."""
    row = db.row("server_version")
    assert row is not None
    return str(row["version"])


@dataclass(frozen=True)
class SchemaFile:
    """One numbered file of `schema/`."""

    version: int
    name: str
    path: Path

    @property
    def sql(self) -> str:
        """Its text."""
        return self.path.read_text("utf-8")


def schema_files() -> list[SchemaFile]:
    """The shipped schema files in order."""
    paths = sorted(shipped_path("schema").glob("[0-9]*.sql"))
    return [SchemaFile(int(path.name.split("_")[0]), path.stem, path) for path in paths]


@cache
def known_version() -> int:
    """The schema version this program needs."""
    return schema_files()[-1].version


@transactional
def apply_schema(tx: Connection) -> list[SchemaFile]:
    """Apply the missing schema files under a lock; return them."""
    tx.row("lock_schema")
    has_own_home = settle_home(tx)
    if has_own_home and applied_version(tx) == known_version():
        return []
    tx.run("create_schema_versions")
    have = _version(tx)
    missing = [file for file in schema_files() if file.version > have]
    for file in missing:
        _apply(tx, file)
        tx.run("note_schema_version", version=file.version, name=file.name)
    if has_own_home:
        show_seed_tables(tx)
    return missing


def _apply(tx: Connection, file: SchemaFile) -> None:
    """Run one schema file; a table of another program in the way is refused, and nothing is changed."""
    try:
        tx.script(file.sql)
    except (
        psycopg.errors.DuplicateTable,
        psycopg.errors.DuplicateObject,
        psycopg.errors.DuplicateFunction,
    ) as exc:
        reason = str(exc).strip().splitlines()[0]
        raise Refused(
            f"schema {file.name} cannot be applied: {reason}, and it is not evalq's; nothing was changed. "
            f"Give evalq a database or a schema of its own: CREATE SCHEMA evalq_own, then add "
            f"?options=-csearch_path%3Devalq_own to EVALQ_DATABASE_URL"
        ) from exc


def applied_version(db: Database | Connection) -> int:
    """The newest version applied, 0 for a database without schema."""
    found = db.row("has_schema")
    return _version(db) if found and found["found"] else 0


def is_known_schema(db: Database) -> bool:
    """Whether the database has the schema this program needs."""
    return applied_version(db) == known_version()


def require_schema(db: Database) -> None:
    """Raise Unreachable unless the database has the schema this program needs."""
    have, want = applied_version(db), known_version()
    if have < want:
        raise Unreachable(
            f"the database has schema version {have}, this evalq needs {want}; run `evalq schema apply`"
        )
    if have > want:
        raise Unreachable(f"the database has schema version {have}, this evalq knows {want}; upgrade evalq")


def _version(db: Database | Connection) -> int:
    row = db.row("schema_version")
    return int(row["version"] or 0) if row else 0
