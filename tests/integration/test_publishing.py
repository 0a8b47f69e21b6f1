"""Publishing: what lies in the broker, how much of it, and that a chord counts each job once."""

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
import redis
from celery import Celery
from patience import PATIENCE_S

from evalq.bakeoff.plan import LARGEST_WINDOW, Plan
from evalq.bakeoff.publish import open_chords, pump, pump_all
from evalq.calling.providers import PROVIDERS
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.broker import Broker
from evalq.engines.fleet import CALL_QUEUES, WorkerFleet
from evalq.engines.job_messages import JobMessage, chord_id, message_id
from evalq.engines.processes import wait_until
from evalq.records import CONTROL_QUEUE, SANDBOX_QUEUE
from evalq.store import bakeoffs, jobs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]

QUEUE = "calls.simulated"
GATE = "simulated/-/sim-a"
COUNTS = "SELECT state, count(*) FROM jobs WHERE gate = %s GROUP BY state ORDER BY state"


def messages(valkey: "redis.Redis", queue: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in valkey.lrange(queue, 0, -1)]


def body_of(message: dict[str, Any]) -> Any:
    return json.loads(base64.b64decode(message["body"]))


def concluding(valkey: "redis.Redis") -> list[list[int]]:
    """The arguments of the conclude messages that wait."""
    waiting = messages(valkey, CONTROL_QUEUE)
    return [body_of(message)[0] for message in waiting if message["headers"]["task"] == "conclude"]


def queued(db: Database) -> list[jobs.QueuedJob]:
    """Mark the next window as queued without publishing it."""
    return jobs.queue_window(db, GATE)


def test_a_job_that_a_late_message_claims_while_it_is_being_published_keeps_its_lease(
    db: Database, sql: Sql, record: Callable[..., int], job_ids: Callable[[int], list[int]]
) -> None:
    (job_id,) = job_ids(record(1))
    blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    published: list[jobs.QueuedJob] = []
    publishing = Thread(target=lambda: published.extend(queued(db)))
    with db.transaction() as tx:
        assert jobs.claim(tx, job_id, lease_s=60)
        publishing.start()
        assert wait_until(lambda: sql(blocked) == [(1,)], timeout_s=PATIENCE_S)
    publishing.join()
    assert published == []
    assert sql("SELECT state, fence FROM jobs") == [("leased", 1)]


def test_jobs_are_published_in_batches(app: Celery) -> None:
    with app.producer_pool.acquire(block=True) as producer:
        assert producer.supports_batch_publish is True


def test_a_message_is_a_member_of_its_runs_chord(
    db: Database,
    broker: Broker,
    valkey: "redis.Redis",
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
) -> None:
    bakeoff_id = record(1)
    assert pump_all(db, broker) == 1
    uid, (run,), (job_id,) = (
        bakeoffs.get(db, bakeoff_id).uid,
        bakeoffs.runs(db, bakeoff_id),
        job_ids(bakeoff_id),
    )
    (message,) = messages(valkey, QUEUE)
    headers, (args, kwargs, embed) = message["headers"], body_of(message)
    task_id = str(message_id(uid, job_id))
    assert (headers["task"], headers["id"], headers["shadow"]) == (
        "run_case",
        task_id,
        f"{bakeoff_id} sim-a case-0000",
    )
    assert (headers["group"], headers["ignore_result"]) == (str(chord_id(uid, run.id)), True)
    assert (headers["eta"], headers["expires"], message["properties"]["correlation_id"]) == (
        None,
        None,
        task_id,
    )
    assert (args, kwargs) == ([job_id], {})
    conclude = embed["chord"]
    assert (conclude["task"], conclude["args"], conclude["immutable"]) == ("conclude", [run.id], True)
    assert conclude["options"]["queue"] == CONTROL_QUEUE


