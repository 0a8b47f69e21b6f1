"""Graded answers put before people: their labels reach calibrate, and no outcome changes."""

from collections.abc import Callable
from typing import Any

import pytest
from review_scene import conclude_all, end, human, job_ids, rate_next, start, task_of

from evalq.bakeoff.fsck import check
from evalq.bakeoff.reviewed import LABELS
from evalq.errors import InputError
from evalq.records import Grade
from evalq.review import next_item, status, undo
from evalq.review.calibration import gather
from evalq.review.label_queue import queue_labels, send_to_review
from evalq.review.labels import contested_cases
from evalq.review.next_labels import choose_next
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
TASK = task_of({"type": "exact_match"})


@pytest.fixture
def graded(db: Database) -> int:
    """Two judges, four cases; a check passes every other answer."""
    bakeoff_id = start(db, TASK, 4, ("sim-a", "sim-b"))
    for number, job_id in enumerate(job_ids(db, bakeoff_id)):
        passed = number % 3 == 0
        end(
            db,
            TASK,
            job_id,
            Grade("exact_match", passed, float(passed), "as it is", True, 1.0, "exact_match"),
        )
    conclude_all(db, bakeoff_id)
    return bakeoff_id


def test_a_case_sent_to_review_is_labelled_and_no_outcome_changes(
    db: Database, sql: Sql, graded: int
) -> None:
    outcomes = "SELECT job_id, verdict FROM outcomes ORDER BY job_id"
    before = sql(outcomes)
    sent = send_to_review(db, graded, "case-1")
    assert (sent.added, sent.asked) == (2, 2)
    item = next_item(db, graded, "ann").item
    assert item is not None
    assert (item.grader, item.case_id, item.is_blind, item.form) == (LABELS, "case-1", True, "Right or Wrong")
    assert rate_next(db, graded, "right").state == "decided"
    assert rate_next(db, graded, "wrong").state == "decided"
    assert sql(outcomes) == before
    assert sorted(one.human for one in gather(db, graded).answers if one.votes) == [False, True]
    assert check(db) == []


def test_sending_a_case_twice_asks_once(db: Database, graded: int) -> None:
    send_to_review(db, graded, "case-1")
    assert send_to_review(db, graded, "case-1").added == 0
    assert next_item(db, graded, "ann").left == 2


@pytest.mark.parametrize("case_id", ["case-9", "", "'; DROP TABLE jobs; --", "\x1b[2J", "case-1\u202e"])
def test_a_case_that_is_not_there_is_the_users_to_mend(db: Database, graded: int, case_id: str) -> None:
    with pytest.raises(InputError, match="has no case"):
        send_to_review(db, graded, case_id)


def test_answers_that_wait_for_people_anyway_are_left_out(db: Database) -> None:
    task = task_of(human())
    bakeoff_id = start(db, task, 1)
    end(db, task, job_ids(db, bakeoff_id)[0])
    assert send_to_review(db, bakeoff_id, "case-0").asked == 0


def test_the_queue_serves_the_order_of_the_label_planner(db: Database, graded: int) -> None:
    found = gather(db, graded)
    planned = choose_next(found.ranked, contested_cases(found.ranked), count=3, seed=found.result.seed)
    assert queue_labels(db, graded, count=3).added == 3
    served = []
    while item := next_item(db, graded, "ann").item:
        served.append(item.case_id)
        rate_next(db, graded, "right")
    assert served == [one.case_id for one in planned]
    assert queue_labels(db, graded, count=40).added == 5, "those with a label are left out"


def test_two_who_label_differently_ask_a_third_and_then_a_lead(db: Database, sql: Sql, graded: int) -> None:
    send_to_review(db, graded, "case-1", reviewers=2)
    for reviewer, said in (("ann", "right"), ("bob", "wrong")):
        rate_next(db, graded, said, reviewer)
    assert rate_next(db, graded, "right", "cat").state == "decided"
    (labels,) = status(db, graded).graders
    assert (labels.grader, labels.items, labels.decided, labels.pending) == (LABELS, 2, 1, 1)
    undo(db, "cat")
    assert sql("SELECT count(*) FROM human_labels") == [(2,)]
