"""Quotas and leases in Postgres: however many ask at once, no item has more people than it may have."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from patience import PATIENCE_S
from review_scene import LIKERT, ended, human, rate_next, take, task_of

from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.fsck import check
from evalq.engines.processes import wait_until
from evalq.errors import Refused
from evalq.review import Given, next_item, rate
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
AtOnce = Callable[..., list[Any]]

TAKEN = """
SELECT max(taken) FROM (
    SELECT count(*) FILTER (WHERE state = 'rated' OR lease_until > now()) AS taken
    FROM human_reviews GROUP BY item_id) t
"""
OPEN = "SELECT count(*) FROM outcomes WHERE verdict = 'pending_review'"
EXPIRE = "UPDATE human_reviews SET lease_until = now() - interval '1 second' WHERE state = 'leased'"
names = (f"reviewer {number}" for number in range(10**6))
naming = threading.Lock()


def new_name() -> str:
    with naming:
        return next(names)


@pytest.mark.parametrize(("least", "most"), [(1, 1), (2, 3), (3, 3)])
def test_no_more_people_at_once_than_are_wanted(
    db: Database, sql: Sql, at_once: AtOnce, least: int, most: int
) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=least, max_allowed=most)), 2)
    next_item(db, bakeoff_id, new_name())
    offers = at_once(lambda: next_item(db, bakeoff_id, new_name()).item, 8)
    assert sum(offer is not None for offer in offers) == min(8, 2 * least - 1)
    assert sql(TAKEN) == [(least,)]


def test_many_who_rate_and_disagree_never_exceed_the_most_allowed(
    db: Database, sql: Sql, at_once: AtOnce
) -> None:
    terms = {"min_required": 2, "max_allowed": 4, "agreement_threshold": 1}
    bakeoff_id = ended(db, task_of(human(rating_scale={**LIKERT, "range": [0, 99]}, **terms)), 3)
    seen: list[int] = []
    ratings = iter(range(100))  # no two the same: nobody ever agrees

    def review() -> None:
        while number_of(db, OPEN):
            reviewer = new_name()
            if item := next_item(db, bakeoff_id, reviewer).item:
                rate(db, Given(item.item, reviewer, next(ratings)))
            seen.append(number_of(db, TAKEN))

    at_once(review, 8)
    assert max(seen) <= 4
    assert sql("SELECT count(*) FROM human_reviews GROUP BY item_id") == [(4,)] * 3
    assert result_of(db, bakeoff_id).runs[0].n_pending == 0
    assert check(db) == []


def number_of(db: Database, statement: str) -> int:
    with psycopg.connect(db.url) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return int(row[0] or 0) if row else 0


def test_two_raters_at_once_both_count(db: Database, sql: Sql, at_once: AtOnce) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=8, max_allowed=8)), 1)
    rated = at_once(lambda: rate_next(db, bakeoff_id, "pass", new_name()), 8)
    assert sorted(one.rated for one in rated) == list(range(1, 9))
    assert sql("SELECT n_pass, n_pending FROM eval_runs") == [(1, 0)]
    assert sql("SELECT reason FROM grades") == [("8 of 8 reviews say Pass",)]


def test_who_asks_again_gets_what_they_have_in_hand(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human()), 3)
    assert take(db, bakeoff_id) == take(db, bakeoff_id)
    assert sql("SELECT count(*) FROM human_reviews") == [(1,)]


def test_a_lease_lasts_as_long_as_the_grader_allows(db: Database, sql: Sql) -> None:
    item = next_item(db, ended(db, task_of(human(time_limit_minutes=10))), "ann").item
    assert item is not None
    ((minutes,),) = sql("SELECT extract(epoch FROM lease_until - now()) / 60 FROM human_reviews")
    assert 9 < minutes <= 10
    assert item.lease_until is not None


def test_a_lease_that_ran_out_is_for_another(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human()), 1)
    token = take(db, bakeoff_id)
    assert next_item(db, bakeoff_id, "bob").item is None
    sql(EXPIRE)
    assert take(db, bakeoff_id, "bob") == token
    assert next_item(db, bakeoff_id, "ann").item is None


def test_who_is_late_may_still_rate_if_nobody_has_taken_the_place(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=1, max_allowed=1)), 1)
    token = take(db, bakeoff_id)
    sql(EXPIRE)
    assert rate(db, Given(token, "ann", "pass")).state == "decided"


def test_a_rating_beyond_the_most_allowed_is_refused(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=1, max_allowed=1)), 1)
    token = take(db, bakeoff_id)
    with pytest.raises(Refused, match="max_allowed is 1"):
        rate(db, Given(token, "bob", "pass"))
    rate(db, Given(token, "ann", "pass"))
    with pytest.raises(Refused, match="has 1 reviews or people at it"):
        rate(db, Given(token, "bob", "pass"))
    assert sql("SELECT reviewer FROM human_reviews") == [("ann",)]


def test_more_reviews_than_required_are_welcome_up_to_the_most_allowed(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=1, max_allowed=3)), 1)
    token = rate_next(db, bakeoff_id, "pass").item
    assert next_item(db, bakeoff_id, "bob").item is None
    assert rate(db, Given(token, "bob", "fail")).state == "pending"
    assert rate(db, Given(token, "cat", "fail")).state == "decided"
    assert sql("SELECT verdict FROM outcomes") == [("failed",)]


def test_what_somebody_is_just_taking_is_passed_over_then_waited_for(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=2)), 2)
    first, second = sorted(row[0] for row in sql("SELECT token FROM review_items"))
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with psycopg.connect(db.url) as holder, ThreadPoolExecutor() as pool:
        holder.execute("SELECT 1 FROM review_items WHERE token = %s FOR UPDATE", [first])
        assert take(db, bakeoff_id, "ann") == second
        rate(db, Given(second, "ann", "pass"))
        later = pool.submit(take, db, bakeoff_id, "ann")
        assert wait_until(lambda: sql(waiting) == [(1,)], timeout_s=PATIENCE_S)
        holder.rollback()
        assert later.result() == first
