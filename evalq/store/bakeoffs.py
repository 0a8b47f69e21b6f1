"""Bake-offs and their runs in Postgres: recorded, listed, stopped, reopened, concluded."""

import json
import re
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from evalq.definitions.definition import did_you_mean
from evalq.definitions.judge import JudgeConfig
from evalq.errors import InputError, Problem
from evalq.records import SANDBOX_QUEUE, BakeOffRow, RunRow
from evalq.results import BakeOffState
from evalq.store import definitions, jobs
from evalq.store.database import Connection, Database, known_version, transactional

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan

_PRIORITIES = {"drift_check": 10, "drift_confirm": 10}
"""At the same gate, jobs of scheduled checks go after those that a user waits for."""

_ON_ITS_WAY_S = 5.0
"""A message younger than this is not published again: another process is reopening the bake-off."""

_ASIDE = ("drift_check", "drift_confirm", "smoke", "limited", "grader_check", "names", "drafts")
"""Run types that `last` and `@-N` pass over."""

# A judge's name may have slashes, colons and @ of its own: only what precedes the first sign is ours.
_RUN_NAME = re.compile(r"(\d+|last|@-\d+)[/:](.+)", re.ASCII | re.DOTALL)

_LONGEST_NUMBER = 18
"""Digits that a number of the database surely holds."""

_STOPPED: Sequence[BakeOffState] = ("paused", "capped", "cancelled", "concluded")


@dataclass(frozen=True)
class Terms:
    """The terms of a bake-off: its cap in dollars, and how often a call that may be billed is repeated."""

    cap_usd: Decimal
    run_type: str = "bake-off"
    git_sha: str | None = None
    ambiguous_repeats: int = 1
    uid: uuid.UUID | None = None
    rescored_from: int | None = None
    rescored_runs: Mapping[str, int] = field(default_factory=dict)
    """Of a rescoring: the bake-off, and by judge the run, whose answers it grades again."""


@dataclass(frozen=True)
class ListedBakeOff:
    """A bake-off with how far it is; `result` is its JSON document once it is concluded.

    The numbers and judges of its runs go in parallel, in the order the judges were named.
    """

    id: int
    task_name: str
    eval_set_name: str
    state: BakeOffState
    spent_usd: Decimal
    cap_usd: Decimal
    created_at: datetime
    n_jobs: int
    n_done: int
    result: str | None
    run_ids: Sequence[int] = ()
    judges: Sequence[str] = ()
    run_type: str = "bake-off"
    name: str | None = None
    notes: str | None = None


@dataclass(frozen=True)
class Provenance:
    """What a bake-off was made from: the commit, its times, and the hashes of graders and judges by name."""

    git_sha: str | None
    notes: str | None
    created_at: datetime
    concluded_at: datetime | None
    grader_shas: Mapping[str, str]
    judge_shas: Mapping[str, str] | None
    name: str | None = None


def add(tx: Connection, plan: "Plan", terms: Terms) -> int:
    """Write a bake-off with its definitions, runs and jobs; return its id."""
    bakeoff_id = _add_bakeoff(tx, plan, terms)
    for judge in plan.judges:
        _add_run(tx, plan, judge, bakeoff_id=bakeoff_id, terms=terms)
    return bakeoff_id


def _add_bakeoff(tx: Connection, plan: "Plan", terms: Terms) -> int:
    grader_shas = {name: definitions.add_judge(tx, judge) for name, judge in plan.graders.items()}
    row = tx.row(
        "add_bakeoff",
        uid=terms.uid or uuid.uuid4(),
        task_name=plan.task.name,
        eval_set_name=plan.evalset.name,
        scorer_mode=plan.scorer,
        grader_model=plan.grader_names,
        run_type=terms.run_type,
        task_sha=definitions.add_task(tx, plan.task),
        eval_set_sha=definitions.add_evalset(tx, plan.evalset),
        grader_shas=json.dumps(grader_shas),
        rescored_from=terms.rescored_from,
        seed=plan.seed,
        samples=plan.samples,
        cap_usd=terms.cap_usd,
        git_sha=terms.git_sha,
        prices_as_of=plan.prices_as_of,
        ambiguous_repeats=terms.ambiguous_repeats,
        schema_version=known_version(),
        notes=plan.notes,
        name=plan.name,
    )
    assert row is not None
    return int(row["id"])


