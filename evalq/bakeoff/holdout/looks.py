"""Looks at holdouts: logged before the first call, and closed with their result."""

import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast, get_args

from evalq.bakeoff.commit import commit_sha
from evalq.bakeoff.holdout import log
from evalq.bakeoff.holdout.chain import Link, LogEntry, history_of, look_warning, result_entry, sound_links
from evalq.bakeoff.holdout.guard import Purpose, is_holdout, is_sample
from evalq.bakeoff.holdout.log import Mirror, mirror_path, open_mirror, read_mirror
from evalq.bakeoff.plan import Plan
from evalq.definitions.files import file_sha256, load_evalset
from evalq.definitions.project import find_evalset, task_of_set
from evalq.errors import InputError, Problem, Refused
from evalq.records import BakeOffRow
from evalq.results import BakeOffResult
from evalq.store import bakeoffs
from evalq.store.database import Connection, Database
from evalq.store.definitions import evalset_sha


@dataclass(frozen=True)
class Look:
    """A logged look; its bake-off is recorded under its uid."""

    uid: uuid.UUID
    task: str
    purpose: Purpose
    head: str


def admit(db: Database, root: Path | None, plan: Plan, *, run_type: str) -> uuid.UUID:
    """The uid for a new bake-off; on a holdout, log the look under it or refuse."""
    if run_type != "final-decision":
        _refuse_copy(db, root, plan)
    if not is_holdout(plan.evalset.name):
        return uuid.uuid4()
    if run_type not in get_args(Purpose):
        raise Refused(
            f"{plan.evalset.name!r} is a frozen holdout, and a {run_type} is not a reason to look at it"
        )
    return open_look(db, root, plan, purpose=cast(Purpose, run_type)).uid


def _refuse_copy(db: Database, root: Path | None, plan: Plan) -> None:
    """Refuse the cases of a frozen holdout under another name, by the content that the logs know it by."""
    name, content = plan.evalset.name, evalset_sha(plan.evalset)
    for entry in _logged_entries(db, root, plan.task.name):
        is_other = entry.eval_set != name and not is_sample(entry.eval_set)
        if entry.content_sha256 == content and (is_other or not is_holdout(name)):
            raise Refused(
                f"{name!r} has the very cases of the frozen holdout {entry.eval_set!r} of {entry.task}, "
                f"under another name; iterate on other cases, or run {entry.eval_set!r} with --final-decision"
            )


def _logged_entries(db: Database, root: Path | None, task: str) -> Iterator[LogEntry]:
    """The entries of every log in the database, and of this task's file, which may be ahead of it."""
    for logged in log.logged_tasks(db):
        yield from log.read_history(db, logged).entries
    if root is not None:
        with suppress(Refused):  # a file that cannot be read is refused where it must be written
            yield from history_of(sound_links(read_mirror(root, task) or [])).entries


def refuse_cases(db: Database, bakeoff_id: int) -> None:
    """Refuse to show the cases and answers of a drift check on a holdout that nobody decided on yet."""
    bakeoff = bakeoffs.get(db, bakeoff_id)
    if not is_holdout(bakeoff.eval_set_name) or bakeoff.run_type == "final-decision":
        return
    looks = log.read_history(db, bakeoff.task_name).looks(bakeoff.eval_set_name, bakeoff.eval_set_sha)
    if not looks:
        raise Refused(
            f"bake-off {bakeoff_id} is a {bakeoff.run_type} on the holdout {bakeoff.eval_set_name!r}: its "
            f"cases and answers are withheld until a final decision on it; "
            f"`evalq inspect {bakeoff_id}` shows its rates"
        )


def open_look(db: Database, root: Path | None, plan: Plan, *, purpose: Purpose) -> Look:
    """Write the intent into the log, or refuse; `bakeoff.start` does so for every holdout it is given.

    Without a root there is no file to write: the next command in the project's folder completes it.
    """
    assert plan.set_sha256 is not None, "the plan of a holdout knows its file's hash"
    uid = uuid.uuid4()
    intent = LogEntry(
        kind="intent",
        at=utc_now(),
        task=plan.task.name,
        eval_set=plan.evalset.name,
        set_sha256=plan.set_sha256,
        content_sha256=evalset_sha(plan.evalset),
        git_sha=commit_sha(root) if root else None,
        judges=tuple(judge.name for judge in plan.judges),
        run_type=purpose,
        bakeoff_uid=str(uid),
    )
    link = write_entry(db, _file_root(root, intent), intent)
    return Look(uid, intent.task, purpose, link.head)


def close_look(db: Database, look: Look, result: BakeOffResult) -> None:
    """Write what a look came to; concluding its bake-off has done so already, and twice is once."""
    with db.transaction() as tx:
        record_result(tx, look.task, look.uid, result)


def record_result(tx: Connection, task: str, uid: uuid.UUID, result: BakeOffResult) -> None:
    """Log the result of a look, unless it has no intent or the same result is logged already."""
    log.lock(tx, task)
    history = log.read_history(tx, task)
    intent, last = history.intent_of(str(uid)), history.result_of(str(uid))
    if intent is None:
        return
    entry = result_entry(intent, result, at=utc_now())
    if last is None or replace(last, at=entry.at, seq=entry.seq) != entry:
        log.append(tx, entry)


def warn_before(db: Database, plan: Plan) -> str | None:
    """A warning before a final decision on a set that was looked at before."""
    looks = log.read_history(db, plan.task.name).looks(plan.evalset.name, evalset_sha(plan.evalset))
    return look_warning(plan.evalset.name, looks)


