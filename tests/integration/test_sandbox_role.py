"""The database role of the sandbox's worker: it finishes jobs, and writes nothing that a worker would run."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from evalq.store.database import Database

GRANTS = Path(__file__).parents[2] / "deploy" / "sandbox_role.sql"
FORBIDDEN = (
    "UPDATE definitions SET body = '{}'",
    "INSERT INTO definitions (sha256, kind, name, body) VALUES ('x', 'judge', 'x', '{}')",
    "DELETE FROM cases",
    "UPDATE runs SET judge_sha = judge_sha",
    "UPDATE bakeoffs SET task_sha = task_sha",
    "UPDATE spending_caps SET cap_usd = 0",
    "UPDATE schema_versions SET version = 1",
)
ALLOWED = ("UPDATE bakeoffs SET state = state", "UPDATE jobs SET state = state", "SELECT * FROM definitions")


@pytest.fixture
def as_sandbox(db: Database, record: Callable[..., int]) -> Iterator[Callable[[str], Any]]:
    """Runs a statement as the role, and undoes everything at the end."""
    record(1)
    with psycopg.connect(db.url) as connection:
        connection.execute(GRANTS.read_bytes())
        connection.execute("SET LOCAL ROLE evalq_sandbox")
        yield lambda statement: connection.execute(statement.encode())
        connection.rollback()


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_sandbox_cannot_write_what_a_worker_would_run(
    as_sandbox: Callable[[str], Any], statement: str
) -> None:
    with pytest.raises(InsufficientPrivilege):
        as_sandbox(statement)


@pytest.mark.parametrize("statement", ALLOWED)
def test_the_sandbox_can_finish_its_jobs(as_sandbox: Callable[[str], Any], statement: str) -> None:
    as_sandbox(statement)
