"""The plans of batches: they read the rows they are about and no table whole, whenever they were made."""

import asyncio
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from patience import PATIENCE_S

from evalq.definitions.judge import OpenAIJudge
from evalq.engines.processes import wait_until
from evalq.records import Completion, Grade, Outcome
from evalq.store import calls
from evalq.store.batches import Batches
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]

JUDGE = OpenAIJudge(name="gpt", provider="openai", model="gpt")
N_JOBS, N_RUNS, BATCH = 100_000, 5_000, 64
# Every job is done and has its call, answer, outcome and grade; foreign keys need not be checked.
FILL = f"""
SET session_replication_role = replica;
INSERT INTO runs SELECT 1000 + n, 1, 'judge ' || n, vendor, provider, gate, judge_sha, n_jobs, window_size
FROM (SELECT * FROM runs ORDER BY id LIMIT 1) r, generate_series(1, {N_RUNS}) n;
INSERT INTO jobs (id, run_id, bakeoff_id, case_id, sample, gate, position, state)
SELECT 1000 + n, 1000 + n % {N_RUNS} + 1, 1, 'case ' || n, n, 'gate', n, 'done'
FROM generate_series(1, {N_JOBS}) n;
INSERT INTO cases SELECT eval_set_sha, 'case ' || n, 1000 + n, '', '{{}}'
FROM (SELECT eval_set_sha FROM bakeoffs ORDER BY id LIMIT 1) b, generate_series(1, {N_JOBS}) n;
INSERT INTO call_journal (id, bakeoff_id, job_id, purpose, judge, provider, model, key, attempt, state,
                          reserved_usd)
SELECT 100000 + n, 1, 1000 + n, 'answer', 'gpt', 'openai', 'gpt', 'key', 1, 'settled', 0
FROM generate_series(1, {N_JOBS}) n;
SELECT setval('call_journal_id_seq', 100000 + {N_JOBS});
INSERT INTO completions (job_id, state, answer, input_tokens, output_tokens, usage, latency_ms, cost_usd)
SELECT 1000 + n, 'answered', 'yes', 1, 1, '{{}}', 1, 0 FROM generate_series(1, {N_JOBS}) n;
INSERT INTO outcomes (job_id, run_id, bakeoff_id, case_id, sample, verdict, attempts)
SELECT 1000 + n, 1000 + n % {N_RUNS} + 1, 1, 'case ' || n, n, 'passed', 1
FROM generate_series(1, {N_JOBS}) n;
INSERT INTO grades (job_id, grader, reason) SELECT 1000 + n, 'a', '' FROM generate_series(1, {N_JOBS}) n;
RESET session_replication_role
"""
READ = """
SELECT relname, seq_tup_read, coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables
WHERE relname IN ('runs', 'jobs', 'cases', 'call_journal', 'completions', 'outcomes', 'grades')
"""
CONNECTED = """
SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND query ~ '(claim_jobs|reserve_calls|settle_calls|finish_jobs|release_jobs)'
"""


async def live(batches: Batches, job_ids: list[int], answer: Completion) -> None:
    """Every statement once or twice, with these jobs together."""
    claimed = await asyncio.gather(*(batches.claim(job_id) for job_id in job_ids))
    await asyncio.gather(*(batches.release(job, wait_s=0) for job in claimed if job))
    claimed = await asyncio.gather(*(batches.claim(job_id) for job_id in job_ids))
    held = [job for job in claimed if job]
    assert len(held) == len(job_ids)
    call = calls.Call(JUDGE, "answer", "key", 1, Decimal("0.001"))
    call_ids = await asyncio.gather(*(batches.reserve(job, call) for job in held))
    await asyncio.gather(*(batches.settle(call_id or 0, calls.answered(answer)) for call_id in call_ids))
    ends = (batches.finish(job, Outcome("passed"), [Grade("a", True, 1.0)]) for job in held)
    assert all(await asyncio.gather(*ends))


@pytest.fixture
def counters(db: Database) -> Iterator[Sql]:
    """Runs statements on a connection that counts nothing itself: it is there from the beginning."""
    with psycopg.connect(db.url, autocommit=True) as connection:

        def run(statement: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

        yield run


@pytest.mark.parametrize("is_planned_when_empty", [True, False])
def test_no_statement_reads_a_whole_table(
    db: Database,
    counters: Sql,
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    answer: Completion,
    is_planned_when_empty: bool,
) -> None:
    small, large = job_ids(record(8)), job_ids(record(BATCH, cap_usd=100))
    calls.set_daily_caps(db, {"day": Decimal(100)})

    async def story() -> None:
        batches = Batches(db.url, lease_s=600)
        await batches.open()
        counters("ANALYZE")
        if is_planned_when_empty:
            for job_id in small:
                await live(batches, [job_id], answer)
        counters(FILL)
        if not is_planned_when_empty:
            counters("ANALYZE")
        counters("SELECT pg_stat_reset()")
        await live(batches, large, answer)
        await batches.close()

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
    # A backend reports what it has read when it ends, if not before.
    assert wait_until(lambda: not counters(CONNECTED), timeout_s=PATIENCE_S)
    read = {table: (whole, by_index) for table, whole, by_index in counters(READ)}
    assert sum(by_index for _, by_index in read.values()) >= BATCH  # the counters count
    assert {table: counts for table, counts in read.items() if max(counts) > 40 * BATCH} == {}
