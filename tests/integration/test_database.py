"""The pool: a deadlock's victim runs again, what is away is said plainly and without a password."""

from collections.abc import Callable

import psycopg
import pytest
from psycopg.errors import DeadlockDetected

from evalq.errors import Unreachable
from evalq.store.database import Connection, Database


class Victim:
    """A statement that loses its first deadlocks."""

    def __init__(self, losses: int) -> None:
        self.losses, self.runs = losses, 0

    def __call__(self, connection: Connection) -> int:
        self.runs += 1
        if self.runs <= self.losses:
            raise DeadlockDetected("deadlock detected")
        return connection.run("server_version")


@pytest.fixture
def alone(db: Database) -> Callable[[Victim], int]:
    """Runs a statement the way every single statement is run."""
    return db.alone


def test_a_statement_that_loses_a_deadlock_is_run_again(alone: Callable[[Victim], int]) -> None:
    victim = Victim(losses=2)
    assert alone(victim) == 1
    assert victim.runs == 3


def test_one_that_always_loses_is_given_up(alone: Callable[[Victim], int]) -> None:
    with pytest.raises(Unreachable):
        alone(Victim(losses=9))


def test_a_database_that_goes_away_is_said_to_be_away(db: Database) -> None:
    def cut_off(connection: Connection) -> int:
        raise psycopg.OperationalError("connection to server at 10.0.0.1 failed: password=secret was refused")

    with pytest.raises(Unreachable) as caught:
        db.alone(cut_off)
    assert "secret" not in str(caught.value)
    assert "EVALQ_DATABASE_URL" in str(caught.value)