@pytest.mark.parametrize("judge", ["sim-a", 'odd "delivery_tag": "x" \\ \n 模型@short'])
def test_a_rendered_message_is_the_one_that_kombu_writes(app: Celery, judge: str) -> None:
    uid = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    made = [
        jobs.QueuedJob(
            id=number,
            run_id=3,
            bakeoff_id=7,
            case_id=f'odd "id" {uid} \\u0041 \x1b[31m 例 {number}',
            sample=number,
            judge=judge,
            provider="simulated",
            uid=uid,
            stage="call",
            n_jobs=3,
            place=number,
        )
        for number in (1, 20, 300_000_000_000)
    ]
    message = JobMessage(app, made[0])
    with app.producer_pool.acquire(block=True) as producer:
        rendered = [json.loads(message.render(producer, job)) for job in made]
        with producer.channel.capturing() as texts:
            for job in made:
                message.publish(producer, job)
    written = [json.loads(text) for text in texts]
    tags = [one["properties"].pop("delivery_tag") for one in (*rendered, *written)]
    assert rendered == written
    assert len({*tags}) == 2 * len(made)


def test_messages_are_delivered_in_the_order_of_their_jobs(
    db: Database, broker: Broker, valkey: "redis.Redis", record: Callable[..., int], sql: Sql
) -> None:
    record(5)
    pump_all(db, broker)
    ids = [body_of(message)[0][0] for message in reversed(messages(valkey, QUEUE))]
    assert ids == [job_id for (job_id,) in sql("SELECT id FROM jobs ORDER BY position")]


def test_the_ids_of_messages_come_from_the_bake_off_and_the_row_alone() -> None:
    uid = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    assert message_id(uid, 7) == message_id(uid, 7)
    assert message_id(uid, 7).version == 5
    assert len({message_id(uid, 7), message_id(uid, 8), chord_id(uid, 7)}) == 3


def test_messages_hold_ids_only(
    db: Database,
    broker: Broker,
    valkey: "redis.Redis",
    record: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    judge: Callable[..., SimulatedJudge],
) -> None:
    monkeypatch.setenv("SECRET_KEY_OF_A", "sk-secret")
    open_chords(db, broker, record(3, [judge(api_key_env="SECRET_KEY_OF_A")]))
    pump_all(db, broker)
    texts = [text + json.dumps(body_of(json.loads(text))) for text in valkey.lrange(QUEUE, 0, -1)]
    assert len(texts) == 3
    for private in ("sk-secret", "SECRET_KEY_OF_A", "capital", "country", "Answer with"):
        assert not any(private in text for text in texts)


def test_every_provider_has_its_queue_and_the_rest_goes_to_control(
    app: Celery, broker: Broker, valkey: "redis.Redis"
) -> None:
    assert tuple(f"calls.{provider}" for provider in PROVIDERS) == CALL_QUEUES
    assert set(app.amqp.queues) == {*CALL_QUEUES, CONTROL_QUEUE, SANDBOX_QUEUE}
    broker.send("pump", GATE)
    (message,) = messages(valkey, CONTROL_QUEUE)
    assert (message["headers"]["task"], body_of(message)[0]) == ("pump", [GATE])
    assert broker.queue_length(CONTROL_QUEUE) == 1
    assert broker.queue_length(QUEUE) == 0


def test_no_more_than_a_window_is_out_and_its_middle_asks_for_more(
    db: Database, broker: Broker, valkey: "redis.Redis", sql: Sql, record: Callable[..., int]
) -> None:
    record(5000)
    assert pump(db, broker, GATE) == LARGEST_WINDOW == 4096
    assert sql(COUNTS, GATE) == [("queued", 4096), ("ready", 904)]
    assert valkey.llen(QUEUE) == 4096
    assert sql("SELECT position FROM jobs WHERE refill") == [(2047,)]
    assert pump(db, broker, GATE) == 0
    sql("UPDATE jobs SET state = 'leased' WHERE position < 2048")
    assert pump(db, broker, GATE) == 0
    sql("UPDATE jobs SET state = 'done' WHERE position < 2048")
    assert pump(db, broker, GATE) == 904
    assert sql("SELECT position FROM jobs WHERE refill AND position >= 4096") == [(4547,)]


def test_messages_go_out_in_the_shuffled_order(
    db: Database, broker: Broker, valkey: "redis.Redis", sql: Sql, record: Callable[..., int]
) -> None:
    record(50, seed=7)
    pump_all(db, broker)
    # The oldest message is the last of the list.
    sent = [body_of(message)[0][0] for message in reversed(messages(valkey, QUEUE))]
    in_order = [row[0] for row in sql("SELECT id FROM jobs ORDER BY position")]
    assert sent == in_order
    cases = [row[0] for row in sql("SELECT case_id FROM jobs ORDER BY position")]
    assert cases != sorted(cases)


