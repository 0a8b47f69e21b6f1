"""Where evalq's tables go: a schema of their own, the public one of older databases, or the user's choice."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

from evalq.errors import Refused
from evalq.store.database import (
    Database,
    applied_version,
    apply_schema,
    connection_options,
    known_version,
    require_schema,
)

PLACES = "SELECT schemaname FROM pg_tables WHERE tablename = %s ORDER BY 1"


def with_options(url: str, options: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}options={options}"


@contextmanager
def opened(url: str) -> Iterator[Database]:
    with closing(Database(url)) as db:
        yield db


def plainly(db: Database, statement: str, *params: object) -> list[tuple[Any, ...]]:
    """What a user sees who connects without evalq."""
    with psycopg.connect(db.url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), params or None)
        return cursor.fetchall() if cursor.description else []


def test_a_new_database_gets_a_schema_of_evalqs_own_and_plain_queries_find_its_tables(
    empty_db: Database,
) -> None:
    apply_schema(empty_db)
    assert plainly(empty_db, PLACES, "jobs") == plainly(empty_db, PLACES, "eval_runs") == [("evalq",)]
    assert plainly(empty_db, "SELECT * FROM eval_runs") == plainly(empty_db, "SELECT * FROM jobs") == []
    assert plainly(empty_db, "SELECT * FROM public.eval_kappa") == []


def test_a_shared_database_with_a_table_jobs_takes_evalq_beside_it(empty_db: Database) -> None:
    plainly(empty_db, "CREATE TABLE jobs AS SELECT 'theirs' AS whose")
    plainly(empty_db, "CREATE TABLE schema_versions AS SELECT 'v9' AS version")
    assert applied_version(empty_db) == 0
    assert apply_schema(empty_db)
    require_schema(empty_db)
    assert plainly(empty_db, "SELECT whose FROM jobs") == [("theirs",)]
    assert plainly(empty_db, "SELECT * FROM eval_runs") == []


def test_tables_of_an_older_evalq_in_public_stay_there(empty_db: Database) -> None:
    with opened(with_options(empty_db.url, "-csearch_path%3Dpublic")) as older:
        apply_schema(older)
        older.run("note_schema_version", version=0, name="mark")
    assert apply_schema(empty_db) == []
    require_schema(empty_db)
    plainly(empty_db, "DELETE FROM schema_versions WHERE version = %s", known_version())
    plainly(empty_db, "ALTER TABLE bakeoffs DROP COLUMN name")
    assert [file.version for file in apply_schema(empty_db)] == [known_version()]
    added = (
        "SELECT table_schema FROM information_schema.columns WHERE table_name = %s AND column_name = 'name'"
    )
    assert plainly(empty_db, added, "bakeoffs") == [("public",)]


def test_an_empty_schema_evalq_does_not_split_an_older_database(empty_db: Database) -> None:
    with opened(with_options(empty_db.url, "-csearch_path%3Dpublic")) as older:
        apply_schema(older)
    plainly(empty_db, "CREATE SCHEMA evalq")
    assert apply_schema(empty_db) == []
    assert applied_version(empty_db) == known_version()
    assert plainly(empty_db, PLACES, "schema_versions") == [("public",)]


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_another_programs_eval_runs_is_refused_and_nothing_is_changed(empty_db: Database, kind: str) -> None:
    plainly(empty_db, f"CREATE {kind} eval_runs AS SELECT 'theirs' AS whose")
    with pytest.raises(Refused, match=r"public\.eval_runs is another program's"):
        apply_schema(empty_db)
    assert plainly(empty_db, "SELECT whose FROM eval_runs") == [("theirs",)]
    assert plainly(empty_db, PLACES, "jobs") == []


def test_a_search_path_in_the_address_is_followed(empty_db: Database) -> None:
    plainly(empty_db, "CREATE SCHEMA mine")
    with opened(with_options(empty_db.url, "-csearch_path%3Dmine")) as own:
        assert apply_schema(own)
        require_schema(own)
    assert plainly(empty_db, PLACES, "jobs") == [("mine",)]
    assert plainly(empty_db, "SELECT to_regclass('public.eval_runs') IS NULL") == [(True,)]


def test_a_pooler_that_drops_the_option_makes_no_second_set_of_tables(empty_db: Database) -> None:
    plainly(empty_db, "CREATE TABLE jobs AS SELECT 'theirs' AS whose")
    apply_schema(empty_db)
    with opened(with_options(empty_db.url, "")) as without, pytest.raises(Refused, match="SET search_path"):
        apply_schema(without)
    (name,) = plainly(empty_db, "SELECT current_database()")[0]
    plainly(empty_db, f"ALTER DATABASE {name} SET search_path TO evalq, public")
    with opened(with_options(empty_db.url, "")) as without:
        require_schema(without)


def test_a_role_that_may_not_create_a_schema_is_told_what_to_ask_for(empty_db: Database) -> None:
    plainly(empty_db, "DROP ROLE IF EXISTS evalq_modest")
    plainly(empty_db, "CREATE ROLE evalq_modest LOGIN")
    try:
        modest = empty_db.url.replace("postgres@", "evalq_modest@")
        with opened(modest) as db, pytest.raises(Refused, match="CREATE SCHEMA evalq AUTHORIZATION"):
            apply_schema(db)
        plainly(empty_db, "CREATE SCHEMA evalq AUTHORIZATION evalq_modest")
        with opened(modest) as db:
            assert apply_schema(db)
            require_schema(db)
    finally:
        plainly(empty_db, "DROP OWNED BY evalq_modest CASCADE")
        plainly(empty_db, "DROP ROLE evalq_modest")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("postgresql://h/d", "-csearch_path=evalq,public"),
        (
            "postgresql://h/d?options=-cstatement_timeout%3D5s",
            "-cstatement_timeout=5s -csearch_path=evalq,public",
        ),
        ("postgresql://h/d?options=-csearch_path%3Dmine", None),
        ("postgresql://h/d?options=", None),
        ("host=h dbname=d options='-c search_path=mine'", None),
    ],
)
def test_the_address_has_the_say(given: str, found: str | None) -> None:
    assert connection_options(given).get("options") == found


def test_options_of_the_environment_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-cwork_mem=8MB")
    assert connection_options("postgresql://h/d")["options"] == "-cwork_mem=8MB -csearch_path=evalq,public"
    monkeypatch.setenv("PGOPTIONS", "-csearch_path=mine")
    assert "options" not in connection_options("postgresql://h/d?connect_timeout=3")


def test_appliers_at_once_agree_on_one_place(empty_db: Database, at_once: Callable[..., list[Any]]) -> None:
    applied = at_once(lambda: len(apply_schema(empty_db)), 4)
    assert sorted(applied)[:3] == [0, 0, 0]
    assert plainly(empty_db, PLACES, "jobs") == [("evalq",)]
