"""Reviewers with tokens of their own: no name is borrowed, no token stored, what is declined is counted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from review_scene import RANKING, ended, human, rate_next, take, task_of

from evalq.bakeoff.fsck import check
from evalq.errors import InputError, Refused
from evalq.review import Given, decline, import_ratings, next_item, rate, status, undo
from evalq.review.identity import identify, invite, list_reviewers, refuse_unless_lead, revoke, sign_in
from evalq.store.database import Database
from evalq.store.reviewers import SignedIn

Sql = Callable[..., list[tuple[Any, ...]]]
HOSTILE_NAMES = ["", "  ", "a" * 101, "ann\x1b[2J", "ann\u202e", "an\0n", "a\nb", "\ud800"]
HOSTILE_TEXTS = [
    "<script>alert(1)</script>",
    "\x1b]0;owned\x07",
    "'; DROP TABLE human_reviews; --",
    "{item.__class__}",
    "\u202egnp.exe",
    "a\0b",
]


def test_a_token_signs_in_its_owner_and_is_stored_nowhere(db: Database) -> None:
    invitation = invite(db, "ann", role="lead")
    found = sign_in(db, invitation.token)
    assert found is not None
    assert (found.name, found.role) == ("ann", "lead")
    with psycopg.connect(db.url) as connection:
        stored = connection.execute("SELECT reviewers::text FROM reviewers").fetchall()
    assert invitation.token not in str(stored)
    assert invitation.token.removeprefix("evr_") not in str(stored)


def test_an_invited_name_cannot_be_borrowed(db: Database) -> None:
    ann, bob = invite(db, "ann"), invite(db, "bob")
    with pytest.raises(Refused, match="signs in with a token of their own"):
        identify(db, "ann", None)
    with pytest.raises(Refused, match="this token is bob's"):
        identify(db, "ann", bob.token)
    assert identify(db, "ann", ann.token) == identify(db, None, ann.token)
    assert identify(db, "cat", None) is None


def test_a_revoked_token_is_worthless_and_its_name_stays_taken(db: Database) -> None:
    first = invite(db, "ann")
    revoke(db, "ann")
    assert sign_in(db, first.token) is None
    with pytest.raises(Refused):
        identify(db, "ann", None)
    with pytest.raises(InputError, match="no reviewer 'ann' has a token"):
        revoke(db, "ann")
    second = invite(db, "ann")
    assert second.replaces
    assert sign_in(db, first.token) is None
    assert sign_in(db, second.token) is not None


@pytest.mark.parametrize(
    "token", ["", "evr_", "evr_" + "x" * 43, "evr_" + "x" * 9999, "' OR 1=1 --", "evr_é" * 9]
)
def test_a_wrong_token_signs_nobody_in(db: Database, token: str) -> None:
    invite(db, "ann")
    assert sign_in(db, token) is None


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_name_that_could_mislead_is_refused(db: Database, name: str) -> None:
    with pytest.raises(InputError, match="needs a name"):
        invite(db, name)


def test_only_a_lead_imports_ratings_of_others(db: Database, tmp_path: Path) -> None:
    bakeoff_id = ended(db, task_of(human()), 1)
    token = take(db, bakeoff_id)
    file = tmp_path / "r.jsonl"
    file.write_text(json.dumps({"item": token, "rating": True, "reviewer": "ann"}))
    invite(db, "ann")
    bob, lead = invite(db, "bob"), invite(db, "eve", role="lead")
    with pytest.raises(Refused):
        import_ratings(db, file, reviewer="bob", actor=identify(db, None, bob.token))
    assert import_ratings(db, file, reviewer="eve", actor=identify(db, None, lead.token)).stored == 1
    with pytest.raises(Refused, match="only a lead"):
        refuse_unless_lead(SignedIn("bob", "reviewer"))


@pytest.mark.parametrize("why", ["unsure", "broken"])
def test_what_a_person_declines_goes_to_others_and_is_counted(db: Database, why: Any) -> None:
    bakeoff_id = ended(db, task_of(human()), 1)
    token = take(db, bakeoff_id)
    decline(db, "ann", token, why=why, comment="two answers are right")
    assert next_item(db, bakeoff_id, "ann").item is None
    assert take(db, bakeoff_id, "bob") == token
    (found,) = status(db, bakeoff_id).declined
    assert (found.reviewer, found.declined, found.comment) == ("ann", why, "two answers are right")
    assert check(db) == []


def test_declining_is_taken_back_like_a_rating(db: Database) -> None:
    bakeoff_id = ended(db, task_of(human()), 2)
    first = take(db, bakeoff_id)
    decline(db, "ann", first, why="unsure")
    assert undo(db, "ann").was == "unsure"
    assert take(db, bakeoff_id) == first
    assert status(db, bakeoff_id).declined == ()
    assert rate(db, Given(first, "ann", "pass")).state == "decided"


def test_only_what_is_in_hand_can_be_declined(db: Database) -> None:
    bakeoff_id = ended(db, task_of(human()), 1)
    token = take(db, bakeoff_id)
    with pytest.raises(Refused, match="does not hold"):
        decline(db, "bob", token, why="unsure")
    with pytest.raises(InputError, match="a comment of 10001 characters"):
        decline(db, "ann", token, why="unsure", comment="x" * 10_001)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_hostile_comment_is_stored_as_text(db: Database, text: str) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=2)), 1)
    token = take(db, bakeoff_id)
    rate(db, Given(token, "ann", "pass", text))
    decline(db, "bob", take(db, bakeoff_id, "bob"), why="broken", comment=text)
    (found,) = status(db, bakeoff_id).declined
    assert found.comment == text.replace("\0", "\ufffd")


def test_the_next_card_is_in_hand_beside_the_one_on_the_screen(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human()), 3)
    shown = take(db, bakeoff_id)
    ((item_id,),) = sql("SELECT id FROM review_items WHERE token = %s", shown)
    ahead = next_item(db, bakeoff_id, "ann", beside=item_id).item
    again = next_item(db, bakeoff_id, "ann", beside=item_id).item
    assert ahead is not None
    assert again is not None
    assert shown != ahead.item == again.item
    rate(db, Given(shown, "ann", "pass"))
    assert take(db, bakeoff_id) == ahead.item
    undo(db, "ann", item=shown)
    assert take(db, bakeoff_id) == shown, "what was taken back comes before what was prefetched"


def test_two_who_prefetch_at_once_meet_the_quotas_exactly(
    db: Database, sql: Sql, at_once: Callable[..., list[Any]]
) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=2, max_allowed=2)), 12)
    names = iter(("ann", "bob"))

    def review() -> None:
        name = next(names)
        while item := next_item(db, bakeoff_id, name).item:
            item_id = sql("SELECT id FROM review_items WHERE token = %s", item.item)[0][0]
            next_item(db, bakeoff_id, name, beside=item_id)
            rate(db, Given(item.item, name, "pass"))

    at_once(review, 2)
    assert sql("SELECT count(*) FROM human_reviews GROUP BY item_id") == [(2,)] * 12
    assert status(db, bakeoff_id).graders[0].by_reviews == {0: 0, 1: 0, 2: 12}


def test_the_lead_sees_quotas_pace_and_who_is_invited(db: Database) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=2)), 3)
    rate_next(db, bakeoff_id, "pass", "ann")
    rate_next(db, bakeoff_id, "pass", "bob")
    rate_next(db, bakeoff_id, "fail", "ann")
    found = status(db, bakeoff_id)
    assert found.graders[0].by_reviews == {0: 1, 1: 1, 2: 1}
    assert found.median_s is not None
    assert found.median_s >= 0
    invite(db, "ann")
    assert [(one.name, one.rated) for one in list_reviewers(db)] == [("ann", 2)]


def test_a_pairwise_scale_is_a_ranking_of_two_that_may_tie(db: Database) -> None:
    task = task_of(human(rating_scale="pairwise"))
    bakeoff_id = ended(db, task, 1, ("sim-a", "sim-b"))
    item = next_item(db, bakeoff_id, "ann").item
    assert item is not None
    assert item.scale.model_dump()["type"] == RANKING["type"]
    assert rate_next(db, bakeoff_id, "A = B").state == "decided"
