"""The audit row: every run that was stopped has one, marked as incomplete, and its resumption rewrites it."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalq.bakeoff.conclude import conclude, record_stopped
from evalq.bakeoff.control import cancel
from evalq.bakeoff.plan import Plan
from evalq.bakeoff.progress import read_progress
from evalq.definitions.judge import OpenAIJudge, SimulatedJudge
from evalq.errors import CapReached, InputError
from evalq.results import BakeOffState
from evalq.store import bakeoffs, calls, jobs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]

ROW = "SELECT state, n_cases, n_pass, total_cost_usd > 0 FROM eval_runs"


@pytest.fixture
def half_done(record: Callable[..., int], job_ids: Ids, end_job: Callable[..., None]) -> int:
    """A running bake-off of one judge and four cases, two of which have ended."""
    bakeoff_id = record(4)
    for job_id in job_ids(bakeoff_id)[:2]:
        end_job(job_id)
    return bakeoff_id


@pytest.mark.parametrize("state", ["paused", "capped", "cancelled"])
def test_a_stopped_run_has_its_row_with_its_own_n(
    db: Database, sql: Sql, half_done: int, state: BakeOffState
) -> None:
    sql("UPDATE call_journal SET cost_usd = 0.01")
    bakeoffs.move(db, half_done, state, from_states=["running"])
    record_stopped(db)
    assert sql(ROW) == [(state, 2, 2, True)]


def test_a_run_that_still_has_a_call_in_flight_gets_its_row_when_the_call_is_home(
    db: Database, sql: Sql, half_done: int, job_ids: Ids
) -> None:
    job = jobs.claim(db, job_ids(half_done)[2], lease_s=60)
    assert job
    assert cancel(db, half_done)
    assert sql(ROW) == []
    jobs.release(db, job, wait_s=0)
    record_stopped(db)
    assert sql("SELECT state, n_cases FROM eval_runs") == [("cancelled", 2)]


def test_a_judge_that_was_paused_alone_has_its_row(
    db: Database, sql: Sql, half_done: int, run_ids: Ids
) -> None:
    bakeoffs.pause_run(db, run_ids(half_done)[0], "by hand")
    record_stopped(db, half_done)
    assert sql("SELECT state, n_cases FROM eval_runs") == [("paused", 2)]


def test_a_paused_run_that_is_cancelled_says_cancelled(db: Database, sql: Sql, half_done: int) -> None:
    bakeoffs.pause(db, half_done, "by hand")
    record_stopped(db)
    cancel(db, half_done)
    assert sql("SELECT state FROM eval_runs") == [("cancelled",)]


def test_a_resumed_run_rewrites_its_row_and_keeps_its_notes(
    db: Database, sql: Sql, half_done: int, run_ids: Ids, job_ids: Ids, end_job: Callable[..., None]
) -> None:
    bakeoffs.pause(db, half_done, "by hand")
    record_stopped(db)
    sql("UPDATE eval_runs SET notes = 'mine'")
    bakeoffs.reopen(db, half_done, cap_usd=None)
    assert sql("SELECT state FROM eval_runs") == [("running",)]
    for job_id in job_ids(half_done)[2:]:
        end_job(job_id)
    assert conclude(db, run_ids(half_done)[0])
    assert sql("SELECT state, n_cases, n_pass, notes FROM eval_runs") == [("concluded", 4, 4, "mine")]


def test_a_note_is_stored_with_every_run(db: Database, sql: Sql, plan: Callable[..., Plan]) -> None:
    noted = replace(plan(1), notes="before the new prompt")
    bakeoff_id = db.in_transaction(lambda tx: bakeoffs.add(tx, noted, bakeoffs.Terms(Decimal(1))))
    cancel(db, bakeoff_id)
    assert sql("SELECT notes FROM eval_runs") == [("before the new prompt",)]


@pytest.fixture
def reserve(db: Database, half_done: int, job_ids: Ids) -> Callable[..., int | None]:
    """Sets dollars aside for a call of a judge, under a cap of one dollar a day."""
    job = jobs.claim(db, job_ids(half_done)[2], lease_s=60)
    assert job
    calls.set_daily_caps(db, {"day": Decimal(1)})

    def set_aside(judge: SimulatedJudge | OpenAIJudge, usd: str) -> int | None:
        return calls.reserve(db, job, calls.Call(judge, "answer", "key", 1, Decimal(usd)))

    return set_aside


def test_simulated_dollars_are_outside_the_cap_of_the_day(
    sql: Sql, reserve: Callable[..., int | None], judge: Callable[..., SimulatedJudge]
) -> None:
    assert reserve(judge(), "2")
    assert sql("SELECT spent_usd, reserved_usd FROM spending WHERE scope = 'day'") == [(0, 0)]
    with pytest.raises(CapReached, match="the cap of the day"):
        reserve(OpenAIJudge(name="gpt", provider="openai", model="gpt"), "2")


def test_last_is_what_a_user_started_not_a_scheduled_check(
    db: Database, sql: Sql, record: Callable[..., int]
) -> None:
    wanted, check, smoke = record(1), record(1), record(1)
    sql("UPDATE bakeoffs SET run_type = 'drift_check' WHERE id = %s", check)
    sql("UPDATE bakeoffs SET run_type = 'smoke' WHERE id = %s", smoke)
    assert bakeoffs.find(db, "last") == bakeoffs.find(db, "@-1") == wanted
    assert bakeoffs.find(db, str(check)) == check


def test_a_place_before_the_first_bake_off_says_how_many_there_are(
    db: Database, record: Callable[..., int]
) -> None:
    with pytest.raises(InputError, match="there is no bake-off yet"):
        bakeoffs.find(db, "@-5")
    for _ in range(3):
        record(1)
    with pytest.raises(InputError, match=r"'@-5' goes too far back: there are 3 bake-offs"):
        bakeoffs.find(db, "@-5")


def test_the_clock_of_a_bake_off_stops_with_it(
    db: Database, sql: Sql, half_done: int, run_ids: Ids, job_ids: Ids, end_job: Callable[..., None]
) -> None:
    sql("UPDATE bakeoffs SET created_at = now() - interval '2 days'")
    sql("UPDATE outcomes SET finished_at = now() - interval '1 day'")
    bakeoffs.pause(db, half_done, "by hand")
    assert round(read_progress(db, half_done).elapsed_s) == 24 * 3600
    bakeoffs.reopen(db, half_done, cap_usd=None)
    for job_id in job_ids(half_done)[2:]:
        end_job(job_id)
    conclude(db, run_ids(half_done)[0])
    sql("UPDATE bakeoffs SET concluded_at = created_at + interval '1 hour'")
    assert read_progress(db, half_done).elapsed_s == 3600
