"""Guards holdouts: refuses looks without a reason, and audits the log of looks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalq.bakeoff.holdout import chain, log
from evalq.bakeoff.holdout.chain import Anchor, Break, BreakKind, history_of
from evalq.bakeoff.holdout.log import FILE_NAME, mirror_path, read_mirror
from evalq.definitions.files import display_path, file_sha256, load_located
from evalq.definitions.project import list_evalsets
from evalq.errors import InputError, Problem, Refused
from evalq.store.database import Database

Purpose = Literal["final-decision", "drift_check"]
"""Reasons to look at a holdout; the run type of such a bake-off."""


def is_holdout(eval_set_name: str) -> bool:
    """Whether a set is named `holdout-…`, in any case: some file systems ignore it."""
    return eval_set_name.lower().startswith("holdout-")


def is_sample(eval_set_name: str) -> bool:
    """Whether a holdout is set aside for drift checks: it is named `holdout-…-sample`."""
    return is_holdout(eval_set_name) and eval_set_name.lower().endswith("-sample")


def check_look(
    eval_set: str, *, task: str, judges: Sequence[str], purpose: Purpose | None, other_sets: Sequence[str]
) -> None:
    """Refuse a holdout without a reason, a drift check of a whole one, a final decision on any other set."""
    if is_holdout(eval_set):
        if purpose is None:
            raise Refused(_refusal(eval_set, task, judges, other_sets))
        if purpose == "drift_check" and not is_sample(eval_set):
            raise Refused(_refusal_of_check(eval_set, other_sets))
    elif purpose == "final-decision":
        raise InputError(
            Problem(
                f"{eval_set!r} is not a holdout, so it takes no final decision",
                "leave out --final-decision, or name a set called holdout-…",
            )
        )


def _refusal(eval_set: str, task: str, judges: Sequence[str], other_sets: Sequence[str]) -> str:
    dev = next((name for name in other_sets if not is_holdout(name)), None)
    iterate = f", for instance --eval-set {dev}" if dev else ""
    chosen = f" --judges {','.join(judges)}" if judges else ""
    return (
        f"{eval_set!r} is a frozen holdout: each look at it makes it worth less; "
        f"iterate on a dev set{iterate}\n"
        f"for the final decision, the same command with --final-decision:\n"
        f"  evalq bake-off --task {task} --eval-set {eval_set}{chosen} --final-decision\n"
        f"it records the look for good, in Postgres and in evalsets/{task}/holdout-runs.log: before the "
        f"first call the time, the set's sha256, the judges and the commit, at the end each judge's result\n"
        f"next  evalq holdout log --task {task}"
    )


def _refusal_of_check(eval_set: str, other_sets: Sequence[str]) -> str:
    sample = next((name for name in other_sets if is_sample(name)), None)
    remedy = (
        f"--eval-set {sample}" if sample else f"--eval-set {eval_set}-sample, made of cases set aside for it"
    )
    return (
        f"{eval_set!r} is a frozen holdout, and each drift check would be a look at it; "
        f"check on a sample or a dev set instead: {remedy}\n"
        f"`evalq bake-off --eval-set {eval_set} --final-decision` looks at all of it, on record"
    )


def refuse_writing(path: Path, *, task: str, root: Path) -> None:
    """Refuse to write a file that is a holdout, by its name or by the log of looks."""
    frozen = find_frozen(path, task=task, root=root)
    if frozen:
        raise Refused(
            f"{frozen!r} is a holdout: it cannot be added to or changed; "
            f"name another set with --eval-set, one not called holdout-…"
        )


def refuse_reading(path: Path, *, task: str, root: Path) -> None:
    """Refuse to use a holdout as examples: cases shown to a model are no longer held out."""
    frozen = find_frozen(path, task=task, root=root)
    if frozen:
        raise Refused(
            f"{frozen!r} is a holdout: none of its cases is shown to a model; name another set with --like"
        )


def find_frozen(path: Path, *, task: str, root: Path) -> str | None:
    """The name of the holdout that a file is; None for any other."""
    names = list(dict.fromkeys(_names(path)))
    return next((name for name in names if is_holdout(name)), None) or _logged(path, names, task, root)


def _names(path: Path) -> Iterator[str]:
    """Every name the set goes by: its file's, that of the file a link leads to, the one written inside."""
    yield path.stem
    yield path.resolve().stem
    if path.is_file():
        try:
            value = load_located(path).value
        except InputError:
            return
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            yield value["name"]


