"""The pool and the transports in a real Celery worker: acknowledging, draining, revoking, limits, events."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery import Celery
from kombu import Consumer, Producer, Queue
from patience import PATIENCE_S

from evalq.engines.broker import Broker
from evalq.engines.embedded import Engines
from evalq.engines.job_messages import message_id
from evalq.store.jobs import QueuedJob

SLOTS = 3
QUEUE = "calls.openai"

Worker = subprocess.Popen[bytes]


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.02)


@pytest.fixture(params=["batched", "plain"])
def messages(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def start(
    engines: Engines, valkey: "redis.Redis", messages: str, tmp_path: Path
) -> Iterator[Callable[..., Worker]]:
    """Starts a worker of the tests' application; it is ended after the test."""
    workers: list[Worker] = []

    def run(*options: str) -> Worker:
        root = Path(__file__).resolve().parents[2]
        path = os.pathsep.join([str(root), str(root / "tests" / "helpers")])
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": path}
        env |= {"EVALQ_BROKER_URL": engines.broker_url, "MESSAGES": messages}
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING"]
        argv = [
            "-c",
            str(SLOTS),
            "-Q",
            f"{QUEUE},control",
            "-n",
            f"pool-{len(workers)}@here",
            *quiet,
            *options,
        ]
        with (tmp_path / "worker.log").open("ab") as log:
            workers.append(
                subprocess.Popen(
                    [sys.executable, "-P", "-m", "workers.process", "pool_app", "worker", *argv],
                    env=env,
                    stdout=log,
                    stderr=log,
                )
            )
        return workers[-1]

    yield run
    valkey.delete("door")
    for worker in workers:
        worker.kill()
        worker.wait()


@pytest.fixture
def send(app: Celery) -> Callable[..., str]:
    def send_task(name: str, number: int, **options: Any) -> str:
        return str(app.send_task(name, args=(number,), queue=QUEUE, ignore_result=True, **options).id)

    return send_task


def started(valkey: "redis.Redis") -> list[str]:
    return list(valkey.lrange("started", 0, -1))


def is_idle(valkey: "redis.Redis") -> bool:
    """Whether every message was taken and acknowledged."""
    return not valkey.llen(QUEUE) and not valkey.hlen("unacked") and not valkey.zcard("unacked_index")


def test_each_message_is_run_once_and_acknowledged(start, send, valkey) -> None:
    start()
    for number in range(300):
        send("run_case", number)
    wait_until(lambda: valkey.llen("ended") == 300, "300 jobs end")
    wait_until(lambda: is_idle(valkey), "all messages are acknowledged")
    assert sorted(map(int, started(valkey))) == list(range(300))


def test_a_worker_takes_no_more_than_it_has_room_for(start, send, valkey) -> None:
    valkey.set("door", "shut")
    for number in range(20):
        send("run_case", number)
    start()
    wait_until(lambda: valkey.llen("started") == 2 * SLOTS, "the worker is full")
    assert valkey.llen(QUEUE) == 20 - 2 * SLOTS
    assert valkey.hlen("unacked") == 2 * SLOTS
    valkey.delete("door")
    wait_until(lambda: valkey.llen("ended") == 20, "the others follow")


def test_a_message_that_nobody_acknowledges_leaves_no_receipt(valkey, app: Celery) -> None:
    with app.connection() as connection, connection.channel() as channel:
        queue = Queue("replies", channel=channel)
        queue.declare()
        Producer(channel).publish({"ok": "pong"}, routing_key="replies", exchange="")
        came: list[object] = []
        with Consumer(channel, [queue], callbacks=[lambda body, _: came.append(body)], no_ack=True):
            connection.drain_events(timeout=PATIENCE_S)
    assert came == [{"ok": "pong"}]
    assert not valkey.hlen("unacked")


def test_messages_of_a_killed_worker_can_be_restored(start, send, valkey, app: Celery) -> None:
    valkey.set("door", "shut")
    for number in range(4):
        send("run_case", number)
    worker = start()
    wait_until(lambda: valkey.llen("started") == 4, "all are in hand")
    worker.kill()
    worker.wait()
    assert valkey.hlen("unacked") == 4
    with app.connection() as connection:
        channel = connection.default_channel
        for tag in valkey.hkeys("unacked"):
            channel.qos.restore_by_tag(tag)
    assert valkey.llen(QUEUE) == 4
    valkey.delete("door")
    start()
    wait_until(lambda: valkey.llen("ended") == 4, "another worker runs them")


def test_sigterm_lets_jobs_in_hand_end_and_leaves_the_rest(start, send, valkey) -> None:
    valkey.set("door", "shut")
    for number in range(20):
        send("run_case", number)
    worker = start()
    wait_until(lambda: valkey.llen("started") == 2 * SLOTS, "the worker is full")
    worker.send_signal(signal.SIGTERM)
    valkey.delete("door")
    assert worker.wait(PATIENCE_S) == 0
    ended = valkey.llen("ended")
    assert ended == valkey.llen("started")
    assert valkey.llen(QUEUE) + ended == 20
    assert valkey.hlen("unacked") == 0