def _add_run(tx: Connection, plan: "Plan", judge: JudgeConfig, *, bakeoff_id: int, terms: Terms) -> None:
    row = tx.row(
        "add_run",
        bakeoff_id=bakeoff_id,
        judge=judge.name,
        vendor=judge.vendor,
        provider=judge.provider,
        gate=judge.gate,
        judge_sha=definitions.add_judge(tx, judge),
        n_jobs=plan.jobs_per_judge,
        window_size=plan.window(judge),
        rescored_from=terms.rescored_runs.get(judge.name),
    )
    assert row is not None
    priority = _PRIORITIES.get(terms.run_type, 0)
    rows = (
        (row["id"], bakeoff_id, job.case_id, job.sample, judge.gate, job.position, priority)
        for job in plan.jobs()
    )
    tx.copy("copy_jobs", rows)


def get(db: Database | Connection, bakeoff_id: int) -> BakeOffRow:
    """One bake-off; InputError for an unknown id."""
    row = db.row("bakeoff", bakeoff_id=bakeoff_id)
    if row is None:
        raise InputError(f"there is no bake-off {bakeoff_id}; `evalq runs` lists them")
    return BakeOffRow(**row)


def provenance(db: Database, bakeoff_id: int) -> Provenance:
    """What a bake-off was made from."""
    row = db.row("bakeoff_provenance", bakeoff_id=bakeoff_id)
    assert row is not None, "the bake-off exists"
    return Provenance(**row)


def committed_usd(db: Database, bakeoff_ids: Sequence[int]) -> Decimal:
    """Dollars these bake-offs have spent or still hold in reservations."""
    rows = [get(db, bakeoff_id) for bakeoff_id in bakeoff_ids]
    return sum((row.spent_usd + row.reserved_usd for row in rows), Decimal(0))


def exists(db: Database, bakeoff_id: int) -> bool:
    """Whether a bake-off has this id."""
    return db.row("bakeoff", bakeoff_id=bakeoff_id) is not None


def is_name(text: str) -> bool:
    """Whether a text names a bake-off: a number, `last` or `@-N`."""
    return text == "last" or text.removeprefix("@-").isdecimal()


def split_run_name(text: str) -> tuple[str, str] | None:
    """The bake-off and the judge of a run's name, `7/grok-4.3` or `last/grok-4.3`; None for another text."""
    found = _RUN_NAME.fullmatch(text)
    return (found.group(1), found.group(2)) if found else None


def find(db: Database, name: str) -> int:
    """The id meant by a number, `last` or `@-N`: the N-th newest that a user started; or by one of its runs.

    Scheduled checks, smoke tests, limited bake-offs and the like are passed over, so that they never take
    the place of `last`.
    """
    named_run = split_run_name(name)
    if named_run:
        return find_run_of_judge(db, *named_run)[0]
    if name.isdecimal():
        if len(name) > _LONGEST_NUMBER:
            raise InputError(f"there is no bake-off {name[:_LONGEST_NUMBER]}…; `evalq runs` lists them")
        return get(db, int(name)).id
    place = _place_from_newest(name)
    rows = db.rows("bakeoff_ids", limit=place, aside=list(_ASIDE))
    if not rows:
        raise InputError("there is no bake-off yet; `evalq demo` runs one without any key")
    if len(rows) < place:
        there_are = "there is 1 bake-off" if len(rows) == 1 else f"there are {len(rows)} bake-offs"
        raise InputError(f"{name!r} goes too far back: {there_are}; `evalq runs` lists them")
    return int(rows[-1]["id"])


