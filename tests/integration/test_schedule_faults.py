"""One schedule that cannot be opened is told, and the others go on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.schedules import DriftSchedule
from evalq.errors import Refused
from evalq.settings import Settings
from evalq.store.database import Database, apply_schema, require_schema
from workers.connections import Connections
from workers.schedule import open_due_checks

Sql = Callable[..., list[tuple[Any, ...]]]


def test_a_schedule_that_raises_does_not_stop_the_next(
    db: Database, sql: Sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tasks" / "broken.yaml"
    folder.mkdir(parents=True)  # reading a folder as a task is an OSError
    monkeypatch.chdir(tmp_path)
    drift = [
        DriftSchedule(task=str(folder), eval_set="dev-1", judges=["a"], every_s=1.0),
        DriftSchedule(task="none", eval_set="dev-1", judges=["a"], every_s=1.0),
    ]
    settings = Settings(spool_dir=tmp_path / "spool", drift=drift)
    open_due_checks(Connections(db, settings, {"HOME": str(tmp_path)}))
    assert sql("SELECT count(DISTINCT schedule), bool_and(problem IS NOT NULL) FROM drift_ticks") == [
        (2, True)
    ]
    assert sql("SELECT count(*) FROM alerts") == [(2,)]


def test_a_table_of_another_program_is_a_clear_error(empty_db: Database) -> None:
    with empty_db.transaction() as tx:
        tx.script("CREATE TABLE jobs (id INT)")
    with pytest.raises(Refused, match=r'relation "jobs" already exists, and it is not evalq\'s'):
        apply_schema(empty_db)
    with pytest.raises(Refused, match="a schema of its own"):
        apply_schema(empty_db)


def test_a_shared_database_takes_evalq_in_a_schema_of_its_own(empty_db: Database) -> None:
    with empty_db.transaction() as tx:
        tx.script("CREATE TABLE jobs (id INT); CREATE SCHEMA evalq")
    joint = "&" if "?" in empty_db.url else "?"
    own = Database(f"{empty_db.url}{joint}options=-csearch_path%3Devalq")
    try:
        assert apply_schema(own)
        require_schema(own)
    finally:
        own.close()
