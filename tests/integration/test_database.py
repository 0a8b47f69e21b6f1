"""The pool: a deadlock's victim runs again, and a database that is away is named without its password."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest
from psycopg.errors import DeadlockDetected

from evalq.errors import Contended, Unreachable
from evalq.store.database import Connection, Database, transactional

Sql = Callable[..., list[tuple[Any, ...]]]


class Victim:
    """A transaction that loses its first deadlocks."""

    def __init__(self, losses: int) -> None:
        self.losses, self.runs = losses, 0

    def __call__(self, tx: Connection) -> int:
        self.runs += 1
        if self.runs <= self.losses:
            raise DeadlockDetected("deadlock detected")
        return tx.run("server_version")


class Pair:
    """Two transactions that count in the same two rows, each in its own order, so that they deadlock."""

    def __init__(self, db: Database) -> None:
        self._db, self._both = db, Barrier(2)
        db.in_transaction(
            lambda tx: tx.script("CREATE TABLE counts AS SELECT 1 AS id, 0 AS n UNION SELECT 2, 0")
        )

    def count(self, tx: Connection, order: tuple[int, int], *, is_first: bool) -> None:
        """Count in both rows; the first time only after the other has locked its first row."""
        first, second = order
        tx.script(f"UPDATE counts SET n = n + 1 WHERE id = {first}")
        if is_first:
            self._both.wait(timeout=30)
        tx.script(f"UPDATE counts SET n = n + 1 WHERE id = {second}")

    def run(self, work: Callable[[tuple[int, int]], None]) -> list[Future[None]]:
        """Run both to their end, each in a thread of its own."""
        with ThreadPoolExecutor(2) as threads:
            return [threads.submit(work, order) for order in ((1, 2), (2, 1))]


def test_a_transaction_that_loses_a_deadlock_runs_again(db: Database) -> None:
    victim = Victim(losses=2)
    assert db.in_transaction(victim) == 1
    assert victim.runs == 3


def test_one_that_always_loses_is_given_up_as_contended(db: Database) -> None:
    with pytest.raises(Contended, match="try again") as caught:
        db.in_transaction(Victim(losses=9))
    assert "EVALQ_DATABASE_URL" not in str(caught.value)


def test_two_transactions_that_deadlock_both_finish(db: Database, sql: Sql) -> None:
    pair = Pair(db)
    attempts = []

    def work(order: tuple[int, int]) -> None:
        def count(tx: Connection) -> None:
            is_first = order not in attempts
            attempts.append(order)
            pair.count(tx, order, is_first=is_first)

        db.in_transaction(count)

    assert [done.exception() for done in pair.run(work)] == [None, None]
    assert sql("SELECT n FROM counts ORDER BY id") == [(2,), (2,)]
    assert len(attempts) >= 3  # on a busy machine the victim may get in the other's way once more


def test_a_deadlock_in_a_with_block_is_contended_and_writes_nothing(db: Database, sql: Sql) -> None:
    pair = Pair(db)

    def work(order: tuple[int, int]) -> None:
        with db.transaction() as tx:
            pair.count(tx, order, is_first=True)

    errors = [done.exception() for done in pair.run(work)]
    (victim,) = [error for error in errors if error is not None]
    assert isinstance(victim, Contended)
    assert sql("SELECT n FROM counts ORDER BY id") == [(1,), (1,)]


def test_a_transactional_function_keeps_its_name_and_its_parameters(db: Database) -> None:
    @transactional
    def add(tx: Connection, a: int, *, b: int) -> int:
        """Add."""
        return a + b + tx.run("server_version")

    assert add(db, 1, b=2) == 4
    assert (add.__name__, add.__doc__) == ("add", "Add.")


def test_an_error_inside_a_transaction_undoes_it(db: Database, sql: Sql) -> None:
    def fail(tx: Connection) -> None:
        tx.script("CREATE TABLE leftovers (id INT)")
        raise ValueError

    with pytest.raises(ValueError):
        db.in_transaction(fail)
    assert sql("SELECT to_regclass('leftovers')") == [(None,)]


def test_a_database_that_goes_away_is_reported_as_away(db: Database) -> None:
    def cut_off(tx: Connection) -> int:
        raise psycopg.OperationalError("connection to server at 10.0.0.1 failed: password=secret was refused")

    with pytest.raises(Unreachable) as caught:
        db.in_transaction(cut_off)
    assert not isinstance(caught.value, Contended)
    assert "secret" not in str(caught.value)
    assert "EVALQ_DATABASE_URL" in str(caught.value)
