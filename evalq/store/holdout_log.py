"""The holdout log in Postgres: lines of a hash chain for each task."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalq.results import BakeOffState
from evalq.store.database import Connection, Database


@dataclass(frozen=True)
class LogLine:
    """One line, and the columns that repeat what it says of its place in the chain."""

    seq: int
    line: str
    prev_hash: str
    hash: str


@dataclass(frozen=True)
class LogHead:
    """Number and hash of a log's last line."""

    seq: int
    hash: str


@dataclass(frozen=True)
class LoggedBakeOff:
    """A bake-off that a log names."""

    id: int
    uid: str
    state: BakeOffState


def lock_log(tx: Connection, task: str) -> None:
    """Allow one writer of a task's log at a time, until the transaction ends."""
    tx.row("lock_holdout_log", task_name=task)


def log_lines(db: Database | Connection, task: str) -> list[LogLine]:
    """The log of a task, oldest line first."""
    return [LogLine(**row) for row in db.rows("holdout_lines", task_name=task)]


def log_head(db: Database | Connection, task: str) -> LogHead | None:
    """The last line of a task's log by its columns; None without a log."""
    row = db.row("holdout_head", task_name=task)
    return LogHead(**row) if row else None


def add_line(tx: Connection, task: str, line: LogLine) -> None:
    """Append a line; the transaction holds the lock."""
    tx.run("add_holdout_line", task_name=task, **vars(line))


def logged_tasks(db: Database | Connection) -> list[str]:
    """The tasks that have a log."""
    return [row["task_name"] for row in db.rows("holdout_tasks")]


def logged_bakeoffs(db: Database, uids: Sequence[str]) -> dict[str, LoggedBakeOff]:
    """The bake-offs with these uids, by uid; without those that were never recorded."""
    return {row["uid"]: LoggedBakeOff(**row) for row in db.rows("looked_bakeoffs", uids=list(uids))}