def _logged(path: Path, names: list[str], task: str, root: Path) -> str | None:
    """The name of a set frozen in the log under one of these names, or with the same bytes."""
    entries = history_of(chain.sound_links(read_mirror(root, task) or [])).entries
    sha256 = file_sha256(path) if path.is_file() else None
    return next((one.eval_set for one in entries if one.eval_set in names or one.set_sha256 == sha256), None)


DATABASE = "database"


@dataclass(frozen=True)
class LogFinding:
    """What is wrong at which line; `where` is the file, or `database`."""

    where: str
    line: int
    kind: BreakKind
    found: str


@dataclass(frozen=True)
class Audit:
    """The audit of one task's log: the length of each copy (None without a file) and everything wrong."""

    task: str
    head: str | None
    n_lines: int
    n_file_lines: int | None
    findings: tuple[LogFinding, ...]


def audit(db: Database, root: Path, task: str, *, anchor: Anchor | None = None) -> Audit:
    """Check one task's log; nothing is changed."""
    kept, written = log.read_lines(db, task), read_mirror(root, task)
    file = display_path(mirror_path(root, task))
    findings = [*_in_database(db, task, kept, anchor), *_in_file(file, written, kept, anchor)]
    where, lines = (DATABASE, kept) if kept else (file, written or [])
    findings += _changed_sets(root, task, where=where, lines=lines)
    return Audit(
        task,
        log.head(db, task) or _head(lines),
        len(kept),
        None if written is None else len(written),
        tuple(findings),
    )


def audited_tasks(db: Database, root: Path) -> list[str]:
    """The tasks with a log in the database or in the project."""
    files = (root / "evalsets").glob(f"*/{FILE_NAME}")
    return sorted({*log.logged_tasks(db), *(path.parent.name for path in files)})


def _in_database(
    db: Database, task: str, kept: Sequence[bytes], anchor: Anchor | None
) -> Iterator[LogFinding]:
    if kept:
        yield from (_finding(DATABASE, one) for one in log.find_breaks(db, task, anchor))


def _in_file(
    file: str, written: Sequence[bytes] | None, kept: Sequence[bytes], anchor: Anchor | None
) -> Iterator[LogFinding]:
    """Check the file by itself, then against the database."""
    if written is not None or not kept:
        yield from (_finding(file, one) for one in chain.find_breaks(written or [], anchor))
    difference = chain.find_difference(written or [], kept) if kept else None
    if difference:
        yield _finding(file, difference)


def _changed_sets(root: Path, task: str, *, where: str, lines: Sequence[bytes]) -> Iterator[LogFinding]:
    history, files = history_of(chain.sound_links(lines)), list_evalsets(task, root)
    for eval_set in history.eval_sets:
        entry = history.last_hashed(eval_set)
        if entry is None:
            continue
        said = f"says that {eval_set} has sha256 {entry.set_sha256[:12]}…"
        if eval_set not in files:
            yield LogFinding(where, entry.seq, "set", f"{said}, and that set is not there any more")
        elif (now := file_sha256(files[eval_set])) != entry.set_sha256:
            yield LogFinding(where, entry.seq, "set", f"{said}, and its file has {now[:12]}… now")


def _finding(where: str, found: Break) -> LogFinding:
    return LogFinding(where, found.line, found.kind, found.found)


def _head(lines: Sequence[bytes]) -> str | None:
    links = chain.sound_links(lines)
    return links[-1].head if links else None
