"""Batches whose connections are cut: every asker has its committed result or Unreachable, no cent is lost."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import psutil
import psycopg
import pytest
from patience import PATIENCE_S

from evalq.bakeoff.plan import Plan
from evalq.definitions.judge import OpenAIJudge
from evalq.engines.embedded import attach, describe
from evalq.errors import Unreachable
from evalq.records import Completion, Outcome
from evalq.store import bakeoffs, calls, jobs
from evalq.store.batches import Batches
from evalq.store.database import Database, apply_schema

Sql = Callable[..., list[tuple[Any, ...]]]
Result = TypeVar("Result")

JUDGE = OpenAIJudge(name="gpt", provider="openai", model="gpt")
CALL = calls.Call(JUDGE, "answer", "key", 1, Decimal("0.10"))
OURS = "(claim_jobs|reserve_calls|settle_calls|finish_jobs|release_jobs)"
BACKENDS = f"datname = current_database() AND query ~ '{OURS}' AND pid <> pg_backend_pid()"
CUT = f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE {BACKENDS}"
CUT_WAITING = f"{CUT} AND wait_event_type = 'Lock'"
SUMS = """
SELECT b.reserved_usd - coalesce(sum(c.reserved_usd) FILTER (WHERE c.state = 'sent'), 0),
       b.spent_usd - coalesce(sum(c.cost_usd), 0)
FROM bakeoffs b LEFT JOIN call_journal c ON c.bakeoff_id = b.id GROUP BY b.id
"""
LOCK = "SELECT 1 FROM bakeoffs FOR UPDATE"


def use(url: str, story: Callable[[Batches], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine with batches on a database."""

    async def run() -> Result:
        batches = Batches(url, lease_s=600)
        await batches.open()
        try:
            return await asyncio.wait_for(story(batches), PATIENCE_S)
        finally:
            await batches.close()

    return asyncio.run(run())


async def until(find: Callable[[], Sequence[Any]]) -> None:
    while not find():
        await asyncio.sleep(0.01)


async def claim_all(batches: Batches, job_ids: Sequence[int]) -> list[jobs.Job]:
    claimed = await asyncio.gather(*(batches.claim(job_id) for job_id in job_ids))
    return [job for job in claimed if job]


@pytest.fixture
def ten(record: Callable[..., int], job_ids: Callable[[int], list[int]]) -> list[int]:
    """Ten jobs of a bake-off that may cost a hundred dollars."""
    return job_ids(record(10, cap_usd=100))


def test_connections_cut_while_idle_are_not_noticed(
    db: Database, sql: Sql, ten: list[int], answer: Completion
) -> None:
    async def live(batches: Batches) -> list[bool]:
        held = await claim_all(batches, ten)
        await batches.release(held.pop(), wait_s=0)
        assert sql(CUT) == [(True,), (True,)]
        call_ids = await asyncio.gather(*(batches.reserve(job, CALL) for job in held))
        await asyncio.gather(*(batches.settle(call_id or 0, calls.answered(answer)) for call_id in call_ids))
        return await asyncio.gather(*(batches.finish(job, Outcome("passed"), []) for job in held))

    assert use(db.url, live) == [True] * 9


def test_a_reservation_cut_off_in_mid_batch_is_unreachable_for_all_and_can_be_asked_again(
    db: Database, sql: Sql, ten: list[int]
) -> None:
    async def reserve(batches: Batches) -> list[int | None]:
        held = await claim_all(batches, ten)
        with psycopg.connect(db.url) as other:
            other.execute(LOCK)
            asked = [asyncio.create_task(batches.reserve(job, CALL)) for job in held]
            await until(lambda: sql(CUT_WAITING))
            answers = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(answer) for answer in answers] == [Unreachable] * 10
        return await asyncio.gather(*(batches.reserve(job, CALL) for job in held))

    assert all(use(db.url, reserve))
    assert sql(SUMS) == [(0, 0)]
    assert sql("SELECT reserved_usd FROM bakeoffs") == [(1,)]


