"""The holdout log in Postgres: read, and continued by one writer at a time."""

from collections.abc import Sequence

from evalq.holdout import chain
from evalq.holdout.chain import Break, Link
from evalq.holdout.entries import Entry, History, history_of
from evalq.store.database import Connection, Database


def lock(tx: Connection, task: str) -> None:
    """Keep everybody else from writing the log of a task until the transaction ends."""
    tx.row("lock_holdout_log", task_name=task)


def read_lines(db: Database | Connection, task: str) -> list[bytes]:
    """The lines of a task's log, as its file has them."""
    return [_line(row["line"]) for row in db.rows("holdout_lines", task_name=task)]


def read_history(db: Database | Connection, task: str) -> History:
    """What the log of a task says."""
    return history_of(chain.sound_links(read_lines(db, task)))


def append(tx: Connection, entry: Entry) -> Link:
    """Write one more line; the transaction holds the lock."""
    # By the columns: the last line itself may have been tampered with, which is to stay visible.
    row = tx.row("holdout_head", task_name=entry.task)
    after = Link(row["seq"], "", row["hash"], {}) if row else None
    link = chain.next_link(entry.fields(), after)
    add_link(tx, entry.task, link)
    return link


def add_link(tx: Connection, task: str, link: Link) -> None:
    """Write a line as it is."""
    text = chain.line_of(link).decode().rstrip("\n")
    tx.run("add_holdout_line", task_name=task, seq=link.seq, line=text, prev_hash=link.prev, hash=link.hash)


def head(db: Database | Connection, task: str) -> str | None:
    """The last line of a task's log as SEQ:HASH, the anchor `verify-log` takes; None without a log."""
    row = db.row("holdout_head", task_name=task)
    return f"{row['seq']}:{row['hash']}" if row else None


def logged_tasks(db: Database | Connection) -> list[str]:
    """The tasks that have a log."""
    return [row["task_name"] for row in db.rows("holdout_tasks")]


def find_breaks(db: Database | Connection, task: str, anchor: chain.Anchor | None = None) -> Sequence[Break]:
    """What is wrong with the log as the database holds it, its columns included."""
    rows = db.rows("holdout_lines", task_name=task)
    lines = [_line(row["line"]) for row in rows]
    links = {link.seq: link for link in chain.sound_links(lines)}
    kept = [(number, row, links.get(row["seq"])) for number, row in enumerate(rows, start=1)]
    wrong = [
        Break("edit", number, f"is kept under seq {row['seq']} with other hashes than its own")
        for number, row, link in kept
        if link is not None and (row["prev_hash"], row["hash"]) != (link.prev, link.hash)
    ]
    return sorted([*chain.find_breaks(lines, anchor), *wrong], key=lambda found: found.line)


def _line(text: str) -> bytes:
    return text.encode() + b"\n"
