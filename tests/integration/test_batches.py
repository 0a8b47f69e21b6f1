"""Many jobs in one statement: committed together, each with its own answer, harmed by no other row."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

import psycopg
import pytest
from patience import PATIENCE_S

from evalq.definitions.judge import OpenAIJudge
from evalq.errors import CapReached, Contended, PutBack, Unreachable
from evalq.records import Completion, Grade, Outcome
from evalq.store import calls, jobs
from evalq.store.batches import Batches
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Result = TypeVar("Result")

JUDGE = OpenAIJudge(name="gpt", provider="openai", model="gpt")
OURS = "(claim_jobs|reserve_calls|settle_calls|finish_jobs|release_jobs)"
BACKENDS = f"""
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND query ~ '{OURS}' AND pid <> pg_backend_pid()
"""
WAITING = f"{BACKENDS} AND wait_event_type = 'Lock'"


def call(usd: str = "0.10", key: str = "key") -> calls.Call:
    return calls.Call(JUDGE, "answer", key, 1, Decimal(usd))


def use(db: Database, story: Callable[[Batches], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine with batches on a database."""

    async def run() -> Result:
        batches = Batches(db.url, lease_s=600)
        await batches.open()
        try:
            return await asyncio.wait_for(story(batches), PATIENCE_S)
        finally:
            await batches.close()

    return asyncio.run(run())


async def until(find: Callable[[], Sequence[Result]]) -> Sequence[Result]:
    """What `find` finds, as soon as it finds something; the test's own patience bounds it."""
    while not (found := find()):
        await asyncio.sleep(0.01)
    return found


async def claim_all(batches: Batches, job_ids: Sequence[int]) -> list[jobs.Job]:
    claimed = await asyncio.gather(*(batches.claim(job_id) for job_id in job_ids))
    return [job for job in claimed if job]


@pytest.fixture
def ten(record: Callable[..., int], job_ids: Callable[[int], list[int]]) -> list[int]:
    """Ten jobs of a bake-off that may cost a hundred dollars."""
    return job_ids(record(10, cap_usd=100))


def test_jobs_asked_for_together_are_committed_together(
    db: Database, sql: Sql, ten: list[int], answer: Completion
) -> None:
    async def live(batches: Batches) -> None:
        held = await claim_all(batches, ten)
        call_ids = await asyncio.gather(*(batches.reserve(job, call()) for job in held))
        await asyncio.gather(*(batches.settle(call_id or 0, calls.answered(answer)) for call_id in call_ids))
        grades = [Grade("strict_substring", True, 1.0, "equal")]
        ends = await asyncio.gather(*(batches.finish(job, Outcome("passed"), grades) for job in held))
        assert ends == [True] * 10

    use(db, live)
    tables = ("jobs", "call_journal", "completions", "outcomes", "grades")
    # Rows written by one transaction bear its number.
    written = {table: sql(f"SELECT count(*), count(DISTINCT xmin::text) FROM {table}")[0] for table in tables}
    assert written == dict.fromkeys(tables, (10, 1))
    assert sql("SELECT reserved_usd, spent_usd FROM bakeoffs") == [(0, 10 * answer.cost_usd)]


def test_of_two_who_claim_the_same_job_at_once_the_first_has_it(db: Database, ten: list[int]) -> None:
    async def claim(batches: Batches) -> list[jobs.Job | None]:
        return await asyncio.gather(*(batches.claim(job_id) for job_id in [ten[0], ten[0], ten[1]]))

    first, second, other = use(db, claim)
    assert first
    assert second is None
    assert other


def test_a_released_job_can_be_claimed_again(db: Database, ten: list[int]) -> None:
    async def give_back(batches: Batches) -> list[jobs.Job]:
        await asyncio.gather(*(batches.release(job, wait_s=0) for job in await claim_all(batches, ten)))
        return await claim_all(batches, ten)

    assert [job.fence for job in use(db, give_back)] == [2] * 10


