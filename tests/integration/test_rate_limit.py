"""The limiter of the fleet: what it grants, how long it makes wait, when it shuts a gate."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from driven_gatekeeper import DrivenGatekeeper, MakeGatekeeper, driven_gatekeepers

from evalq.bakeoff.progress import read_gates
from evalq.calling.rate_limit import MAX_WAIT_S
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.broker import Broker
from evalq.errors import ProviderFault, PutBack
from evalq.records import CaseContext, Completion, Prompt, RateHints, Usage
from evalq.settings import Settings

Judge = Callable[..., SimulatedJudge]

# Waits are rounded up to a millisecond.
SLACK = 0.002


def prompt(characters: int = 252, max_tokens: int = 100) -> Prompt:
    return Prompt("", "x" * characters, max_tokens, CaseContext("t", "c"))


@pytest.fixture
def waits() -> list[float]:
    """How long each permit had to be waited for: nobody really sleeps here."""
    return []


@pytest.fixture
def make_gatekeeper(engines: Any, valkey: "redis.Redis") -> Iterator[MakeGatekeeper]:
    with driven_gatekeepers(engines.broker_url) as make:
        yield make


@pytest.fixture
def gatekeeper(make_gatekeeper: MakeGatekeeper, waits: list[float]) -> DrivenGatekeeper:
    return make_gatekeeper(waits.append)


def answered(usage: Usage | None = None, **fields: Any) -> Completion:
    return Completion("answered", "x", usage or Usage(100, 100), **fields)


def test_a_gate_without_limits_makes_nobody_wait(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    for _ in range(50):
        gatekeeper.take(judge(), prompt())
    assert waits == []


def test_requests_are_spaced_and_a_second_of_them_may_come_at_once(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    for _ in range(4):
        gatekeeper.take(judge(rpm=60.0), prompt())
    assert waits == pytest.approx([1, 2, 3], abs=SLACK)
    waits.clear()
    for _ in range(12):
        gatekeeper.take(judge("quick", rpm=600.0), prompt())
    assert waits == pytest.approx([0.1, 0.2], abs=SLACK)


def test_judges_of_one_gate_share_its_limit_and_others_do_not(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    for name in ("a", "b"):
        gatekeeper.take(judge(name, model="same", rpm=60.0), prompt())
    assert waits == pytest.approx([1], abs=SLACK)
    gatekeeper.take(judge("d", model="another", rpm=60.0), prompt())
    assert len(waits) == 1


def test_two_processes_share_the_limit(
    make_gatekeeper: MakeGatekeeper, gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    other = make_gatekeeper(waits.append)
    for keeper in (gatekeeper, other, gatekeeper):
        keeper.take(judge(rpm=60.0), prompt())
    assert waits == pytest.approx([1, 2], abs=SLACK)


def test_input_tokens_are_limited_and_corrected_when_settled(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    limited = judge(input_tpm=6000)  # 100 tokens a second; a prompt of 252 characters is taken for 100
    first = gatekeeper.take(limited, prompt())
    gatekeeper.answered(first, answered(Usage(600, 5)))  # it really took 600: five seconds more
    gatekeeper.take(limited, prompt())
    assert waits == pytest.approx([6], abs=SLACK)


def test_unused_output_tokens_come_back(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    limited = judge(output_tpm=6000)
    first = gatekeeper.take(limited, prompt(max_tokens=1000))  # ten seconds of the limit set aside
    gatekeeper.answered(first, answered(Usage(1, 50)))
    gatekeeper.take(limited, prompt(max_tokens=1000))
    assert waits == pytest.approx([0.5], abs=SLACK)


def test_concurrency_is_counted_until_settled(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    narrow = judge(concurrency=2)
    permits = [gatekeeper.take(narrow, prompt()) for _ in range(2)]
    with pytest.raises(PutBack):
        gatekeeper.take(narrow, prompt())
    gatekeeper.give_back(permits[0])
    waits.clear()
    gatekeeper.take(narrow, prompt())
    assert waits == []


def test_a_slot_whose_holder_died_comes_back(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    narrow = judge(concurrency=1)
    gatekeeper.take(narrow, prompt())
    key = f"evalq:gate:{narrow.gate}:calls"
    [(call, _)] = valkey.zrange(key, 0, -1, withscores=True)
    valkey.zadd(key, {call: 1})  # given up for dead long ago
    assert gatekeeper.take(narrow, prompt())


def test_a_429_closes_the_gate_for_everyone_until_retry_after(
    make_gatekeeper: MakeGatekeeper, gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    permit = gatekeeper.take(judge(), prompt())
    gatekeeper.failed(permit, ProviderFault("rate", "slow down", retry_after_s=3.0))
    woken: list[float] = []

    def sleep(seconds: float) -> None:
        woken.append(seconds)
        if len(woken) == 1:
            raise TimeoutError  # the first wait is what matters: nobody waits three real seconds

    with pytest.raises(TimeoutError):
        make_gatekeeper(sleep).take(judge(), prompt())
    assert woken == pytest.approx([3], abs=SLACK)


def test_a_long_closure_gives_the_slot_back(gatekeeper: DrivenGatekeeper, judge: Judge) -> None:
    permit = gatekeeper.take(judge(), prompt())
    gatekeeper.failed(permit, ProviderFault("rate", "slow down", retry_after_s=600.0))
    with pytest.raises(PutBack) as caught:
        gatekeeper.take(judge(), prompt())
    assert caught.value.wait_s == pytest.approx(600, abs=SLACK)


def test_a_queue_longer_than_a_slot_may_wait_gives_the_slot_back(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    slow = judge(rpm=6.0)  # one in ten seconds
    for _ in range(3):
        gatekeeper.take(slow, prompt())
    with pytest.raises(PutBack):
        gatekeeper.take(slow, prompt())
    assert waits == pytest.approx([10, 20], abs=SLACK)


def test_a_permit_for_too_late_keeps_no_place(
    make_gatekeeper: MakeGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    slow = judge(rpm=6.0)  # one in ten seconds
    key = f"evalq:gate:{slow.gate}"
    gatekeeper = make_gatekeeper(lambda _: valkey.hdel(key, "closed_until", "pace"))
    gatekeeper.failed(gatekeeper.take(slow, prompt()), ProviderFault("rate", "slow down", retry_after_s=15.0))
    with pytest.raises(PutBack, match="closed for 10 s"):
        gatekeeper.take(slow, prompt())
    assert valkey.zcard(f"{key}:calls") == 0


def test_a_permit_whose_gate_shut_during_the_wait_keeps_no_place(
    make_gatekeeper: MakeGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    slow = judge(rpm=6.0)  # one in ten seconds
    key = f"evalq:gate:{slow.gate}"
    held: list[int] = []

    def sleep(_: float) -> None:
        held.append(valkey.zcard(f"{key}:calls"))
        if len(held) == 2:
            raise TimeoutError  # at the closed gate now: what is held there is what matters
        valkey.hset(key, "closed_until", 1000 * (valkey.time()[0] + 5))

    gatekeeper = make_gatekeeper(sleep)
    gatekeeper.answered(gatekeeper.take(slow, prompt()), answered())
    with pytest.raises(TimeoutError):
        gatekeeper.take(slow, prompt())
    assert held == [1, 0]


def test_who_stops_waiting_gives_back_only_what_was_granted(
    make_gatekeeper: MakeGatekeeper, gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    def wake(_: float) -> None:
        raise PutBack("the worker is stopping")

    narrow = judge(concurrency=1, input_tpm=6000)
    gatekeeper.take(narrow, prompt())
    taken = valkey.hget(f"evalq:gate:{narrow.gate}", "next.input")
    with pytest.raises(PutBack, match="stopping"):
        make_gatekeeper(wake).take(narrow, prompt())
    assert valkey.hget(f"evalq:gate:{narrow.gate}", "next.input") == taken


def test_limits_are_learned_from_headers(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    permit = gatekeeper.take(judge(), prompt())
    gatekeeper.answered(permit, answered(rate_hints=RateHints(rpm=60.0)))
    for _ in range(2):
        gatekeeper.take(judge(), prompt())
    assert waits == pytest.approx([1], abs=SLACK)


def test_the_breaker_opens_when_half_of_ten_calls_fail_and_lets_one_probe_through(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis", waits: list[float]
) -> None:
    for number in range(10):
        permit = gatekeeper.take(judge(), prompt())
        if number % 2:
            gatekeeper.failed(permit, ProviderFault("transient", "overloaded"))
        else:
            gatekeeper.answered(permit, answered())
    key = f"evalq:gate:{judge().gate}"
    assert float(valkey.hget(key, "open_until") or 0) > 0
    valkey.hset(key, "open_until", 1)  # the cool-down is over
    probe = gatekeeper.take(judge(), prompt())
    with pytest.raises(PutBack):
        gatekeeper.take(judge(), prompt())
    gatekeeper.answered(probe, answered())
    waits.clear()
    gatekeeper.take(judge(), prompt())
    assert waits == []


def test_a_failing_probe_opens_the_breaker_for_longer(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    key = f"evalq:gate:{judge().gate}"
    valkey.hset(key, mapping={"open_until": 1, "cool_down": 5000})
    gatekeeper.failed(gatekeeper.take(judge(), prompt()), ProviderFault("ambiguous", "reset"))
    assert float(valkey.hget(key, "cool_down") or 0) == 10_000


def test_calls_under_way_when_the_breaker_opens_do_not_keep_it_open_for_longer(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    for permit in [gatekeeper.take(judge(), prompt()) for _ in range(15)]:
        gatekeeper.failed(permit, ProviderFault("transient", "overloaded"))
    assert float(valkey.hget(f"evalq:gate:{judge().gate}", "cool_down") or 0) == 5_000


@pytest.mark.parametrize("kind", ["permanent", "never made"])
def test_a_probe_that_says_nothing_of_the_provider_leaves_the_next_one_to_try(
    kind: str, gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis", waits: list[float]
) -> None:
    valkey.hset(f"evalq:gate:{judge().gate}", "open_until", 1)
    probe = gatekeeper.take(judge(), prompt())
    if kind == "permanent":
        gatekeeper.failed(probe, ProviderFault("permanent", "bad request"))
    else:
        gatekeeper.give_back(probe)
    gatekeeper.take(judge(), prompt())
    assert waits == []


def test_mistakes_of_the_caller_do_not_open_the_breaker(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    for _ in range(20):
        gatekeeper.failed(gatekeeper.take(judge(), prompt()), ProviderFault("permanent", "bad request"))
    assert not valkey.hget(f"evalq:gate:{judge().gate}", "open_until")


def test_a_provider_has_a_budget_of_retries_that_successes_refill(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    valkey.hset(f"evalq:gate:{judge().gate}", "retries", 1.95)
    rate = ProviderFault("permanent", "x")  # any fault draws on it; this one shuts no gate
    assert gatekeeper.failed(gatekeeper.take(judge(), prompt()), rate).is_within_budget
    assert not gatekeeper.failed(gatekeeper.take(judge(), prompt()), rate).is_within_budget
    gatekeeper.answered(gatekeeper.take(judge(), prompt()), answered())
    assert gatekeeper.failed(gatekeeper.take(judge(), prompt()), rate).is_within_budget


def test_a_call_that_was_never_made_costs_no_retry(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    valkey.hset(f"evalq:gate:{judge().gate}", "retries", 1)
    gatekeeper.give_back(gatekeeper.take(judge(), prompt()))
    assert valkey.hget(f"evalq:gate:{judge().gate}", "retries") == "1"


def test_a_call_that_was_never_made_gives_its_request_back(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    slow = judge(rpm=5.0)
    gatekeeper.give_back(gatekeeper.take(slow, prompt()))
    gatekeeper.take(slow, prompt())
    assert waits == []


def test_without_a_broker_there_is_no_permit(judge: Judge) -> None:
    unreachable = driven_gatekeepers("redis://127.0.0.1:1/0")
    with unreachable as make, pytest.raises(PutBack, match="no limiter, no call"):
        make().take(judge(), prompt())


def test_the_gates_are_shown_live(gatekeeper: DrivenGatekeeper, broker: Broker, judge: Judge) -> None:
    limited = judge("shown", rpm=600.0)
    gatekeeper.take(limited, prompt())
    gatekeeper.failed(
        gatekeeper.take(limited, prompt()), ProviderFault("rate", "x", retry_after_s=MAX_WAIT_S)
    )
    [gate] = read_gates(broker, Settings(judges={"shown": limited}))
    shown = gate.document()
    assert shown["limit"]["rpm"] == 600
    assert shown["used_rpm"] == 2
    assert shown["in_flight"] == 1
    assert shown["closed_until"]


def test_a_learned_number_of_calls_in_flight_is_shown_unless_the_judge_has_a_limit(
    gatekeeper: DrivenGatekeeper, broker: Broker, judge: Judge, valkey: "redis.Redis"
) -> None:
    free = judge("free")
    gatekeeper.take(free, prompt())
    shown = [gate.document()["room"] for gate in read_gates(broker, Settings(judges={"free": free}))]
    valkey.hset(f"evalq:gate:{free.gate}", "room", "89.6")
    shown += [gate.document()["room"] for gate in read_gates(broker, Settings(judges={"free": free}))]
    limited = free.model_copy(update={"concurrency": 4})
    shown += [gate.document()["room"] for gate in read_gates(broker, Settings(judges={"free": limited}))]
    assert shown == [None, 89, None]
