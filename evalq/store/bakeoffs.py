"""Bake-offs in Postgres: recorded, listed, paused, concluded."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from evalq.definitions.judge import JudgeConfig
from evalq.errors import InputError
from evalq.records import SANDBOX_QUEUE, BakeOffRow, RunRow
from evalq.results import BakeOffState
from evalq.store import definitions
from evalq.store.database import Connection, Database, Row, known_version

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan

_PRIORITIES = {"drift_check": 10, "drift_confirm": 10}
"""What nobody waits for goes after what somebody does, at the same gate."""


@dataclass(frozen=True)
class Terms:
    """Under what terms a bake-off is run: its dollars, and how often a call perhaps billed is repeated."""

    cap_usd: Decimal
    run_type: str = "bake-off"
    git_sha: str | None = None
    ambiguous_repeats: int = 1
    uid: uuid.UUID | None = None
    rescored_from: int | None = None
    rescored_runs: Mapping[str, int] = field(default_factory=dict)
    """Of a second grading: the bake-off and the run of each judge whose answers it is about."""


def record(db: Database, plan: "Plan", terms: Terms) -> int:
    """Write a bake-off, its definitions, runs and jobs in one transaction; return its id."""
    with db.transaction() as tx:
        return add(tx, plan, terms)


def add(tx: Connection, plan: "Plan", terms: Terms) -> int:
    """The same in a transaction of the caller's, with whatever else belongs to it."""
    bakeoff_id = _add_bakeoff(tx, plan, terms)
    for judge in plan.judges:
        _add_run(tx, plan, judge, bakeoff_id=bakeoff_id, terms=terms)
    return bakeoff_id


def _add_bakeoff(tx: Connection, plan: "Plan", terms: Terms) -> int:
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
        grader_shas=json.dumps(
            {name: definitions.add_judge(tx, judge) for name, judge in plan.graders.items()}
        ),
        rescored_from=terms.rescored_from,
        seed=plan.seed,
        samples=plan.samples,
        cap_usd=terms.cap_usd,
        git_sha=terms.git_sha,
        prices_as_of=plan.prices_as_of,
        ambiguous_repeats=terms.ambiguous_repeats,
        schema_version=known_version(),
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


def get(db: Database, bakeoff_id: int) -> BakeOffRow:
    """One bake-off; an unknown id is the user's mistake."""
    row = db.row("bakeoff", bakeoff_id=bakeoff_id)
    if row is None:
        raise InputError(f"there is no bake-off {bakeoff_id}; `evalq runs` lists them")
    return BakeOffRow(**row)


def committed_usd(db: Database, bakeoff_ids: Sequence[int]) -> Decimal:
    """Dollars these bake-offs have spent or still hold in reservations."""
    rows = [get(db, bakeoff_id) for bakeoff_id in bakeoff_ids]
    return sum((row.spent_usd + row.reserved_usd for row in rows), Decimal(0))


def is_name(text: str) -> bool:
    """True for what names a bake-off: a number, `last` or `@-N`."""
    return text == "last" or text.removeprefix("@-").isdecimal()


def find(db: Database, name: str) -> int:
    """The id meant by a number, `last` or `@-N` (the N-th newest)."""
    if name.isdecimal():
        return get(db, int(name)).id
    back = 1 if name == "last" else int(name[2:]) if name.startswith("@-") and name[2:].isdecimal() else 0
    if back < 1:
        raise InputError(f"{name!r} is no bake-off; give a number, `last` or `@-2`")
    rows = db.rows("bakeoff_ids", limit=back)
    if len(rows) < back:
        raise InputError("there is no bake-off yet; `evalq demo` runs one without any key")
    return int(rows[-1]["id"])


def listing(db: Database, *, limit: int) -> list[Row]:
    """The newest bake-offs with how far each is."""
    return db.rows("bakeoff_rows", limit=limit)


def runs(db: Database | Connection, bakeoff_id: int) -> list[RunRow]:
    """The runs of a bake-off in the order its judges were named."""
    return [RunRow(**row) for row in db.rows("runs", bakeoff_id=bakeoff_id)]


def move(db: Database, bakeoff_id: int, state: BakeOffState, *, from_states: Sequence[BakeOffState]) -> bool:
    """Change a bake-off's state if it is in one of `from_states`; say whether it was."""
    row = db.row("set_bakeoff_state", bakeoff_id=bakeoff_id, state=state, from_states=list(from_states))
    return row is not None


