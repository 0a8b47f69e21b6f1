"""Workers killed, stopped and stalled at every step of a job."""

import signal
from collections.abc import Callable
from typing import Any, get_args

import pytest
from fault_oracle import Tally, report
from fault_scene import Scene

from evalq.calling.failpoints import FailpointName

N = 24
LEASE_S = 5.0  # short, since a dead worker holds its jobs for as long; a starved one must still renew it
NewScene = Callable[..., Scene]
Judged = Callable[..., Tally]

NUMBERS = {
    "before_send": "01a kill before send",
    "after_send": "01b kill after send",
    "after_answer": "01c kill after answer, before commit",
}
LOST_CALLS = "SELECT count(*) FROM call_journal WHERE fault_kind = 'lost'"


@pytest.mark.parametrize("place", get_args(FailpointName))
def test_a_worker_killed_at_any_step_loses_nothing(
    place: FailpointName, new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N, lease_s=LEASE_S)
    scene.start_beat()
    count = 1 if place.startswith("conclude") else 12
    scene.start_worker("w1", EVALQ_FAILPOINTS=f"{place}={count}")
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait(lambda: not scene.pid("w1"))  # it has died where it was told to
    scene.in_flight_at_kills = scene.slots
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault=NUMBERS.get(place, f"22 kill at {place}"), same_as=N)


def test_a_call_killed_after_it_was_sent_is_one_ambiguous_line_and_one_repeat(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(1, slots=1, lease_s=LEASE_S)
    scene.start_beat()
    scene.start_worker("w1", EVALQ_FAILPOINTS="after_send=1")
    bakeoff_id = scene.bake(scene.plan(1, judges=["good"]))
    scene.wait(lambda: not scene.pid("w1"))
    scene.in_flight_at_kills = 1
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    found = judged(scene, bakeoff_id, fault="01b kill after send")
    assert found.repeated == 1
    assert scene.sql("SELECT purpose, state, fault_kind FROM call_journal ORDER BY id") == [
        ("answer", "unknown", "lost"),
        ("answer", "settled", None),
        ("grade", "settled", None),
    ]


def test_a_worker_killed_whole_loses_nothing(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N, lease_s=LEASE_S)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(10)
    scene.kill_worker("w1")
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="02 kill -9 of a whole worker", same_as=N)


def test_a_worker_stalled_beyond_its_lease_can_write_no_more(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N, latency_ms=150, lease_s=LEASE_S)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(10)
    scene.wait(lambda: scene.sql("SELECT count(*) FROM jobs WHERE state = 'leased'")[0][0] > scene.slots)
    scene.note_in_flight()
    scene.signal_worker("w1", signal.SIGSTOP)
    scene.wait(lambda: scene.state(bakeoff_id) == "concluded")
    scene.signal_worker("w1", signal.SIGCONT)
    # What it had in hand comes home late: settled in the journal, rejected by the fence.
    scene.wait(lambda: scene.sql(LOST_CALLS) == [(0,)] or not scene.pid("w1"))
    judged(scene, bakeoff_id, fault="03 SIGSTOP beyond the lease", same_as=N)


def test_a_worker_told_to_stop_brings_its_calls_home_first(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N, latency_ms=300)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(10)
    scene.signal_worker("w1", signal.SIGTERM)
    scene.wait(lambda: not scene.pid("w1"))
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    found = judged(scene, bakeoff_id, fault="04 SIGTERM during a call", same_as=N)
    assert found.repeated == 0
    assert scene.sql(LOST_CALLS) == [(0,)]


def test_beat_killed_and_started_again_changes_nothing(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N, lease_s=LEASE_S)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(5)
    scene.kill_worker("beat")
    scene.kill_worker("w1")
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="23 kill -9 of beat and a worker", same_as=N)


def without(case_id: str, verdicts: list[Any]) -> list[Any]:
    return [verdict for verdict in verdicts if verdict[1] != case_id]


def test_a_case_that_kills_its_worker_ends_errored_and_the_others_as_if_nothing_had_happened(
    new_scene: NewScene, judged: Judged, fault_free: Callable[[int], Any]
) -> None:
    poison = "case-0003"
    scene = new_scene(N, lease_s=LEASE_S, lasting={"EVALQ_FAILPOINTS": f"before_outcome@{poison}"})
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N), ambiguous_repeats=3)
    scene.in_flight_at_kills = 2 * 2 * scene.slots  # each judge's poisoned job may take both workers with it
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="19 poison case")
    ended = scene.sql("SELECT error_kind, message FROM outcomes WHERE case_id = %s", poison)
    assert ended == [("worker_lost", "its worker died 3 times with this job in hand")] * 2
    assert without(poison, report(scene, bakeoff_id)["verdicts"]) == without(
        poison, fault_free(N)["verdicts"]
    )


def test_a_function_that_aborts_takes_only_the_first_worker_with_it(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N, lease_s=LEASE_S)
    (scene.folder / "aborting.py").write_text(
        "import os\n"
        "def answer(inputs):\n"
        "    if inputs['country'].endswith(' 3'):\n"
        "        os.abort()\n"
        "    return inputs['country'].replace('country', 'capital')\n"
    )
    scene.lasting["PYTHONPATH"] = str(scene.folder)
    scene.start("w1")
    function = {"provider": "python", "callable": "aborting:answer", "price": {"input": 0, "output": 0}}
    bakeoff_id = scene.bake(scene.plan(N, judges=["good", "function"], others={"function": function}))
    scene.in_flight_at_kills = scene.slots
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="19 aborting judge")
    errored = "SELECT case_id, error_kind FROM outcomes WHERE verdict = 'errored'"
    assert scene.sql(errored) == [("case-0003", "call_permanent")]
