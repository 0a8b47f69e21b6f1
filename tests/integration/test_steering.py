"""Steering a bake-off: paused whole or by judge, resumed from several machines, nothing published twice."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import redis

from evalq.bakeoff.conclude import conclude, conclude_paused
from evalq.bakeoff.control import Paused, pause
from evalq.bakeoff.launch import restart, retry_errors
from evalq.bakeoff.publish import pump_all
from evalq.bakeoff.recover import reap
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.broker import Broker
from evalq.engines.embedded import Engines
from evalq.engines.session import Session
from evalq.errors import InputError, PutBack
from evalq.records import Outcome
from evalq.results import BakeOffState
from evalq.settings import Settings
from evalq.store import bakeoffs, calls, jobs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]

QUEUE = "calls.simulated"
STATES = "SELECT judge, state, pause_reason FROM runs ORDER BY id"


@pytest.fixture
def session(db: Database, engines: Engines) -> Session:
    """A machine of the fleet."""
    return Session(db, engines.broker_url, is_embedded=False, settings=Settings())


@pytest.fixture
def running(
    db: Database, broker: Broker, record: Callable[..., int], judge: Callable[..., SimulatedJudge]
) -> int:
    """A bake-off of two judges and three cases whose messages are out."""
    bakeoff_id = record(3, [judge("good"), judge("slow")])
    pump_all(db, broker)
    return bakeoff_id


def test_a_paused_judge_stops_alone(
    db: Database, sql: Sql, session: Session, running: int, job_ids: Ids
) -> None:
    assert pause(session, running, judges=["slow"]) == [Paused("judge slow", True, "paused")]
    assert sql(STATES) == [("good", "running", None), ("slow", "paused", "by hand")]
    of_good, of_slow = job_ids(running)[0], job_ids(running)[3]
    assert jobs.claim(db, of_good, lease_s=60)
    assert not jobs.claim(db, of_slow, lease_s=60)
    assert bakeoffs.get(db, running).state == "running"


def test_a_job_in_hand_of_a_paused_judge_makes_no_new_call_but_is_graded(
    db: Database, sql: Sql, session: Session, running: int, job_ids: Ids, judge: Callable[..., SimulatedJudge]
) -> None:
    job = jobs.claim(db, job_ids(running)[3], lease_s=60)
    assert job
    call = calls.Call(judge(), "answer", "key", 1, Decimal("0.001"))
    assert calls.reserve(db, job, call)
    pause(session, running, judges=["slow"])
    with pytest.raises(PutBack, match="was stopped"):
        calls.reserve(db, job, call)
    assert calls.reserve(db, job, replace(call, purpose="grade"))
    assert sql("SELECT purpose FROM call_journal ORDER BY id") == [("answer",), ("grade",)]
    assert sql("SELECT reserved_usd FROM bakeoffs") == [(Decimal("0.002"),)]


def test_a_judge_that_does_not_run_is_left_as_it_is(sql: Sql, session: Session, running: int) -> None:
    pause(session, running, judges=["slow"])
    sql("UPDATE runs SET state = 'concluded' WHERE judge = 'good'")
    assert pause(session, running, judges=["slow", "good"]) == [
        Paused("judge slow", False, "paused"),
        Paused("judge good", False, "concluded"),
    ]


@pytest.mark.parametrize("state", ["paused", "capped", "cancelled"])
@pytest.mark.parametrize("judges", [[], ["slow"]])
def test_a_bake_off_that_does_not_run_is_left_as_it_is(
    db: Database, sql: Sql, session: Session, running: int, judges: list[str], state: BakeOffState
) -> None:
    bakeoffs.move(db, running, state, from_states=["running"])
    assert pause(session, running, judges=judges) == [Paused(f"bake-off {running}", False, state)]
    assert sql("SELECT DISTINCT state FROM runs") == [("running",)]


def test_a_whole_bake_off_is_paused_and_says_by_whom(db: Database, session: Session, running: int) -> None:
    assert pause(session, running, judges=[]) == [Paused(f"bake-off {running}", True, "paused")]
    assert bakeoffs.get(db, running).stop_reason == "by hand"


def test_a_judge_is_found_under_its_other_names_too(
    session: Session, record: Callable[..., int], judge: Callable[..., SimulatedJudge]
) -> None:
    bakeoff_id = record(1, [judge("grok-4.3"), judge("own")])
    assert pause(session, bakeoff_id, judges=["Grok 4.3", "grok-4.3"]) == [
        Paused("judge grok-4.3", True, "paused")
    ]


def test_an_unknown_judge_is_told_from_those_there_are(session: Session, running: int) -> None:
    with pytest.raises(
        InputError, match=r"judge 'slo' is not in .*did you mean 'slow'\? \(known: good, slow\)"
    ):
        pause(session, running, judges=["good", "slo"])
    with pytest.raises(InputError, match=r"judge 'sim-grok-4.3' is not in bake-off"):
        retry_errors(session, running, judges=["sim-grok-4.3"], cap_usd=None)


def test_with_its_last_judge_paused_a_bake_off_concludes_when_its_calls_are_home(
    db: Database, broker: Broker, sql: Sql, session: Session, running: int, job_ids: Ids
) -> None:
    job = jobs.claim(db, job_ids(running)[0], lease_s=60)
    assert job
    pause(session, running, judges=["good", "slow"])
    assert bakeoffs.get(db, running).state == "running"
    reap(db, broker, lost_after_s=15)
    assert bakeoffs.get(db, running).state == "running"
    assert jobs.finish(db, job, Outcome("passed"), [])
    conclude_paused(db, running)
    assert sql("SELECT state, result ->> 'n_done', result ->> 'partial' FROM bakeoffs") == [
        ("concluded", "1", "true")
    ]


def test_the_last_run_waits_for_the_jobs_in_hand_of_a_paused_one(
    db: Database,
    sql: Sql,
    session: Session,
    running: int,
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[..., None],
) -> None:
    held = jobs.claim(db, job_ids(running)[3], lease_s=60)
    assert held
    pause(session, running, judges=["slow"])
    for job_id in job_ids(running)[:3]:
        end_job(job_id)
    assert conclude(db, run_ids(running)[0])
    assert bakeoffs.get(db, running).state == "running"
    jobs.release(db, held, wait_s=0)
    conclude_paused(db, running)
    assert bakeoffs.get(db, running).state == "concluded"


def test_resume_takes_back_a_conclusion_without_the_paused_judge(
    db: Database,
    sql: Sql,
    broker: Broker,
    session: Session,
    running: int,
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[..., None],
) -> None:
    for job_id in job_ids(running)[:3]:
        end_job(job_id)
    conclude(db, run_ids(running)[0])
    pause(session, running, judges=["slow"])
    assert bakeoffs.get(db, running).state == "concluded"
    assert restart(session, running, cap_usd=None)
    assert sql("SELECT state, concluded_at, result FROM bakeoffs") == [("running", None, None)]
    assert sql(STATES) == [("good", "concluded", None), ("slow", "running", None)]
    for job_id in job_ids(running)[3:]:
        end_job(job_id)
    conclude(db, run_ids(running)[1])
    assert sql("SELECT state, result ->> 'partial' FROM bakeoffs") == [("concluded", "false")]


def test_resuming_one_judge_leaves_the_waits_and_messages_of_the_others_alone(
    db: Database,
    broker: Broker,
    valkey: "redis.Redis",
    sql: Sql,
    session: Session,
    running: int,
    job_ids: Ids,
) -> None:
    job = jobs.claim(db, job_ids(running)[0], lease_s=60)
    assert job
    jobs.release(db, job, wait_s=3600)
    pause(session, running, judges=["slow"])
    valkey.delete(QUEUE)
    assert restart(session, running, cap_usd=None)
    assert valkey.llen(QUEUE) == 3
    assert sql("SELECT count(*) FROM jobs WHERE not_before > now()") == [(1,)]


def test_messages_lost_with_their_fleet_are_published_again_on_resume(
    broker: Broker, valkey: "redis.Redis", sql: Sql, session: Session, running: int
) -> None:
    valkey.flushdb()
    sql("UPDATE jobs SET queued_at = now() - interval '10 seconds'")
    assert restart(session, running, cap_usd=None)
    assert valkey.llen(QUEUE) == 6


def test_resumed_from_several_machines_at_once_every_job_is_published_once(
    db: Database,
    broker: Broker,
    valkey: "redis.Redis",
    sql: Sql,
    session: Session,
    record: Callable[..., int],
    judge: Callable[..., SimulatedJudge],
    at_once: Callable[..., list[Any]],
) -> None:
    bakeoff_id = record(300, [judge("a"), judge("b")])
    pump_all(db, broker)
    bakeoffs.move(db, bakeoff_id, "cancelled", from_states=["running"])
    valkey.flushdb()
    assert at_once(lambda: restart(session, bakeoff_id, cap_usd=None), 4) == [True] * 4
    assert sql("SELECT state, count(*) FROM jobs GROUP BY state") == [("queued", 600)]
    assert valkey.llen(QUEUE) == 600


def test_what_has_ended_completely_is_not_reopened_nor_given_another_cap(
    db: Database,
    broker: Broker,
    sql: Sql,
    session: Session,
    running: int,
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[..., None],
) -> None:
    for job_id in job_ids(running):
        end_job(job_id)
    for run_id in run_ids(running):
        conclude(db, run_id)
    before = sql("SELECT bakeoffs::text FROM bakeoffs")
    assert not restart(session, running, cap_usd=Decimal(100))
    assert sql("SELECT bakeoffs::text FROM bakeoffs") == before


@pytest.mark.parametrize(
    ("ends", "n_repeated"),
    [
        (["call_permanent", "call_permanent"], 2),
        (["call_permanent", "call_transient"], 2),
        (["call_permanent", "call_ambiguous"], 0),  # perhaps billed
        (["call_permanent", "truncated"], 0),  # billed
        (["call_permanent", None], 0),  # it has answered
    ],
)
def test_resume_repeats_the_failed_calls_of_a_judge_that_has_answered_nothing(
    db: Database, sql: Sql, session: Session, running: int, job_ids: Ids, ends: list[Any], n_repeated: int
) -> None:
    for job_id, error_kind in zip(job_ids(running)[3:], ends, strict=False):
        job = jobs.claim(db, job_id, lease_s=60)
        assert job
        assert jobs.finish(db, job, Outcome("errored" if error_kind else "failed", error_kind), [])
    pause(session, running, judges=["slow"])
    assert restart(session, running, cap_usd=None)
    assert sql("SELECT count(*) FROM superseded_outcomes") == [(n_repeated,)]
    assert sql("SELECT count(*) FROM jobs WHERE state = 'done'") == [(len(ends) - n_repeated,)]