def test_a_bad_reservation_harms_no_other(db: Database, sql: Sql, ten: list[int]) -> None:
    async def reserve(batches: Batches) -> list[Any]:
        held = await claim_all(batches, ten)
        nowhere, foreign = replace(held[0], id=10**9), replace(held[1], id=2**70)
        asking: list[Awaitable[int | None]] = [batches.reserve(job, call()) for job in held]
        asking += [batches.reserve(nowhere, call()), batches.reserve(foreign, call())]
        asking += [batches.reserve(held[2], call(key="a\x00b")), batches.reserve(held[3], call(key="\ud800"))]
        return await asyncio.gather(*asking, return_exceptions=True)

    answers = use(db, reserve)
    assert all(isinstance(answer, int) for answer in answers[:10])
    assert isinstance(answers[10], PutBack)
    assert all(isinstance(answer, psycopg.DataError) for answer in answers[11:])
    assert sql("SELECT count(*), sum(reserved_usd) FROM call_journal") == [(10, 1)]
    assert sql("SELECT reserved_usd FROM bakeoffs") == [(1,)]


def test_a_bad_settlement_or_end_harms_no_other(
    db: Database, sql: Sql, ten: list[int], answer: Completion
) -> None:
    async def live(batches: Batches) -> list[Any]:
        held = await claim_all(batches, ten)
        call_ids = await asyncio.gather(*(batches.reserve(job, call()) for job in held))
        settled = calls.answered(answer)
        ends = [settled, {**settled, "usage": "no JSON"}, {**settled, "cost_usd": "1e40"}, *[settled] * 7]
        settling = (batches.settle(call_id or 0, end) for call_id, end in zip(call_ids, ends, strict=True))
        answers = await asyncio.gather(*settling, batches.settle(10**9, settled), return_exceptions=True)
        outcomes = [Outcome("passed"), Outcome("no verdict"), *[Outcome("failed")] * 8]  # type: ignore[arg-type]
        finishing = (batches.finish(job, end, []) for job, end in zip(held, outcomes, strict=True))
        return answers + await asyncio.gather(*finishing, return_exceptions=True)

    answers = use(db, live)
    assert [place for place, one in enumerate(answers) if isinstance(one, psycopg.Error)] == [1, 2, 12]
    assert answers[11:] == [True, answers[12], *[True] * 8]
    assert sql("SELECT count(*) FROM call_journal WHERE state = 'settled'") == [(8,)]
    assert sql("SELECT reserved_usd, spent_usd FROM bakeoffs") == [(Decimal("0.2"), 8 * answer.cost_usd)]
    assert sql("SELECT count(*) FROM outcomes") == [(9,)]


def test_a_value_that_is_no_json_is_its_askers_own_error(db: Database, ten: list[int]) -> None:
    async def finish(batches: Batches) -> list[Any]:
        held = await claim_all(batches, ten)
        grades = [[Grade("a", True, 1.0, details={"what": object()})], *[[]] * 9]
        finishing = (
            batches.finish(job, Outcome("passed"), of_job) for job, of_job in zip(held, grades, strict=True)
        )
        return await asyncio.gather(*finishing, return_exceptions=True)

    first, *others = use(db, finish)
    assert isinstance(first, TypeError)
    assert others == [True] * 9


def test_two_processes_with_200_slots_each_never_pay_for_more_than_the_cap(
    db: Database,
    sql: Sql,
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    answer: Completion,
) -> None:
    """Ten calls of ten cents fit under the dollar; four hundred coroutines want one each."""
    ids = job_ids(record(400, cap_usd=1))
    priced = calls.answered(replace(answer, cost_usd=Decimal("0.10")))

    async def pay(batches: Batches, job: jobs.Job) -> int:
        while True:
            try:
                call_id = await batches.reserve(job, call())
            except CapReached:
                return 0
            if call_id is not None:
                await asyncio.sleep(0.01)
                await batches.settle(call_id, priced)
                return 1
            await asyncio.sleep(0.01)

    async def fleet(first: Batches) -> int:
        second = Batches(db.url, lease_s=600)
        await second.open()
        held = zip(await claim_all(first, ids[:200]), await claim_all(second, ids[200:]), strict=True)
        paying = [pay(side, job) for pair in held for side, job in zip((first, second), pair, strict=True)]
        paid = sum(await asyncio.gather(*paying))
        await second.close()
        return paid

    assert use(db, fleet) == 10
    assert sql("SELECT reserved_usd, spent_usd FROM bakeoffs") == [(0, 1)]
    assert sql("SELECT count(*) FROM call_journal") == [(10,)]


