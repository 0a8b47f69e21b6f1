"""Estimates from what the same judge and task cost before."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from evalq.bakeoff.estimate import refine_estimate
from evalq.bakeoff.plan import Plan
from evalq.store import bakeoffs
from evalq.store.database import Database

Record = Callable[..., int]


@pytest.fixture
def answered(db: Database, record: Record, job_ids: Any, end_job: Any) -> Callable[..., int]:
    """Records a bake-off and has every job answered with 30 input and 4 output tokens."""

    def make(**fields: Any) -> int:
        bakeoff_id = record(**fields)
        for job_id in job_ids(bakeoff_id):
            end_job(job_id)
        return bakeoff_id

    return make


def test_a_first_bake_off_is_estimated_by_a_guess(db: Database, plan: Callable[..., Plan]) -> None:
    made = plan()
    assert refine_estimate(db, made) == made
    assert made.estimate.source == "a guess"


def test_a_second_bake_off_costs_what_the_first_did(
    db: Database, plan: Callable[..., Plan], answered: Callable[..., int]
) -> None:
    answered(n_cases=3)
    refined = refine_estimate(db, plan(n_cases=3, samples=5))
    assert refined.estimate_usd == 3 * 5 * (30 + 4) * Decimal("0.000001")
    assert refined.estimate.source == "from 3 earlier answers"
    assert refined.worst_usd == plan(n_cases=3, samples=5).worst_usd


def test_answers_to_another_set_tell_the_length_of_answers_only(
    db: Database, plan: Callable[..., Plan], answered: Callable[..., int]
) -> None:
    answered(n_cases=2)
    guess = plan(n_cases=7)
    (refined,) = refine_estimate(db, guess).estimate.judges
    assert refined.input_usd == guess.estimate.judges[0].input_usd
    assert refined.output_usd == 7 * 4 * Decimal("0.000001")


def test_another_snapshot_of_a_judge_is_not_the_same_judge(
    db: Database, plan: Callable[..., Plan], answered: Callable[..., int], judge: Any
) -> None:
    answered(n_cases=3)
    made = plan(3, [judge(), judge("sim-b")])
    assert refine_estimate(db, made).estimate.source == "sim-a: from 3 earlier answers; sim-b: a guess"
    assert refine_estimate(db, plan(3, [judge(accuracy=0.1)])).estimate.source == "a guess"


def test_the_smoke_call_serves_until_there_are_answers(
    db: Database, plan: Callable[..., Plan], answered: Callable[..., int], job_ids: Any, end_job: Any
) -> None:
    terms = bakeoffs.Terms(Decimal(5), "smoke")
    smoke = db.in_transaction(lambda tx: bakeoffs.add(tx, plan(1), terms))
    end_job(job_ids(smoke)[0])
    refined = refine_estimate(db, plan(3))
    assert refined.estimate.source == "from the smoke call"
    assert refined.estimate.judges[0].output_usd == 3 * 4 * Decimal("0.000001")
    answered(n_cases=3)
    assert refine_estimate(db, plan(3)).estimate.source == "from 3 earlier answers"


def test_an_estimate_never_exceeds_the_worst_case(
    db: Database, plan: Callable[..., Plan], answered: Callable[..., int], sql: Any
) -> None:
    answered(n_cases=3)
    sql("UPDATE completions SET output_tokens = 2000000000")
    refined = refine_estimate(db, plan(3))
    assert refined.estimate_usd == refined.worst_usd


def test_earlier_costs_are_found_by_an_index(db: Database, sql: Any, record: Record) -> None:
    record(n_cases=1)
    sql("SET enable_seqscan = off")
    for column, table in (("judge_sha", "runs"), ("task_sha", "bakeoffs")):
        lines = sql(f"EXPLAIN SELECT id FROM {table} WHERE {column} = %s ORDER BY id DESC LIMIT 20", "x" * 64)
        assert f"idx_{table}_{column}" in json.dumps(lines)
