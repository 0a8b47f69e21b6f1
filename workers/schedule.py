"""The timetable of a worker: opens the drift checks of the project in whose folder it runs."""

import os
from datetime import UTC, datetime
from pathlib import Path

from evalq.engines.session import Session
from evalq.errors import InputError
from evalq.settings import load_settings, project_root
from workers.app import SETTINGS
from workers.connections import Connections


def open_scheduled(at: Connections, schedule_name: str) -> None:
    """Open the check a schedule is due for; settings and definitions are those of this minute."""
    schedule = next((one for one in SETTINGS.drift if one.name == schedule_name), None)
    if schedule is None:
        return
    # Imported by the first check: a fleet without a schedule starts faster.
    from evalq.drift.open import is_due, note_unopened, open_due

    now = datetime.now(UTC)
    if not is_due(at.db, schedule, now=now):
        return
    # Read anew: who edits a judge or a task does not have to restart the fleet.
    try:
        settings = load_settings(Path.cwd(), os.environ)
    except InputError as exc:
        note_unopened(at.db, schedule, now=now, problem=str(exc))
        return
    session = Session(at.db, settings.broker_url or "", is_embedded=False, settings=settings)
    open_due(session, schedule, root=project_root(Path.cwd()), now=now)
