"""Jobs in Postgres: one holder at a time, one end each, and nothing written behind a lost lease."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalq.definitions.judge import SimulatedJudge
from evalq.records import Completion, Grade, Outcome
from evalq.store import bakeoffs, calls, jobs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]

PASSED = Outcome("passed")
STATE = "SELECT state, fence, attempt, lease_until > now(), not_before > now() FROM jobs WHERE id = %s"


@pytest.fixture
def job_id(record: Callable[..., int], job_ids: Callable[[int], list[int]]) -> int:
    """The only job of a recorded bake-off."""
    return job_ids(record(1))[0]


@pytest.fixture
def expire(db: Database, sql: Sql) -> Callable[[int], object]:
    """Lets a job's lease run out, and has that noticed."""

    def lose(job_id: int) -> None:
        sql("UPDATE jobs SET lease_until = now() - interval '1 second' WHERE id = %s", job_id)
        assert jobs.return_expired(db) == 1

    return lose


def claimed(db: Database, job_id: int) -> jobs.Job:
    job = jobs.claim(db, job_id, lease_s=60)
    assert job
    return job


def test_a_claim_gives_a_lease_a_fence_and_all_the_job_needs(db: Database, sql: Sql, job_id: int) -> None:
    job = claimed(db, job_id)
    assert (job.fence, job.attempt, job.case.id, job.completion) == (1, 1, "case-0000", None)
    assert job.case.inputs == {"country": "country 0"}
    assert sql(STATE, job_id) == [("leased", 1, 1, True, False)]


def test_a_second_claim_gets_nothing(db: Database, job_id: int) -> None:
    claimed(db, job_id)
    assert jobs.claim(db, job_id, lease_s=60) is None


def test_of_many_claims_at_once_one_succeeds(
    db: Database, job_id: int, at_once: Callable[..., list[Any]]
) -> None:
    claims = at_once(lambda: jobs.claim(db, job_id, lease_s=60), 8)
    assert len([job for job in claims if job]) == 1


def test_an_unknown_job_gives_nothing_to_claim(db: Database, job_id: int) -> None:
    assert jobs.claim(db, job_id + 1000, lease_s=60) is None


def test_an_expired_lease_is_claimed_again_and_its_first_holder_can_write_no_more(
    db: Database, sql: Sql, job_id: int, expire: Callable[[int], object]
) -> None:
    first = claimed(db, job_id)
    expire(job_id)
    second = claimed(db, job_id)
    assert (second.fence, second.attempt) == (2, 2)
    assert not jobs.finish(db, first, Outcome("failed"), [])
    assert jobs.finish(db, second, PASSED, [])
    assert not jobs.finish(db, first, Outcome("failed"), [])
    assert sql("SELECT verdict, attempts FROM outcomes") == [("passed", 2)]


def test_a_holder_that_lost_its_lease_cannot_put_the_job_back(
    db: Database, sql: Sql, job_id: int, expire: Callable[[int], object]
) -> None:
    first = claimed(db, job_id)
    expire(job_id)
    claimed(db, job_id)
    jobs.release(db, first, wait_s=0)
    assert sql(STATE, job_id) == [("leased", 2, 2, True, False)]


def test_a_job_put_back_is_not_claimed_before_its_time(db: Database, sql: Sql, job_id: int) -> None:
    jobs.release(db, claimed(db, job_id), wait_s=3600)
    assert sql(STATE, job_id) == [("ready", 1, 1, None, True)]
    assert jobs.claim(db, job_id, lease_s=60) is None
    assert jobs.gates_with_ready_jobs(db) == []
    sql("UPDATE jobs SET not_before = now() - interval '1 second'")
    assert claimed(db, job_id).fence == 2


def test_finishing_twice_writes_once(db: Database, sql: Sql, job_id: int) -> None:
    job, grade = claimed(db, job_id), Grade("strict_substring", True, 1.0, "equal")
    assert jobs.finish(db, job, PASSED, [grade])
    assert not jobs.finish(db, job, Outcome("failed"), [grade])
    assert sql("SELECT verdict, error_kind, attempts FROM outcomes") == [("passed", None, 1)]
    assert sql("SELECT grader, passed, score, reason FROM grades") == [
        ("strict_substring", True, 1.0, "equal")
    ]
    assert jobs.claim(db, job_id, lease_s=60) is None


