"""How many calls at once a gate takes, where no limit is given: learned from how fast answers come."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis

from evalq.calling.rate_limit import FIRST_ROOM, Gatekeeper, Permit
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.async_scripts import AsyncScripts
from evalq.engines.broker import Broker
from evalq.errors import ProviderFault, PutBack
from evalq.records import CaseContext, Completion, Prompt, Usage

Judge = Callable[..., SimulatedJudge]
PROMPT = Prompt("", "question", 16, CaseContext("t", "c"))


async def sleep_for_ever(seconds: float) -> None:
    """Whoever waits is woken by others, or never."""
    del seconds
    await asyncio.Event().wait()


@asynccontextmanager
async def gatekeeper(url: str, **options: Any) -> AsyncIterator[Gatekeeper]:
    scripts = AsyncScripts(url)
    keeper = Gatekeeper(scripts, is_adaptive=True, **{"sleep": sleep_for_ever, **options})
    try:
        yield keeper
    finally:
        await keeper.drain()
        await scripts.close()


async def take(keeper: Gatekeeper, judge: SimulatedJudge, n: int) -> list[Permit]:
    return list(await asyncio.gather(*(keeper.take(judge, PROMPT) for _ in range(n))))


async def answer_all(keeper: Gatekeeper, permits: list[Permit], latency_ms: int) -> None:
    for permit in permits:
        await keeper.answered(permit, Completion("answered", "x", Usage(1, 1), latency_ms))
    await keeper.drain()


async def go_round(keeper: Gatekeeper, judge: SimulatedJudge, room: int, latency_ms: int) -> None:
    """Fill the gate, have one more caller wait, answer all."""
    permits = await take(keeper, judge, room)
    waiting = asyncio.create_task(keeper.take(judge, PROMPT))
    await asyncio.sleep(0.05)
    assert not waiting.done(), "the gate has more places than it should"
    await answer_all(keeper, permits, latency_ms)
    await answer_all(keeper, [await waiting], latency_ms)


@pytest.fixture
def url(engines: Any, valkey: "redis.Redis") -> str:
    return str(engines.broker_url)


def room_of(broker: Broker, judge: SimulatedJudge) -> int | None:
    return broker.learned_room(judge.gate)


def test_a_gate_begins_with_some_places_and_doubles_them_while_answers_stay_fast(
    url: str, judge: Judge, broker: Broker
) -> None:
    async def run() -> None:
        async with gatekeeper(url) as keeper:
            await go_round(keeper, judge(), FIRST_ROOM, 100)
            assert room_of(broker, judge()) == 2 * FIRST_ROOM
            await go_round(keeper, judge(), 2 * FIRST_ROOM, 150)
            assert room_of(broker, judge()) == 4 * FIRST_ROOM

    asyncio.run(run())


def test_places_that_nobody_waits_for_are_not_added(url: str, judge: Judge, broker: Broker) -> None:
    async def run() -> None:
        async with gatekeeper(url) as keeper:
            for _ in range(3):
                await answer_all(keeper, await take(keeper, judge(), FIRST_ROOM), 100)
            assert room_of(broker, judge()) == FIRST_ROOM

    asyncio.run(run())


def test_a_provider_that_becomes_slow_gets_fewer_calls_at_once(
    url: str, judge: Judge, broker: Broker
) -> None:
    async def run() -> None:
        async with gatekeeper(url) as keeper:
            await answer_all(keeper, await take(keeper, judge(), FIRST_ROOM), 100)
            await answer_all(keeper, await take(keeper, judge(), FIRST_ROOM), 400)
            assert room_of(broker, judge()) == int(FIRST_ROOM * 0.7)

    asyncio.run(run())


def test_a_judge_with_its_own_limit_learns_none(url: str, judge: Judge, broker: Broker) -> None:
    narrow = judge(concurrency=2)

    async def run() -> None:
        async with gatekeeper(url) as keeper:
            await go_round(keeper, narrow, 2, 100)
            assert room_of(broker, narrow) is None

    asyncio.run(run())


def test_a_call_that_fails_lets_the_next_one_in_at_once(url: str, judge: Judge) -> None:
    narrow = judge(concurrency=1)

    async def run() -> None:
        async with gatekeeper(url) as keeper:
            (permit,) = await take(keeper, narrow, 1)
            waiting = asyncio.create_task(keeper.take(narrow, PROMPT))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await keeper.failed(permit, ProviderFault("permanent", "no such model"))
            await asyncio.wait_for(waiting, 60)

    asyncio.run(run())


def test_a_place_freed_by_another_process_is_found_by_looking(url: str, judge: Judge) -> None:
    narrow = judge(concurrency=1)

    async def run() -> None:
        async with gatekeeper(url) as ours, gatekeeper(url, sleep=asyncio.sleep) as theirs:
            (permit,) = await take(ours, narrow, 1)
            waiting = asyncio.create_task(theirs.take(narrow, PROMPT))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await answer_all(ours, [permit], 100)
            await asyncio.wait_for(waiting, 60)

    asyncio.run(run())


def test_callers_beyond_a_long_line_leave_their_slots_to_other_judges(url: str, judge: Judge) -> None:
    narrow = judge(concurrency=1)

    async def run() -> None:
        async with gatekeeper(url) as keeper:
            await take(keeper, narrow, 1)
            line = [asyncio.create_task(keeper.take(narrow, PROMPT)) for _ in range(80)]
            done, waiting = await asyncio.wait(line, return_when=asyncio.FIRST_EXCEPTION, timeout=60)
            assert all(isinstance(one.exception(), PutBack) for one in done)
            assert 16 <= len(waiting) < 80
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(run())


def test_a_learned_room_bounds_the_jobs_on_their_way(
    url: str, judge: Judge, broker: Broker, valkey: "redis.Redis"
) -> None:
    assert room_of(broker, judge()) is None
    valkey.hset(f"evalq:gate:{judge().gate}", "room", "89.6")
    assert room_of(broker, judge()) == 89
