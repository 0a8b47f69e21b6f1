"""Alerts about runs and the fleet, each raised once: a stuck run, a cap nearly reached, no worker."""

import logging
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from evalq.definitions.money import money
from evalq.store import metrics
from evalq.store.alerts import raise_alert
from evalq.store.database import Database

log = logging.getLogger(__name__)

STUCK_AFTER_S = 1800.0
"""Longer than any call with its retries; a gate that a provider closes for longer is worth knowing too."""

DEAD_AFTER_S = 300.0

_NEAR = Decimal("0.8")


def raise_run_alerts(db: Database, *, stuck_after_s: float = STUCK_AFTER_S) -> int:
    """Raise what is wrong with runs now; return how many alerts are new."""
    return _alert_stuck(db, stuck_after_s) + _alert_caps(db)


def raise_dead_fleet(
    db: Database, has_workers: Callable[[], bool], *, dead_after_s: float = DEAD_AFTER_S
) -> int:
    """Raise an alert when published jobs wait and no worker answers; return how many alerts are new."""
    waiting = metrics.waiting_bakeoffs(db, older_s=dead_after_s)
    if not waiting or has_workers():
        return 0
    since = min(one.since for one in waiting)
    names = ", ".join(str(one.bakeoff_id) for one in waiting)
    text = (
        f"P0 NO WORKER ANSWERS: jobs of bake-off {names} wait since {_minute(since)}\n"
        "start one (`evalq worker`, or `evalq up`); nothing is lost, the jobs wait"
    )
    facts = {
        "kind": "dead_fleet",
        "bakeoffs": [one.bakeoff_id for one in waiting],
        "since": since.isoformat(),
    }
    return _raise(db, f"dead-fleet/{since.isoformat()}", text, facts)


def _alert_stuck(db: Database, older_s: float) -> int:
    raised = 0
    for one in metrics.stuck_bakeoffs(db, older_s=older_s):
        text = (
            f"P1 STUCK: bake-off {one.bakeoff_id} of {one.task_name} has done nothing since "
            f"{_minute(one.last_sign)}\nlook: evalq watch {one.bakeoff_id}, evalq limits, evalq doctor"
        )
        facts = {"kind": "stuck", "bakeoff": one.bakeoff_id, "since": one.last_sign.isoformat()}
        raised += _raise(db, f"stuck/{one.bakeoff_id}/{one.last_sign.isoformat()}", text, facts)
    return raised


def _alert_caps(db: Database) -> int:
    """One alert for each cap, and another when a higher cap is nearly reached too."""
    raised = 0
    for one in metrics.bakeoff_spending(db):
        name, key = f"bake-off {one.bakeoff_id}", f"cap/{one.bakeoff_id}/{one.cap_usd.normalize():f}"
        raised += _alert_cap(db, key, name, one.spent_usd, one.cap_usd)
    for day in metrics.daily_spending(db):
        name = "the day" if day.scope == "day" else f"the day for {day.scope.removeprefix('provider:')}"
        key = f"cap/{day.scope}/{day.day.isoformat()}/{day.cap_usd.normalize():f}"
        raised += _alert_cap(db, key, name, day.spent_usd, day.cap_usd)
    return raised


def _alert_cap(db: Database, key: str, name: str, spent_usd: Decimal, cap_usd: Decimal) -> int:
    if not cap_usd or spent_usd < _NEAR * cap_usd:
        return 0
    share = f"{spent_usd / cap_usd:.0%}"
    text = (
        f"P1 CAP NEARLY REACHED: {money(spent_usd)} of {money(cap_usd)} for {name} is spent ({share})\n"
        "at the cap no further call is made: evalq cost, evalq resume --max-cost"
    )
    facts = {"kind": "cap", "cap": name, "spent_usd": str(spent_usd), "cap_usd": str(cap_usd)}
    return _raise(db, key, text, facts)


def _raise(db: Database, key: str, text: str, facts: dict[str, Any]) -> int:
    is_new = raise_alert(db, key=key, text=text, document=facts)
    if is_new:
        log.warning("%s", text.partition("\n")[0])
    return int(is_new)


def _minute(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
