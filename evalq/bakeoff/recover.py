"""Recovers lost jobs and messages from Postgres, the queue of record."""

import logging

from evalq.bakeoff.conclude import conclude, conclude_paused
from evalq.bakeoff.publish import pump_all
from evalq.engines.broker import Broker, job_queue
from evalq.store import jobs
from evalq.store.database import Database

log = logging.getLogger(__name__)


def reap(db: Database, broker: Broker, *, lost_after_s: float) -> None:
    """Return expired leases and lost messages to ready, publish what is ready, conclude what is complete."""
    if returned := jobs.return_expired(db):
        log.info("reaped %s expired leases", returned)
    _return_messages(db, broker, lost_after_s)
    pump_all(db, broker)
    for row in db.rows("concludable_runs"):
        conclude(db, row["id"])
    for row in db.rows("unconcluded_bakeoffs"):
        conclude_paused(db, row["id"])


def _return_messages(db: Database, broker: Broker, lost_after_s: float) -> None:
    for stale in db.rows("stale_queues", older_s=lost_after_s):
        queue = job_queue(stale["stage"], stale["provider"])
        if broker.queue_length(queue) == 0:
            lost = db.rows("requeue_lost", **stale, older_s=lost_after_s)
            log.info("reaped %s lost messages of %s", len(lost), queue)
