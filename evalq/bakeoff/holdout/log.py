"""The holdout log in Postgres and its mirror file: read, and continued by one writer at a time."""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from evalq.bakeoff.holdout import chain
from evalq.bakeoff.holdout.chain import Break, History, Link, LogEntry, history_of
from evalq.definitions.files import display_path
from evalq.errors import Refused
from evalq.store import holdout_log
from evalq.store.database import Connection, Database
from evalq.store.holdout_log import LoggedBakeOff, LogLine


def lock(tx: Connection, task: str) -> None:
    """Lock the log of a task until the transaction ends."""
    holdout_log.lock_log(tx, task)


def read_lines(db: Database | Connection, task: str) -> list[bytes]:
    """The lines of a task's log, as its file has them."""
    return [_line(row.line) for row in holdout_log.log_lines(db, task)]


def read_history(db: Database | Connection, task: str) -> History:
    """Read the log of a task as entries."""
    return history_of(chain.sound_links(read_lines(db, task)))


def append(tx: Connection, entry: LogEntry) -> Link:
    """Write one more line; the transaction holds the lock."""
    # By the columns: if the last line was tampered with, that must stay visible.
    last = holdout_log.log_head(tx, entry.task)
    after = Link(last.seq, "", last.hash, {}) if last else None
    link = chain.next_link(entry.fields(), after)
    add_link(tx, entry.task, link)
    return link


def add_link(tx: Connection, task: str, link: Link) -> None:
    """Write a line as it is."""
    text = chain.line_of(link).decode().rstrip("\n")
    holdout_log.add_line(tx, task, LogLine(link.seq, text, link.prev, link.hash))


def head(db: Database | Connection, task: str) -> str | None:
    """The last line of a task's log as SEQ:HASH, the anchor `verify-log` takes; None without a log."""
    last = holdout_log.log_head(db, task)
    return f"{last.seq}:{last.hash}" if last else None


def logged_tasks(db: Database | Connection) -> list[str]:
    """The tasks that have a log."""
    return holdout_log.logged_tasks(db)


def find_breaks(db: Database | Connection, task: str, anchor: chain.Anchor | None = None) -> Sequence[Break]:
    """What is wrong with the log as the database holds it, its columns included."""
    rows = holdout_log.log_lines(db, task)
    lines = [_line(row.line) for row in rows]
    links = {link.seq: link for link in chain.sound_links(lines)}
    kept = [(number, row, links.get(row.seq)) for number, row in enumerate(rows, start=1)]
    wrong = [
        Break("edit", number, f"is kept under seq {row.seq} with other hashes than its own")
        for number, row, link in kept
        if link is not None and (row.prev_hash, row.hash) != (link.prev, link.hash)
    ]
    return sorted([*chain.find_breaks(lines, anchor), *wrong], key=lambda found: found.line)


def _line(text: str) -> bytes:
    return text.encode() + b"\n"


FILE_NAME = "holdout-runs.log"


def mirror_path(root: Path, task: str) -> Path:
    """Where the log of a task lies: beside the project's evalsets, also for a set that came with evalq."""
    return root / "evalsets" / task / FILE_NAME


def read_mirror(root: Path, task: str) -> list[bytes] | None:
    """The lines of the file; None when there is none."""
    try:
        return chain.split_lines(mirror_path(root, task).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise Refused(_unusable(mirror_path(root, task), exc)) from exc


class Mirror:
    """The open file, this process's alone."""

    def __init__(self, file: FileIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._data = file.read()

    def lines_ahead(self, kept: Sequence[bytes]) -> list[Link]:
        """Lines that continue what the database holds: it is younger than the file.

        Refuses a file that says something else than the database.
        """
        data, known = self._data, b"".join(kept)
        if known.startswith(data):
            return []
        lines = chain.split_lines(data)
        if data.startswith(known) and not chain.find_breaks(lines):
            return chain.sound_links(lines)[len(kept) :]
        raise Refused(self._contradiction(lines, kept))

    def complete(self, kept: Sequence[bytes]) -> None:
        """Append what is missing, to the disk; or leave the file as it was."""
        missing = b"".join(kept)[len(self._data) :]
        if not missing:
            return
        try:
            _write_all(self._file, missing)
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), len(self._data))
            raise
        self._data += missing

    def _contradiction(self, lines: Sequence[bytes], kept: Sequence[bytes]) -> str:
        differing = chain.find_difference(lines, kept)
        found = next(iter(chain.find_breaks(lines)), differing) or differing
        assert found is not None
        return (
            f"{display_path(self._path)}:{found.line}: {found.found}; "
            "a log that contradicts the database is not continued: see `evalq holdout verify-log`, "
            "and restore the file from version control"
        )


