"""Decides drift checks when their runs have concluded, and confirms a watch by fresh repeats."""

import logging
import zlib
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from evalq.bakeoff import publish
from evalq.bakeoff.holdout import log as ledger
from evalq.bakeoff.holdout.guard import is_holdout
from evalq.bakeoff.holdout.log import head
from evalq.bakeoff.holdout.looks import utc_now
from evalq.bakeoff.plan import Plan, make_plan, refuse_over_cap
from evalq.definitions.evalset import EvalSet
from evalq.drift import history
from evalq.drift.messages import AlertKind, CheckSubject, alert_text
from evalq.drift.rules import (
    CONFIRM_RUNS,
    DriftDecision,
    ProviderFacts,
    Rule,
    Verdicts,
    compare_provider_facts,
    decide_confirmed,
    decide_seed,
    decide_sequential,
    inconclusive,
)
from evalq.engines.broker import Broker
from evalq.errors import CapReached
from evalq.store import bakeoffs, drift_checks
from evalq.store.alerts import raise_alert
from evalq.store.database import Connection, Database, transactional
from evalq.store.definitions import Snapshots, evalset_cases
from evalq.store.drift_checks import DriftCheck

log = logging.getLogger(__name__)

_SMALLEST_USD = Decimal("0.0000000001")

_ALERT_KINDS: dict[str, AlertKind] = {"alert": "drift", "watch": "watch"}
_UNREMARKABLE = ("baseline", "unaccepted", "stopped")
"""Reasons for no verdict that raise no alert."""


def open_checks(tx: Connection, bakeoff_id: int, *, rule: Rule) -> None:
    """Open a check for every run of a bake-off, in the transaction that records it."""
    drift_checks.add_checks(tx, bakeoff_id, rule=rule)


def advance(db: Database, broker: Broker) -> None:
    """Decide every check whose run has ended, or start its confirmation.

    Idempotent, and safe to call at any time from several processes: the rows in Postgres decide.
    """
    for run_id in drift_checks.ripe_run_ids(db):
        confirmation = _advance_one(db, run_id)
        if confirmation is not None:
            publish.open_chords(db, broker, confirmation)
            publish.pump_all(db, broker)


@transactional
def _advance_one(tx: Connection, run_id: int) -> int | None:
    """Take one check a step further; return the bake-off that confirms it if this call started one."""
    drift_checks.lock_series(tx, run_id)
    check = drift_checks.read_check(tx, run_id)
    if check is None:
        return None
    decision = _decide_by_confirmation(tx, check) if check.confirm_run_id else _decide_by_run(tx, check)
    if decision.verdict == "watch" and check.rule == "confirm":
        try:
            confirmation = _record_confirmation(tx, check)
        except CapReached as exc:
            decision = DriftDecision(
                "inconclusive", {**decision.numbers, "reason": "cap", "detail": str(exc)}
            )
        else:
            drift_checks.start_confirmation(tx, run_id, bakeoff_id=confirmation, numbers=decision.numbers)
            log.info("run_id=%s: WATCH, to be confirmed by bake-off %s", run_id, confirmation)
            return confirmation
    _conclude_check(tx, check, decision)
    return None


def _conclude_check(tx: Connection, check: DriftCheck, decision: DriftDecision) -> None:
    """Write the verdict and, in the same transaction, raise its alert."""
    drift_checks.decide_check(tx, check.run_id, verdict=decision.verdict, numbers=decision.numbers)
    log.info("run_id=%s: drift check by rule %s: %s", check.run_id, check.rule, decision.verdict)
    is_blocked = decision.verdict == "inconclusive" and decision.numbers["reason"] not in _UNREMARKABLE
    kind = "blocked" if is_blocked else _ALERT_KINDS.get(decision.verdict)
    if kind:
        _raise_alert(tx, check, decision, kind)


def _raise_alert(tx: Connection, check: DriftCheck, decision: DriftDecision, kind: AlertKind) -> None:
    """Raise the alert at most once a day while the drift lasts."""
    episode = drift_checks.read_episode(tx, check, decision.verdict)
    subject = CheckSubject(check.task_name, check.eval_set_name, check.judge, check.rule, check.run_id)
    newest = head(tx, check.task_name)
    names = (kind, check.task_name, check.eval_set_name, check.judge, check.rule, episode.run_id)
    raise_alert(
        tx,
        key="/".join(str(name) for name in (*names, episode.days)),
        text=alert_text(kind, subject, decision.numbers, head=newest),
        document={
            "kind": kind,
            "task": check.task_name,
            "eval_set": check.eval_set_name,
            "judge": check.judge,
            "rule": check.rule,
            "run_id": check.run_id,
            "bakeoff_id": check.bakeoff_id,
            "confirm_run_id": check.confirm_run_id,
            "numbers": decision.numbers,
            "holdout_head": newest,
            "confirm": subject.confirm_command,
        },
    )


def _decide_by_run(tx: Connection, check: DriftCheck) -> DriftDecision:
    """Decide a check by its own run."""
    if unfinished := _decide_unfinished(tx, check.run_id):
        return unfinished
    (current,) = history.chosen_runs(tx, [check.run_id])
    if check.rule == "sequential":
        return _decide_by_detector(tx, check, current)
    earlier = history.last_runs(tx, check)
    decision = decide_seed("seed" if check.rule == "seed" else "confirm", earlier.runs, current)
    return _with_context(tx, check, decision, earlier)


