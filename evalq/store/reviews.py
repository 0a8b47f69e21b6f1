"""Reviews in Postgres: items, leases, ratings, and the grades and labels that follow from them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from evalq.definitions.graders import Human
from evalq.errors import Unreachable
from evalq.records import Grade, Outcome
from evalq.store.database import Connection, Database
from evalq.store.jobs import storable, storable_json

Purpose = Literal["grade", "label"]
"""grade: an outcome waits for the ratings. label: the answer is graded, and the ratings are labels."""

Declined = Literal["unsure", "broken"]
"""Why a person rates an item not at all: they cannot tell, or the case is broken."""

_TRIES = 50
"""How often other reviewers may take the offered item first before something must be wrong."""


@dataclass(frozen=True)
class ItemRow:
    """An item to rate, with its case, how many people have rated it, and how many hold or have rated it."""

    id: int
    token: str
    bakeoff_id: int
    grader: str
    case_id: str
    sample: int
    min_required: int
    max_allowed: int
    is_open: bool
    task_name: str
    task_sha: str
    case_body: str
    rated: int
    taken: int
    purpose: Purpose = "grade"
    lease_s: float = 0.0


@dataclass(frozen=True)
class AnswerRow:
    """One answer of an item, with what a blind review hides."""

    job_id: int
    place: int
    judge: str
    answer: str | None
    latency_ms: int | None
    cost_usd: Decimal | None


@dataclass(frozen=True)
class ReviewRow:
    """One person's rating of an item."""

    reviewer: str
    adjudicates: bool
    rating: Any
    comment: str
    rated_at: datetime


@dataclass(frozen=True)
class NewReview:
    """A rating to store as JSON, and which jobs' answers would pass by it alone."""

    reviewer: str
    rating: Any
    votes: Mapping[int, bool]
    comment: str = ""
    adjudicates: bool = False


@dataclass(frozen=True)
class UnlistedGrade:
    """A grade that waits for people and is in no item yet.

    `is_wanted`: an outcome depends on it, or it is a measure of its own. `is_complete`: no other judge is
    still on its way to the same case.
    """

    job_id: int
    grader: str
    bakeoff_id: int
    case_id: str
    sample: int
    uid: str
    task_sha: str
    case_body: str
    is_wanted: bool
    is_complete: bool


@dataclass(frozen=True)
class ItemName:
    """An item by its id, its name for people, and its bake-off."""

    id: int
    token: str
    bakeoff_id: int


@dataclass(frozen=True)
class ListedItem:
    """An item with how far it is; `reason` says why people could not decide, None if they did or have to."""

    id: int
    token: str
    grader: str
    case_id: str
    sample: int
    is_open: bool
    rated: int
    taken: int
    n_answers: int
    min_required: int
    purpose: Purpose
    reason: str | None


@dataclass(frozen=True)
class ListedReview:
    """One person's rating of one item of a bake-off."""

    item_id: int
    reviewer: str
    adjudicates: bool
    rating: Any
    comment: str


@dataclass(frozen=True)
class ReviewProgress:
    """How many items a person has rated, and how many are left for them."""

    done: int
    left: int


@dataclass(frozen=True)
class NewItem:
    """An item to list: its name for people, its place, and the jobs whose answers it holds."""

    token: str
    grader: str
    case_id: str
    sample: int
    terms: Human
    job_ids: tuple[int, ...]
    purpose: Purpose = "grade"
    priority: int = 0

    def to_json(self) -> dict[str, Any]:
        """As the statement that stores it takes it."""
        return {
            "token": self.token,
            "grader": self.grader,
            "case_id": self.case_id,
            "sample": self.sample,
            "job_ids": self.job_ids,
            "purpose": self.purpose,
            "priority": self.priority,
            "min_required": self.terms.evaluators.min_required,
            "max_allowed": self.terms.evaluators.max_allowed,
            "lease_s": self.terms.time_limit_minutes * 60,
        }


