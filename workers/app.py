"""The Celery application of the fleet: its settings, queues and schedule, and where its jobs are."""

import logging
import os
from pathlib import Path
from typing import Any

from celery.signals import celeryd_after_setup, setup_logging

from evalq.engines.broker import make_app
from evalq.records import CONTROL_QUEUE
from evalq.settings import load_settings
from workers.log_format import make_formatter

SETTINGS = load_settings(Path.cwd(), os.environ)
"""Read once per process; jobs get them from their `Connections`."""

_REAP_EVERY_S = min(5.0, SETTINGS.fleet.lost_after_s)

app = make_app(SETTINGS.broker_url or "", messages=SETTINGS.fleet.messages)
app.conf.update(
    imports=["workers.jobs"],
    worker_pool="workers.pool:Pool",
    # Three times as many jobs in hand as calls in flight: claiming and writing overlap with the calls.
    worker_prefetch_multiplier=3,
    worker_consumer="workers.consumer:Consumer",
    beat_schedule={
        "reap": {
            "task": "reap",
            "schedule": _REAP_EVERY_S,
            "options": {"queue": CONTROL_QUEUE, "expires": _REAP_EVERY_S},
        },
    },
)


_slots = [SETTINGS.fleet.slots_per_process]


def slots_of_process() -> int:
    """How many calls this process may have in flight."""
    return _slots[0]


@celeryd_after_setup.connect  # type: ignore[untyped-decorator]
def _note_slots(instance: Any, **_: object) -> None:
    """A worker's `--concurrency` counts calls."""
    _slots[0] = instance.concurrency


@setup_logging.connect  # type: ignore[untyped-decorator]
def _log_plainly(loglevel: int | str | None = None, **_: object) -> None:
    """Use our own format, and silence libraries: at DEBUG some of them print prompts."""
    handler = logging.StreamHandler()
    handler.setFormatter(make_formatter(SETTINGS.log_format))
    logging.basicConfig(level=loglevel or logging.WARNING, handlers=[handler])
    for name in ("httpx", "httpx2", "httpcore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
