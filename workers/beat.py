"""The drift schedules of evalq.yaml as entries of celery beat."""

from collections.abc import Collection, Sequence
from typing import Any

from celery.schedules import crontab

from evalq.definitions.cron import Cron
from evalq.definitions.schedule import DriftSchedule
from evalq.queues import CONTROL_QUEUE

# Long enough for a fleet that restarts; later than that nobody opens the check any more.
_EXPIRES_S = 3600


def drift_entries(schedules: Sequence[DriftSchedule]) -> dict[str, dict[str, Any]]:
    """One entry per schedule: a message that names it, for whichever worker is free."""
    return {
        f"drift {schedule.name}": {
            "task": "check_drift",
            "schedule": _crontab(schedule.cron) if schedule.every_s is None else schedule.every_s,
            "args": [schedule.name],
            "options": {"queue": CONTROL_QUEUE, "expires": _EXPIRES_S},
        }
        for schedule in schedules
    }


def _crontab(cron: Cron) -> crontab:
    """The same minutes in Celery's words: numbers only, as RedBeat writes them down as text."""
    return crontab(
        minute=_numbers(cron.minutes),
        hour=_numbers(cron.hours),
        day_of_month=_numbers(cron.days),
        month_of_year=_numbers(cron.months),
        day_of_week=_numbers(cron.weekdays),
    )


def _numbers(values: Collection[int]) -> str:
    return ",".join(str(value) for value in sorted(values))
