"""Recovers lost jobs and messages from Postgres, the queue of record."""

import logging

from evalq.bakeoff.conclude import conclude, conclude_paused, record_stopped
from evalq.bakeoff.publish import pump_all
from evalq.engines.broker import Broker
from evalq.engines.fleet import job_queue
from evalq.store import bakeoffs, jobs
from evalq.store.database import Database

log = logging.getLogger(__name__)


def reap(db: Database, broker: Broker, *, lost_after_s: float) -> None:
    """Return expired leases and lost messages to ready, publish what is ready, conclude what is complete.

    Stopped runs get their rows.
    """
    if returned := jobs.return_expired(db):
        log.info("reaped %s expired leases", returned)
    _return_messages(db, broker, lost_after_s)
    pump_all(db, broker)
    for run_id in bakeoffs.concludable_runs(db):
        conclude(db, run_id)
    for bakeoff_id in bakeoffs.concludable_bakeoffs(db):
        conclude_paused(db, bakeoff_id)
    record_stopped(db)


def _return_messages(db: Database, broker: Broker, lost_after_s: float) -> None:
    for stale in jobs.stale_queues(db, older_s=lost_after_s):
        queue = job_queue(stale.stage, stale.provider)
        if broker.queue_length(queue) == 0:
            lost = jobs.requeue_lost(db, stale, older_s=lost_after_s)
            log.info("reaped %s lost messages of %s", lost, queue)