def _decide_by_detector(tx: Connection, check: DriftCheck, current: Verdicts) -> DriftDecision:
    baseline = drift_checks.accepted_run(tx, check)
    if baseline is None or baseline.eval_set_sha != check.eval_set_sha:
        why = "the set has changed since a run was accepted" if baseline else "no run is accepted as baseline"
        return inconclusive("unaccepted", f"{why}; evalq drift accept {check.run_id} accepts this one")
    earlier = history.runs_since(tx, check, baseline)
    evidence = history.evidence_since(tx, baseline.id)
    # Seeded by the run: decided again, after a crash, it is the same decision.
    rng = np.random.default_rng(check.run_id)
    decision = decide_sequential(earlier.runs, current, evidence=evidence, rng=rng)
    decision.numbers.update(baseline_id=baseline.id, accepted_run=baseline.run_id)
    return _with_context(tx, check, decision, earlier)


def _with_context(
    tx: Connection, check: DriftCheck, decision: DriftDecision, earlier: history.EarlierRuns
) -> DriftDecision:
    """The decision with the runs it was made from, and what changed beside accuracy."""
    decision.numbers.update(baseline_runs=list(earlier.run_ids), task_changed=earlier.is_task_changed)
    decision.numbers["provider"] = _compare_provider(tx, check.run_id, earlier.run_ids)
    return decision


def _decide_by_confirmation(tx: Connection, check: DriftCheck) -> DriftDecision:
    """Decide a watch by its fresh repeats, against the same earlier runs."""
    assert check.confirm_run_id is not None
    watch: dict[str, Any] = dict(check.numbers)
    if unfinished := _decide_unfinished(tx, check.confirm_run_id):
        detail = f"WATCH, but its confirmation was not made: {unfinished.numbers['detail']}"
        # The drop is still unexplained, so this raises an alert.
        return DriftDecision("inconclusive", {**watch, "reason": "broken", "detail": detail})
    earlier = history.chosen_runs(tx, watch["baseline_runs"])
    fresh = history.case_passes(tx, [check.confirm_run_id], samples=CONFIRM_RUNS)[check.confirm_run_id]
    decision = decide_confirmed(earlier, fresh)
    kept = {name: watch[name] for name in ("baseline_runs", "baseline_passes", "passes", "provider")}
    first = {f"watch_{name}": watch[name] for name in ("n", "drop_pp", "p")}
    task_changed = watch["task_changed"]
    return DriftDecision(
        decision.verdict, {**kept, **first, **decision.numbers, "task_changed": task_changed}
    )


def _decide_unfinished(tx: Connection, run_id: int) -> DriftDecision | None:
    """The decision for a run that tells nothing about its judge's accuracy; None for any other run."""
    end = drift_checks.read_run_end(tx, run_id)
    if end.state == "concluded":
        return inconclusive("broken", end.excluded) if end.excluded else None
    if end.bakeoff_state == "cancelled":
        return inconclusive("stopped", "the bake-off was cancelled")
    if end.bakeoff_state == "capped":
        return inconclusive("cap", end.stop_reason or "stopped at the cost cap")
    return inconclusive("broken", f"paused: {end.pause_reason or end.stop_reason}")


def _compare_provider(tx: Connection, run_id: int, earlier: Sequence[int]) -> dict[str, Any]:
    traces = {
        each: ProviderFacts(tuple(facts.models or ()), facts.p50_latency_ms, float(facts.cost_per_case_usd))
        for each, facts in drift_checks.provider_facts(tx, [run_id, *earlier]).items()
    }
    return compare_provider_facts([traces[each] for each in earlier if each in traces], traces.get(run_id))


def _record_confirmation(tx: Connection, check: DriftCheck) -> int:
    """Record the bake-off that repeats a check's run four times; raise CapReached if the cap is too low."""
    plan = _plan_confirmation(tx, check)
    cap_usd = _confirmation_cap(check)
    refuse_over_cap(plan, cap_usd)
    uid = _announce_confirmation(tx, check)
    terms = bakeoffs.Terms(cap_usd, "drift_confirm", check.git_sha, check.ambiguous_repeats, uid)
    return bakeoffs.add(tx, plan, terms)


def _announce_confirmation(tx: Connection, check: DriftCheck) -> UUID:
    """The uid of the confirmation; on a holdout it is one more look, so it is logged like the check."""
    uid = uuid4()
    if is_holdout(check.eval_set_name):
        ledger.lock(tx, check.task_name)
        intent = ledger.read_history(tx, check.task_name).intent_of(str(check.uid))
        if intent is not None:
            ledger.append(tx, replace(intent, at=utc_now(), judges=(check.judge,), bakeoff_uid=str(uid)))
    return uid


def _confirmation_cap(check: DriftCheck) -> Decimal:
    """An equal share of what is left of the check's cap, since every judge may need a confirmation."""
    left = max(Decimal(0), check.cap_usd - check.spent_usd)
    return (left / check.n_judges).quantize(_SMALLEST_USD, ROUND_DOWN)


def _plan_confirmation(tx: Connection, check: DriftCheck) -> Plan:
    snapshots = Snapshots(tx)
    cases = evalset_cases(tx, check.eval_set_sha)
    return make_plan(
        snapshots.task(check.task_sha),
        EvalSet(name=check.eval_set_name, cases=cases),
        [snapshots.judge(check.judge_sha)],
        graders={name: snapshots.judge(sha) for name, sha in check.grader_shas.items()},
        seed=zlib.crc32(f"confirm/{check.run_id}".encode()),
        samples=CONFIRM_RUNS,
    )