def test_a_full_gate_does_not_hold_another_back(
    db: Database,
    broker: Broker,
    sql: Sql,
    record: Callable[..., int],
    judge: Callable[..., SimulatedJudge],
) -> None:
    record(5000)
    record(3, [judge("sim-b")])
    assert pump_all(db, broker) == 4096 + 3
    assert sql(COUNTS, "simulated/-/sim-b") == [("queued", 3)]


def test_bake_offs_share_a_gate_by_turns(
    db: Database, broker: Broker, sql: Sql, record: Callable[..., int]
) -> None:
    first, second = record(3000), record(3000)
    pump_all(db, broker)
    shares = sql("SELECT bakeoff_id, count(*) FROM jobs WHERE state = 'queued' GROUP BY 1 ORDER BY 1")
    assert shares == [(first, 2048), (second, 2048)]


@pytest.mark.parametrize("state", ["paused", "cancelled"])
def test_a_stopped_bake_off_does_not_fill_the_window_of_the_next(
    db: Database, broker: Broker, record: Callable[..., int], state: Any
) -> None:
    stopped = record(4200)
    pump_all(db, broker)
    bakeoffs.move(db, stopped, state, from_states=["running"])
    record(3)
    assert pump_all(db, broker) == 3


def test_pumps_at_once_publish_each_job_once(
    db: Database,
    broker: Broker,
    valkey: "redis.Redis",
    record: Callable[..., int],
    at_once: Callable[..., list[Any]],
) -> None:
    record(200)
    assert sum(at_once(lambda: pump_all(db, broker), 4)) == 200
    assert valkey.llen(QUEUE) == 200


def test_a_job_delivered_twice_counts_once_in_its_chord(
    db: Database,
    broker: Broker,
    valkey: "redis.Redis",
    sql: Sql,
    record: Callable[..., int],
    start_worker: Callable[..., WorkerFleet],
) -> None:
    open_chords(db, broker, record(2))
    first, second = queued(db)
    broker.publish([first, first])
    start_worker(CALL_QUEUES)  # nobody serves control: what the chord sends stays to be seen
    assert wait_until(lambda: bool(sql("SELECT 1 FROM outcomes")), timeout_s=PATIENCE_S)
    assert wait_until(lambda: not valkey.exists(QUEUE, "unacked"), timeout_s=PATIENCE_S)
    assert sql("SELECT job_id, attempts FROM outcomes") == [(first.id, 1)]
    assert concluding(valkey) == []
    broker.publish([second, first])
    assert wait_until(lambda: concluding(valkey) == [[first.run_id]], timeout_s=PATIENCE_S)
    assert wait_until(lambda: not valkey.exists(QUEUE, "unacked"), timeout_s=PATIENCE_S)
    assert concluding(valkey) == [[first.run_id]]


def test_a_real_chord_ends_in_the_runs_row(
    db: Database,
    broker: Broker,
    sql: Sql,
    record: Callable[..., int],
    start_worker: Callable[..., WorkerFleet],
) -> None:
    bakeoff_id = record(20)
    open_chords(db, broker, bakeoff_id)
    pump_all(db, broker)
    start_worker()
    assert wait_until(lambda: bakeoffs.get(db, bakeoff_id).state == "concluded", timeout_s=PATIENCE_S)
    assert sql("SELECT judge_model, n_cases, n_pass + n_fail FROM eval_runs") == [("sim-a", 20, 20)]
    assert sql("SELECT state, count(*) FROM jobs GROUP BY state") == [("done", 20)]
    assert sql("SELECT state, count(*) FROM call_journal GROUP BY state") == [("settled", 20)]


def test_what_somebody_waits_for_goes_before_drift_checks(
    db: Database, broker: Broker, sql: Sql, plan: Callable[..., Plan]
) -> None:
    for run_type in ("drift_check", "smoke"):
        with db.transaction() as tx:
            bakeoffs.add(tx, plan(3000), bakeoffs.Terms(Decimal(5), run_type))
    pump(db, broker, GATE)
    queued = "SELECT bakeoff_id, count(*) FROM jobs WHERE state = 'queued' GROUP BY 1 ORDER BY 1"
    assert sql(queued) == [(1, 1096), (2, 3000)]