def cap(db: Database, bakeoff_id: int, reason: str) -> None:
    """Stop a bake-off at a cap."""
    db.row("cap_bakeoff", bakeoff_id=bakeoff_id, reason=reason)


def pause(db: Database, bakeoff_id: int, reason: str) -> bool:
    """Stop a bake-off that cannot go on; True when this call did."""
    return db.row("pause_bakeoff", bakeoff_id=bakeoff_id, reason=reason) is not None


def pause_run(db: Database, run_id: int, reason: str) -> bool:
    """Stop one judge; True when this call did."""
    return db.row("pause_run", run_id=run_id, reason=reason) is not None


def set_daily_caps(db: Database, caps: Mapping[str, Decimal]) -> None:
    """Replace the daily caps of the whole fleet: scope `day` or `provider:NAME`."""
    with db.transaction() as tx:
        tx.run("drop_spending_caps", scopes=list(caps))
        for scope, cap_usd in caps.items():
            tx.run("set_spending_cap", scope=scope, cap_usd=cap_usd)


def set_cap(db: Database | Connection, bakeoff_id: int, cap_usd: Decimal) -> None:
    """Give a bake-off another cap."""
    db.run("set_cap", bakeoff_id=bakeoff_id, cap_usd=cap_usd)


def conclude(tx: Connection, bakeoff_id: int, result: dict[str, Any]) -> None:
    """Close a bake-off with its result."""
    tx.run("conclude_bakeoff", bakeoff_id=bakeoff_id, result=json.dumps(result, ensure_ascii=False))


_ON_ITS_WAY_S = 5.0
"""A message sent so shortly ago is not published again: somebody else has the bake-off go on just now."""

_STOPPED = ["paused", "capped", "cancelled", "concluded"]


def reopen(db: Database, bakeoff_id: int, *, cap_usd: Decimal | None) -> bool:
    """Let a stopped bake-off and its stopped judges go on; False when every job has ended."""
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        found = runs(tx, bakeoff_id)
        if all(run.state == "concluded" for run in found):
            return False
        paused = [run.id for run in found if run.state == "paused"]
        _go_on(tx, bakeoff_id, runs=found, reopened=paused, cap_usd=cap_usd)
    return True


def retry_errors(db: Database, bakeoff_id: int, *, run_ids: Sequence[int], cap_usd: Decimal | None) -> int:
    """Make the errored jobs of some runs ready again, and the bake-off running; return how many they are.

    Under the lock of conclusions: an aggregate is there when all its jobs have ended, and only then.
    """
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        found = runs(tx, bakeoff_id)
        errored = [row["run_id"] for row in tx.rows("supersede_errors", run_ids=list(run_ids))]
        if errored:
            again = sorted(set(errored))
            tx.run("drop_eval_runs", run_ids=again)
            _go_on(tx, bakeoff_id, runs=found, reopened=again, cap_usd=cap_usd)
    return len(errored)


def _go_on(
    tx: Connection,
    bakeoff_id: int,
    *,
    runs: Sequence[RunRow],
    reopened: Sequence[int],
    cap_usd: Decimal | None,
) -> None:
    """Reopen the bake-off and some runs, and make ready what nobody holds and whose message may be gone."""
    row = tx.row("bakeoff", bakeoff_id=bakeoff_id)
    is_stopped = row is not None and row["state"] != "running"
    stopped = [run.id for run in runs if is_stopped or run.state == "paused"]
    # Nobody marks jobs of these gates as queued meanwhile: two who lock many rows may wait for each other.
    for gate in sorted({run.gate for run in runs} | {SANDBOX_QUEUE}):
        tx.row("lock_gate", gate=gate)
    tx.run("reopen_queued", bakeoff_id=bakeoff_id, stopped=stopped, older_s=_ON_ITS_WAY_S)
    tx.run("reopen_runs", run_ids=list(reopened))
    # The bake-off's row last: calls that are being settled need it.
    if cap_usd is not None:
        set_cap(tx, bakeoff_id, cap_usd)
    tx.run("set_bakeoff_state", bakeoff_id=bakeoff_id, state="running", from_states=_STOPPED)