@contextmanager
def open_mirror(root: Path, task: str) -> Iterator[Mirror]:
    """The file, made if there is none, locked against other processes; Refused when it cannot be written."""
    path = mirror_path(root, task)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: nothing is left to be written when a failed append is taken back.
        with path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            yield Mirror(file, path)
    except OSError as exc:
        raise Refused(_unusable(path, exc)) from exc


def _write_all(file: FileIO, data: bytes) -> None:
    """An almost full disk takes a part of it and says nothing; the next write says why."""
    while data:
        data = data[file.write(data) :]


def _unusable(path: Path, exc: OSError) -> str:
    reason = exc.strerror or type(exc).__name__
    return f"{display_path(path)} cannot be written ({reason}), and every look is logged; make it writable"


@dataclass(frozen=True)
class Log:
    """One task's log, with the states of its bake-offs by uid."""

    task: str
    head: str | None
    links: Sequence[Link]
    bakeoffs: Mapping[str, LoggedBakeOff]
    breaks: Sequence[Break] = ()

    @property
    def history(self) -> History:
        """What the lines say."""
        return history_of(self.links)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The lines as cells of a table."""
        for entry in self.history.entries:
            yield (
                self.task,
                str(entry.seq),
                entry.at[:19].replace("T", " "),
                entry.kind,
                entry.eval_set,
                entry.run_type or "",
                str(self._bakeoff_id(entry) or ""),
                ", ".join(entry.judges),
                self._came_to(entry),
            )

    def remarks(self) -> Iterator[str]:
        """How often each set was looked at, whether all of it can be believed, and the head to write down."""
        for eval_set in self.history.eval_sets:
            n_looks, n_checks = self._counts(eval_set)
            yield f"{self.task} {eval_set}: looks {n_looks}, drift checks {n_checks}"
        for found in self.breaks[:1]:
            yield f"{self.task}: BROKEN at line {found.line}: it {found.found}; unreadable lines are left out"
        yield f"{self.task}: head {self.head}"

    def document(self) -> dict[str, Any]:
        """As JSON: the lines as they are, each intent with `open`: it has no result."""
        history = self.history
        sets = {name: self._counts(name) for name in history.eval_sets}
        return {
            "task": self.task,
            "head": self.head,
            "intact": not self.breaks,
            "sets": {name: {"looks": n, "drift_checks": checks} for name, (n, checks) in sets.items()},
            "entries": [{**link.fields, **self._standing(link)} for link in self.links],
        }

    def _standing(self, link: Link) -> dict[str, Any]:
        if link.fields.get("kind") != "intent":
            return {}
        uid = str(link.fields.get("bakeoff_uid"))
        known = self.bakeoffs.get(uid)
        return {
            "open": self.history.result_of(uid) is None,
            "bakeoff_id": known.id if known else None,
            "state": known.state if known else None,
        }

    def _counts(self, eval_set: str) -> tuple[int, int]:
        return len(self.history.looks(eval_set)), len(self.history.drift_checks(eval_set))

    def _bakeoff_id(self, entry: LogEntry) -> int | None:
        known = self.bakeoffs.get(entry.bakeoff_uid or "")
        return known.id if known else entry.bakeoff_id

    def _came_to(self, entry: LogEntry) -> str:
        if entry.kind == "freeze":
            return f"sha256 {entry.set_sha256[:12]}…" + (f", again: {entry.reason}" if entry.reason else "")
        if entry.kind == "result":
            return ", ".join(f"{one.judge} {one.n_pass}/{one.n}" for one in entry.runs)
        if self.history.result_of(entry.bakeoff_uid or ""):
            return ""
        known = self.bakeoffs.get(entry.bakeoff_uid or "")
        return f"NO RESULT: bake-off is {known.state}" if known else "NO RESULT: no bake-off was recorded"


def read_logs(db: Database, task: str | None = None) -> list[Log]:
    """The logs of one task or of all that have one."""
    tasks = [name for name in logged_tasks(db) if task in (None, name)]
    return [_read(db, name) for name in tasks]


def _read(db: Database, task: str) -> Log:
    links = chain.sound_links(read_lines(db, task))
    uids = [entry.bakeoff_uid for entry in history_of(links).entries if entry.bakeoff_uid]
    bakeoffs = holdout_log.logged_bakeoffs(db, uids)
    return Log(task, head(db, task), links, bakeoffs, find_breaks(db, task))