def _place_from_newest(name: str) -> int:
    if name == "last":
        return 1
    number = name.removeprefix("@-")
    if not name.startswith("@-") or not number.isdecimal() or not 1 <= int(number[:10]) < 10**9:
        remedy = "give a number, `last` or `@-2`; `evalq runs` lists them"
        raise InputError(f"{name!r} is not a bake-off; {remedy}")
    return int(number)


def find_run_of_judge(db: Database, bakeoff: str, judge: str) -> tuple[int, RunRow]:
    """The bake-off and its run of this judge; InputError lists the runs there are."""
    bakeoff_id = find(db, bakeoff)
    by_judge = {run.judge: run for run in runs(db, bakeoff_id)}
    if judge not in by_judge:
        known = [f"{bakeoff_id}/{one}" for one in by_judge]
        remedy = did_you_mean(f"{bakeoff_id}/{judge}", known)
        raise InputError(Problem(f"judge {judge!r} is not in bake-off {bakeoff_id}", remedy))
    return bakeoff_id, by_judge[judge]


def newest(db: Database, *, limit: int) -> list[ListedBakeOff]:
    """The newest bake-offs, newest first."""
    return [ListedBakeOff(**row) for row in db.rows("bakeoff_rows", limit=limit)]


def find_answered(
    db: Database, *, run_type: str, task_sha: str, eval_set_sha: str, judge_sha: str, seed: int
) -> int | None:
    """The newest concluded bake-off that put the same questions to the same judge."""
    row = db.row(
        "asked_before",
        run_type=run_type,
        task_sha=task_sha,
        eval_set_sha=eval_set_sha,
        judge_sha=judge_sha,
        seed=seed,
    )
    return row["id"] if row else None


def runs(db: Database | Connection, bakeoff_id: int) -> list[RunRow]:
    """The runs of a bake-off in the order its judges were named."""
    return [RunRow(**row) for row in db.rows("runs", bakeoff_id=bakeoff_id)]


def place_of_run(db: Database | Connection, run_id: int) -> tuple[int, str] | None:
    """The bake-off and the judge of a run; None when there is no such run."""
    row = db.row("run_place", run_id=run_id)
    return (row["bakeoff_id"], row["judge"]) if row else None


def move(db: Database, bakeoff_id: int, state: BakeOffState, *, from_states: Sequence[BakeOffState]) -> bool:
    """Change a bake-off's state if it is in one of `from_states`; False when it is not."""
    row = db.row("set_bakeoff_state", bakeoff_id=bakeoff_id, state=state, from_states=list(from_states))
    return row is not None


def cap(db: Database, bakeoff_id: int, reason: str) -> None:
    """Stop a running bake-off at a cap."""
    db.row("cap_bakeoff", bakeoff_id=bakeoff_id, reason=reason)


def pause(db: Database, bakeoff_id: int, reason: str) -> bool:
    """Pause a running bake-off; True when this call did."""
    return db.row("pause_bakeoff", bakeoff_id=bakeoff_id, reason=reason) is not None


def pause_run(db: Database, run_id: int, reason: str) -> bool:
    """Pause one running judge; True when this call did."""
    return db.row("pause_run", run_id=run_id, reason=reason) is not None


def set_cap(db: Database | Connection, bakeoff_id: int, cap_usd: Decimal) -> None:
    """Give a bake-off another cap, never below what it has spent and reserved."""
    db.run("set_cap", bakeoff_id=bakeoff_id, cap_usd=cap_usd)


@transactional
def reopen(tx: Connection, bakeoff_id: int, *, cap_usd: Decimal | None) -> bool:
    """Let a stopped bake-off and its paused judges go on; False when every job has ended.

    A paused judge that has answered nothing starts over: the calls that failed were not billed.
    """
    lock_conclusions(tx, bakeoff_id)
    found = runs(tx, bakeoff_id)
    if all(run.state == "concluded" for run in found):
        return False
    paused = [run.id for run in found if run.state == "paused"]
    unanswered = [row["run_id"] for row in tx.rows("unanswered_runs", run_ids=paused)]
    tx.rows("supersede_errors", run_ids=unanswered)
    tx.run("reopen_eval_runs", run_ids=[run.id for run in found if run.state != "concluded"])
    _go_on(tx, bakeoff_id, runs=found, reopened=paused, cap_usd=cap_usd)
    return True


