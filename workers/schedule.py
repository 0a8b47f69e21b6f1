"""Scheduled drift checks: opens those that are due, for the project in whose folder the worker runs."""

from datetime import UTC, datetime
from pathlib import Path

from evalq.definitions.schedules import DriftSchedule
from evalq.engines.session import Session
from evalq.errors import InputError
from evalq.settings import load_settings, project_root
from workers.connections import Connections


def open_due_checks(here: Connections) -> None:
    """Open the drift check of each schedule that is due, once however often this is called."""
    now = datetime.now(UTC)
    for schedule in here.settings.drift:
        _open_if_due(here, schedule, now)


def _open_if_due(here: Connections, schedule: DriftSchedule, now: datetime) -> None:
    # Imported by the first check: a fleet without a schedule starts faster.
    from evalq.drift.open import is_due, note_unopened, open_due

    if not is_due(here.db, schedule, now=now):
        return
    # Read again for each check: editing a judge or a task needs no restart.
    try:
        settings = load_settings(Path.cwd(), here.environ)
    except InputError as exc:
        note_unopened(here.db, schedule, now=now, problem=str(exc))
        return
    session = Session(here.db, settings.broker_url or "", is_embedded=False, settings=settings)
    open_due(session, schedule, root=project_root(Path.cwd()), now=now)
