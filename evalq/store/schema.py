"""The schema: numbered SQL files, applied once each, forward only."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg

from evalq.errors import Unreachable
from evalq.shipped import shipped_path
from evalq.store.database import Connection, Database


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
    """The shipped files in order."""
    paths = sorted(shipped_path("schema").glob("[0-9]*.sql"))
    return [SchemaFile(int(path.name.split("_")[0]), path.stem, path) for path in paths]


@cache
def known_version() -> int:
    """The version this program was written for."""
    return schema_files()[-1].version


def apply_schema(db: Database) -> list[SchemaFile]:
    """Apply what is missing under a lock; return what was applied."""
    with db.transaction() as tx:
        tx.row("lock_schema")
        tx.run("create_schema_versions")
        missing = [file for file in schema_files() if file.version > _version(tx)]
        for file in missing:
            tx.script(file.sql)
            tx.run("note_schema_version", version=file.version, name=file.name)
    return missing


def applied_version(db: Database) -> int:
    """The newest version applied, 0 for a database without schema."""
    try:
        with db.connection() as connection:
            return _version(connection)
    except psycopg.errors.UndefinedTable:
        return 0


def is_known_schema(db: Database) -> bool:
    """Whether the database has the schema this program was written for."""
    return applied_version(db) == known_version()


def require_schema(db: Database) -> None:
    """Refuse a database whose schema is not the one this program was written for."""
    have, want = applied_version(db), known_version()
    if have < want:
        raise Unreachable(
            f"the database has schema version {have}, this evalq needs {want}; run `evalq schema apply`"
        )
    if have > want:
        raise Unreachable(f"the database has schema version {have}, this evalq knows {want}; upgrade evalq")


def _version(connection: Connection) -> int:
    row = connection.row("schema_version")
    return (row and row["version"]) or 0
