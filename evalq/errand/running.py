"""Running an errand: asked through the fleet like any bake-off, once however often it is run."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from evalq.bakeoff import drain, follow, start, stop_spending
from evalq.catalogue import catalogue, pick
from evalq.errand.values import Errand, Replies, Reply
from evalq.plan import Plan, make_plan, refuse_over_cap, refuse_unpriced
from evalq.results import Progress
from evalq.session import Session, open_session
from evalq.settings import Settings
from evalq.store import bakeoffs
from evalq.store.database import Row
from evalq.store.definitions import evalset_sha, judge_sha, task_sha


def plan_errand(errand: Errand, settings: Settings) -> Plan:
    """Who is asked, and what it may cost; nothing is touched."""
    judges = pick([errand.judge], catalogue(settings.judges))
    if not errand.allow_unpriced:
        refuse_unpriced(judges)
    return make_plan(errand.task, errand.evalset, judges, seed=errand.seed)


def run_errand(
    errand: Errand,
    settings: Settings,
    root: Path,
    *,
    cap_usd: Decimal,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Replies:
    """Ask, metered and capped like any bake-off; or read what was answered when the same was asked before.

    So what was reviewed is what is written, and is paid for once. Interrupted, it is paused.
    """
    plan = plan_errand(errand, settings)
    refuse_over_cap(plan, cap_usd)
    with open_session(settings, fleet=True) as session:
        known = _asked_before(session, errand, plan)
        if known is not None:
            return _replies(session, known, plan, is_kept=True)
        broker = session.broker()
        bakeoff_id = start(session, broker, plan, cap_usd=cap_usd, root=root, run_type=errand.run_type)
        state = follow(session, broker, bakeoff_id, show=_ignore, is_interrupted=is_interrupted)
        if is_interrupted():
            stop_spending(session.db, bakeoff_id, show=_ignore)
        elif state != "concluded":
            drain(session.db, bakeoff_id, show=_ignore)
        return _replies(session, bakeoff_id, plan, is_kept=False)


def _asked_before(session: Session, errand: Errand, plan: Plan) -> int | None:
    row = session.db.row(
        "asked_before",
        run_type=errand.run_type,
        task_sha=task_sha(plan.task),
        eval_set_sha=evalset_sha(plan.evalset),
        seed=plan.seed,
        judge_sha=judge_sha(plan.judges[0]),
    )
    return int(row["id"]) if row else None


def _replies(session: Session, bakeoff_id: int, plan: Plan, *, is_kept: bool) -> Replies:
    bakeoff = bakeoffs.get(session.db, bakeoff_id)
    (run,) = bakeoffs.runs(session.db, bakeoff_id)
    case_ids = [case.id for case in plan.evalset.cases]
    rows = session.db.rows("inspected_answers", bakeoff_id=bakeoff_id, case_ids=case_ids)
    by_case = dict.fromkeys(case_ids, Reply(None, run.pause_reason or "not asked"))
    by_case |= {row["case_id"]: _reply(row) for row in rows}
    spent_usd = Decimal(0) if is_kept else bakeoff.spent_usd
    return Replies(bakeoff_id, run.judge, bakeoff.state, spent_usd, is_kept, by_case)


def _reply(row: Row) -> Reply:
    if row["completion_state"] == "answered":
        return Reply(row["answer"])
    state = f"the answer is {row['completion_state']}" if row["completion_state"] else row["message"]
    return Reply(None, state or "no answer")


def _ignore(progress: Progress) -> None:
    del progress
