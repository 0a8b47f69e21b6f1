"""People who review, in Postgres: the hashes of their tokens, and figures of their work."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evalq.store.database import Connection, Database
from evalq.store.reviews import Declined

ReviewerRole = Literal["reviewer", "lead"]


@dataclass(frozen=True)
class ReviewerRow:
    """Someone who was invited, and how much they have done."""

    name: str
    role: ReviewerRole
    invited_at: datetime
    seen_at: datetime | None
    revoked_at: datetime | None
    rated: int
    declined: int


@dataclass(frozen=True)
class SignedIn:
    """Who a token belongs to."""

    name: str
    role: ReviewerRole


@dataclass(frozen=True)
class DeclinedItem:
    """An item that a person gave back for good."""

    token: str
    grader: str
    case_id: str
    reviewer: str
    declined: Declined
    comment: str


@dataclass(frozen=True)
class LabelBesideGrade:
    """A grader's verdict on an answer, and how many of the people who labelled it would pass it."""

    grader: str
    passed: bool
    ayes: int
    votes: int


@dataclass(frozen=True)
class ReviewQueue:
    """A bake-off with items: how many there are, how many want reviews, how many are in dispute."""

    bakeoff_id: int
    task_name: str
    eval_set_name: str
    items: int
    open: int
    disputed: int


def invite(tx: Connection, name: str, *, role: ReviewerRole, token_sha256: str) -> bool:
    """Add a person, or replace their token and role; whether they are new."""
    row = tx.row("invite_reviewer", name=name, role=role, token_sha256=token_sha256)
    assert row is not None
    return bool(row["is_new"])


def revoke(db: Database, name: str) -> bool:
    """Make a person's token worthless; False when they have none."""
    return db.row("revoke_reviewer", name=name) is not None


def list_all(db: Database) -> list[ReviewerRow]:
    """Everyone ever invited, those whose token still works first."""
    return [ReviewerRow(**row) for row in db.rows("list_reviewers")]


def of_token(db: Database, token_sha256: str) -> SignedIn | None:
    """The person whose token has this hash; None when nobody's has, or it is revoked."""
    row = db.row("reviewer_of_token", token_sha256=token_sha256)
    return SignedIn(**row) if row else None


def note_seen(db: Database, name: str) -> None:
    """Note that a person is at work."""
    db.run("note_reviewer_seen", name=name)


def has_name(db: Database | Connection, name: str) -> bool:
    """Whether a name belongs to somebody who signs in, revoked or not."""
    row = db.row("has_reviewer", name=name)
    return bool(row and row["found"])


def has_any(db: Database) -> bool:
    """Whether anyone signs in with a token."""
    row = db.row("has_reviewers")
    return bool(row and row["found"])


def median_pace_s(
    db: Database, bakeoff_id: int, *, grader: str | None = None, reviewer: str | None = None
) -> float | None:
    """How long a person takes for an item, in seconds; None before the first."""
    row = db.row("review_pace", bakeoff_id=bakeoff_id, grader=grader, reviewer=reviewer)
    return row["median_s"] if row else None


def declined_items(db: Database, bakeoff_id: int) -> list[DeclinedItem]:
    """What people gave back for good, flagged cases first."""
    return [DeclinedItem(**row) for row in db.rows("declined_reviews", bakeoff_id=bakeoff_id)]


def labels_beside_grades(db: Database, bakeoff_id: int) -> Sequence[LabelBesideGrade]:
    """Every labelled answer with the verdict of each grader that is not people."""
    return [LabelBesideGrade(**row) for row in db.rows("labels_beside_grades", bakeoff_id=bakeoff_id)]


def queues(db: Database, *, limit: int) -> list[ReviewQueue]:
    """The newest bake-offs that have items."""
    return [ReviewQueue(**row) for row in db.rows("review_queues", limit=limit)]
