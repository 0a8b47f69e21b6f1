"""A suspect job in a process of its own: it ends there, or costs that process alone its life."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.engines.embedded import Engines
from evalq.store import jobs
from evalq.store.database import Database
from workers.isolated import run_isolated

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def held(
    db: Database,
    engines: Engines,
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> list[jobs.Job]:
    """Three jobs in hand; their processes find the test's database and broker."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALQ_DATABASE_URL", db.url)
    monkeypatch.setenv("EVALQ_BROKER_URL", engines.broker_url)
    monkeypatch.setenv("EVALQ_SPOOL_DIR", str(tmp_path / "spool"))
    claimed = [jobs.claim(db, job_id, lease_s=600) for job_id in job_ids(record(3))]
    return [job for job in claimed if job]


def run_all(db: Database, held: list[jobs.Job]) -> None:
    async def run() -> None:
        few = asyncio.Semaphore(2)
        await asyncio.gather(*(run_isolated(db, job, few_at_once=few) for job in held))

    asyncio.run(run())


def test_suspect_jobs_end_in_their_own_processes(db: Database, sql: Sql, held: list[jobs.Job]) -> None:
    run_all(db, held)
    assert sql("SELECT DISTINCT state, losses FROM jobs") == [("done", 0)]
    assert sql("SELECT count(*) FROM outcomes WHERE verdict <> 'errored'") == [(3,)]
    assert sql("SELECT DISTINCT state FROM call_journal") == [("settled",)]


def test_a_job_that_kills_its_process_is_counted_as_lost_and_the_others_end(
    db: Database, sql: Sql, held: list[jobs.Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALQ_TESTING", "1")
    monkeypatch.setenv("EVALQ_FAILPOINTS", "before_send@case-0001")
    run_all(db, held)
    assert sql("SELECT case_id, state, losses FROM jobs ORDER BY case_id") == [
        ("case-0000", "done", 0),
        ("case-0001", "ready", 1),
        ("case-0002", "done", 0),
    ]
    assert sql("SELECT state, count(*) FROM call_journal GROUP BY 1 ORDER BY 1") == [
        ("settled", 2),
        ("unknown", 1),
    ]