@transactional
def retry_errors(tx: Connection, bakeoff_id: int, *, run_ids: Sequence[int], cap_usd: Decimal | None) -> int:
    """Make the errored jobs of some runs ready again, and the bake-off running; return how many.

    Under the lock of conclusions: the row of a run says concluded exactly while all its jobs have ended.
    """
    lock_conclusions(tx, bakeoff_id)
    found = runs(tx, bakeoff_id)
    errored = [row["run_id"] for row in tx.rows("supersede_errors", run_ids=list(run_ids))]
    if errored:
        reopened = sorted(set(errored))
        tx.run("reopen_eval_runs", run_ids=reopened)
        _go_on(tx, bakeoff_id, runs=found, reopened=reopened, cap_usd=cap_usd)
    return len(errored)


def _go_on(
    tx: Connection,
    bakeoff_id: int,
    *,
    runs: Sequence[RunRow],
    reopened: Sequence[int],
    cap_usd: Decimal | None,
) -> None:
    """Reopen the bake-off and some runs, and make jobs ready whose message may be lost."""
    is_stopped = get(tx, bakeoff_id).state != "running"
    stopped = [run.id for run in runs if is_stopped or run.state == "paused"]
    # With these locks no pump marks jobs as queued: two transactions that lock many rows could deadlock.
    for gate in sorted({run.gate for run in runs} | {SANDBOX_QUEUE}):
        jobs.lock_gate(tx, gate)
    tx.run("reopen_queued", bakeoff_id=bakeoff_id, stopped=stopped, older_s=_ON_ITS_WAY_S)
    tx.run("reopen_runs", run_ids=list(reopened))
    # The bake-off's row last: calls that are being settled need it.
    if cap_usd is not None:
        set_cap(tx, bakeoff_id, cap_usd)
    tx.run("set_bakeoff_state", bakeoff_id=bakeoff_id, state="running", from_states=list(_STOPPED))


def lock_conclusions(tx: Connection, bakeoff_id: int) -> None:
    """Allow one conclusion in a bake-off at a time, until the transaction ends."""
    tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)


def concludable_runs(db: Database) -> list[int]:
    """The runs whose jobs have all ended and that are not concluded."""
    return [row["id"] for row in db.rows("concludable_runs")]


def conclude_run(tx: Connection, run_id: int) -> bool:
    """Mark a run as concluded; False when it was."""
    return tx.row("conclude_run", run_id=run_id) is not None


def has_running_runs(tx: Connection, bakeoff_id: int) -> bool:
    """Whether a judge of a bake-off is still running; a paused one is not."""
    row = tx.row("running_runs", bakeoff_id=bakeoff_id)
    return row is None or row["n"] > 0


def concludable_bakeoffs(db: Database) -> list[int]:
    """The bake-offs that have nothing left to run and are not concluded: their last run was paused."""
    return [row["id"] for row in db.rows("unconcluded_bakeoffs")]


def unrecorded_runs(db: Database | Connection, bakeoff_id: int | None = None) -> dict[int, list[int]]:
    """The runs that were stopped and have no row that says so, by bake-off; of all bake-offs, or of one."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for row in db.rows("unrecorded_runs", bakeoff_id=bakeoff_id):
        found[row["bakeoff_id"]].append(row["id"])
    return found


def conclude(tx: Connection, bakeoff_id: int, result: dict[str, Any]) -> None:
    """Close a bake-off with its result."""
    tx.run("conclude_bakeoff", bakeoff_id=bakeoff_id, result=json.dumps(result, ensure_ascii=False))
