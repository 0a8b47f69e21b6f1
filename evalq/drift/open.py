"""Opens a drift check by hand or by schedule, and follows it to its verdicts."""

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalq.bakeoff.follow import follow_to_end
from evalq.bakeoff.launch import launch
from evalq.bakeoff.plan import Plan
from evalq.bakeoff.request import Request
from evalq.definitions.schedules import DriftSchedule
from evalq.drift.decide import advance, open_checks
from evalq.drift.messages import CheckSubject, check_line
from evalq.drift.rules import Rule
from evalq.engines.session import Session
from evalq.errors import CapReached, InputError, Refused
from evalq.formats import prepare
from evalq.results import Progress
from evalq.store import bakeoffs, drift_checks
from evalq.store.alerts import raise_alert
from evalq.store.database import Connection, Database

log = logging.getLogger(__name__)

_GRACE = timedelta(hours=1)
"""How late a due check may still be opened."""


@dataclass(frozen=True)
class CheckResult:
    """A check and its verdict, None while its run is under way."""

    subject: CheckSubject
    verdict: str | None
    is_decided: bool
    confirm_run_id: int | None
    numbers: dict[str, Any]

    @property
    def is_regression(self) -> bool:
        """An ALERT, or by the seed's own rule a WATCH."""
        return self.verdict == "alert" or (self.verdict == "watch" and self.subject.rule == "seed")

    @property
    def is_open(self) -> bool:
        """Neither fine nor a regression: inconclusive, or not decided yet."""
        return not self.is_regression and (self.verdict != "ok" or not self.is_decided)

    @property
    def line(self) -> str:
        """On one line."""
        return check_line(self.subject, self.verdict, self.numbers)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "judge": self.subject.judge,
            "run_id": self.subject.run_id,
            "rule": self.subject.rule,
            "verdict": self.verdict,
            "decided": self.is_decided,
            "confirm_run_id": self.confirm_run_id,
            "numbers": self.numbers,
        }


def exit_code(found: Sequence[CheckResult]) -> int:
    """1 for a regression, 3 for a check that decided nothing, 0 when every judge is as it was."""
    if any(one.is_regression for one in found):
        return 1
    return 3 if any(one.is_open for one in found) else 0


def check_request(
    task: str, eval_set: str, judges: Sequence[str], *, allow_unpriced: bool = False
) -> Request:
    """A check as a request: it may look at a holdout without a final decision, with a new seed each time."""
    seed = secrets.randbelow(2**31)
    return Request(task, eval_set, judges, seed=seed, allow_unpriced=allow_unpriced, look="drift_check")


def open_check(
    session: Session,
    plan: Plan,
    *,
    rule: Rule,
    cap_usd: Decimal,
    root: Path,
) -> int:
    """Record a check and publish its jobs; return the id of its bake-off."""
    return _open(session, plan, _Opening(rule, cap_usd, root))


@dataclass(frozen=True)
class _Opening:
    """The rule and cap of a check, and the tick of the schedule that is due."""

    rule: Rule
    cap_usd: Decimal
    root: Path
    tick: tuple[str, datetime] | None = None

    def write(self, tx: Connection, bakeoff_id: int) -> None:
        """Write the checks in the transaction that records the bake-off."""
        open_checks(tx, bakeoff_id, rule=self.rule)
        if self.tick:
            schedule, tick = self.tick
            drift_checks.add_tick(tx, schedule, tick, bakeoff_id=bakeoff_id)


def _open(session: Session, plan: Plan, opening: _Opening) -> int:
    terms = bakeoffs.Terms(opening.cap_usd, "drift_check")
    return launch(session, plan, terms=terms, root=opening.root, beside=opening.write)


def is_due(db: Database, schedule: DriftSchedule, *, now: datetime) -> bool:
    """Whether a schedule's last tick is recent and its check not opened yet."""
    tick = schedule.latest_tick(now)
    return now - tick <= _GRACE and not _is_known(db, schedule, tick)


def open_due(session: Session, schedule: DriftSchedule, *, root: Path, now: datetime) -> int | None:
    """Open the check of a schedule that is due, once however often this is called; None if not due.

    Waits for the previous check to end. A check that cannot be opened is noted and raises an alert.
    """
    tick = schedule.latest_tick(now)
    if not is_due(session.db, schedule, now=now):
        return None
    with session.db.transaction() as guard:
        if not drift_checks.try_lock_schedules(guard) or _is_known(guard, schedule, tick):
            return None
        if drift_checks.has_checks_under_way(guard, schedule.name):
            return None
        try:
            return _open_scheduled(session, schedule, root=root, tick=tick)
        except (InputError, CapReached, Refused) as exc:
            _note_problem(guard, schedule, tick, str(exc))
            return None


def note_unopened(db: Database, schedule: DriftSchedule, *, now: datetime, problem: str) -> None:
    """Note that a due check could not be opened, and raise an alert."""
    with db.transaction() as tx:
        _note_problem(tx, schedule, schedule.latest_tick(now), problem)


def _open_scheduled(session: Session, schedule: DriftSchedule, *, root: Path, tick: datetime) -> int:
    cap_usd = session.settings.max_cost_usd if schedule.max_cost_usd is None else schedule.max_cost_usd
    request = check_request(schedule.task, schedule.eval_set, schedule.judges)
    plan = prepare(request, session.settings, root)
    opening = _Opening(schedule.rule, cap_usd, root, (schedule.name, tick))
    bakeoff_id = _open(session, plan, opening)
    log.info("drift check %s of %s: bake-off %s", schedule.name, tick.isoformat(), bakeoff_id)
    return bakeoff_id


def _is_known(db: Database | Connection, schedule: DriftSchedule, tick: datetime) -> bool:
    return drift_checks.is_known_tick(db, schedule.name, tick)


def _note_problem(tx: Connection, schedule: DriftSchedule, tick: datetime, problem: str) -> None:
    log.warning("drift check %s of %s: %s", schedule.name, tick.isoformat(), problem)
    drift_checks.add_tick(tx, schedule.name, tick, problem=problem)
    raise_alert(
        tx,
        key=f"unopened/{schedule.name}/{tick.date().isoformat()}",
        text=f"P0 CHECK COULD NOT BE MADE: drift schedule {schedule.name}\n{problem}",
        document={"kind": "blocked", "schedule": schedule.name, "tick": tick.isoformat(), "problem": problem},
    )


def follow_check(
    session: Session,
    bakeoff_id: int,
    *,
    show: Callable[[Progress], None],
    is_interrupted: Callable[[], bool],
) -> list[int]:
    """Follow a check and its confirmations to their verdicts; return their bake-offs.

    An interrupt pauses the last of them.
    """
    watched = [bakeoff_id]
    for each in watched:
        follow_to_end(session, each, show=show, is_interrupted=is_interrupted)
        if is_interrupted():
            break
        advance(session.db, session.broker)
        for check in drift_checks.checks_of(session.db, bakeoff_id):
            if check.confirm_bakeoff_id is not None and check.confirm_bakeoff_id not in watched:
                watched.append(check.confirm_bakeoff_id)
    return watched


def checks_of(db: Database, bakeoff_id: int) -> list[CheckResult]:
    """The checks of a bake-off in their current state."""
    return [
        CheckResult(
            CheckSubject(check.task_name, check.eval_set_name, check.judge, check.rule, check.run_id),
            check.verdict,
            check.decided_at is not None,
            check.confirm_run_id,
            check.numbers,
        )
        for check in drift_checks.checks_of(db, bakeoff_id)
    ]
