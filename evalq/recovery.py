"""Recovery: what was lost on the way comes back from Postgres, the queue of record."""

import logging

from evalq.broker import Broker
from evalq.conclusion import conclude, conclude_paused
from evalq.enqueue import pump_all
from evalq.queues import call_queue
from evalq.store.database import Database

log = logging.getLogger(__name__)

LOST_AFTER_S = 15.0
"""A message out for so long while its queue is empty is lost: prefetching is off, so it is in no worker."""


def reap(db: Database, broker: Broker) -> None:
    """Return expired leases and lost messages to ready, publish what is ready, conclude what is complete."""
    _reopen(db, broker)
    pump_all(db, broker)
    for row in db.rows("concludable_runs"):
        conclude(db, row["id"])
    for row in db.rows("unconcluded_bakeoffs"):
        conclude_paused(db, row["id"])


def _reopen(db: Database, broker: Broker) -> None:
    """One reaper at a time; the others have nothing to add."""
    with db.transaction() as tx:
        lock = tx.row("try_lock_reap")
        if not (lock and lock["got"]):
            return
        expired = tx.rows("reap_leases")
        lost = [
            row
            for found in tx.rows("stale_queued_providers", older_s=LOST_AFTER_S)
            if broker.queue_length(call_queue(found["provider"])) == 0
            for row in tx.rows("requeue_lost", provider=found["provider"], older_s=LOST_AFTER_S)
        ]
    if expired or lost:
        log.info("reaped %s expired leases and %s lost messages", len(expired), len(lost))