def write_entry(db: Database, root: Path | None, entry: LogEntry) -> Link:
    """Continue the log in the database and in the file, or in neither.

    The file first, the commit last: a crash in between leaves a file that is ahead, and the next writer
    takes its line over. Refused: the log is broken or contradicted, the set was changed, the disk is full.
    """
    with db.transaction() as tx:
        log.lock(tx, entry.task)
        if root is None:
            return _append(tx, entry)
        with open_mirror(root, entry.task) as mirror:
            take_over(tx, entry.task, mirror)
            link = _append(tx, entry)
            mirror.complete(log.read_lines(tx, entry.task))
    return link


def take_over(tx: Connection, task: str, mirror: Mirror) -> None:
    """Copy lines of the file that the database does not have yet."""
    for link in mirror.lines_ahead(log.read_lines(tx, task)):
        log.add_link(tx, task, link)


def complete_files(db: Database, root: Path) -> list[str]:
    """Complete the project's log files from the database; return what is wrong with any of them."""
    problems = []
    for task in log.logged_tasks(db):
        if not mirror_path(root, task).parent.is_dir():
            continue  # another project's task
        try:
            _complete(db, root, task)
        except Refused as exc:
            problems.append(str(exc))
    return problems


def _complete(db: Database, root: Path, task: str) -> None:
    with db.transaction() as tx:
        # First the log, then the file, as every writer does: two of them never wait for each other.
        log.lock(tx, task)
        with open_mirror(root, task) as mirror:
            take_over(tx, task, mirror)
            mirror.complete(log.read_lines(tx, task))


def utc_now() -> str:
    """The time as the log has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _append(tx: Connection, entry: LogEntry) -> Link:
    if broken := log.find_breaks(tx, entry.task):
        raise Refused(
            f"the holdout log of {entry.task} is broken at line {broken[0].line} in the database: it "
            f"{broken[0].found}; `evalq holdout verify-log --task {entry.task}` shows all of it"
        )
    before = log.read_history(tx, entry.task).last_hashed(entry.eval_set)
    if before and before.set_sha256 != entry.set_sha256 and entry.reason is None:
        raise Refused(
            f"{entry.eval_set!r} is not what it was: its sha256 is {entry.set_sha256[:12]}…, but line "
            f"{before.seq} of the log ({before.kind} of {before.at[:10]}) says {before.set_sha256[:12]}…; "
            f"restore the file, or record the change: "
            f"evalq holdout freeze {entry.eval_set} --task {entry.task} --again --reason WHY"
        )
    return log.append(tx, entry)


def _file_root(root: Path | None, intent: LogEntry) -> Path | None:
    """Where to write the file; a drift check of a fleet without a writable folder goes on without it."""
    if root is None or intent.is_look:
        return root
    try:
        with open_mirror(root, intent.task):
            return root
    except Refused:
        return None


def close_bakeoff(tx: Connection, bakeoff: BakeOffRow, result: BakeOffResult) -> BakeOffResult:
    """Log the result of a look as its bake-off concludes; return the result to store."""
    if is_holdout(bakeoff.eval_set_name):
        record_result(tx, bakeoff.task_name, bakeoff.uid, result)
    return annotate(tx, replace(bakeoff, result=None), result)


def annotate(db: Database | Connection, bakeoff: BakeOffRow, result: BakeOffResult) -> BakeOffResult:
    """The result with the head of the task's log, as it was at the end of the bake-off, and its look."""
    stored = json.loads(bakeoff.result) if bakeoff.result else None
    head = stored.get("holdout_head") if stored else log.head(db, bakeoff.task_name)
    if bakeoff.run_type != "final-decision":
        return replace(result, holdout_head=head)
    looks = log.read_history(db, bakeoff.task_name).looks(bakeoff.eval_set_name, bakeoff.eval_set_sha)
    uids = [look.bakeoff_uid for look in looks]
    number = uids.index(str(bakeoff.uid)) + 1 if str(bakeoff.uid) in uids else None
    warning = look_warning(bakeoff.eval_set_name, looks[: number - 1]) if number else None
    warnings = (*([warning] if warning else []), *result.warnings)
    return replace(result, holdout_head=head, holdout_look=number, warnings=warnings)


@dataclass(frozen=True)
class Frozen:
    """A frozen set: its hash, and where the log says so; `is_new` when this call wrote that line."""

    task: str
    eval_set: str
    set_sha256: str
    head: str | None
    is_new: bool


def freeze(db: Database, root: Path, *, name: str, task: str | None, reason: str | None = None) -> Frozen:
    """Log a set's hash; a set that changed since needs a reason."""
    task_name = task or task_of_set(name, root)
    path = find_evalset(name, task_name, root)
    loaded = load_evalset(path)
    evalset = loaded.evalset
    if loaded.n_drafts:
        remedy = "accept or remove them while the set has another name than holdout-…"
        raise InputError(Problem(f"{loaded.n_drafts} of its cases are drafts", remedy, loaded.file))
    if not is_holdout(evalset.name):
        remedy = f"rename it to holdout-{evalset.name} first"
        raise InputError(Problem(f"{evalset.name!r} is not a holdout, so nothing guards it", remedy))
    sha256 = file_sha256(path)
    if _is_frozen(db, task_name, evalset.name, sha256):
        return Frozen(task_name, evalset.name, sha256, log.head(db, task_name), is_new=False)
    entry = LogEntry(
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
    history = log.read_history(db, task)
    freezes = [entry for entry in history.entries if entry.kind == "freeze" and entry.eval_set == eval_set]
    return bool(freezes) and freezes[-1].set_sha256 == sha256
