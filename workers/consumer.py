"""A consumer that puts back what it does not know: a newer producer's message is for a newer worker."""

import logging
from typing import Any

from celery.worker.consumer import Consumer as CeleryConsumer

log = logging.getLogger(__name__)

_PUT_BACK_AFTER_S = 5.0
"""Not at once: a fleet without any newer worker would pass the message round for ever."""


class Consumer(CeleryConsumer):  # type: ignore[misc]
    """Celery's own would acknowledge an unknown message, and so drop it."""

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Keep the message for a while, then hand it back to the queue."""
        del body
        log.warning("job %s is not known here; it is put back, upgrade this worker", exc)
        self.timer.call_after(_PUT_BACK_AFTER_S, message.requeue)
