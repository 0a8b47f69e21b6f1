"""The heartbeat keeps beating whatever the database says, and notices a loop that is stuck."""

import asyncio
import signal
from collections.abc import Callable, Iterator
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
        return {"has_schema": {"found": True}, "schema_version": {"version": known_version()}}[name]

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


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def terminations() -> Iterator[list[int]]:
    """The SIGTERMs this process sends itself, instead of ending by them."""
    arrived: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda signum, _: arrived.append(signum))
    yield arrived
    signal.signal(signal.SIGTERM, before)


def test_a_loop_that_goes_round_between_beats_is_left_alone(
    loop: asyncio.AbstractEventLoop, terminations: list[int]
) -> None:
    heartbeat = beating(FakeDatabase(lambda name: None))
    heartbeat.watch(loop)
    for _ in range(3):
        heartbeat.beat()
        loop.run_until_complete(asyncio.sleep(0))
    assert terminations == []


def test_a_loop_that_is_stuck_from_one_beat_to_the_next_ends_the_worker(
    loop: asyncio.AbstractEventLoop, terminations: list[int]
) -> None:
    heartbeat = beating(FakeDatabase(lambda name: None))
    heartbeat.watch(loop)
    heartbeat.beat()
    assert terminations == []
    heartbeat.beat()
    assert terminations == [signal.SIGTERM]
