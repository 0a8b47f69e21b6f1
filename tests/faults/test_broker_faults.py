"""Valkey killed, emptied and stalled; messages multiplied and dropped."""

import os
import signal
from collections.abc import Callable, Sequence

from fault_moments import mid_call, n_asked
from fault_oracle import Tally, ledger_usd
from fault_scene import Scene

from evalq.bakeoff import publish as enqueue
from evalq.engines.broker import Broker
from evalq.store.database import Database
from evalq.store.jobs import QueuedJob

N = 60  # more than the slots of two workers and what they have in hand
N_JOBS = 2 * N
QUEUE = "calls.openai"
NewScene = Callable[..., Scene]
Judged = Callable[..., Tally]

ANSWERED = "SELECT count(*) FROM call_journal WHERE state = 'settled' AND purpose = 'answer'"
LEASED = "SELECT count(*) FROM jobs WHERE state = 'leased'"
LEASES = "SELECT max(lease_until) FROM jobs WHERE state = 'leased'"


def lose_valkey_in_mid_call(scene: Scene, *, keeps_its_file: bool) -> int:
    """Kill Valkey while every slot waits for an answer, and see that no call leaves while it is away."""
    scene.start()
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(5)
    with mid_call(scene):
        asked = n_asked(scene)
        scene.kill_valkey(keeps_its_file=keeps_its_file)
    # Every answer is stored and wants its verdict from the grader: not without a permit.
    scene.wait(lambda: scene.sql(LEASED) == [(0,)])
    assert scene.sql("SELECT count(*) FROM call_journal WHERE state <> 'settled'") == [(0,)]
    assert n_asked(scene) == asked
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    return bakeoff_id


def test_a_valkey_that_comes_back_empty_is_filled_again_from_postgres(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N)
    bakeoff_id = lose_valkey_in_mid_call(scene, keeps_its_file=False)
    judged(scene, bakeoff_id, fault="05 Valkey kill -9, back empty", same_as=N)


def test_a_valkey_that_comes_back_with_its_file_repeats_nothing(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    bakeoff_id = lose_valkey_in_mid_call(scene, keeps_its_file=True)
    judged(scene, bakeoff_id, fault="05 Valkey kill -9, with its file", same_as=N)


def test_a_flushed_valkey_forgets_messages_but_no_dollar(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    scene.start()
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(5)
    with mid_call(scene), scene.valkey() as valkey:
        assert valkey.llen(QUEUE) > 0
        valkey.flushall()
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="06 FLUSHALL in mid-run", same_as=N)
    assert scene.sql("SELECT spent_usd, reserved_usd FROM bakeoffs") == [(ledger_usd(scene), 0)]


def test_a_stalled_valkey_gives_no_permits_and_costs_nothing(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    scene.start()
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(5)
    with mid_call(scene) as n_slots:
        asked, answered = n_asked(scene), scene.sql(ANSWERED)[0][0]
        os.kill(scene.engine_pid("valkey"), signal.SIGSTOP)
    try:
        scene.wait(lambda: scene.sql(ANSWERED) == [(answered + n_slots,)])
        wait_for_heartbeats(scene, 2)  # the workers live, and hold what they cannot go on with
        assert n_asked(scene) == asked
    finally:
        os.kill(scene.engine_pid("valkey"), signal.SIGCONT)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="07 Valkey stalled", same_as=N)


def wait_for_heartbeats(scene: Scene, n: int) -> None:
    for _ in range(n):
        before = scene.sql(LEASES)
        scene.wait(lambda before=before: scene.sql(LEASES) != before)


class FiveTimes:
    """A broker that sends every message five times, the copies next to each other."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def learned_room(self, gate: str) -> int | None:
        return self._broker.learned_room(gate)

    def publish(self, jobs: Sequence[QueuedJob]) -> None:
        self._broker.publish([job for job in jobs for _ in range(5)])


def test_messages_delivered_five_times_are_worked_on_once(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    bakeoff_id = scene.bake(scene.plan(N), publish=False)
    db = Database(scene.engines.database_url)
    enqueue.open_chords(db, scene.broker, bakeoff_id)
    enqueue.pump_all(db, FiveTimes(scene.broker))
    db.close()
    with scene.valkey() as valkey:
        assert valkey.llen(QUEUE) == 5 * N_JOBS
        scene.start()
        assert scene.wait_for_end(bakeoff_id) == "concluded"
        scene.wait(lambda: valkey.llen(QUEUE) == 0)
    judged(scene, bakeoff_id, fault="10 every message five times", same_as=N)
    assert scene.sql("SELECT max(attempt), max(losses) FROM jobs") == [(1, 0)]


def test_messages_that_never_arrive_are_sent_again(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    bakeoff_id = scene.bake(scene.plan(N))
    with scene.valkey() as valkey:
        for message in valkey.lrange(QUEUE, 0, -1)[::5]:
            valkey.lrem(QUEUE, 1, message)
        assert valkey.llen(QUEUE) == N_JOBS * 4 // 5
    scene.start()
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="11 one message in five dropped", same_as=N)
