"""A consumer that drops nothing: neither what it does not know nor what is late by a wrong clock."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from celery.worker.consumer import Consumer as CeleryConsumer

log = logging.getLogger(__name__)

_PUT_BACK_AFTER_S = 5.0
"""Not at once: a fleet without any newer worker would pass the message round for ever."""

_CLOCKS_DIFFER = timedelta(hours=2)
"""At most: by how much the clock of this machine may be ahead of the sender's."""


class Consumer(CeleryConsumer):  # type: ignore[misc]
    """Celery's own would acknowledge both kinds of messages, and so drop them."""

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """A newer producer's message is for a newer worker: keep it a while, then hand it back."""
        del body
        log.warning("job %s is not known here; it is put back, upgrade this worker", exc)
        again = (log, self.connection_errors, True)
        self.timer.call_after(_PUT_BACK_AFTER_S, message.reject_log_error, again)

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], None]:
        """Read `expires` generously: on a machine whose clock is ahead no reaping would ever be in time."""
        handle = super().create_task_handler(*args, **kwargs)

        def handle_late(message: Any) -> None:
            with suppress(LookupError, TypeError, ValueError):  # no time at all, or none that Celery accepts
                later = datetime.fromisoformat(message.headers["expires"]) + _CLOCKS_DIFFER
                message.headers["expires"] = later.isoformat()
            handle(message)

        return handle_late