def unlisted_grades(db: Database | Connection, bakeoff_id: int | None) -> list[UnlistedGrade]:
    """The grades of a bake-off, or of all, that wait for people and are in no item."""
    return [UnlistedGrade(**row) for row in db.rows("unlisted_reviews", bakeoff_id=bakeoff_id)]


def add_items(tx: Connection, bakeoff_id: int, items: Sequence[NewItem]) -> dict[str, int]:
    """List answers for review; an item that exists gets those it lacks. Return the ids by token."""
    documents = json.dumps([item.to_json() for item in items])
    rows = tx.rows("add_review_items", bakeoff_id=bakeoff_id, items=documents)
    return {row["token"]: row["id"] for row in rows}


def stale_items(tx: Connection, bakeoff_id: int) -> list[int]:
    """The items of a bake-off with a waiting grade, though people have rated them or no review is wanted."""
    return [row["id"] for row in tx.rows("stale_review_items", bakeoff_id=bakeoff_id)]


def rated_items(db: Database, bakeoff_id: int | None) -> list[int]:
    """The items of a bake-off, or of all, that have a rating."""
    return [row["id"] for row in db.rows("rated_review_items", bakeoff_id=bakeoff_id)]


def find_items(db: Database | Connection, prefix: str) -> list[ItemName]:
    """The items whose name begins with a prefix; at most two."""
    return [ItemName(**row) for row in db.rows("find_review_item", prefix=prefix)]


def disputed_item(db: Database, *, bakeoff_id: int | None, grader: str | None) -> int | None:
    """An item that people disagree on, for an adjudicator; None without one."""
    row = db.row("disputed_item", bakeoff_id=bakeoff_id, grader=grader)
    return row["id"] if row else None


def item(db: Database | Connection, item_id: int) -> ItemRow:
    """One item."""
    row = db.row("review_item", item_id=item_id)
    assert row is not None, f"review item {item_id} is missing"
    return ItemRow(**row)


def answers(db: Database | Connection, item_id: int) -> list[AnswerRow]:
    """The answers of an item, in the order people see them."""
    return [AnswerRow(**row) for row in db.rows("review_answers", item_id=item_id)]


def reviews(db: Database | Connection, item_id: int) -> list[ReviewRow]:
    """The ratings of an item, an adjudicator's last."""
    return [ReviewRow(**row) for row in db.rows("item_reviews", item_id=item_id)]


def lease(
    db: Database, *, reviewer: str, bakeoff_id: int | None, grader: str | None, beside: int | None = None
) -> int | None:
    """Lease the next item to a person, `beside` the one on their screen; None when nothing is left."""
    for _ in range(_TRIES):
        row = db.row("lease_review", bakeoff_id=bakeoff_id, grader=grader, reviewer=reviewer, beside=beside)
        if row is None:
            return None
        if not row["is_lost"]:
            return int(row["item_id"])
    raise Unreachable("other reviewers took every item that was offered; ask again")


def lease_end(db: Database, item_id: int, reviewer: str) -> datetime | None:
    """Until when a person holds an item; None when they do not."""
    row = db.row("review_lease", item_id=item_id, reviewer=reviewer)
    return row["lease_until"] if row else None


def progress(db: Database, reviewer: str, *, bakeoff_id: int | None, grader: str | None) -> ReviewProgress:
    """How far a person is with a bake-off, or with all."""
    row = db.row("review_progress", bakeoff_id=bakeoff_id, grader=grader, reviewer=reviewer)
    assert row is not None
    return ReviewProgress(**row)


def lock(tx: Connection, item_ids: Sequence[int]) -> None:
    """Keep all others from taking or rating these items until the transaction ends."""
    tx.rows("lock_review_items", item_ids=list(item_ids))


def rate(tx: Connection, item_id: int, review: NewReview) -> bool:
    """Store a rating; False when the item has all the reviews it may have. The caller holds its lock."""
    row = tx.row(
        "rate_review",
        item_id=item_id,
        reviewer=review.reviewer,
        adjudicates=review.adjudicates,
        rating=json.dumps(review.rating),
        votes=json.dumps(review.votes),
        comment=storable(review.comment),
    )
    return row is not None