def test_a_settlement_cut_off_in_mid_batch_is_made_again_and_counts_once(
    db: Database, sql: Sql, ten: list[int], answer: Completion
) -> None:
    async def settle(batches: Batches) -> None:
        held = await claim_all(batches, ten)
        call_ids = await asyncio.gather(*(batches.reserve(job, CALL) for job in held))
        settling = [batches.settle(call_id or 0, calls.answered(answer)) for call_id in call_ids]
        with psycopg.connect(db.url) as other:
            other.execute(LOCK)
            settled = asyncio.gather(*settling)
            await until(lambda: sql(CUT_WAITING))
        await settled

    use(db.url, settle)
    assert sql("SELECT reserved_usd, spent_usd FROM bakeoffs") == [(0, 10 * answer.cost_usd)]
    assert sql("SELECT count(*) FROM completions") == [(10,)]


def test_connections_cut_again_and_again_lose_no_answer_and_no_cent(
    db: Database,
    sql: Sql,
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    answer: Completion,
) -> None:
    """Sixty jobs live as workers would have them: what is unreachable is asked again, or left to be lost."""
    ids, settled, cuts = job_ids(record(60, cap_usd=100)), [], 0

    async def live(batches: Batches, job_id: int) -> None:
        job = await again(lambda: batches.claim(job_id))
        if job is None:  # claimed by a batch whose answer was lost
            return
        call_id = await again(lambda: batches.reserve(job, CALL))
        await asyncio.sleep(0)
        await again(lambda: batches.settle(call_id or 0, calls.answered(answer)))
        settled.append(call_id)
        await again(lambda: batches.finish(job, Outcome("passed"), []))

    async def fleet(batches: Batches) -> int:
        living = [asyncio.create_task(live(batches, job_id)) for job_id in ids]
        n_cuts = 0
        while not all(task.done() for task in living):
            if n_cuts < 15:
                n_cuts += len(sql(CUT))
            await asyncio.sleep(0.003)
        await asyncio.gather(*living)
        return n_cuts

    cuts = use(db.url, fleet)
    assert cuts >= 2
    assert sql(SUMS) == [(0, 0)]
    assert sql("SELECT count(*) FROM call_journal WHERE state = 'settled'") == [(len(settled),)]
    assert sql("SELECT count(*) FROM completions") == [(len(settled),)]
    sent = "SELECT count(*) FROM call_journal WHERE state = 'sent'"
    [(n_lost,)] = sql(sent)
    db.run("close_lost_calls", job_ids=ids)
    assert sql(sent) == [(0,)]
    assert sql("SELECT reserved_usd, spent_usd FROM bakeoffs") == [
        (0, len(settled) * answer.cost_usd + n_lost * CALL.usd)
    ]


async def again(ask: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    while True:
        try:
            return await ask()
        except Unreachable:
            continue


def test_a_database_that_stops_at_once_is_unreachable_until_it_is_back(
    tmp_path: Path, plan: Callable[..., Plan], answer: Completion
) -> None:
    folder = tmp_path / "d"
    with attach(folder, want=("postgres",)) as engines:
        db = Database(engines.database_url)
        apply_schema(db)
        terms = bakeoffs.Terms(Decimal(100))
        db.in_transaction(lambda tx: bakeoffs.add(tx, plan(10), terms))

        async def live(batches: Batches) -> list[Any]:
            held = await claim_all(batches, range(1, 11))
            call_ids = await asyncio.gather(*(batches.reserve(job, CALL) for job in held))
            settle_all = [(call_id or 0, calls.answered(answer)) for call_id in call_ids]
            await asyncio.to_thread(stop_at_once, folder)
            away = await asyncio.gather(*(batches.settle(*one) for one in settle_all), return_exceptions=True)
            await asyncio.to_thread(engines.revive)
            await asyncio.gather(*(again(lambda one=one: batches.settle(*one)) for one in settle_all))
            return away

        try:
            away = use(engines.database_url, live)
        finally:
            db.close()
        with psycopg.connect(engines.database_url) as connection:
            budget = connection.execute("SELECT reserved_usd, spent_usd FROM bakeoffs").fetchall()
    assert [type(one) for one in away] == [Unreachable] * 10
    assert budget == [(0, 10 * answer.cost_usd)]


def stop_at_once(folder: Path) -> None:
    """As `pg_ctl stop -m immediate`: no checkpoint, every connection cut."""
    status = describe(folder)
    assert status
    [pid] = [server.pid for server in status.servers if server.name == "postgres"]
    server = psutil.Process(pid)
    os.kill(pid, signal.SIGQUIT)
    server.wait(PATIENCE_S)
