"""Concluding: never early, never twice, and what is written is what one reads."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from patience import PATIENCE_S

from evalq.bakeoff.conclude import conclude, conclude_paused, result_of
from evalq.definitions.judge import SimulatedJudge
from evalq.engines.processes import wait_until
from evalq.records import Verdict
from evalq.store import bakeoffs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]

VERDICTS: dict[str, list[Verdict]] = {
    "sim-a": ["passed", "passed", "passed", "failed"],
    "sim-b": ["passed", "failed", "passed", "errored"],
    "sim-c": ["errored"] * 4,
}


@pytest.fixture
def ended(
    sql: Sql,
    record: Callable[..., int],
    judge: Callable[..., SimulatedJudge],
    end_job: Callable[[int, Verdict], None],
) -> int:
    """A bake-off of three judges whose jobs have all ended; one of them has answered nothing."""
    bakeoff_id = record(4, [judge(name) for name in VERDICTS])
    rows = sql("SELECT j.id, r.judge, j.case_id FROM jobs j JOIN runs r ON r.id = j.run_id")
    for job_id, name, case_id in rows:
        end_job(job_id, VERDICTS[name][int(case_id[-1])])
    return bakeoff_id


def test_a_run_with_an_open_job_is_left_alone(
    db: Database,
    sql: Sql,
    record: Callable[..., int],
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[..., None],
) -> None:
    bakeoff_id = record(3)
    (run_id,), (first, *rest) = run_ids(bakeoff_id), job_ids(bakeoff_id)
    for job_id in rest:
        end_job(job_id)
    assert not conclude(db, run_id)
    assert sql("SELECT count(*) FROM eval_runs") == [(0,)]
    end_job(first)
    assert conclude(db, run_id)
    assert not conclude(db, run_id)


def test_an_unknown_run_is_left_alone(db: Database) -> None:
    assert not conclude(db, 12345)


def test_of_four_callers_at_once_one_concludes(
    db: Database, sql: Sql, ended: int, run_ids: Ids, at_once: Callable[..., list[Any]]
) -> None:
    for run_id in run_ids(ended):
        assert sorted(at_once(lambda run_id=run_id: conclude(db, run_id), 4)) == [False, False, False, True]
    assert sql("SELECT count(*), count(DISTINCT id) FROM eval_runs") == [(3, 3)]
    assert sql("SELECT count(*) FROM eval_kappa") == [(1,)]


def test_the_runs_of_a_bake_off_may_conclude_at_once(
    db: Database, sql: Sql, ended: int, run_ids: Ids, at_once: Callable[..., list[Any]]
) -> None:
    waiting = run_ids(ended)
    assert at_once(lambda: conclude(db, waiting.pop()), 3) == [True, True, True]
    assert bakeoffs.get(db, ended).state == "concluded"
    assert sql("SELECT count(*) FROM eval_kappa") == [(1,)]


def test_the_bake_off_concludes_with_its_last_run(db: Database, ended: int, run_ids: Ids) -> None:
    first, second, last = run_ids(ended)
    conclude(db, first)
    conclude(db, second)
    assert bakeoffs.get(db, ended).state == "running"
    assert bakeoffs.get(db, ended).result is None
    conclude(db, last)
    assert bakeoffs.get(db, ended).state == "concluded"


def test_the_stored_result_is_what_one_reads_later(db: Database, ended: int, run_ids: Ids) -> None:
    for run_id in run_ids(ended):
        conclude(db, run_id)
    stored = json.loads(bakeoffs.get(db, ended).result or "")
    assert stored == json.loads(json.dumps(result_of(db, ended).to_dict()))
    assert (stored["schema"], stored["state"], stored["n_done"]) == ("evalq.bakeoff/1", "concluded", 12)


def test_a_run_row_says_what_the_result_says(db: Database, sql: Sql, ended: int, run_ids: Ids) -> None:
    for run_id in run_ids(ended):
        conclude(db, run_id)
    columns = "id, judge_model, n_cases, n_pass, n_fail, n_error, accuracy, ci_low, ci_high, excluded"
    rows = [
        (
            r.run_id,
            r.judge,
            r.n_cases,
            r.n_pass,
            r.n_fail,
            r.n_error,
            r.accuracy,
            r.ci_low,
            r.ci_high,
            r.excluded,
        )
        for r in result_of(db, ended).runs
    ]
    stored = sql(f"SELECT {columns} FROM eval_runs ORDER BY id")
    assert [tuple(float(v) if "ecimal" in str(type(v)) else v for v in row) for row in stored] == sorted(rows)
    assert sql("SELECT bool_and(finished_at >= started_at), min(run_type) FROM eval_runs") == [
        (True, "bake-off")
    ]


def test_a_judge_without_a_verdict_has_no_accuracy_and_no_kappa(
    db: Database, sql: Sql, ended: int, run_ids: Ids
) -> None:
    for run_id in run_ids(ended):
        conclude(db, run_id)
    a, b, c = run_ids(ended)
    assert sql("SELECT accuracy, ci_low, ci_high, n_error, excluded FROM eval_runs WHERE id = %s", c) == [
        (None, None, None, 4, "4/4 empty outputs")
    ]
    assert sql("SELECT eval_run_id_a, eval_run_id_b, n, degenerate FROM eval_kappa") == [(a, b, 3, True)]


def test_a_stopped_bake_off_shows_what_it_has_come_to_so_far(
    db: Database, record: Callable[..., int], job_ids: Ids, end_job: Callable[..., None]
) -> None:
    bakeoff_id = record(3)
    end_job(job_ids(bakeoff_id)[0])
    bakeoffs.move(db, bakeoff_id, "cancelled", from_states=["running"])
    result = result_of(db, bakeoff_id)
    assert (result.state, result.n_done, result.n_jobs, result.is_partial) == ("cancelled", 1, 3, True)
    assert result.next[0] == f"evalq resume {bakeoff_id}"


def test_a_bake_off_whose_last_judge_is_paused_is_concluded_without_it(
    db: Database,
    sql: Sql,
    record: Callable[..., int],
    judge: Callable[..., SimulatedJudge],
    job_ids: Callable[[int], list[int]],
    run_ids: Callable[[int], list[int]],
    end_job: Callable[..., None],
) -> None:
    bakeoff_id = record(2, [judge("a"), judge("b")])
    for job_id in job_ids(bakeoff_id)[:2]:
        end_job(job_id)
    first, second = run_ids(bakeoff_id)
    assert bakeoffs.pause_run(db, second, "401, set XAI_API_KEY")
    assert not bakeoffs.pause_run(db, second, "again")
    conclude_paused(db, bakeoff_id)
    assert bakeoffs.get(db, bakeoff_id).state == "running"
    assert conclude(db, first)
    result = result_of(db, bakeoff_id)
    assert (result.state, result.is_partial) == ("concluded", True)
    assert result.runs[-1].excluded == "paused: 401, set XAI_API_KEY"
    assert sql("SELECT id FROM eval_runs WHERE state = 'concluded'") == [(first,)]


def test_a_conclusion_that_had_to_wait_is_not_dated_before_what_it_waited_for(
    db: Database,
    sql: Sql,
    record: Callable[..., int],
    job_ids: Ids,
    run_ids: Ids,
    end_job: Callable[..., None],
) -> None:
    bakeoff_id = record(1)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(db.url) as holder, ThreadPoolExecutor() as pool:
        holder.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('conclude:' || %s::text, 0))", [bakeoff_id]
        )
        concluded = pool.submit(conclude, db, run_ids(bakeoff_id)[0])
        assert wait_until(lambda: sql(waiting) == [(1,)], timeout_s=PATIENCE_S)
        end_job(job_ids(bakeoff_id)[0])
        holder.rollback()
        assert concluded.result()
    dated = (
        "SELECT e.finished_at >= o.finished_at, b.concluded_at >= o.finished_at FROM eval_runs e, outcomes o"
    )
    assert sql(f"{dated}, bakeoffs b") == [(True, True)]


def test_a_concluded_result_is_read_not_computed_again(
    db: Database, sql: Sql, ended: int, run_ids: Ids
) -> None:
    for run_id in run_ids(ended):
        conclude(db, run_id)
    written = result_of(db, ended)
    sql("DELETE FROM grades")
    sql("DELETE FROM outcomes")
    assert result_of(db, ended) == written
    assert result_of(db, ended, ci="beta").n_done == 0
