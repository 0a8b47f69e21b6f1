"""The heartbeat keeps beating whatever the database says."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from evalq.errors import Unreachable
from evalq.settings import Fleet
from evalq.store.database import known_version
from workers.heartbeat import Heartbeat


class FakeDatabase:
    """Knows its schema; runs every other statement by `run`, and notes its name."""

    def __init__(self, run: Callable[[str], None]) -> None:
        self._run = run
        self.names: list[str] = []

    def row(self, name: str) -> dict[str, Any]:
        assert name == "schema_version"
        return {"version": known_version()}

    def run(self, name: str, /, **params: object) -> int:
        self.names.append(name)
        self._run(name)
        return 1


def beating(db: FakeDatabase) -> Heartbeat:
    fleet = Fleet(memory_mb=1_000_000)
    return Heartbeat(db, SimpleNamespace(replay=lambda: 0), fleet)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [Unreachable("away"), psycopg.errors.UndefinedColumn("lease_until")])
def test_it_survives_what_the_database_says(error: Exception) -> None:
    def refuse(_name: str) -> None:
        raise error

    db = FakeDatabase(refuse)
    heartbeat = beating(db)
    with heartbeat.holding(SimpleNamespace(id=1, fence=1)):  # type: ignore[arg-type]
        heartbeat.beat()
        heartbeat.beat()
    assert db.names == ["extend_leases", "extend_leases"]


def test_a_job_to_be_released_later_is_released_once() -> None:
    db = FakeDatabase(lambda name: None)
    heartbeat = beating(db)
    heartbeat.release_later(SimpleNamespace(id=1, fence=1))  # type: ignore[arg-type]
    heartbeat.beat()
    heartbeat.beat()
    assert db.names == ["extend_leases", "release_held"]