def test_a_daily_cap_holds_within_a_batch_over_bake_offs(
    db: Database, sql: Sql, record: Callable[..., int], job_ids: Callable[[int], list[int]]
) -> None:
    calls.set_daily_caps(db, {"day": Decimal("0.50")})
    ids = [*job_ids(record(4)), *job_ids(record(4))]

    async def reserve(batches: Batches) -> list[int | None]:
        held = await claim_all(batches, ids)
        # Asked in the wrong order: each answer still goes to its asker.
        return await asyncio.gather(*(batches.reserve(job, call()) for job in reversed(held)))

    answers = use(db, reserve)
    assert [answer is None for answer in answers] == [True] * 3 + [False] * 5
    journal = dict(sql("SELECT id, job_id FROM call_journal"))
    assert [journal[answer] for answer in answers if answer] == ids[4::-1]
    assert sql("SELECT reserved_usd FROM bakeoffs ORDER BY id") == [(Decimal("0.4"),), (Decimal("0.1"),)]


def test_a_batch_that_loses_a_deadlock_runs_again(
    db: Database, sql: Sql, record: Callable[..., int], job_ids: Callable[[int], list[int]]
) -> None:
    ids = [job_ids(record(1))[0], job_ids(record(1))[0]]
    lock = "SELECT 1 FROM bakeoffs WHERE id = %s FOR UPDATE"

    async def reserve(batches: Batches) -> list[int | None]:
        held = await claim_all(batches, ids)
        async with await psycopg.AsyncConnection.connect(db.url) as other:
            await other.execute("SET deadlock_timeout = '1h'")  # so that the batch is the one to notice
            await other.execute(lock, [2])
            asked = asyncio.gather(*(batches.reserve(job, call()) for job in held))
            await until(lambda: sql(WAITING))
            await other.execute(lock, [1])  # granted when the batch has given up its own lock
        return await asked

    assert all(use(db, reserve))
    assert sql("SELECT reserved_usd FROM bakeoffs") == [(Decimal("0.1"),)] * 2


def test_a_batch_that_is_always_in_others_way_is_contended_for_each_asker(
    db: Database, sql: Sql, ten: list[int]
) -> None:
    sql("""
        CREATE SEQUENCE tried;
        CREATE FUNCTION fail() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
            PERFORM nextval('tried');
            RAISE EXCEPTION 'in the way' USING ERRCODE = '40001';
        END $$;
        CREATE TRIGGER fail BEFORE INSERT ON call_journal FOR EACH STATEMENT EXECUTE FUNCTION fail();
    """)

    async def reserve(batches: Batches) -> list[Any]:
        held = await claim_all(batches, ten)
        return await asyncio.gather(*(batches.reserve(job, call()) for job in held), return_exceptions=True)

    assert [type(answer) for answer in use(db, reserve)] == [Contended] * 10
    assert sql("SELECT last_value FROM tried") == [(4,)]


def test_an_address_without_a_server_is_unreachable_and_its_password_stays_unknown() -> None:
    async def open_nowhere() -> None:
        await Batches("postgresql://me:secret@127.0.0.1:1/none", lease_s=60).open()

    with pytest.raises(Unreachable, match="the database cannot be reached") as raised:
        asyncio.run(open_nowhere())
    assert "secret" not in str(raised.value)
