"""Ranking the answers of all judges to one case: one item, when all of them are there."""

from collections.abc import Callable
from typing import Any

import pytest
from review_scene import RANKING, conclude_all, end, ended, human, job_ids, rate_next, start, take, task_of

from evalq.bakeoff.conclude import conclude, result_of
from evalq.bakeoff.fsck import check
from evalq.errors import InputError
from evalq.review import Given, next_item, rate, status, undo
from evalq.store import bakeoffs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
TASK = task_of(human(rating_scale=RANKING))
JUDGES = ("sim-a", "sim-b", "sim-c")
BY_JUDGE = """
SELECT r.judge, o.verdict, g.score FROM outcomes o JOIN runs r ON r.id = o.run_id
LEFT JOIN grades g ON g.job_id = o.job_id ORDER BY r.judge
"""


def letters(db: Database, bakeoff_id: int) -> dict[str, str]:
    """The letter of each judge's answer, as only somebody who sees the texts can tell."""
    item = next_item(db, bakeoff_id, "ann").item
    assert item is not None
    return {answer.text.split()[0]: answer.letter for answer in item.answers}


def test_the_best_answer_passes_and_each_is_scored_by_its_rank(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, TASK, 1, JUDGES)
    at = letters(db, bakeoff_id)
    rated = rate_next(db, bakeoff_id, f"{at['sim-b']} > {at['sim-c']} > {at['sim-a']}")
    assert (rated.state, rated.n_pending) == ("decided", 0)
    assert sql(BY_JUDGE) == [("sim-a", "failed", 0.0), ("sim-b", "passed", 1.0), ("sim-c", "failed", 0.5)]
    assert {run.judge: run.n_pass for run in result_of(db, bakeoff_id).runs} == {
        "sim-a": 0,
        "sim-b": 1,
        "sim-c": 0,
    }
    assert sql("SELECT count(*), sum(passed::int) FROM human_labels") == [(3, 1)]
    assert undo(db, "ann").n_pending == 3
    assert check(db) == []


def test_letters_are_shuffled_the_same_for_everybody(db: Database) -> None:
    bakeoff_id = ended(db, task_of(human(rating_scale=RANKING, min_required=2)), 6, JUDGES)
    seen = set()
    for _ in range(6):
        seen.add(tuple(sorted(letters(db, bakeoff_id).items())))
        first, second = (next_item(db, bakeoff_id, who).item for who in ("ann", "bob"))
        assert first is not None
        assert second is not None
        assert first.answers == second.answers
        rate_next(db, bakeoff_id, "A B C")
        rate_next(db, bakeoff_id, "A B C", "bob")
    assert len(seen) > 1


def test_a_ranking_waits_for_the_answers_of_all_judges(db: Database) -> None:
    bakeoff_id = start(db, TASK, 1, JUDGES)
    first, second, third = job_ids(db, bakeoff_id)
    end(db, TASK, first)
    end(db, TASK, second)
    assert next_item(db, bakeoff_id, "ann").item is None
    end(db, TASK, third)
    item = next_item(db, bakeoff_id, "ann").item
    assert item is not None
    assert [answer.letter for answer in item.answers] == ["A", "B", "C"]


def test_a_judge_that_did_not_answer_is_not_ranked(db: Database, sql: Sql) -> None:
    bakeoff_id = start(db, TASK, 1, JUDGES)
    for number, job_id in enumerate(job_ids(db, bakeoff_id)):
        end(db, TASK, job_id, state="answered" if number else "empty")
    conclude_all(db, bakeoff_id)
    rate_next(db, bakeoff_id, "B A")
    assert sorted(row[1] for row in sql(BY_JUDGE)) == ["errored", "failed", "passed"]


def test_too_few_answers_to_rank_is_an_error_not_a_fail(db: Database, sql: Sql) -> None:
    bakeoff_id = start(db, TASK, 1, JUDGES)
    for number, job_id in enumerate(job_ids(db, bakeoff_id)):
        end(db, TASK, job_id, state="answered" if number == 1 else "refused")
    conclude_all(db, bakeoff_id)
    assert sql("SELECT message FROM outcomes WHERE error_kind = 'ungradable'") == [
        ("1 answer to rank, at least 2 can be ranked",)
    ]
    assert result_of(db, bakeoff_id).runs[-1].n_pending == 0
    assert sql("SELECT sum(n_error), sum(n_pending) FROM eval_runs") == [(3, 0)]
    assert check(db) == []


def test_a_late_answer_makes_earlier_rankings_void(db: Database, sql: Sql) -> None:
    bakeoff_id = start(db, TASK, 1, JUDGES)
    *first, last = job_ids(db, bakeoff_id)
    for job_id in first:
        end(db, TASK, job_id)
    runs = [run.id for run in bakeoffs.runs(db, bakeoff_id)]
    bakeoffs.pause_run(db, runs[2], "401")
    for run_id in runs[:2]:
        conclude(db, run_id)
    token = rate_next(db, bakeoff_id, "A B").item
    assert result_of(db, bakeoff_id).state == "concluded"
    bakeoffs.move(db, bakeoff_id, "running", from_states=["concluded"])
    sql("UPDATE runs SET state = 'running', pause_reason = NULL WHERE id = %s", runs[2])
    end(db, TASK, last)
    conclude(db, runs[2])
    assert sql("SELECT verdict, count(*) FROM outcomes GROUP BY 1") == [("pending_review", 3)]
    assert sql("SELECT sum(n_pending) FROM eval_runs") == [(3,)]
    assert sql("SELECT count(*) FROM human_labels") == [(0,)]
    assert take(db, bakeoff_id) == token
    assert rate(db, Given(token, "ann", "C A B")).n_pending == 0
    assert check(db) == []


def test_two_who_rank_the_other_way_round_need_a_third(db: Database) -> None:
    bakeoff_id = ended(db, task_of(human(rating_scale=RANKING, min_required=2)), 1, JUDGES[:2])
    rate_next(db, bakeoff_id, "A B")
    second = rate_next(db, bakeoff_id, "B A", "bob")
    assert (second.state, second.reason) == (
        "pending",
        "waits for review: reviewers are evenly split, one more review is wanted",
    )
    assert rate_next(db, bakeoff_id, "B A", "cat").state == "decided"
    (found,) = status(db, bakeoff_id).graders
    assert (found.scale, found.reviews, found.agreement.method, found.agreement.n) == (
        "ranking",
        3,
        "alpha",
        2,
    )


def test_a_tie_where_none_is_allowed_is_the_reviewers_to_mend(db: Database) -> None:
    bakeoff_id = ended(db, TASK, 1, JUDGES[:2])
    with pytest.raises(InputError, match="a tie, and the scale allows none"):
        rate_next(db, bakeoff_id, "A = B")
