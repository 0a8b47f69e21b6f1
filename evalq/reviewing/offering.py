"""Offering items: the next one into a person's hands, or all that are open for a file."""

from collections.abc import Iterator
from dataclasses import replace

from evalq import reviewed
from evalq.conclusion import conclude_again
from evalq.grading.ratings import rating_json
from evalq.reviewing.item import ItemView, Offer, show_answer, show_item
from evalq.reviewing.reviewer import check_reviewer
from evalq.store import reviews
from evalq.store.database import Database
from evalq.store.definitions import Snapshots


def next_item(
    db: Database,
    bakeoff_id: int | None,
    reviewer: str,
    *,
    grader: str | None = None,
    adjudicates: bool = False,
) -> Offer:
    """The item a person is to rate next, of one bake-off or of all; it is theirs for its time limit.

    Who asks again without rating gets the same one. With `adjudicates`: one that people disagree on, with
    what they said.
    """
    check_reviewer(reviewer)
    catch_up(db, bakeoff_id)
    scope = {"bakeoff_id": bakeoff_id, "grader": grader}
    if adjudicates:
        row = db.row("disputed_item", **scope)
        item_id = row["id"] if row else None
    else:
        item_id = reviews.lease(db, reviewer=reviewer, bakeoff_id=bakeoff_id, grader=grader)
    item = view(db, item_id, Snapshots(db), with_ratings=adjudicates) if item_id else None
    if item and not adjudicates:
        lease = db.row("review_lease", item_id=item_id, reviewer=reviewer)
        item = replace(item, lease_until=lease["lease_until"] if lease else None)
    counts = db.row("review_progress", **scope, reviewer=reviewer)
    assert counts is not None
    return Offer(item, counts["done"], counts["left"])


def open_items(db: Database, bakeoff_id: int, *, grader: str | None = None) -> Iterator[ItemView]:
    """Every item of a bake-off that reviews are wanted of, in shuffled order; none is taken in hand."""
    catch_up(db, bakeoff_id)
    snapshots = Snapshots(db)
    for row in db.rows("review_items", bakeoff_id=bakeoff_id, grader=grader):
        if row["is_open"]:
            yield view(db, row["id"], snapshots)


def catch_up(db: Database, bakeoff_id: int | None) -> None:
    """List what has come to wait for people since, in one bake-off or in all."""
    waiting = {row["bakeoff_id"] for row in db.rows("unlisted_reviews", bakeoff_id=bakeoff_id)}
    for each in sorted(waiting):
        with db.transaction() as tx:
            tx.row("lock_bakeoff", bakeoff_id=each)
            conclude_again(tx, each, reviewed.catch_up(tx, each))


def view(db: Database, item_id: int, snapshots: Snapshots, *, with_ratings: bool = False) -> ItemView:
    """An item as people see it."""
    found = reviewed.read_reviewed(db, item_id, snapshots)
    is_blind = found.grader.blind_evaluation
    answers = [
        show_answer(row, [] if is_blind else reviews.grades(db, row.job_id), is_blind=is_blind)
        for row in reviews.answers(db, item_id)
    ]
    task = snapshots.task(found.item.task_sha)
    shown = show_item(found.item, task, found.case, found.grader, answers)
    if not with_ratings:
        return shown
    said = tuple(rating_json(shown.scale, rating) for rating in found.standing.ratings)
    return replace(shown, ratings=said)
