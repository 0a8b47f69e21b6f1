"""Providers that throttle, break off, hang, babble and bill for nothing, and the cap in the middle of it."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from fault_oracle import Tally, ledger_usd, report
from fault_scene import JUDGES, Scene, profiles

from evalq.bakeoff.launch import restart
from evalq.bakeoff.plan import Plan
from evalq.calling.pricing import worst_case_usd
from evalq.definitions.prompt import answer_prompt
from evalq.engines.session import Session
from evalq.grading.scoring import verdict_prompt
from evalq.settings import Settings
from evalq.store.database import Database

N, MANY = 24, 40
NewScene = Callable[..., Scene]
Judged = Callable[..., Tally]

MODELS = (*JUDGES, "marker")
MIX = ("500", "529", "reset_before", "reset_after", "eof", "drip", "hang", "malformed")
DEADLINE_S = 2.0
GIVEN_UP_S = 12.0
"""Far beyond the deadline, for a busy machine; far below the minute that the simulator hangs and drips."""

KEPT = """
    SELECT (SELECT count(*) FROM completions)
         + (SELECT count(*) FROM call_journal WHERE reply_state IS NOT NULL)
"""


def afflict(scene: Scene, faults: Mapping[str, float], *models: str, latency_ms: int = 80) -> None:
    """Have these models, or all, fail in these shares of their calls."""
    known = profiles(latency_ms)
    scene.simulator.set_profiles({name: {**known[name], "faults": dict(faults)} for name in models or known})


def calls_of(scene: Scene, model: str) -> list[dict[str, Any]]:
    """The calls a model got, in the order they came."""
    return [call for call in scene.simulator.calls() if call["model"] == model]


def early_calls(calls: list[dict[str, Any]], *, closed_s: float, grace_s: float) -> int:
    """Calls that came while a 429 had the gate closed; what was under way then has come within the grace."""
    refused = [call["at"] for call in calls if call["status"] == 429]
    assert refused
    return sum(at + grace_s < call["at"] < at + closed_s for at in refused for call in calls)


def excess_calls(calls: list[dict[str, Any]], *, per_s: float, slots: int) -> float:
    """How far the busiest stretch exceeds the rate, a second's burst and the calls under way before it."""
    times = [call["at"] for call in calls]
    return max(
        (last - first + 1) - per_s * (times[last] - times[first]) - per_s - slots
        for first in range(len(times))
        for last in range(first, len(times))
    )


def cap_for(plan: Plan, n_answers: int) -> Decimal:
    """Dollars that so many answers and the grading of one of them may cost at worst."""
    assert plan.grader
    case = plan.evalset.cases[-1]
    answer = max(worst_case_usd(judge, answer_prompt(plan.task, case)) for judge in plan.judges)
    return n_answers * answer + worst_case_usd(plan.grader, verdict_prompt(plan.task, case, ""))


def wait_until_stopped(scene: Scene, bakeoff_id: int) -> str:
    """Wait until the bake-off runs no more and nobody has any of it in hand; its state."""
    state = scene.wait_for_end(bakeoff_id)
    scene.wait(lambda: scene.sql("SELECT count(*) FROM jobs WHERE state = 'leased'") == [(0,)])
    return state


def test_a_429_closes_the_gate_for_the_whole_fleet_and_the_rate_is_kept(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N, slots=4)
    afflict(scene, {"429:seconds=3": 0.1}, "good")
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N, rpm=360))
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    assert early_calls(calls_of(scene, "good"), closed_s=3, grace_s=2) == 0
    assert [model for model in MODELS if excess_calls(calls_of(scene, model), per_s=6, slots=8) > 0] == []
    judged(scene, bakeoff_id, fault="12 429 with Retry-After", same_as=N)


def test_a_storm_of_429_ends_every_case(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    afflict(scene, {"429:seconds=1": 0.3})
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N))
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="12 storm of 429", same_as=N)


def test_every_fault_at_once_changes_no_verdict_if_repeats_are_allowed(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(MANY)
    afflict(scene, {fault: 0.3 / len(MIX) for fault in MIX})
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(MANY, deadline_s=DEADLINE_S), ambiguous_repeats=5)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    assert {call["fault"] for call in scene.simulator.calls()} >= set(MIX)
    longest = scene.sql("SELECT extract(epoch FROM max(settled_at - sent_at)) FROM call_journal")[0][0]
    assert DEADLINE_S < longest < GIVEN_UP_S
    judged(scene, bakeoff_id, fault="13 every fault, 30 %", same_as=MANY, allowed_repeats=None)


def test_every_fault_at_once_invents_no_verdict(
    new_scene: NewScene, judged: Judged, fault_free: Callable[[int], Any]
) -> None:
    scene = new_scene(N)
    afflict(scene, {fault: 0.3 / len(MIX) for fault in MIX})
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(N, deadline_s=DEADLINE_S))
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="13 every fault, 30 %, one repeat", allowed_repeats=None)
    known = fault_free(N)["verdicts"]
    others = {ended[-2:] for ended in report(scene, bakeoff_id)["verdicts"] if ended not in known}
    assert others == {("errored", "call_ambiguous")}


def test_answers_billed_and_lost_are_counted_against_the_cap(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    afflict(scene, {"reset_after": 0.3}, *JUDGES)
    plan = scene.plan(N)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(plan, cap_usd=cap_for(plan, 16))
    assert wait_until_stopped(scene, bakeoff_id) == "capped"
    [(spent,)] = scene.sql("SELECT spent_usd FROM bakeoffs")
    assert 0 < ledger_usd(scene) <= spent <= cap_for(plan, 16)
    assert [call for call in scene.simulator.calls() if call["billed"] and call["fault"]]
    judged(scene, bakeoff_id, fault="14 answered, then reset", allowed_repeats=None)


def test_fifty_slots_at_the_cap_pay_nothing_beyond_it_and_keep_what_was_paid_for(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N, slots=25)
    plan = scene.plan(N)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(plan, cap_usd=cap_for(plan, 10))
    assert wait_until_stopped(scene, bakeoff_id) == "capped"
    ledger = scene.simulator.ledger()
    assert ledger["peak_in_flight"] <= 10
    assert scene.sql(KEPT) == [(ledger["billed"],)]
    judged(scene, bakeoff_id, fault="15 cap reached with 50 slots")
    raise_cap(scene, bakeoff_id, Decimal(5))
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="15 cap reached with 50 slots", same_as=N)


def raise_cap(scene: Scene, bakeoff_id: int, cap_usd: Decimal) -> None:
    """As `evalq resume --max-cost-usd`."""
    db = Database(scene.engines.database_url)
    session = Session(db, scene.engines.broker_url, is_embedded=True, settings=Settings())
    restart(session, bakeoff_id, cap_usd=cap_usd)
    db.close()
