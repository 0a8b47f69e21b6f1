"""The confirmation of a watch: four fresh repeats of the same cases, from the check's own snapshots."""

import zlib
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal
from uuid import UUID, uuid4

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.drift.past import Check
from evalq.drift.power import CONFIRM_RUNS
from evalq.holdout import ledger
from evalq.holdout.guard import is_holdout
from evalq.holdout.looks import utc_now
from evalq.plan import Plan, make_plan, refuse_over_cap
from evalq.store import bakeoffs
from evalq.store.database import Connection
from evalq.store.definitions import Snapshots

_SMALLEST_USD = Decimal("0.0000000001")


def record_confirmation(tx: Connection, check: Check) -> int:
    """Record the bake-off that repeats a check's run four times; CapReached when its dollars are too few."""
    plan = _plan(tx, check)
    cap_usd = _share(check)
    refuse_over_cap(plan, cap_usd)
    uid = _announced(tx, check)
    terms = bakeoffs.Terms(cap_usd, "drift_confirm", check.git_sha, check.ambiguous_repeats, uid)
    return bakeoffs.add(tx, plan, terms)


def _announced(tx: Connection, check: Check) -> UUID:
    """The confirmation's uid; on a holdout it is one more look, logged as the check itself was."""
    uid = uuid4()
    if is_holdout(check.eval_set_name):
        ledger.lock(tx, check.task_name)
        intent = ledger.read_history(tx, check.task_name).intent_of(str(check.uid))
        if intent is not None:
            ledger.append(tx, replace(intent, at=utc_now(), judges=(check.judge,), bakeoff_uid=str(uid)))
    return uid


def _share(check: Check) -> Decimal:
    """An equal part of what the check has left: every judge may need one, and the cap is for all of it."""
    left = max(Decimal(0), check.cap_usd - check.spent_usd)
    return (left / check.n_judges).quantize(_SMALLEST_USD, ROUND_DOWN)


def _plan(tx: Connection, check: Check) -> Plan:
    snapshots = Snapshots(tx)
    rows = tx.rows("evalset_cases", eval_set_sha=check.eval_set_sha)
    cases = [EvalCase.model_validate_json(row["body"]) for row in rows]
    return make_plan(
        snapshots.task(check.task_sha),
        EvalSet(name=check.eval_set_name, cases=cases),
        [snapshots.judge(check.judge_sha)],
        graders={name: snapshots.judge(sha) for name, sha in check.grader_shas.items()},
        seed=zlib.crc32(f"confirm/{check.run_id}".encode()),
        samples=CONFIRM_RUNS,
    )
