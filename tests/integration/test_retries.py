"""Running errored jobs again: which rows move, which stay, and that no aggregate outlives its jobs."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from threading import Thread
from typing import Any

import pytest
import redis
from patience import PATIENCE_S

from evalq.bakeoff.conclude import conclude, result_of
from evalq.bakeoff.publish import pump_all
from evalq.calling.metered import MAX_ATTEMPTS
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.broker import Broker
from evalq.engines.processes import wait_until
from evalq.errors import ProviderFault
from evalq.records import Completion, Grade, Outcome
from evalq.results import BakeOffState
from evalq.store import bakeoffs, calls, jobs
from evalq.store.bakeoffs import reopen, retry_errors
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]
End = Callable[[int, str], None]

ENDS = ("passed", "failed", "empty", "ungradable", "call_permanent")
"""How the jobs of each judge end, in case order."""

TABLES = (
    "bakeoffs",
    "runs",
    "jobs",
    "outcomes",
    "grades",
    "completions",
    "eval_runs",
    "eval_kappa",
    "superseded_outcomes",
)


@pytest.fixture
def end(db: Database, answer: Completion, judge: Callable[..., SimulatedJudge]) -> End:
    """Ends a job in one of the ways of ENDS, with the call, the answer and the grade that belong to it."""

    def end_so(job_id: int, how: str) -> None:
        job = jobs.claim(db, job_id, lease_s=60)
        assert job
        if how == "call_permanent":
            make_call(db, job, judge(), ProviderFault("permanent", "404, no such model"))
        elif not job.completion:
            state, text = ("empty", "") if how == "empty" else ("answered", f"answer {job_id}")
            make_call(db, job, judge(), replace(answer, state=state, text=text))
        passed = {"passed": True, "failed": False, "ungradable": None}
        grades = [Grade("strict_substring", passed[how], None, how)] if how in passed else []
        is_error = how not in ("passed", "failed")
        assert jobs.finish(db, job, Outcome("errored", how, how) if is_error else Outcome(how), grades)

    return end_so


def make_call(
    db: Database, job: jobs.Job, judge: SimulatedJudge, result: Completion | ProviderFault, attempt: int = 1
) -> None:
    call_id = calls.reserve(db, job, calls.Call(judge, "answer", "key", attempt, Decimal("0.001")))
    assert call_id
    is_fault = isinstance(result, ProviderFault)
    calls.settle(db, call_id, calls.failed(result) if is_fault else calls.answered(result))


@pytest.fixture
def ended(record: Callable[..., int], job_ids: Ids, judge: Callable[..., SimulatedJudge], end: End) -> int:
    """A bake-off of two judges whose jobs have ended in every way; nobody has concluded it yet."""
    bakeoff_id = record(len(ENDS), [judge("a"), judge("b")])
    for job_id, how in zip(job_ids(bakeoff_id), ENDS * 2, strict=True):
        end(job_id, how)
    return bakeoff_id


@pytest.fixture
def concluded(db: Database, ended: int, run_ids: Ids) -> int:
    """The same, concluded."""
    for run_id in run_ids(ended):
        assert conclude(db, run_id)
    return ended


@pytest.fixture
def retry(db: Database, run_ids: Ids) -> Callable[..., int]:
    """Runs errored jobs again, of all runs unless some are named."""

    def run(bakeoff_id: int, *chosen: int, cap_usd: Decimal | None = None) -> int:
        return retry_errors(db, bakeoff_id, run_ids=chosen or run_ids(bakeoff_id), cap_usd=cap_usd)

    return run


def contents(sql: Sql) -> dict[str, Any]:
    return {table: sql(f"SELECT t::text FROM {table} t ORDER BY 1") for table in TABLES}


def test_exactly_the_errored_outcomes_are_set_aside_with_their_broken_answers(
    sql: Sql, concluded: int, job_ids: Ids, retry: Callable[..., int]
) -> None:
    assert retry(concluded) == 6
    assert sql("SELECT DISTINCT verdict FROM outcomes ORDER BY 1") == [("failed",), ("passed",)]
    _, _, empty, ungradable, failed_call = job_ids(concluded)[:5]
    columns = "job_id, verdict, error_kind, message, attempts, completion_state, answer"
    assert sql(f"SELECT {columns} FROM superseded_outcomes ORDER BY job_id LIMIT 3") == [
        (empty, "errored", "empty", "empty", 1, "empty", ""),
        (ungradable, "errored", "ungradable", "ungradable", 1, None, None),
        (failed_call, "errored", "call_permanent", "call_permanent", 1, None, None),
    ]
    assert sql("SELECT bool_and(superseded_at > finished_at) FROM superseded_outcomes") == [(True,)]


def test_grades_go_and_an_answer_that_was_only_not_graded_stays(
    db: Database, sql: Sql, concluded: int, job_ids: Ids, retry: Callable[..., int]
) -> None:
    retry(concluded)
    passed, failed, _, ungradable, _ = job_ids(concluded)[:5]
    kept = "SELECT job_id FROM {} WHERE job_id <= %s ORDER BY job_id"
    assert sql(kept.format("grades"), job_ids(concluded)[4]) == [(passed,), (failed,)]
    assert sql(kept.format("completions"), job_ids(concluded)[4]) == [(passed,), (failed,), (ungradable,)]
    job = jobs.claim(db, ungradable, lease_s=60)
    assert job
    assert job.completion
    assert job.completion.text == f"answer {ungradable}"


def test_errored_jobs_are_ready_and_all_others_as_they_were(
    sql: Sql, ended: int, job_ids: Ids, retry: Callable[..., int]
) -> None:
    sql("UPDATE jobs SET losses = 3, not_before = now() + interval '1 hour', queued_at = now()")
    others = (
        "SELECT jobs::text FROM jobs WHERE id IN (SELECT job_id FROM outcomes WHERE verdict <> 'errored')"
    )
    before = sql(f"{others} ORDER BY id")
    retry(ended)
    columns = "state, losses, not_before = '-infinity', queued_at, retried_at > now() - interval '1 minute'"
    assert sql(f"SELECT DISTINCT {columns} FROM jobs WHERE id = ANY(%s)", job_ids(ended)[2:5]) == [
        ("ready", 0, True, None, True)
    ]
    assert sql(f"{others} ORDER BY id") == before
    assert len(before) == 4


def test_no_aggregate_is_left_of_what_runs_again(
    db: Database, sql: Sql, concluded: int, retry: Callable[..., int]
) -> None:
    assert sql("SELECT count(*) FROM eval_kappa") == [(1,)]
    retry(concluded)
    assert sql("SELECT DISTINCT state FROM eval_runs") == [("running",)]
    assert sql("SELECT count(*) FROM eval_kappa") == [(0,)]
    assert sql("SELECT state, concluded_at, result FROM bakeoffs") == [("running", None, None)]
    assert {run.state for run in bakeoffs.runs(db, concluded)} == {"running"}


def test_of_judges_not_named_nothing_moves_but_their_agreement_with_those_that_are(
    db: Database, sql: Sql, concluded: int, run_ids: Ids, retry: Callable[..., int]
) -> None:
    a, b = run_ids(concluded)
    assert retry(concluded, b) == 3
    assert sql("SELECT id FROM eval_runs WHERE state = 'concluded'") == [(a,)]
    assert sql("SELECT count(*) FROM eval_kappa") == [(0,)]
    assert sql("SELECT run_id, count(*) FROM outcomes GROUP BY 1 ORDER BY 1") == [(a, 5), (b, 2)]
    assert [run.state for run in bakeoffs.runs(db, concluded)] == ["concluded", "running"]


def test_where_nothing_is_errored_nothing_changes(
    db: Database,
    sql: Sql,
    record: Callable[..., int],
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[..., None],
    retry: Callable[..., int],
) -> None:
    bakeoff_id = record(2)
    for job_id in job_ids(bakeoff_id):
        end_job(job_id)
    conclude(db, run_ids(bakeoff_id)[0])
    before = contents(sql)
    assert retry(bakeoff_id, cap_usd=Decimal(100)) == 0
    assert contents(sql) == before


def test_a_job_given_up_after_six_calls_can_be_called_again(
    db: Database,
    record: Callable[..., int],
    job_ids: Ids,
    judge: Callable[..., SimulatedJudge],
    retry: Callable[..., int],
) -> None:
    bakeoff_id = record(1)
    (job_id,) = job_ids(bakeoff_id)
    job = jobs.claim(db, job_id, lease_s=60)
    assert job
    for attempt in range(MAX_ATTEMPTS):
        make_call(db, job, judge(), ProviderFault("transient", "503"), attempt + 1)
    jobs.finish(db, job, Outcome("errored", "call_transient", "503"), [])
    retry(bakeoff_id)
    again = jobs.claim(db, job_id, lease_s=60)
    assert again
    assert calls.tries_before(db, replace(again, attempt=2), "key") == calls.Tries(0, 0)
    make_call(db, again, judge(), ProviderFault("ambiguous", "timeout"))
    assert calls.tries_before(db, again, "key") == calls.Tries(1, 1)


def test_calls_made_while_the_lock_was_waited_for_do_not_count_either(
    db: Database, sql: Sql, record: Callable[..., int], job_ids: Ids, end: End, retry: Callable[..., int]
) -> None:
    bakeoff_id = record(1)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    thread = Thread(target=lambda: retry(bakeoff_id))
    with db.transaction() as tx:
        tx.row("lock_bakeoff", bakeoff_id=bakeoff_id)
        thread.start()
        assert wait_until(lambda: sql(waiting) == [(1,)], timeout_s=PATIENCE_S)
        end(job_ids(bakeoff_id)[0], "call_permanent")
    thread.join()
    again = jobs.claim(db, job_ids(bakeoff_id)[0], lease_s=60)
    assert again
    assert calls.tries_before(db, again, "key") == calls.Tries(0, 0)


def test_a_call_lost_before_the_retry_that_comes_home_after_it_is_paid_for_but_no_answer(
    db: Database,
    sql: Sql,
    record: Callable[..., int],
    job_ids: Ids,
    judge: Callable[..., SimulatedJudge],
    answer: Completion,
    retry: Callable[..., int],
) -> None:
    bakeoff_id = record(1)
    job = jobs.claim(db, job_ids(bakeoff_id)[0], lease_s=60)
    assert job
    call_id = calls.reserve(db, job, calls.Call(judge(), "answer", "key", 1, Decimal("0.001")))
    db.run("close_lost_calls", job_ids=[job.id])
    jobs.finish(db, job, Outcome("errored", "worker_lost", "lost"), [])
    retry(bakeoff_id)
    calls.settle(db, call_id or 0, calls.answered(answer))
    assert sql("SELECT count(*) FROM completions") == [(0,)]
    assert sql("SELECT reserved_usd, spent_usd FROM bakeoffs") == [(0, answer.cost_usd)]


def test_a_job_may_be_retried_as_often_as_it_errs(
    sql: Sql, concluded: int, job_ids: Ids, end: End, retry: Callable[..., int]
) -> None:
    job_id = job_ids(concluded)[4]
    assert (retry(concluded), retry(concluded)) == (6, 0)
    end(job_id, "call_permanent")
    assert retry(concluded) == 1
    end(job_id, "passed")
    assert retry(concluded) == 0
    of_job = "SELECT attempts FROM superseded_outcomes WHERE job_id = %s ORDER BY attempts"
    assert sql(of_job, job_id) == [(1,), (2,)]
    assert sql("SELECT verdict, attempts FROM outcomes WHERE job_id = %s", job_id) == [("passed", 3)]


def test_of_a_running_bake_off_only_what_has_erred_so_far_is_retried(
    db: Database,
    broker: Broker,
    sql: Sql,
    record: Callable[..., int],
    job_ids: Ids,
    end: End,
    retry: Callable[..., int],
) -> None:
    bakeoff_id = record(5)
    pump_all(db, broker)
    erred, passed, held, waiting, queued = job_ids(bakeoff_id)
    end(erred, "call_permanent")
    end(passed, "passed")
    held_job, waiting_job = (jobs.claim(db, job_id, lease_s=60) for job_id in (held, waiting))
    assert waiting_job
    jobs.release(db, waiting_job, wait_s=3600)
    others = "SELECT jobs::text FROM jobs WHERE id <> %s ORDER BY id"
    before = sql(others, erred)
    assert retry(bakeoff_id) == 1
    assert sql(others, erred) == before
    assert sql("SELECT id FROM jobs WHERE state = 'queued'") == [(queued,)]
    assert held_job
    assert jobs.finish(db, held_job, Outcome("passed"), [])


@pytest.mark.parametrize("state", ["paused", "capped", "cancelled"])
def test_a_stopped_bake_off_goes_on_with_all_it_has_left(
    db: Database,
    broker: Broker,
    valkey: "redis.Redis",
    sql: Sql,
    record: Callable[..., int],
    job_ids: Ids,
    end: End,
    retry: Callable[..., int],
    state: BakeOffState,
) -> None:
    bakeoff_id = record(3, cap_usd=1)
    pump_all(db, broker)
    end(job_ids(bakeoff_id)[0], "empty")
    bakeoffs.move(db, bakeoff_id, state, from_states=["running"])
    valkey.flushdb()
    assert retry(bakeoff_id, cap_usd=Decimal(2)) == 1
    pump_all(db, broker)
    assert valkey.llen("calls.simulated") == 3
    assert sql("SELECT state, cap_usd, stop_reason FROM bakeoffs") == [("running", 2, None)]


def test_a_paused_judge_with_errors_goes_on_and_one_without_stays_paused(
    db: Database,
    record: Callable[..., int],
    job_ids: Ids,
    run_ids: Ids,
    judge: Callable[..., SimulatedJudge],
    end: End,
    retry: Callable[..., int],
) -> None:
    bakeoff_id = record(2, [judge("a"), judge("b")])
    end(job_ids(bakeoff_id)[0], "call_permanent")
    for run_id in run_ids(bakeoff_id):
        bakeoffs.pause_run(db, run_id, "401")
    assert retry(bakeoff_id) == 1
    states = [(run.state, run.pause_reason) for run in bakeoffs.runs(db, bakeoff_id)]
    assert states == [("running", None), ("paused", "401")]


def test_concluding_again_writes_every_aggregate_anew(
    db: Database,
    sql: Sql,
    concluded: int,
    job_ids: Ids,
    run_ids: Ids,
    end: End,
    retry: Callable[..., int],
) -> None:
    first = sql("SELECT concluded_at FROM bakeoffs")
    retry(concluded)
    for job_id in [*job_ids(concluded)[2:5], *job_ids(concluded)[7:]]:
        end(job_id, "passed")
    for run_id in run_ids(concluded):
        assert conclude(db, run_id)
    rows = sql("SELECT id, n_pass, n_fail, n_error, accuracy::float FROM eval_runs ORDER BY id")
    assert rows == [(run_id, 4, 1, 0, 0.8) for run_id in run_ids(concluded)]
    assert sql("SELECT n, kappa::float FROM eval_kappa") == [(5, 1.0)]
    stored = json.loads(bakeoffs.get(db, concluded).result or "")
    assert stored == json.loads(json.dumps(result_of(db, concluded).to_dict()))
    assert (stored["partial"], stored["n_done"]) == (False, 10)
    assert sql("SELECT concluded_at FROM bakeoffs") > first


def test_a_conclusion_and_a_retry_at_once_leave_no_aggregate_of_open_jobs(
    db: Database,
    sql: Sql,
    ended: int,
    run_ids: Ids,
    end: End,
    retry: Callable[..., int],
    at_once: Callable[..., list[Any]],
) -> None:
    open_jobs = "SELECT id FROM jobs WHERE state <> 'done' ORDER BY id"
    for how in itertools.islice(itertools.cycle(["empty", "ungradable"]), 8):
        deeds = [
            *(lambda run_id=run_id: conclude(db, run_id) for run_id in run_ids(ended)),
            lambda: retry(ended),
        ]
        at_once(lambda deeds=deeds: deeds.pop()(), 3)
        concluded = "SELECT count(*) FROM eval_runs WHERE state = 'concluded'"
        assert sql(concluded) == sql("SELECT count(*) FROM eval_kappa") == [(0,)]
        assert sql("SELECT state, result FROM bakeoffs") == [("running", None)]
        assert len(sql(open_jobs)) == 6
        for (job_id,) in sql(open_jobs):
            end(job_id, how)
    assert all(conclude(db, run_id) for run_id in run_ids(ended))
    assert not reopen(db, ended, cap_usd=None)
