"""Auditing a holdout log: the database, the file and the sets themselves against each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.files import file_sha256, shown
from evalq.definitions.lookup import list_evalsets
from evalq.holdout import chain, ledger
from evalq.holdout.chain import Anchor, Break, BreakKind
from evalq.holdout.entries import history_of
from evalq.holdout.mirror import FILE_NAME, mirror_path, read_mirror
from evalq.store.database import Database

DATABASE = "database"


@dataclass(frozen=True)
class Finding:
    """What is wrong, and at which line of which copy: `where` is the file, or `database`."""

    where: str
    line: int
    kind: BreakKind
    found: str


@dataclass(frozen=True)
class Audit:
    """One task's log: how long each copy is, and all that is wrong; no file lines when there is no file."""

    task: str
    head: str | None
    n_lines: int
    n_file_lines: int | None
    findings: tuple[Finding, ...]


def audit(db: Database, root: Path, task: str, *, anchor: Anchor | None = None) -> Audit:
    """Check one task's log; nothing is changed."""
    kept, written = ledger.read_lines(db, task), read_mirror(root, task)
    file = shown(mirror_path(root, task))
    findings = [*_in_database(db, task, kept, anchor), *_in_file(file, written, kept, anchor)]
    where, lines = (DATABASE, kept) if kept else (file, written or [])
    findings += _changed_sets(root, task, where=where, lines=lines)
    return Audit(
        task,
        ledger.head(db, task) or _head(lines),
        len(kept),
        None if written is None else len(written),
        tuple(findings),
    )


def audited_tasks(db: Database, root: Path) -> list[str]:
    """The tasks with a log in the database or in the project."""
    files = (root / "evalsets").glob(f"*/{FILE_NAME}")
    return sorted({*ledger.logged_tasks(db), *(path.parent.name for path in files)})


def _in_database(db: Database, task: str, kept: Sequence[bytes], anchor: Anchor | None) -> Iterator[Finding]:
    if kept:
        yield from (_finding(DATABASE, one) for one in ledger.find_breaks(db, task, anchor))


def _in_file(
    file: str, written: Sequence[bytes] | None, kept: Sequence[bytes], anchor: Anchor | None
) -> Iterator[Finding]:
    """The file by itself, then against the database; one without any line contradicts nobody."""
    if written is not None or not kept:
        yield from (_finding(file, one) for one in chain.find_breaks(written or [], anchor))
    difference = chain.find_difference(written or [], kept) if kept else None
    if difference:
        yield _finding(file, difference)


def _changed_sets(root: Path, task: str, *, where: str, lines: Sequence[bytes]) -> Iterator[Finding]:
    history, files = history_of(chain.sound_links(lines)), list_evalsets(task, root)
    for eval_set in history.eval_sets:
        entry = history.last_hashed(eval_set)
        if entry is None:
            continue
        said = f"says that {eval_set} has sha256 {entry.set_sha256[:12]}…"
        if eval_set not in files:
            yield Finding(where, entry.seq, "set", f"{said}, and that set is not there any more")
        elif (now := file_sha256(files[eval_set])) != entry.set_sha256:
            yield Finding(where, entry.seq, "set", f"{said}, and its file has {now[:12]}… now")


def _finding(where: str, found: Break) -> Finding:
    return Finding(where, found.line, found.kind, found.found)


def _head(lines: Sequence[bytes]) -> str | None:
    links = chain.sound_links(lines)
    return links[-1].head if links else None