def decline(tx: Connection, item_id: int, reviewer: str, *, declined: Declined, comment: str) -> bool:
    """Give an item back for good; False when the person does not hold it."""
    row = tx.row(
        "decline_review", item_id=item_id, reviewer=reviewer, declined=declined, comment=storable(comment)
    )
    return row is not None


def adjudicator(tx: Connection, item_id: int) -> str | None:
    """The person who decided an item over the ratings of the others; None when it was not."""
    row = tx.row("adjudicator", item_id=item_id)
    return row["reviewer"] if row else None


def last_rated(
    tx: Connection, reviewer: str, *, item_id: int | None, bakeoff_id: int | None
) -> ItemName | None:
    """The item a person rated or declined last; with `item_id` that one, if they have rated it or hold it."""
    row = tx.row("last_review", reviewer=reviewer, item_id=item_id, bakeoff_id=bakeoff_id)
    return ItemName(**row) if row else None


def undo(tx: Connection, item_id: int, reviewer: str) -> str | None:
    """Take a person's rating back and lease the item to them again, or give back one they only held.

    Return the state the review was in; None when there was none.
    """
    row = tx.row("undo_review", item_id=item_id, reviewer=reviewer)
    return row["state"] if row else None


def drop_reviews(tx: Connection, item_id: int) -> set[str]:
    """Remove the ratings of an item that has another answer now; return whose they were."""
    return {row["reviewer"] for row in tx.rows("drop_reviews", item_id=item_id)}


def set_open(tx: Connection, item_id: int, *, is_open: bool, dispute: str | None) -> None:
    """Set whether an item needs more reviews, and why an adjudicator must decide it, if so."""
    tx.run("set_item_open", item_id=item_id, is_open=is_open, dispute=dispute)


def relabel(tx: Connection, item_id: int, reviewer: str) -> None:
    """Make a person's label of each answer of an item what all their reviews of that answer say."""
    job_ids = [answer.job_id for answer in answers(tx, item_id)]
    tx.run("label_from_reviews", job_ids=job_ids, reviewer=reviewer)


def regrade(tx: Connection, job_id: int, grade: Grade) -> int | None:
    """Write a grade of people over the stored one; return its run if that changed anything."""
    row = tx.row(
        "regrade",
        job_id=job_id,
        grader=grade.grader,
        passed=grade.passed,
        score=grade.score,
        reason=grade.reason,
        pending=grade.pending,
        details=json.dumps(storable_json(grade.details)),
    )
    return row["run_id"] if row else None


def change_outcome(tx: Connection, job_id: int, outcome: Outcome) -> int | None:
    """Write an outcome over a job's stored one; return its run if that changed anything."""
    row = tx.row("change_outcome", job_id=job_id, **asdict(outcome))
    return row["run_id"] if row else None


def list_items(db: Database | Connection, bakeoff_id: int, *, grader: str | None = None) -> list[ListedItem]:
    """The items of a bake-off, or of one of its graders, in the order they are offered."""
    return [ListedItem(**row) for row in db.rows("review_items", bakeoff_id=bakeoff_id, grader=grader)]


def list_reviews(db: Database, bakeoff_id: int) -> list[ListedReview]:
    """The ratings of a bake-off's items, an adjudicator's last within each."""
    return [ListedReview(**row) for row in db.rows("bakeoff_reviews", bakeoff_id=bakeoff_id)]


def count_waiting(db: Database, bakeoff_id: int) -> dict[str, int]:
    """By grader: how many answers wait for people in no item, since answers of other judges are missing."""
    return {row["grader"]: row["n"] for row in db.rows("review_waits", bakeoff_id=bakeoff_id)}


def count_pending(db: Database | Connection, bakeoff_id: int) -> int:
    """How many answers of a bake-off wait for people."""
    row = db.row("pending_outcomes", bakeoff_id=bakeoff_id)
    return int(row["n"]) if row else 0
