"""Applying the schema: once each, one at a time, and a plain word to whoever meets another version."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from evalq.errors import Refused, Unreachable
from evalq.store.database import Database, applied_version, apply_schema, require_schema, schema_files


def test_applying_twice_applies_once(empty_db: Database) -> None:
    assert apply_schema(empty_db) == schema_files()
    assert apply_schema(empty_db) == []
    assert applied_version(empty_db) == schema_files()[-1].version


def test_appliers_at_once_apply_each_file_once(empty_db: Database, at_once: Callable[..., list[Any]]) -> None:
    applied = at_once(lambda: apply_schema(empty_db), 4)
    assert sorted(applied, key=len) == [[], [], [], schema_files()]


def test_the_versions_of_the_schema_files_are_their_own_and_in_order() -> None:
    versions = [file.version for file in schema_files()]
    assert versions == sorted(set(versions))


def test_an_empty_database_is_answered_with_the_command_to_run(empty_db: Database) -> None:
    assert applied_version(empty_db) == 0
    with pytest.raises(Unreachable, match="run `evalq schema apply`"):
        require_schema(empty_db)


def test_a_newer_database_is_answered_with_upgrade_evalq(db: Database) -> None:
    require_schema(db)
    with psycopg.connect(db.url) as connection:
        connection.execute("INSERT INTO schema_versions (version, name) VALUES (999, '999_later')")
    with pytest.raises(Unreachable, match=r"schema version 999.*upgrade evalq"):
        require_schema(db)


def test_a_file_that_fails_leaves_nothing_behind(empty_db: Database) -> None:
    with psycopg.connect(empty_db.url) as connection:
        connection.execute("CREATE SCHEMA evalq")
        connection.execute("CREATE TABLE evalq.verdict_uses (taken TEXT)")
    with pytest.raises(Refused, match='"verdict_uses" already exists, and it is not evalq'):
        apply_schema(empty_db)
    with psycopg.connect(empty_db.url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'evalq'")
        assert tables.fetchall() == [("verdict_uses",)]
