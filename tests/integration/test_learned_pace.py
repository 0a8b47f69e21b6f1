"""What the limiter learns from 429s and failures: a pace for the fleet, and whether a judge is dead."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from driven_gatekeeper import DrivenGatekeeper, MakeGatekeeper, driven_gatekeepers

from evalq.definitions.judge import SimulatedJudge
from evalq.errors import ProviderFault, PutBack
from evalq.records import CaseContext, Completion, Prompt, RateHints, Usage

Judge = Callable[..., SimulatedJudge]

# Waits are rounded up to a millisecond.
SLACK = 0.002


def prompt() -> Prompt:
    return Prompt("", "x" * 252, 100, CaseContext("t", "c"))


def answered(**fields: Any) -> Completion:
    return Completion("answered", "x", Usage(100, 100), **fields)


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


def test_a_429_teaches_a_pace_and_the_gate_reopens_slowly(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis", waits: list[float]
) -> None:
    permits = [gatekeeper.take(judge(), prompt()) for _ in range(12)]
    for permit in permits[:10]:
        gatekeeper.answered(permit, answered())
    for permit in permits[10:]:
        gatekeeper.failed(permit, ProviderFault("rate", "slow down", retry_after_s=5.0))
    key = f"evalq:gate:{judge().gate}"
    assert float(valkey.hget(key, "pace") or 0) == pytest.approx(600, rel=0.2)
    assert valkey.hget(key, "epoch") == "1", "calls granted together lower the pace once"
    valkey.hset(key, mapping={"closed_until": 1, "next.pace": 1})  # the closure is over
    for _ in range(4):
        gatekeeper.take(judge(), prompt())
    assert waits == pytest.approx([0.1, 0.2, 0.3], abs=SLACK)


def test_a_pace_grows_while_calls_wait_for_it_and_are_answered(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    key = f"evalq:gate:{judge().gate}"
    valkey.hset(key, mapping={"pace": 6000, "top": 60000, "grown_at": 1})
    permits = [gatekeeper.take(judge(), prompt()) for _ in range(5)]
    for permit in permits:
        gatekeeper.answered(permit, answered())
    assert float(valkey.hget(key, "pace") or 0) > 6000


def test_a_caller_the_pace_cannot_serve_soon_leaves_its_slot(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    valkey.hset(f"evalq:gate:{judge().gate}", "pace", 6)  # one in ten seconds
    backs = []
    for _ in range(5):
        try:
            gatekeeper.take(judge(), prompt())
        except PutBack as exc:
            backs.append(exc.wait_s)
    assert len(backs) >= 2
    assert backs == sorted(backs)
    assert max(backs) <= 60


def test_a_429_costs_no_retry(gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis") -> None:
    valkey.hset(f"evalq:gate:{judge().gate}", "retries", 0)
    state = gatekeeper.failed(gatekeeper.take(judge(), prompt()), ProviderFault("rate", "slow down"))
    assert state.is_within_budget


def test_two_servers_of_a_provider_have_budgets_of_their_own(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    valkey.hset(f"evalq:gate:{judge('a', model='broken').gate}", "retries", 0)
    fault = ProviderFault("permanent", "x")
    assert gatekeeper.failed(gatekeeper.take(judge("b", model="fine"), prompt()), fault).is_within_budget


def test_a_judge_that_answers_nothing_for_long_is_dead_and_starts_afresh_after(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    key = f"evalq:gate:{judge().gate}"
    fault = ProviderFault("transient", "refused", is_unreachable=True)
    permits = [gatekeeper.take(judge(), prompt()) for _ in range(7)]
    for permit in permits[:5]:
        assert not gatekeeper.failed(permit, fault).is_dead
    valkey.hincrbyfloat(key, "failing_since", -11_000)  # eleven seconds later
    state = gatekeeper.failed(permits[5], fault)
    assert (state.is_dead, state.failures) == (True, 6)
    assert not gatekeeper.failed(permits[6], fault).is_dead


def test_an_answer_ends_the_count_of_failures(
    gatekeeper: DrivenGatekeeper, judge: Judge, valkey: "redis.Redis"
) -> None:
    gatekeeper.failed(gatekeeper.take(judge(), prompt()), ProviderFault("transient", "x"))
    gatekeeper.answered(gatekeeper.take(judge(), prompt()), answered())
    assert not valkey.hget(f"evalq:gate:{judge().gate}", "failures")


def test_an_odd_limit_in_a_header_still_allows_a_call_a_minute(
    gatekeeper: DrivenGatekeeper, judge: Judge, waits: list[float]
) -> None:
    permit = gatekeeper.take(judge(), prompt())
    gatekeeper.answered(permit, answered(rate_hints=RateHints(input_tpm=1)))
    gatekeeper.take(judge(), prompt())
    with pytest.raises(PutBack) as caught:
        gatekeeper.take(judge(), prompt())
    assert caught.value.wait_s <= 60
