"""Permits asked for at the same time: one script serves many callers, and each as if it came alone."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis
from driven_gatekeeper import FixedTime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalq.calling.gate_batches import GateBatches, PermitRequest, Settlement
from evalq.calling.rate_limit import Gatekeeper, Permit
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.async_scripts import AsyncScripts
from evalq.errors import ProviderFault, PutBack
from evalq.records import CaseContext, Completion, Prompt, Usage

Judge = Callable[..., SimulatedJudge]
Scene = Callable[[AsyncScripts], Awaitable[Any]]

PROMPT = Prompt("", "x" * 252, 100, CaseContext("t", "c"))
ANSWER = Completion("answered", "x", Usage(100, 100))


@pytest.fixture
def play(engines: Any, valkey: "redis.Redis") -> Callable[[Scene], Any]:
    """Runs a scene on an event loop with a connection to the broker."""

    def run(scene: Scene) -> Any:
        async def run_and_close() -> Any:
            scripts = AsyncScripts(engines.broker_url)
            try:
                return await scene(scripts)
            finally:
                await scripts.close()

        return asyncio.run(run_and_close())

    return run


async def sleep_less(seconds: float) -> None:
    """A short sleep: many waiting callers should not take their whole time here."""
    await asyncio.sleep(min(seconds, 0.02))


async def leave(_: float) -> None:
    """A caller that has to wait goes away instead."""
    raise PutBack("no place now")


def test_a_thousand_callers_never_hold_more_permits_than_the_concurrency(
    play: Callable[[Scene], Any], judge: Judge, valkey: "redis.Redis"
) -> None:
    narrow = judge(concurrency=50)
    held, most, served = 0, 0, 0

    async def call(keeper: Gatekeeper) -> None:
        nonlocal held, most, served
        permit = await take_patiently(keeper, narrow)
        held += 1
        most = max(most, held)
        await asyncio.sleep(0)
        held -= 1
        served += 1
        await keeper.answered(permit, ANSWER)

    async def scene(scripts: AsyncScripts) -> None:
        keeper = Gatekeeper(scripts, sleep=sleep_less)
        await asyncio.gather(*(call(keeper) for _ in range(1000)))
        await keeper.drain()

    play(scene)
    assert served == 1000
    assert 0 < most <= 50
    assert valkey.zcard(f"evalq:gate:{narrow.gate}:calls") == 0


async def take_patiently(keeper: Gatekeeper, judge: SimulatedJudge) -> Permit:
    while True:
        try:
            return await keeper.take(judge, PROMPT)
        except PutBack:
            continue


def test_two_gatekeepers_at_one_broker_share_a_gate(
    play: Callable[[Scene], Any], judge: Judge, engines: Any
) -> None:
    async def scene(scripts: AsyncScripts) -> int:
        others = AsyncScripts(engines.broker_url)
        keepers = [Gatekeeper(scripts, sleep=leave), Gatekeeper(others, sleep=leave)]
        callers = [keepers[number % 2].take(judge(concurrency=7), PROMPT) for number in range(20)]
        taken = await asyncio.gather(*callers, return_exceptions=True)
        await others.close()
        return sum(isinstance(permit, Permit) for permit in taken)

    assert play(scene) == 7


def test_callers_of_several_gates_get_the_answers_of_their_own(
    play: Callable[[Scene], Any], judge: Judge
) -> None:
    judges = [judge(f"j{number}", concurrency=number) for number in (1, 2, 3)]

    async def scene(scripts: AsyncScripts) -> list[int]:
        keeper = Gatekeeper(scripts, sleep=leave)
        asked = judges * 4
        taken = await asyncio.gather(*(keeper.take(one, PROMPT) for one in asked), return_exceptions=True)
        granted = [permit.judge for permit in taken if isinstance(permit, Permit)]
        return [granted.count(one) for one in judges]

    assert play(scene) == [1, 2, 3]


def test_a_settlement_makes_room_for_a_permit_asked_for_after_it(
    play: Callable[[Scene], Any], judge: Judge, valkey: "redis.Redis"
) -> None:
    narrow, waits = judge(concurrency=1), []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    async def scene(scripts: AsyncScripts) -> None:
        valkey.script_flush()  # not even when the server has to be taught the scripts first
        keeper = Gatekeeper(scripts, sleep=note)
        for _ in range(5):
            await keeper.answered(await keeper.take(narrow, PROMPT), ANSWER)
        await keeper.drain()

    play(scene)
    assert waits == []


@pytest.mark.parametrize("moment", ["asking", "sleeping"])
def test_a_caller_that_is_cancelled_gives_its_permit_back(
    moment: str, play: Callable[[Scene], Any], judge: Judge, valkey: "redis.Redis"
) -> None:
    slow = judge(rpm=6.0)  # the second caller is granted a permit for ten seconds later
    asleep = asyncio.Event()

    async def sleep_for_ever(_: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    async def scene(scripts: AsyncScripts) -> None:
        sent = SentScripts(scripts)
        keeper = Gatekeeper(sent, sleep=sleep_for_ever)
        await keeper.answered(await keeper.take(slow, PROMPT), ANSWER)
        await keeper.drain()
        sent.is_sent.clear()
        caller = asyncio.create_task(keeper.take(slow, PROMPT))
        await (sent.is_sent if moment == "asking" else asleep).wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await keeper.drain()

    play(scene)
    key = f"evalq:gate:{slow.gate}"
    assert valkey.zcard(f"{key}:calls") == 0
    assert valkey.hget(key, "granted") == "2", "it had been granted"
    assert valkey.zcard(f"{key}:waiting") == 0


class SentScripts:
    """Scripts that say when one is on its way."""

    def __init__(self, scripts: AsyncScripts) -> None:
        self._scripts = scripts
        self.is_sent = asyncio.Event()

    async def run_script(self, text: str, keys: list[str], args: list[Any]) -> Any:
        self.is_sent.set()
        return await self._scripts.run_script(text, keys, args)


def test_a_429_is_known_to_the_fleet_when_its_caller_goes_on(
    play: Callable[[Scene], Any], judge: Judge, valkey: "redis.Redis"
) -> None:
    async def scene(scripts: AsyncScripts) -> float:
        keeper = Gatekeeper(scripts)
        permits = await asyncio.gather(*(keeper.take(judge(), PROMPT) for _ in range(20)))
        fault = ProviderFault("rate", "slow down", retry_after_s=60.0)
        await asyncio.gather(*(keeper.failed(permit, fault) for permit in permits))
        return float(valkey.hget(f"evalq:gate:{judge().gate}", "epoch") or 0)

    assert play(scene) == 1, "calls granted together lower the pace once"


def test_an_answer_whose_settlement_finds_no_broker_goes_on_and_is_logged(
    play: Callable[[Scene], Any], judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(scripts: AsyncScripts) -> None:
        permit = await Gatekeeper(scripts).take(judge(), PROMPT)
        nowhere = Gatekeeper(AsyncScripts("redis://127.0.0.1:1/0"))
        await nowhere.answered(permit, ANSWER)
        await nowhere.drain()

    play(scene)
    assert "could not be settled" in caplog.text
    assert "cannot be reached" in caplog.text


class Traffic:
    """Random requests and settlements at one gate; the same seed makes the same traffic at any gate."""

    def __init__(self, gate: str, seed: int) -> None:
        self.gate = gate
        self.rng = random.Random(seed)
        self.names = itertools.count(1)
        self.limits = {
            "rpm": self.rng.choice([None, 6.0, 600.0]),
            "input_tpm": self.rng.choice([None, 600.0, 60_000.0]),
            "output_tpm": self.rng.choice([None, None, 6_000.0]),
        }
        self.concurrency = self.rng.choice([None, None, 3])
        self.is_throttled = self.rng.random() < 0.5
        self.granted: list[tuple[PermitRequest, int]] = []
        self.refused: list[PermitRequest] = []

    def requests(self) -> list[PermitRequest]:
        again = [self._again(request) for request in self.refused[:3]]
        self.refused = self.refused[3:]
        return again + [self._request() for _ in range(self.rng.randrange(1, 8))]

    def _again(self, request: PermitRequest) -> PermitRequest:
        return PermitRequest(**{**vars(request), "is_waiting": True})

    def _request(self) -> PermitRequest:
        tokens = self.rng.randrange(1, 300), self.rng.randrange(1, 300)
        life = self.rng.choice([500, 180_000])
        name = f"call-{next(self.names)}"
        return PermitRequest(self.gate, name, *tokens, life=life, concurrency=self.concurrency, **self.limits)

    def settlements(self) -> list[Settlement]:
        self.rng.shuffle(self.granted)
        ended, self.granted = self.granted[:6], self.granted[6:]
        settled_twice = ended[: self.rng.randrange(2)]
        return [self._settlement(request, epoch) for request, epoch in ended + settled_twice]

    def _settlement(self, request: PermitRequest, epoch: int) -> Settlement:
        weights = [3, 1, 1, 1, 1] if self.is_throttled else [3, 0, 3, 1, 1]
        [result] = self.rng.choices(["ok", "rate", "failed", "other", "unused"], weights)
        return Settlement(
            self.gate,
            request.call,
            result,
            epoch,
            request.input,
            self.rng.choice([0, request.input, 900]),
            request.output,
            self.rng.choice([0, request.output, 7]),
            dead_after=self.rng.choice([10_000, 60_000]),
            closed=self.rng.choice([None, 100, 3_000]) if result == "rate" else None,
            hinted_rpm=self.rng.choice([None] * 9 + [60.5]),
            **self.limits,
        )


async def serve(batches: GateBatches, traffic: Traffic, *, is_together: bool, clock: FixedTime) -> list[Any]:
    """Everything the gate replied, to callers that come in batches or one by one."""
    replies: list[Any] = []
    for _ in range(10):
        clock.now_ms += traffic.rng.choice([0, 7, 400, 2_500, 61_000])
        requests = traffic.requests()
        answers = await each([batches.take(one) for one in requests], is_together=is_together)
        for request, answer in zip(requests, answers, strict=True):
            if answer.granted:
                traffic.granted.append((request, answer.epoch))
            else:
                traffic.refused.append(request)
        clock.now_ms += traffic.rng.choice([0, 90, 1_000])
        ended = [batches.settle(one) for one in traffic.settlements()]
        replies += [*answers, *await each(ended, is_together=is_together)]
    return replies


async def each(asked: list[Any], *, is_together: bool) -> list[Any]:
    if is_together:
        return list(await asyncio.gather(*asked))
    return [await one for one in asked]


def read_gate(valkey: "redis.Redis", gate: str) -> list[Any]:
    key = f"evalq:gate:{gate}"
    calls = [valkey.zrange(f"{key}:{name}", 0, -1, withscores=True) for name in ("calls", "waiting")]
    return [valkey.hgetall(key), *calls]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_a_batch_is_served_as_its_callers_would_be_one_by_one(
    seed: int, play: Callable[[Scene], Any], valkey: "redis.Redis"
) -> None:
    valkey.flushdb()

    async def scene(scripts: AsyncScripts) -> list[Any]:
        replies = []
        for gate, is_together in (("together", True), ("alone", False)):
            clock = FixedTime(scripts, now_ms=1_700_000_000_000)
            batches = GateBatches(clock)
            replies.append(await serve(batches, Traffic(gate, seed), is_together=is_together, clock=clock))
        return replies

    together, alone = play(scene)
    assert together == alone
    assert read_gate(valkey, "together") == read_gate(valkey, "alone")
