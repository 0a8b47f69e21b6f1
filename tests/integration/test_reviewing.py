"""Reviews end to end in Postgres: what people say becomes grades, outcomes and the run's row."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from review_scene import LIKERT, conclude_all, end, ended, human, job_ids, rate_next, start, take, task_of

from evalq.bakeoff.conclude import conclude_again, result_of
from evalq.bakeoff.fsck import check
from evalq.definitions.graders import Human
from evalq.errors import InputError, Refused
from evalq.records import Grade
from evalq.review import Given, next_item, rate, status, undo
from evalq.review.calibration import gather
from evalq.store import bakeoffs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
VERDICTS = "SELECT verdict, count(*) FROM outcomes GROUP BY verdict ORDER BY verdict"
ROW = "SELECT n_pass, n_fail, n_error, n_pending, accuracy, notes FROM eval_runs ORDER BY id"
PLAIN = task_of(human())


def test_a_reviewed_run_says_what_people_said(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, PLAIN)
    assert sql(ROW) == [(0, 0, 0, 2, None, None)]
    sql("UPDATE eval_runs SET notes = 'mine'")
    rated = rate_next(db, bakeoff_id, "pass")
    assert (rated.state, rated.rating, rated.n_pending) == ("decided", True, 1)
    assert [row[:4] for row in sql(ROW)] == [(1, 0, 0, 1)]
    rate_next(db, bakeoff_id, "fail")
    assert [(*row[:4], float(row[4]), row[5]) for row in sql(ROW)] == [(1, 1, 0, 0, 0.5, "mine")]
    result = result_of(db, bakeoff_id)
    assert (result.runs[0].n_pending, result.is_partial) == (0, False)
    assert next_item(db, bakeoff_id, "ann").item is None


def test_a_second_conclusion_is_what_a_fresh_one_would_be(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, PLAIN, 4, ("sim-a", "sim-b", "sim-c"))
    for number in range(12):
        rate_next(db, bakeoff_id, number % 3 > 0)
    tables = ("eval_runs", "eval_kappa", "outcomes", "grades")
    contents = [sql(f"SELECT to_jsonb(t) - 'finished_at' FROM {table} t ORDER BY 1") for table in tables]
    stored = bakeoffs.get(db, bakeoff_id).result
    sql("DELETE FROM eval_kappa; DELETE FROM eval_runs; UPDATE runs SET state = 'running'")
    sql("UPDATE bakeoffs SET state = 'running', result = NULL")
    conclude_all(db, bakeoff_id)
    assert [
        sql(f"SELECT to_jsonb(t) - 'finished_at' FROM {table} t ORDER BY 1") for table in tables
    ] == contents
    assert bakeoffs.get(db, bakeoff_id).result == stored
    assert json.loads(stored or "")["runs"][0]["n_pending"] == 0
    assert check(db) == []


def test_taking_a_rating_back_leaves_everything_as_it_was(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, PLAIN)
    everything = "SELECT to_jsonb(t) - 'finished_at' FROM {} t ORDER BY 1"
    tables = ("eval_runs", "outcomes", "grades", "human_labels", "review_items")
    next_item(db, bakeoff_id, "ann")
    before = [sql(everything.format(table)) for table in tables]
    stored = bakeoffs.get(db, bakeoff_id).result
    token = rate_next(db, bakeoff_id, "pass").item
    undone = undo(db, "ann")
    assert (undone.item, undone.was, undone.n_pending) == (token, "rated", 2)
    assert [sql(everything.format(table)) for table in tables] == before
    assert bakeoffs.get(db, bakeoff_id).result == stored
    assert take(db, bakeoff_id) == token


def test_what_is_only_in_hand_is_given_back_and_not_offered_again(db: Database) -> None:
    bakeoff_id = ended(db, PLAIN)
    token = take(db, bakeoff_id)
    assert undo(db, "ann", item=token).was == "leased"
    assert take(db, bakeoff_id) != token
    assert take(db, bakeoff_id, "bob") == token


def test_only_ones_own_rating_can_be_taken_back(db: Database) -> None:
    token = rate_next(db, ended(db, PLAIN), "pass").item
    with pytest.raises(InputError, match="bob has not rated item"):
        undo(db, "bob", item=token)


def test_a_second_rating_replaces_the_first(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, PLAIN)
    token = rate_next(db, bakeoff_id, "pass").item
    rate(db, Given(token, "ann", "fail", "on second thoughts"))
    assert sql("SELECT rating, comment FROM human_reviews") == [(False, "on second thoughts")]
    assert sql(VERDICTS) == [("failed", 1), ("pending_review", 1)]


def test_a_rating_is_a_label_for_calibration(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human(rating_scale=LIKERT)))
    rate_next(db, bakeoff_id, 4)
    rate_next(db, bakeoff_id, 3)
    votes = sorted(answer.votes for answer in gather(db, bakeoff_id).answers)
    assert votes == [(False,), (True,)]
    undo(db, "ann")
    assert sql("SELECT labeller, passed, from_review FROM human_labels") == [("ann", True, True)]


def test_one_who_passes_by_one_grader_and_fails_by_another_labels_a_fail(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human(name="tone"), human(name="facts")), 1)
    rate_next(db, bakeoff_id, "pass")
    rate_next(db, bakeoff_id, "fail")
    assert sql("SELECT passed FROM human_labels") == [(False,)]
    assert sql(VERDICTS) == [("failed", 1)]


def test_a_negated_review_is_turned_round(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human(negate=True)), 1)
    rate_next(db, bakeoff_id, "fail")
    assert sql(VERDICTS) == [("passed", 1)]
    assert sql("SELECT passed FROM human_labels") == [(True,)]


def test_people_who_disagree_are_asked_until_one_may_decide(db: Database, sql: Sql) -> None:
    task = task_of(human(rating_scale=LIKERT, min_required=2, max_allowed=3, agreement_threshold=0.9))
    bakeoff_id = ended(db, task, 1)
    assert rate_next(db, bakeoff_id, 1).state == "pending"
    assert rate_next(db, bakeoff_id, 5, "bob").state == "pending"
    third = rate_next(db, bakeoff_id, 3, "cat")
    assert (third.state, third.agreement) == ("undecidable", 0.3333)
    assert sql("SELECT verdict, error_kind FROM outcomes") == [("errored", "ungradable")]
    assert sql("SELECT details -> 'ratings' FROM grades") == [([1, 3, 5],)]
    (found,) = status(db, bakeoff_id).graders
    assert [one.words for one in found.disagreements[0].ratings] == ["1", "5", "3"]
    offer = next_item(db, bakeoff_id, "dee", adjudicates=True).item
    assert offer is not None
    assert offer.ratings == (1, 3, 5)
    assert rate(db, Given(third.item, "dee", 5, adjudicates=True)).state == "decided"
    assert sql(ROW)[0][:4] == (1, 0, 0, 0)
    with pytest.raises(Refused, match="dee has decided this item"):
        rate(db, Given(third.item, "eve", 1, adjudicates=True))
    assert undo(db, "dee").n_pending == 0
    assert sql("SELECT verdict FROM outcomes") == [("errored",)]


def test_a_case_that_fails_anyway_is_not_shown_to_people(db: Database, sql: Sql) -> None:
    bakeoff_id = start(db, PLAIN)
    first, second = job_ids(db, bakeoff_id)
    end(db, PLAIN, first, Grade("contains", False, 0.0))
    end(db, PLAIN, second, Grade("contains", True, 1.0))
    conclude_all(db, bakeoff_id)
    assert next_item(db, bakeoff_id, "ann").left == 1
    assert rate_next(db, bakeoff_id, "pass").n_pending == 0
    assert next_item(db, bakeoff_id, "ann").item is None
    assert sql(VERDICTS) == [("failed", 1), ("passed", 1)]


def test_a_review_that_is_not_required_measures_and_decides_nothing(db: Database, sql: Sql) -> None:
    task = task_of(human(required=False, rating_scale=LIKERT))
    bakeoff_id = ended(db, task)
    assert sql(VERDICTS) == [("passed", 2)]
    rate_next(db, bakeoff_id, 2)
    assert sql(VERDICTS) == [("passed", 2)]
    assert result_of(db, bakeoff_id).runs[0].metrics["human"].accuracy == 0.25


def test_reviews_may_come_while_the_bake_off_is_running(db: Database, sql: Sql) -> None:
    bakeoff_id = start(db, PLAIN)
    first, second = job_ids(db, bakeoff_id)
    end(db, PLAIN, first)
    rate_next(db, bakeoff_id, "pass")
    assert sql(VERDICTS) == [("passed", 1)]
    assert sql("SELECT count(*) FROM eval_runs") == [(0,)]
    end(db, PLAIN, second)
    conclude_all(db, bakeoff_id)
    assert sql(ROW)[0][:4] == (1, 0, 0, 1)


def test_an_answer_graded_again_keeps_its_reviews(db: Database, sql: Sql) -> None:
    task = task_of(human(min_required=2, max_allowed=2))
    bakeoff_id = ended(db, task, 1)
    rate_next(db, bakeoff_id, "pass")
    rate_next(db, bakeoff_id, "fail", "bob")
    assert sql(VERDICTS) == [("errored", 1)]
    run_ids = [run.id for run in bakeoffs.runs(db, bakeoff_id)]
    assert bakeoffs.retry_errors(db, bakeoff_id, run_ids=run_ids, cap_usd=None) == 1
    end(db, task, job_ids(db, bakeoff_id)[0])
    assert sql(VERDICTS) == [("pending_review", 1)]
    conclude_all(db, bakeoff_id)
    assert sql("SELECT verdict, message FROM outcomes") == [
        ("errored", "disagreement: reviewers are evenly split; adjudicate")
    ]


def test_a_case_may_have_people_of_its_own(db: Database, sql: Sql) -> None:
    task = task_of(human())
    own = Human.model_validate(human(name="twice", min_required=2, rating_scale=LIKERT))
    bakeoff_id = start(db, task, 1, graders=[own])
    end(db, task, job_ids(db, bakeoff_id)[0])
    conclude_all(db, bakeoff_id)
    assert sql("SELECT grader, min_required FROM review_items ORDER BY grader") == [
        ("human", 1),
        ("twice", 2),
    ]
    for grader, said, reviewer in (("human", "pass", "ann"), ("twice", 4, "ann"), ("twice", 5, "bob")):
        item = next_item(db, bakeoff_id, reviewer, grader=grader).item
        assert item is not None
        last = rate(db, Given(item.item, reviewer, said))
    assert (last.state, last.n_pending) == ("decided", 0)


def test_an_unknown_item_and_a_strange_rating_are_the_users_to_mend(db: Database, sql: Sql) -> None:
    token = take(db, ended(db, PLAIN))
    for item, said, words in (
        ("ffff", "pass", "there is no item 'ffff'"),
        ("%%%%", "pass", "there is no item"),
        (token, "maybe", "'maybe' is neither side"),
    ):
        with pytest.raises(InputError, match=words):
            rate(db, Given(item, "ann", said))
    with pytest.raises(InputError, match="needs a name"):
        rate(db, Given(token, " ", "pass"))
    assert sql("SELECT count(*) FROM human_reviews WHERE state = 'rated'") == [(0,)]


def test_the_beginning_of_a_name_is_enough(db: Database) -> None:
    token = take(db, ended(db, PLAIN))
    assert rate(db, Given(token[:6], "ann", "pass")).item == token


def test_nothing_is_written_anew_when_nothing_has_changed(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, PLAIN)
    dated = "SELECT concluded_at FROM bakeoffs"
    before = sql(dated)
    with db.transaction() as tx:
        conclude_again(tx, bakeoff_id, set())
    assert sql(dated) == before