def test_a_revoked_job_is_not_run(start, send, valkey, app: Celery) -> None:
    valkey.set("door", "shut")
    start()
    for number in range(2 * SLOTS):
        send("run_case", number)
    wait_until(lambda: valkey.llen("started") == 2 * SLOTS, "the worker is full")
    waiting = send("run_case", 99)
    wait_until(lambda: app.control.ping(timeout=1), "the worker answers")
    app.control.revoke(waiting, reply=True, timeout=PATIENCE_S, limit=1)
    valkey.delete("door")
    send("run_case", 100)
    wait_until(lambda: "100" in valkey.lrange("ended", 0, -1), "a later job ends")
    wait_until(lambda: is_idle(valkey), "all messages are acknowledged")
    assert "99" not in started(valkey)


def test_a_running_job_can_be_cancelled(start, send, valkey, app: Celery) -> None:
    start()
    task_id = send("wait_for_ever", 7)
    wait_until(lambda: started(valkey) == ["7"], "the job runs")
    wait_until(lambda: app.control.ping(timeout=1), "the worker answers")
    app.control.revoke(task_id, terminate=True, reply=True, timeout=PATIENCE_S, limit=1)
    wait_until(lambda: valkey.lrange("cancelled", 0, -1) == ["7"], "the job is cancelled")
    wait_until(lambda: is_idle(valkey), "its message is acknowledged")


@pytest.mark.parametrize("limit", ["time_limit", "soft_time_limit"])
def test_a_job_beyond_its_time_limit_is_cancelled(start, send, valkey, limit: str) -> None:
    start()
    send("wait_for_ever", 7, **{limit: 1})
    send("run_case", 8)
    wait_until(lambda: valkey.lrange("cancelled", 0, -1) == ["7"], "the job is cancelled")
    wait_until(lambda: is_idle(valkey), "its message is acknowledged")
    assert valkey.lrange("ended", 0, -1) == ["8"]


def test_remote_control_sees_the_jobs_in_hand(start, send, valkey, app: Celery) -> None:
    valkey.set("door", "shut")
    start()
    task_id = send("run_case", 1)
    wait_until(lambda: started(valkey) == ["1"], "the job runs")
    wait_until(lambda: app.control.ping(timeout=1), "the worker answers")
    inspect = app.control.inspect(timeout=PATIENCE_S, limit=1)
    assert [job["id"] for job in inspect.active()["pool-0@here"]] == [task_id]
    pool = inspect.stats()["pool-0@here"]["pool"]
    assert (pool["max-concurrency"], pool["open"]) == (SLOTS, 1)


def test_events_tell_how_jobs_went(start, send, app: Celery) -> None:
    seen: list[tuple[str, str]] = []
    start("-E")
    wait_until(lambda: app.control.ping(timeout=1), "the worker answers")
    with app.connection() as connection:
        receiver = app.events.Receiver(
            connection, handlers={"*": lambda e: seen.append((e["type"], e["uuid"]))}
        )
        with receiver.consumer_context(wakeup=False) as (listening, _, _):
            with suppress(TimeoutError):
                listening.drain_events(timeout=1)  # subscribes
            good, bad, errored, back = send("run_case", 1), send("fail", 2), send("end", 1), send("end", 2)
            wanted = {(f"task-{kind}", good) for kind in ("received", "started", "succeeded")}
            wanted |= {("task-failed", bad), ("task-failed", errored), ("task-retried", back)}
            deadline = time.monotonic() + PATIENCE_S
            while not wanted <= set(seen) and time.monotonic() < deadline:
                with suppress(TimeoutError):
                    listening.drain_events(timeout=1)
    assert wanted <= set(seen)
    assert {("task-succeeded", errored), ("task-succeeded", back)}.isdisjoint(seen)


def test_a_chord_is_concluded_once_though_parts_come_twice(start, valkey, broker: Broker) -> None:
    uid, n_jobs = uuid4(), 40
    jobs = [QueuedJob(n, 5, 7, f"case-{n}", 1, "j", "openai", "call", n_jobs, uid, n) for n in range(n_jobs)]
    broker.open_chord(uid, 5, n_jobs)
    broker.publish([*jobs[:-1], *jobs[:15]])
    start()
    wait_until(lambda: valkey.llen("ended") == n_jobs + 14, "all but one end, some of them twice")
    wait_until(lambda: is_idle(valkey), "all messages are acknowledged")
    assert valkey.llen("concluded") == 0
    broker.publish(jobs[-1:])
    wait_until(lambda: valkey.lrange("concluded", 0, -1) == ["5"], "the last part concludes it")
    broker.publish(jobs[:5])
    wait_until(lambda: valkey.llen("ended") == n_jobs + 20, "late copies end")
    wait_until(lambda: is_idle(valkey) and not valkey.llen("control"), "nothing is left")
    assert valkey.lrange("concluded", 0, -1) == ["5"]


def test_a_message_without_a_readable_tag_is_run_too(start, valkey, broker: Broker) -> None:
    """The fetch finds the tag by a pattern in kombu's text; where it does not, the plain way serves."""
    uid = uuid4()
    broker.publish([QueuedJob(1, 5, 7, "case-1", 1, "j", "openai", "call", 1, uid, 1)])
    text = valkey.lpop(QUEUE)
    assert '"delivery_tag": "' in text, "kombu writes its messages differently: adapt fetch_messages.lua"
    valkey.lpush(QUEUE, text.replace('"delivery_tag": "', '"delivery_tag" : "'))
    start()
    wait_until(lambda: valkey.llen("ended") == 1, "the job ends")
    wait_until(lambda: is_idle(valkey), "its message is acknowledged")
    assert message_id(uid, 1)
