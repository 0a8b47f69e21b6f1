"""What reviewers see and send: blind items, files of ratings, a sitting at the terminal, agreement."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from review_scene import LIKERT, conclude_all, end, ended, human, job_ids, rate_next, start, take, task_of

from evalq.cli.review_session import ReviewScope, ReviewSession
from evalq.errors import InputError
from evalq.records import Grade
from evalq.review import export_items, import_ratings, next_item, status
from evalq.review.files import item_text, status_lines, status_rows
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
CHECKED = Grade("contains", True, 1.0, "says case", kind="contains")


def shown(db: Database, **fields: Any) -> tuple[dict[str, Any], str]:
    task = task_of(human(rubric="Rate {task_description}: {topic}. {other}", **fields))
    bakeoff_id = start(db, task, 1)
    end(db, task, job_ids(db, bakeoff_id)[0], CHECKED)
    conclude_all(db, bakeoff_id)
    offer = next_item(db, bakeoff_id, "ann")
    assert offer.item is not None
    return offer.to_dict(), item_text(offer.item, offer)


def test_a_blind_item_hides_the_judge_its_price_and_other_grades(db: Database) -> None:
    document, text = shown(db)
    assert document["answers"] == [{"letter": "A", "text": "sim-a says case-0"}]
    assert document["blind"] is True
    rest = json.dumps({**document, "answers": [], "answer": ""}) + text.replace("sim-a says case-0", "")
    for hidden in ("sim-a", "contains", "0.00001", "120"):
        assert hidden not in rest


def test_without_blinding_the_judge_is_named(db: Database) -> None:
    document, text = shown(db, blind_evaluation=False)
    (answer,) = document["answers"]
    assert (answer["judge"], answer["cost_usd"], answer["latency_ms"]) == ("sim-a", "0.00001", 120)
    assert [grade["grader"] for grade in answer["grades"]] == ["contains"]
    assert "by sim-a" in text


def test_an_item_has_all_it_takes_to_rate_it(db: Database) -> None:
    document, text = shown(db, rating_scale={**LIKERT, "labels": {1: "Poor", 5: "Fine"}}, min_required=2)
    assert (document["question"], document["reference"]) == ("Write about topic 0.", "like 0")
    assert document["rubric"] == "Rate short essays: topic 0. {other}"
    assert document["reviews"] == {"rated": 0, "min_required": 2, "max_allowed": 5}
    assert (document["done"], document["left"]) == (0, 1)
    for words in ("Be brief.", "Write about topic 0.", "like 0", "1 Poor", "rate it: 1 to 5", "1 left"):
        assert words in text


def filled(db: Database, bakeoff_id: int, path: Path, rate: Callable[[int], dict[str, Any]]) -> Path:
    lines = export_items(db, bakeoff_id)
    path.write_text("".join(json.dumps({**one, **rate(at)}) + "\n" for at, one in enumerate(lines)), "utf-8")
    return path


def test_what_is_exported_and_filled_in_can_be_imported(db: Database, sql: Sql, tmp_path: Path) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=2)), 3)
    ann = filled(db, bakeoff_id, tmp_path / "ann.jsonl", lambda at: {"rating": at > 0 or None})
    done = import_ratings(db, ann, reviewer="ann")
    assert (done.stored, done.n_empty, done.pending) == (2, 1, 2)
    bob = filled(db, bakeoff_id, tmp_path / "bob.jsonl", lambda at: {"rating": "pass", "reviewer": "bob"})
    done = import_ratings(db, bob, reviewer="ann")
    assert (done.stored, done.decided, done.pending, done.bakeoff_ids) == (3, 2, 1, (bakeoff_id,))
    assert sql("SELECT n_pass, n_pending FROM eval_runs") == [(2, 1)]
    again = import_ratings(db, bob, reviewer="ann")
    assert again == done
    assert len(list(export_items(db, bakeoff_id))) == 1


def test_one_wrong_line_and_nothing_is_imported(db: Database, sql: Sql, tmp_path: Path) -> None:
    bakeoff_id = ended(db, task_of(human(max_allowed=1)), 4)
    said = ["pass", "perhaps", "pass", "fail"]
    rate_next(db, bakeoff_id, "pass", "bob")
    taken = take(db, bakeoff_id, "bob")
    path = filled(db, bakeoff_id, tmp_path / "r.jsonl", lambda at: {"rating": said[at], "reviewer": "ann"})
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines, json.dumps({"item": "ffff", "rating": 1})]), "utf-8")
    with pytest.raises(InputError) as caught:
        import_ratings(db, path, reviewer="ann")
    assert [(problem.line, problem.message) for problem in caught.value.problems] == [
        (4, "there is no item 'ffff'")
    ]
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError) as caught:
        import_ratings(db, path, reviewer="ann")
    at = [json.loads(line)["item"] for line in lines].index(taken) + 1
    assert sorted(problem.line for problem in caught.value.problems) == sorted({2, at})
    assert sql("SELECT count(*) FROM human_reviews WHERE reviewer = 'ann'") == [(0,)]


def test_a_sitting_rates_skips_comments_and_takes_back(db: Database, sql: Sql) -> None:
    bakeoff_id = ended(db, task_of(human(rating_scale=LIKERT)), 3)
    typed = iter(["7", "?", "c", "well said", "5", "u", "4", "s", "", "2", "q"])
    said: list[str] = []
    sitting = ReviewSession(db, ReviewScope("ann", bakeoff_id), lambda question: next(typed), said.append)
    assert sitting.run() == 2
    assert list(typed) == ["q"]
    assert sql("SELECT rating, comment, state FROM human_reviews ORDER BY rated_at NULLS LAST") == [
        (4, "", "rated"),
        (None, "", "withdrawn"),
        (2, "", "rated"),
    ]
    assert [text for text in said if "is not on the scale" in text]
    assert said[-1] == "nothing is left for ann"


def test_who_leaves_keeps_what_is_in_hand(db: Database) -> None:
    bakeoff_id = ended(db, task_of(human()))
    token = take(db, bakeoff_id)
    sitting = ReviewSession(db, ReviewScope("ann", bakeoff_id), lambda question: "q", lambda text: None)
    assert sitting.run() == 0
    assert take(db, bakeoff_id) == token


def test_the_status_says_how_far_two_raters_agree(db: Database) -> None:
    bakeoff_id = ended(db, task_of(human(min_required=2, max_allowed=2)), 4)
    for said, other in (("pass", "pass"), ("pass", "fail"), ("fail", "fail"), ("fail", "fail")):
        token = rate_next(db, bakeoff_id, said).item
        assert rate_next(db, bakeoff_id, other, "bob").item == token
    found = status(db, bakeoff_id)
    (grader,) = found.graders
    assert (grader.items, grader.pending, grader.decided, grader.disputed) == (4, 0, 3, 1)
    assert grader.reviewers == {"ann": 4, "bob": 4}
    assert (grader.agreement.method, grader.agreement.value, grader.agreement.n) == ("kappa", 0.5, 4)
    (dispute,) = grader.disagreements
    assert [(one.reviewer, one.words) for one in dispute.ratings] == [("ann", "Pass"), ("bob", "Fail")]
    assert found.next == f"evalq review rate {dispute.item} RATING --adjudicate"
    assert found.to_dict()["graders"][0]["agreement"]["n"] == 4
    assert status_rows(found)[0][:6] == ["human", "binary", "4", "0", "3", "1"]
    assert any("bob: Fail" in line for line in status_lines(found))


def test_of_three_raters_it_is_alpha(db: Database) -> None:
    bakeoff_id = ended(db, task_of(human(rating_scale=LIKERT, min_required=3)), 3)
    for steps in ((1, 1, 2), (4, 4, 5), (3, 3, 3)):
        for reviewer, step in zip(("ann", "bob", "cat"), steps, strict=True):
            rate_next(db, bakeoff_id, step, reviewer)
    (grader,) = status(db, bakeoff_id).graders
    assert (grader.agreement.method, grader.agreement.n, grader.agreement.raters) == ("alpha", 3, 3)
    assert 0.8 < (grader.agreement.value or 0) < 1
    assert (grader.agreement.ci_low or 0) < (grader.agreement.value or 0)
