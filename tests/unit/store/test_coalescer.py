"""The coalescer: every asker has its own answer, however the items are batched and whatever goes wrong."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.errors import Unreachable
from evalq.store.coalescer import Coalescer

Result = TypeVar("Result")


class Doubling:
    """The other side: doubles numbers, refuses a batch with a bad one in it, keeps what it was sent."""

    def __init__(self, bad: Sequence[int] = ()) -> None:
        self.bad = set(bad)
        self.batches: list[list[int]] = []

    async def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        await asyncio.sleep(0)
        if self.bad & set(items):
            raise ValueError("a bad item")
        return [2 * item for item in items]


async def ask_all(coalescer: Coalescer[int, Result], items: Sequence[int]) -> list[Result | BaseException]:
    return await asyncio.gather(*(coalescer.ask(item) for item in items), return_exceptions=True)


def double_all(
    side: Callable[[Sequence[int]], Awaitable[Sequence[int]]], items: Sequence[int]
) -> list[object]:
    async def ask() -> list[object]:
        return list(await ask_all(Coalescer(side, tick_s=0), items))

    return asyncio.run(ask())


@given(
    waves=st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=5),
    bad=st.sets(st.integers(0, 30), max_size=3),
    most=st.integers(1, 8),
)
def test_every_asker_has_its_own_answer_and_a_bad_item_fails_alone(
    waves: list[list[int]], bad: set[int], most: int
) -> None:
    side = Doubling(sorted(bad))

    async def ask() -> None:
        coalescer = Coalescer(side, tick_s=0, most=most)
        for wave in waves:
            for item, answer in zip(wave, await ask_all(coalescer, wave), strict=True):
                assert isinstance(answer, ValueError) if item in bad else answer == 2 * item

    asyncio.run(ask())
    assert all(0 < len(batch) <= most for batch in side.batches)


def test_what_is_asked_together_goes_out_together() -> None:
    side = Doubling()
    assert double_all(side, [1, 2, 3]) == [2, 4, 6]
    assert side.batches == [[1, 2, 3]]


def test_one_bad_item_among_many_costs_few_batches() -> None:
    side = Doubling([17])
    answers = double_all(side, range(64))
    assert [place for place, answer in enumerate(answers) if isinstance(answer, ValueError)] == [17]
    assert len(side.batches) == 1 + 2 * 6  # the halves of 64, 32, 16, 8, 4 and 2


def test_while_a_batch_is_out_the_next_one_gathers() -> None:
    batches = []

    async def ask() -> None:
        is_out, may_return = asyncio.Event(), asyncio.Event()

        async def flush(items: Sequence[int]) -> Sequence[int]:
            batches.append(list(items))
            is_out.set()
            await may_return.wait()
            return items

        coalescer = Coalescer(flush, tick_s=0)
        first = asyncio.create_task(coalescer.ask(1))
        await is_out.wait()
        rest = [asyncio.create_task(coalescer.ask(item)) for item in (2, 3)]
        await asyncio.sleep(0)
        may_return.set()
        assert await asyncio.gather(first, *rest) == [1, 2, 3]

    asyncio.run(ask())
    assert batches == [[1], [2, 3]]


def test_all_askers_are_told_at_once_that_the_other_side_is_away_each_with_an_error_of_its_own() -> None:
    batches = []

    async def flush(items: Sequence[int]) -> Sequence[int]:
        batches.append(list(items))
        raise Unreachable("the database cannot be reached")

    answers = double_all(flush, [1, 2, 3])
    assert [str(answer) for answer in answers] == ["the database cannot be reached"] * 3
    assert len({id(answer) for answer in answers}) == 3
    assert batches == [[1, 2, 3]]


def test_an_exception_among_the_results_is_that_items_own() -> None:
    async def flush(items: Sequence[int]) -> Sequence[int | BaseException]:
        return [KeyError(item) if item == 2 else item for item in items]

    one, two, three = double_all(flush, [1, 2, 3])  # type: ignore[arg-type]
    assert (one, three) == (1, 3)
    assert isinstance(two, KeyError)


def test_results_that_cannot_be_told_apart_are_nobodys() -> None:
    async def flush(items: Sequence[int]) -> Sequence[int]:
        return [*items, 0]

    assert [type(answer) for answer in double_all(flush, [1, 2])] == [RuntimeError, RuntimeError]


def test_an_asker_that_went_away_asks_for_nothing() -> None:
    side = Doubling()

    async def ask() -> None:
        coalescer = Coalescer(side, tick_s=0)
        gone, stays = (asyncio.create_task(coalescer.ask(item)) for item in (1, 2))
        await asyncio.sleep(0)
        gone.cancel()
        assert await stays == 4

    asyncio.run(ask())
    assert side.batches == [[2]]


def test_an_asker_that_goes_away_while_its_batch_is_out_harms_nobody() -> None:
    async def ask() -> None:
        is_out, may_return = asyncio.Event(), asyncio.Event()

        async def flush(items: Sequence[int]) -> Sequence[int]:
            is_out.set()
            await may_return.wait()
            return items

        coalescer = Coalescer(flush, tick_s=0)
        gone, stays = (asyncio.create_task(coalescer.ask(item)) for item in (1, 2))
        await is_out.wait()
        gone.cancel()
        may_return.set()
        assert await stays == 2

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("items", "batches"),
    [([4, 4, 4], [[4, 4], [4]]), ([4, 99, 4], [[4], [99], [4]]), ([10], [[10]]), ([11, 1], [[11], [1]])],
)
def test_items_too_large_together_go_apart(items: list[int], batches: list[list[int]]) -> None:
    side = Doubling()

    async def ask() -> None:
        await ask_all(Coalescer(side, tick_s=0, size_of=lambda item: item, max_size=10), items)

    asyncio.run(ask())
    assert side.batches == batches


def test_draining_waits_for_what_was_asked() -> None:
    async def ask() -> None:
        side = Doubling()
        coalescer = Coalescer(side, tick_s=0)
        asked = asyncio.create_task(coalescer.ask(1))
        await asyncio.sleep(0)
        await coalescer.drain()
        assert side.batches == [[1]]
        assert await asked == 2

    asyncio.run(ask())


def test_draining_an_idle_coalescer_returns() -> None:
    asyncio.run(Coalescer(Doubling(), tick_s=0).drain())


def test_the_last_asker_ends_the_wait_for_others() -> None:
    side = Doubling()

    async def ask() -> None:
        coalescer = Coalescer(side, tick_s=3600)
        assert await coalescer.ask(1) == 2  # after a pause the first one does not wait long
        waiting = asyncio.create_task(coalescer.ask(2))
        await asyncio.sleep(0.01)
        assert await coalescer.ask(3, is_last=True) == 6
        assert await waiting == 4
        assert await coalescer.ask(5, is_last=True) == 10

    asyncio.run(ask())
    assert side.batches == [[1], [2, 3], [5]]
