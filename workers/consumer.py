"""A consumer that drops no message: neither an unknown job nor one that a wrong clock makes late."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from celery.worker.consumer import Consumer as CeleryConsumer

log = logging.getLogger(__name__)

_PUT_BACK_AFTER_S = 5.0
"""Not at once: a fleet without a newer worker would pass the message around endlessly."""

_CLOCKS_DIFFER = timedelta(hours=2)
"""How far the clock of this machine may be ahead of the sender's."""


class Consumer(CeleryConsumer):  # type: ignore[misc]
    """Celery's own consumer acknowledges both kinds of messages, and so drops them."""

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Hold a newer producer's message for a while, then put it back for a newer worker."""
        del body
        log.warning("job %s is not known here; it is put back, upgrade this worker", exc)
        again = (log, self.connection_errors, True)
        self.timer.call_after(_PUT_BACK_AFTER_S, message.reject_log_error, again)

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], None]:
        """Extend `expires`: on a machine whose clock is ahead, every `reap` would come too late."""
        handle = super().create_task_handler(*args, **kwargs)

        def handle_late(message: Any) -> None:
            with suppress(LookupError, TypeError, ValueError):  # no `expires`, or not a date
                later = datetime.fromisoformat(message.headers["expires"]) + _CLOCKS_DIFFER
                message.headers["expires"] = later.isoformat()
            handle(message)

        return handle_late
