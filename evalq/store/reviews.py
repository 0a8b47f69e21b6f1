"""Reviews in Postgres: items with their quotas, leases, ratings, and the labels that follow from them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from evalq.definitions.graders import Human
from evalq.errors import Unreachable
from evalq.records import Grade, Outcome
from evalq.store.database import Connection, Database
from evalq.store.jobs import storable, storable_json

_TRIES = 50
"""So often somebody else may be faster before something must be wrong."""


@dataclass(frozen=True)
class ItemRow:
    """Something to be rated, with the case it is about and how many have rated it or have it in hand."""

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
    """What one person said of an item."""

    reviewer: str
    adjudicates: bool
    rating: Any
    comment: str
    rated_at: datetime


@dataclass(frozen=True)
class Said:
    """A rating to be stored: whose it is, as JSON, and which jobs' answers would pass by it alone."""

    reviewer: str
    rating: Any
    votes: Mapping[int, bool]
    comment: str = ""
    adjudicates: bool = False


@dataclass(frozen=True)
class NewItem:
    """Something to be rated: its name for people, where it belongs, and the jobs whose answers it holds."""

    token: str
    grader: str
    case_id: str
    sample: int
    terms: Human
    job_ids: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """As the statement that keeps it takes it."""
        return {
            **{name: getattr(self, name) for name in ("token", "grader", "case_id", "sample", "job_ids")},
            "min_required": self.terms.evaluators.min_required,
            "max_allowed": self.terms.evaluators.max_allowed,
            "lease_s": self.terms.time_limit_minutes * 60,
        }


def add_items(tx: Connection, bakeoff_id: int, items: Sequence[NewItem]) -> dict[str, int]:
    """List answers for review; an item that is listed already gets those it lacks. The ids by token."""
    rows = tx.rows(
        "add_review_items", bakeoff_id=bakeoff_id, items=json.dumps([item.to_json() for item in items])
    )
    return {row["token"]: row["id"] for row in rows}


def item(db: Database | Connection, item_id: int) -> ItemRow:
    """One item."""
    row = db.row("review_item", item_id=item_id)
    assert row is not None, f"review item {item_id} is missing"
    return ItemRow(**row)


def answers(db: Database | Connection, item_id: int) -> list[AnswerRow]:
    """The answers of an item, in the order people see them."""
    return [AnswerRow(**row) for row in db.rows("review_answers", item_id=item_id)]


def reviews(db: Database | Connection, item_id: int) -> list[ReviewRow]:
    """What people said of an item, an adjudicator last."""
    return [ReviewRow(**row) for row in db.rows("item_reviews", item_id=item_id)]


def lease(db: Database, *, reviewer: str, bakeoff_id: int | None, grader: str | None) -> int | None:
    """Put the next item into a person's hands; None when nothing is left for them."""
    for _ in range(_TRIES):
        row = db.row("lease_review", bakeoff_id=bakeoff_id, grader=grader, reviewer=reviewer)
        if row is None or not row["is_lost"]:
            return row["item_id"] if row else None
    raise Unreachable("others took every item that was offered; ask again")


def lock(tx: Connection, item_ids: Sequence[int]) -> None:
    """Nobody else takes or rates these items until the transaction ends."""
    tx.rows("lock_review_items", item_ids=list(item_ids))


def rate(tx: Connection, item_id: int, said: Said) -> bool:
    """Store a rating; False when the item has all the reviews it may have. The caller holds its lock."""
    row = tx.row(
        "rate_review",
        item_id=item_id,
        reviewer=said.reviewer,
        adjudicates=said.adjudicates,
        rating=json.dumps(said.rating),
        votes=json.dumps(said.votes),
        comment=storable(said.comment),
    )
    return row is not None


def regrade(tx: Connection, job_id: int, grade: Grade) -> int | None:
    """Replace a grade given by people; return its run, or None when the grade is the same."""
    fields = asdict(grade)
    row = tx.row(
        "regrade",
        job_id=job_id,
        **{name: fields[name] for name in ("grader", "passed", "score", "reason", "pending")},
        details=json.dumps(storable_json(grade.details)),
    )
    return row["run_id"] if row else None


def grades(tx: Database | Connection, job_id: int) -> list[Grade]:
    """The grades of a job in the order of its graders."""
    return [Grade(**row) for row in tx.rows("job_grades", job_id=job_id)]


def change_outcome(tx: Connection, job_id: int, outcome: Outcome) -> int | None:
    """Put another outcome in place of a job's; its run when that changed anything."""
    row = tx.row("change_outcome", job_id=job_id, **asdict(outcome))
    return row["run_id"] if row else None
