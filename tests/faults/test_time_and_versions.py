"""Clocks that are wrong, databases and messages newer than the worker, and workers that must leave."""

import importlib.util
import re
import signal
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fault_oracle import Tally
from fault_scene import Scene, profiles
from patience import PATIENCE_S

from evalq.engines.broker import make_app
from evalq.engines.fleet import job_queue, worker_argv
from evalq.records import CONTROL_QUEUE
from evalq.store.database import known_version

N = 24
FEW = 6  # for a worker that begins anew every two seconds
NewScene = Callable[..., Scene]
Judged = Callable[..., Tally]

NEWER_SCHEMA = "INSERT INTO schema_versions (version, name) VALUES (99, '099_newer')"
OWN_SCHEMA = "DELETE FROM schema_versions WHERE version = 99"
IN_HAND = """
    SELECT (SELECT count(*) FROM jobs WHERE state = 'leased'),
           (SELECT count(*) FROM call_journal WHERE state = 'sent')
"""
NEWER_WORKER = """
from pathlib import Path
from workers.app import app

@app.task(name="newer_job")
def newer_job(path, queue):
    with Path(path).open("a") as file:
        file.write(queue + "\\n")
"""


def clock(offset: str) -> dict[str, str]:
    """The environment of a process whose wall clock is off for all that runs in it; its stopwatch is not."""
    found = importlib.util.find_spec("libfaketime")
    if found is None or not found.submodule_search_locations:
        pytest.skip("libfaketime comes as a wheel for x86-64 Linux only")
    library = Path(found.submodule_search_locations[0], "vendor", "libfaketime", "src", "libfaketime.so.1")
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": offset,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
        "TZ": "UTC",
    }


def log_of(scene: Scene, name: str) -> str:
    """What a worker has logged so far."""
    return "".join(log.read_text("utf-8") for log in (scene.folder / "logs" / name).glob("worker-*.log"))


def hours_off(scene: Scene, name: str) -> float:
    """How far a worker's clock is off, by the greeting in its log."""
    stamp = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", log_of(scene, name))
    assert stamp
    off = datetime.fromisoformat(stamp[0]).replace(tzinfo=UTC) - datetime.now(UTC)
    return round(off.total_seconds() / 3600, 1)


@pytest.mark.parametrize(("offset", "hours"), [("+1h", 1), ("-1h", -1)])
def test_a_clock_an_hour_off_changes_nothing_beside_a_right_one_or_alone(
    offset: str, hours: int, new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N, lease_s=5.0)
    scene.start("right")
    scene.start_worker("off", **clock(offset))
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(20)
    scene.kill_worker("right")  # what it held must come back by the database's clock
    scene.wait(lambda: scene.state(bakeoff_id) == "concluded")
    assert hours_off(scene, "off") == hours
    judged(scene, bakeoff_id, fault="16 clocks an hour off", same_as=N)


def test_a_bakeoff_recorded_by_a_newer_version_is_left_alone(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    bakeoff_id = scene.bake(scene.plan(N))
    scene.sql("UPDATE bakeoffs SET schema_version = 99")
    [(published,)] = scene.sql("SELECT max(queued_at) FROM jobs")
    scene.start()
    # Every message was taken, left alone, and published again by the reaper.
    scene.wait(lambda: scene.sql("SELECT min(queued_at) > %s FROM jobs", published) == [(True,)])
    assert scene.sql("SELECT count(*) FROM jobs WHERE fence > 0 OR attempt > 0") == [(0,)]
    assert scene.simulator.calls() == []
    scene.sql("UPDATE bakeoffs SET schema_version = %s", known_version())
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="20 newer bake-off", same_as=N)


def test_workers_leave_a_newer_database_with_nothing_in_hand(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(10)
    scene.sql(NEWER_SCHEMA)
    scene.wait(lambda: not scene.pid("w1") and not scene.pid("w2"))
    scene.start_worker("w3")
    scene.wait(lambda: not scene.pid("w3"))
    assert scene.sql(IN_HAND) == [(0, 0)]
    assert scene.n_outcomes() < 2 * N
    scene.sql(OWN_SCHEMA)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="20 newer database", same_as=N)


def test_a_statement_that_is_gone_with_the_old_schema_ends_no_job(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(10)
    [(settle_calls,)] = scene.sql("SELECT pg_get_functiondef('settle_calls'::regproc)")
    scene.in_flight_at_kills = 2 * scene.slots  # each slot pays for at most one answer it cannot store
    scene.sql(f"{NEWER_SCHEMA}; DROP FUNCTION settle_calls")
    scene.wait(lambda: not scene.pid("w1") and not scene.pid("w2"))
    assert scene.sql("SELECT count(*) FROM outcomes WHERE verdict = 'errored'") == [(0,)]
    scene.sql(f"{OWN_SCHEMA}; {settle_calls}")
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="20 newer function", same_as=N)


def newer_argv(index: int, slots: int, queues: Sequence[str]) -> list[str]:
    """The command line of a worker that knows one job more."""
    return ["newer" if word == "workers.app" else word for word in worker_argv(index, slots, queues)]


def test_a_message_for_a_newer_worker_waits_for_it(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    done = scene.folder / "done"
    (scene.folder / "newer.py").write_text(NEWER_WORKER)
    queues = (CONTROL_QUEUE, job_queue("call", "openai"))
    with make_app(scene.engines.broker_url) as producer:
        for queue in queues:
            producer.send_task("newer_job", args=(str(done), queue), queue=queue, ignore_result=True)
    scene.start("w1")
    bakeoff_id = scene.bake(scene.plan(N))
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    # Both were put back, and met again.
    scene.wait(lambda: log_of(scene, "w1").count("job 'newer_job' is not known here") >= 4)
    scene.signal_worker("w1", signal.SIGTERM)
    scene.wait(lambda: not scene.pid("w1"))
    scene.start_worker("newer", argv=newer_argv, PYTHONPATH=str(scene.folder))
    scene.wait(lambda: done.exists() and len(done.read_text().split()) == 2)
    assert set(done.read_text().split()) == set(queues)
    judged(scene, bakeoff_id, fault="20 message for a newer worker", same_as=N)


def test_a_worker_grown_too_large_begins_anew_and_repeats_nothing(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(FEW, lease_s=8.0, slots=4)
    scene.start("w1", EVALQ_FLEET_MEMORY_MB="1")
    pid = scene.pid("w1")
    bakeoff_id = scene.bake(scene.plan(FEW))
    scene.wait(lambda: scene.state(bakeoff_id) == "concluded")
    scene.wait(lambda: log_of(scene, "w1").count("MB in use, 1 allowed") >= 2)
    assert scene.pid("w1") == pid
    judged(scene, bakeoff_id, fault="21 memory growth", same_as=FEW)


def test_a_worker_that_cannot_drain_in_time_puts_its_jobs_back_and_ends(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N, lease_s=20, latency_ms=30_000)
    scene.start("w1", EVALQ_FLEET_DRAIN_S="1")
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait(lambda: scene.simulator.ledger()["requests"] == scene.slots)
    scene.simulator.set_profiles(profiles(80))
    scene.in_flight_at_kills = scene.slots
    scene.signal_worker("w1", signal.SIGTERM)
    scene.wait(lambda: not scene.pid("w1"), timeout_s=PATIENCE_S)
    assert scene.sql(IN_HAND) == [(0, scene.slots)]
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    found = judged(scene, bakeoff_id, fault="04 SIGTERM, overtime", same_as=N)
    assert found.repeated == scene.slots
    assert scene.sql("SELECT count(*) FROM call_journal WHERE fault_kind = 'lost'") == [(scene.slots,)]