def test_of_many_finishes_at_once_one_writes(
    db: Database, sql: Sql, job_id: int, at_once: Callable[..., list[Any]]
) -> None:
    job = claimed(db, job_id)
    assert sorted(at_once(lambda: jobs.finish(db, job, PASSED, []), 6)) == [False] * 5 + [True]
    assert sql("SELECT count(*) FROM outcomes") == [(1,)]


def test_a_heartbeat_keeps_the_leases_in_hand_and_no_other(
    db: Database, sql: Sql, record: Callable[..., int], job_ids: Callable[[int], list[int]]
) -> None:
    held, lost = (claimed(db, job_id) for job_id in job_ids(record(2)))
    sql("UPDATE jobs SET lease_until = now() - interval '1 second'")
    jobs.extend(db, [(held.id, held.fence), (lost.id, lost.fence - 1)], lease_s=60)
    assert jobs.return_expired(db) == 1
    assert jobs.claim(db, held.id, lease_s=60) is None
    assert claimed(db, lost.id).fence == 2


def test_a_heartbeat_does_not_bring_back_a_job_that_has_ended(db: Database, sql: Sql, job_id: int) -> None:
    job = claimed(db, job_id)
    jobs.finish(db, job, PASSED, [])
    jobs.extend(db, [(job.id, job.fence)], lease_s=60)
    assert sql(STATE, job_id) == [("done", 1, 1, None, False)]


@pytest.mark.parametrize("state", ["paused", "capped", "cancelled"])
def test_a_stopped_bake_off_gives_nothing_to_claim_until_it_goes_on(
    db: Database, job_id: int, state: Any
) -> None:
    bakeoffs.move(db, 1, state, from_states=["running"])
    assert jobs.claim(db, job_id, lease_s=60) is None
    assert jobs.gates_with_ready_jobs(db) == []
    bakeoffs.move(db, 1, "running", from_states=[state])
    assert claimed(db, job_id)


def test_a_stored_answer_comes_back_with_the_claim(
    db: Database,
    job_id: int,
    answer: Completion,
    judge: Callable[..., SimulatedJudge],
    expire: Callable[[int], object],
) -> None:
    job = claimed(db, job_id)
    call_id = calls.reserve(db, job, calls.Call(judge(), "answer", "key", 1, Decimal("0.001")))
    calls.settle(db, call_id or 0, calls.answered(answer))
    expire(job_id)
    assert claimed(db, job_id).completion == answer


def test_text_that_postgres_cannot_hold_is_stored_without_what_it_cannot_hold(
    db: Database, sql: Sql, job_id: int, answer: Completion, judge: Callable[..., SimulatedJudge]
) -> None:
    hostile = "a\x00b\ud800c\U0001f600"
    job = claimed(db, job_id)
    call_id = calls.reserve(db, job, calls.Call(judge(), "answer", "key", 1, Decimal("0.001")))
    calls.settle(db, call_id or 0, calls.answered(replace(answer, text=hostile)))
    grade = Grade("strict_substring", None, None, hostile)
    assert jobs.finish(db, job, Outcome("errored", "ungradable", hostile), [grade])
    stored = sql("SELECT answer FROM completions UNION ALL SELECT message FROM outcomes")
    assert [*stored, *sql("SELECT reason FROM grades")] == [("a\ufffdb?c\U0001f600",)] * 3


def test_jobs_in_workers_hands_are_counted_while_their_lease_holds(
    db: Database, job_id: int, expire: Callable[[int], object]
) -> None:
    assert jobs.count_leased(db, 1) == 0
    claimed(db, job_id)
    assert jobs.count_leased(db, 1) == 1
    expire(job_id)
    assert jobs.count_leased(db, 1) == 0
