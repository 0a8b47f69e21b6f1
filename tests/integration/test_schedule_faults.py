"""One schedule that cannot be opened is told, and the others go on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.schedules import DriftSchedule
from evalq.settings import Settings
from evalq.store.database import Database
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
