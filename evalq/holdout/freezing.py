"""Freezing a set: its bytes are written into the log before anybody looks at it."""

from dataclasses import dataclass
from pathlib import Path

from evalq.commit import commit_sha
from evalq.definitions.files import file_sha256, load_evalset
from evalq.definitions.lookup import find_evalset, task_of_set
from evalq.errors import InputError, Problem
from evalq.holdout import ledger
from evalq.holdout.entries import Entry
from evalq.holdout.guard import is_holdout
from evalq.holdout.looks import utc_now, write_entry
from evalq.store.database import Database
from evalq.store.definitions import evalset_sha


@dataclass(frozen=True)
class Frozen:
    """A frozen set: its hash, and where the log says so; `is_new` when this call wrote that line."""

    task: str
    eval_set: str
    set_sha256: str
    head: str | None
    is_new: bool


def freeze(db: Database, root: Path, *, name: str, task: str | None, reason: str | None = None) -> Frozen:
    """Write a set's hash into the log; of a set that changed since it was hashed only with a reason."""
    task_name = task or task_of_set(name, root)
    path = find_evalset(name, task_name, root)
    loaded = load_evalset(path)
    evalset = loaded.evalset
    if loaded.n_drafts:
        remedy = "accept or remove them while the set has another name than holdout-…"
        raise InputError(Problem(f"{loaded.n_drafts} of its cases are drafts", remedy, loaded.file))
    if not is_holdout(evalset.name):
        remedy = f"rename it to holdout-{evalset.name} first"
        raise InputError(Problem(f"{evalset.name!r} is no holdout, so nothing would guard it", remedy))
    sha256 = file_sha256(path)
    if _is_frozen(db, task_name, evalset.name, sha256):
        return Frozen(task_name, evalset.name, sha256, ledger.head(db, task_name), is_new=False)
    entry = Entry(
        kind="freeze",
        at=utc_now(),
        task=task_name,
        eval_set=evalset.name,
        set_sha256=sha256,
        content_sha256=evalset_sha(evalset),
        git_sha=commit_sha(root),
        reason=reason,
    )
    link = write_entry(db, root, entry)
    return Frozen(task_name, evalset.name, sha256, link.head, is_new=True)


def _is_frozen(db: Database, task: str, eval_set: str, sha256: str) -> bool:
    history = ledger.read_history(db, task)
    freezes = [entry for entry in history.entries if entry.kind == "freeze" and entry.eval_set == eval_set]
    return bool(freezes) and freezes[-1].set_sha256 == sha256
