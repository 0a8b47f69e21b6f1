"""Recovery: leases that ran out, messages that vanished, runs that nobody concluded."""

from collections.abc import Callable
from typing import Any

import pytest
import redis

from evalq.bakeoff.publish import open_chords, pump_all
from evalq.bakeoff.recover import reap as reap_after
from evalq.engines.broker import Broker
from evalq.store import bakeoffs, jobs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]

QUEUE = "calls.simulated"
STATES = "SELECT state, count(*) FROM jobs GROUP BY state ORDER BY state"
LOST_AFTER_S = 15.0
AGE = "UPDATE jobs SET queued_at = now() - make_interval(secs => %s)"


def reap(db: Database, broker: Broker) -> None:
    reap_after(db, broker, lost_after_s=LOST_AFTER_S)


@pytest.fixture
def published(db: Database, broker: Broker, record: Callable[..., int]) -> int:
    """A bake-off of four jobs whose messages are out."""
    bakeoff_id = record(4)
    open_chords(db, broker, bakeoff_id)
    pump_all(db, broker)
    return bakeoff_id


def test_an_expired_lease_is_published_again(
    db: Database, broker: Broker, valkey: "redis.Redis", sql: Sql, published: int, job_ids: Ids
) -> None:
    held, lost, *_ = job_ids(published)
    jobs.claim(db, held, lease_s=60)
    jobs.claim(db, lost, lease_s=60)
    valkey.delete(QUEUE)
    sql("UPDATE jobs SET lease_until = now() - interval '1 second' WHERE id = %s", lost)
    reap(db, broker)
    assert sql("SELECT state FROM jobs WHERE id = ANY(%s) ORDER BY id", [held, lost]) == [
        ("leased",),
        ("queued",),
    ]
    assert valkey.llen(QUEUE) == 1


def test_the_work_of_an_expired_lease_is_not_counted_as_an_end(
    db: Database, broker: Broker, sql: Sql, published: int, job_ids: Ids
) -> None:
    first = jobs.claim(db, job_ids(published)[0], lease_s=60)
    sql("UPDATE jobs SET lease_until = now() - interval '1 second' WHERE state = 'leased'")
    reap(db, broker)
    again = jobs.claim(db, job_ids(published)[0], lease_s=60)
    assert first
    assert again
    assert again.fence == first.fence + 1
    assert sql("SELECT count(*) FROM outcomes") == [(0,)]


def test_messages_gone_from_an_empty_queue_are_published_again(
    db: Database, broker: Broker, valkey: "redis.Redis", sql: Sql, published: int
) -> None:
    valkey.flushdb()
    sql(AGE, LOST_AFTER_S + 1)
    reap(db, broker)
    assert sql(STATES) == [("queued", 4)]
    assert valkey.llen(QUEUE) == 4
    assert sql("SELECT count(*) FROM jobs WHERE queued_at > now() - interval '10 seconds'") == [(4,)]


def test_messages_are_given_time_before_they_count_as_lost(
    db: Database, broker: Broker, valkey: "redis.Redis", sql: Sql, published: int
) -> None:
    valkey.flushdb()
    sql(AGE, LOST_AFTER_S / 3)
    reap(db, broker)
    assert valkey.llen(QUEUE) == 0
    assert sql(STATES) == [("queued", 4)]


def test_messages_that_wait_in_their_queue_are_not_lost(
    db: Database, broker: Broker, valkey: "redis.Redis", sql: Sql, published: int
) -> None:
    valkey.rpop(QUEUE, 3)
    sql(AGE, LOST_AFTER_S + 1)
    reap(db, broker)
    assert valkey.llen(QUEUE) == 1
    assert sql("SELECT count(*) FROM jobs WHERE queued_at > now() - interval '10 seconds'") == [(0,)]


def test_a_stopped_bake_off_is_not_published_again(
    db: Database, broker: Broker, valkey: "redis.Redis", sql: Sql, published: int
) -> None:
    valkey.flushdb()
    bakeoffs.move(db, published, "paused", from_states=["running"])
    sql(AGE, LOST_AFTER_S + 1)
    reap(db, broker)
    assert valkey.llen(QUEUE) == 0


def test_a_job_put_back_is_published_when_its_time_has_come(
    db: Database, broker: Broker, valkey: "redis.Redis", sql: Sql, published: int, job_ids: Ids
) -> None:
    job = jobs.claim(db, job_ids(published)[0], lease_s=60)
    assert job
    jobs.release(db, job, wait_s=3600)
    reap(db, broker)
    assert valkey.llen(QUEUE) == 4
    sql("UPDATE jobs SET not_before = now() WHERE state = 'ready'")
    reap(db, broker)
    assert valkey.llen(QUEUE) == 5


def test_a_complete_run_that_nobody_concluded_is_concluded(
    db: Database,
    broker: Broker,
    sql: Sql,
    published: int,
    job_ids: Ids,
    end_job: Callable[..., None],
) -> None:
    for job_id in job_ids(published):
        end_job(job_id)
    assert bakeoffs.get(db, published).state == "running"
    reap(db, broker)
    assert bakeoffs.get(db, published).state == "concluded"
    assert sql("SELECT n_pass FROM eval_runs") == [(4,)]


def test_two_reapers_at_once_publish_and_conclude_once(
    db: Database,
    broker: Broker,
    valkey: "redis.Redis",
    sql: Sql,
    published: int,
    record: Callable[..., int],
    job_ids: Ids,
    end_job: Callable[..., None],
    at_once: Callable[..., list[Any]],
) -> None:
    for job_id in job_ids(complete := record(2)):
        end_job(job_id)
    valkey.flushdb()
    sql("UPDATE jobs SET queued_at = now() - interval '1 hour' WHERE bakeoff_id = %s", published)
    at_once(lambda: reap(db, broker), 2)
    assert valkey.llen(QUEUE) == 4
    assert sql("SELECT bakeoff_id FROM eval_runs") == [(complete,)]
