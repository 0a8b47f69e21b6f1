"""A consumer that leaves unknown jobs to newer workers, and drops none that a wrong clock makes late."""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar

from celery.worker.consumer import Consumer as CeleryConsumer

log = logging.getLogger(__name__)

_PUT_BACK_AFTER_S = 5.0
"""Not at once: a fleet without a newer worker would pass the message around endlessly."""

_PUT_BACK_TIMES = 60
"""For five minutes at least, which is longer than an upgrade; Postgres still knows a job that is dropped."""

_REMEMBERED = 10_000

_CLOCKS_DIFFER = timedelta(hours=2)
"""How far the clock of this machine may be ahead of the sender's."""


class Consumer(CeleryConsumer):  # type: ignore[misc]
    """Celery's own consumer acknowledges both kinds of messages, and so drops them."""

    _seen: ClassVar[Counter[str]] = Counter()

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Put a newer producer's message back for a newer worker; drop one that no worker takes."""
        del body
        again = self._count(str((message.headers or {}).get("id", ""))) <= _PUT_BACK_TIMES
        if again:
            log.warning("job %s is not known here; it is put back, upgrade this worker", exc)
        else:
            log.error("job %s is not known to any worker; its message is dropped", exc)
        wait_s = _PUT_BACK_AFTER_S if again else 0.0
        self.timer.call_after(wait_s, message.reject_log_error, (log, self.connection_errors, again))

    def _count(self, message_id: str) -> int:
        """How often this worker has met a message."""
        if len(self._seen) > _REMEMBERED:
            self._seen.clear()
        self._seen[message_id] += 1
        return self._seen[message_id]

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], None]:
        """Extend `expires`: on a machine whose clock is ahead, every `reap` would come too late."""
        handle = super().create_task_handler(*args, **kwargs)

        def handle_late(message: Any) -> None:
            if message.headers.get("redelivered"):
                log.warning("job %s is delivered again", message.headers.get("argsrepr"))
            with suppress(LookupError, TypeError, ValueError):  # no `expires`, or not a date
                later = datetime.fromisoformat(message.headers["expires"]) + _CLOCKS_DIFFER
                message.headers["expires"] = later.isoformat()
            handle(message)

        return handle_late
