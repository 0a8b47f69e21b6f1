"""What a worker does with a job when the case, the keys file or the schema is not as it expects."""

import asyncio
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

from evalq.definitions.task import TaskConfig
from evalq.engines.processes import wait_until
from evalq.errors import Refused, Unreachable
from evalq.records import Completion
from evalq.settings import Settings
from evalq.store import jobs
from evalq.store.database import Database
from evalq.store.definitions import evalset_cases
from workers.case import CaseRun
from workers.connections import Connections, open_connections
from workers.jobs import work

Sql = Callable[..., list[tuple[Any, ...]]]

FROM_THE_FUTURE = '{"id": "case-0000", "inputs": {}, "graders": [{"type": "telepathy", "secret": "s3cret"}]}'
SILENT = '{"id": "c", "inputs": {}, "expected": {"answer": ""}, "graders": [{"type": "function_output"}]}'


@pytest.fixture
def job(db: Database, record: Callable[..., int], job_ids: Callable[[int], list[int]]) -> jobs.Job:
    claimed = jobs.claim(db, job_ids(record(1))[0], lease_s=60)
    assert claimed
    return claimed


@pytest.fixture
def terminations() -> Iterator[list[int]]:
    """The SIGTERMs this process sends itself, instead of ending by them."""
    arrived: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda signum, _: arrived.append(signum))
    yield arrived
    signal.signal(signal.SIGTERM, before)


def test_a_case_the_worker_cannot_read_ends_errored(
    here: Connections, runner: asyncio.Runner, job: jobs.Job, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    runner.run(work(here, replace(job, case_body=FROM_THE_FUTURE)))
    [(verdict, kind, message)] = sql("SELECT verdict, error_kind, message FROM outcomes")
    assert (verdict, kind) == ("errored", "internal")
    assert "cannot read the case" in message
    assert "graders.0" in message
    assert "s3cret" not in message + caplog.text


def test_a_malformed_keys_file_pauses_the_bakeoff(
    here: Connections, runner: asyncio.Runner, job: jobs.Job, sql: Sql, tmp_path: Path
) -> None:
    (tmp_path / "evalq").mkdir()
    keys = tmp_path / "evalq" / ".env"
    keys.touch(mode=0o600)
    keys.write_text("this is not a key\n")
    runner.run(work(here, job))
    assert sql("SELECT state FROM bakeoffs") == [("paused",)]
    assert sql("SELECT state FROM jobs") == [("ready",)]
    assert sql("SELECT count(*) FROM outcomes") == [(0,)]


@pytest.mark.parametrize("kind", ["judge", "task"])
def test_a_definition_changed_in_the_database_pauses_the_bakeoff(
    here: Connections, runner: asyncio.Runner, job: jobs.Job, sql: Sql, tmp_path: Path, kind: str
) -> None:
    command = {"name": "sim", "provider": "command", "command": ["touch", str(tmp_path / "ran")]}
    sql("UPDATE definitions SET body = %s WHERE kind = %s", json.dumps(command), kind)
    runner.run(work(here, job))
    [(state, reason)] = sql("SELECT state, stop_reason FROM bakeoffs")
    assert state == "paused"
    assert f"the stored {kind}" in reason
    assert "was changed in the database" in reason
    assert not (tmp_path / "ran").exists()


def test_an_evalset_changed_in_the_database_is_refused(job: jobs.Job, db: Database, sql: Sql) -> None:
    [(eval_set_sha,)] = sql("SELECT eval_set_sha FROM bakeoffs")
    assert evalset_cases(db, eval_set_sha)
    sql("UPDATE cases SET body = replace(body::text, 'case', 'Case')::json")
    with pytest.raises(Refused, match="the stored evalset"):
        evalset_cases(db, eval_set_sha)


def test_a_refused_schema_leaves_no_connection_open(
    db: Database, sql: Sql, tmp_path: Path, terminations: list[int]
) -> None:
    sql("INSERT INTO schema_versions (version, name) VALUES (99, 'from the future')")
    opened = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    before = sql(opened)
    with pytest.raises(Unreachable, match="upgrade evalq"):
        open_connections(Settings(database_url=db.url, spool_dir=tmp_path), {})
    assert terminations == [signal.SIGTERM]
    # A server process ends a moment later.
    assert wait_until(lambda: sql(opened) == before, timeout_s=PATIENCE_S)


def test_wanted_silence_leaves_its_code_to_the_sandbox(
    here: Connections, job: jobs.Job, task: TaskConfig
) -> None:
    run = CaseRun(here, replace(job, case_body=SILENT), task)
    assert run.leaves_code(Completion("empty", ""))
    assert not run.leaves_code(Completion("refused", ""))
