"""Scheduled drift checks: opens those that are due, for the project in whose folder the worker runs."""

import logging
from datetime import UTC, datetime
from pathlib import Path

from evalq.definitions.schedules import DriftSchedule
from evalq.engines.session import Session
from evalq.errors import EvalqError, Unreachable
from evalq.settings import load_settings, project_root
from workers.connections import Connections

log = logging.getLogger(__name__)

_SCHEDULE_FAULTS = (
    *(EvalqError, OSError, ArithmeticError, AssertionError, AttributeError, LookupError),
    *(TypeError, ValueError, RuntimeError),
)
"""What a schedule, its files or our own mistakes may raise; a database that is away is none of them."""


def open_due_checks(here: Connections) -> None:
    """Open the drift check of each schedule that is due, once however often this is called."""
    now = datetime.now(UTC)
    for schedule in here.settings.drift:
        _open_or_note(here, schedule, now)


def _open_or_note(here: Connections, schedule: DriftSchedule, now: datetime) -> None:
    """Open a check that is due; what is wrong with one schedule is an alert, and never stops the others."""
    # Imported by the first check: a fleet without a schedule starts faster.
    from evalq.drift.open import is_due, note_unopened

    try:
        if is_due(here.db, schedule, now=now):
            _open(here, schedule, now)
    except Unreachable:
        raise
    except _SCHEDULE_FAULTS as exc:
        log.exception("drift schedule %s", schedule.name)
        note_unopened(here.db, schedule, now=now, problem=str(exc) or type(exc).__name__)


def _open(here: Connections, schedule: DriftSchedule, now: datetime) -> None:
    from evalq.drift.open import open_due

    # Read again for each check: editing a judge or a task needs no restart.
    settings = load_settings(Path.cwd(), here.environ)
    session = Session(here.db, settings.broker_url or "", is_embedded=False, settings=settings)
    open_due(session, schedule, root=project_root(Path.cwd()), now=now)
