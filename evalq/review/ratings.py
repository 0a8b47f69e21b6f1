"""Ratings: stored with the grades, outcomes and rows that follow, in one transaction; and taken back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalq.bakeoff import reviewed
from evalq.bakeoff.conclude import conclude_again
from evalq.definitions.definition import limit_problems, split_remedy
from evalq.errors import InputError, Problem, Refused
from evalq.formats.suite.rewrite import rewrite_reports
from evalq.grading.people import marks_of, rating_json, read_rating
from evalq.review.items import check_reviewer
from evalq.store import bakeoffs, reviews
from evalq.store.database import Connection, Database, transactional
from evalq.store.definitions import Snapshots
from evalq.store.reviews import Declined, ItemName, NewReview

MAX_COMMENT = 10_000
_TOKEN = re.compile(r"[0-9a-f]{4,12}")


@dataclass(frozen=True)
class Given:
    """A rating: the item (a unique prefix of its name is enough) and the reviewer.

    `said` is what `read_rating` takes; `file` and `line` are where it is written.
    """

    item: str
    reviewer: str
    said: Any
    comment: str = ""
    adjudicates: bool = False
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class Rated:
    """The state of an item after a rating, and how many answers still wait for people."""

    item: str
    bakeoff_id: int
    rating: Any
    state: str
    reason: str
    agreement: float | None
    rated: int
    n_pending: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {"schema": "evalq.rating/1", **asdict(self)}


@dataclass(frozen=True)
class Undone:
    """What was taken back: a rating, or an item that was only in hand."""

    item: str
    bakeoff_id: int
    was: str
    n_pending: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {"schema": "evalq.undo/1", **asdict(self)}


@dataclass(frozen=True)
class Declination:
    """An item that a person gave back for good, and why."""

    item: str
    bakeoff_id: int
    why: Declined
    n_pending: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {"schema": "evalq.declined/1", **asdict(self)}


def rate(db: Database, given: Given) -> Rated:
    """Store a rating; grades, outcomes and the rows of concluded runs follow in the same transaction.

    A second rating by the same person replaces the first. Refused: the item has all the reviews it may have.
    """
    (rated,) = rate_all(db, [given])
    return rated


def rate_all(db: Database, given: Sequence[Given]) -> list[Rated]:
    """Store ratings, all or none; every problem with its place. Of one alone, a full item is Refused.

    The report of a suite that they decide something of is written again.
    """
    rated = _rate_all(db, given)
    rewrite_reports(db, {one.bakeoff_id for one in rated if one.state != "pending"})
    return rated


@transactional
def _rate_all(tx: Connection, given: Sequence[Given]) -> list[Rated]:
    items = _find_all(tx, given)
    touched = {item.id: item.bakeoff_id for item in items}
    for bakeoff_id in sorted(set(touched.values())):
        bakeoffs.lock_conclusions(tx, bakeoff_id)
    reviews.lock(tx, sorted(touched))
    stored = _store_all(tx, given, items)
    _follow(tx, touched)
    pending = {bakeoff_id: reviews.count_pending(tx, bakeoff_id) for bakeoff_id in set(touched.values())}
    now = {item_id: reviewed.read_reviewed(tx, item_id, Snapshots(tx)) for item_id in touched}
    return [
        _rated(now[item.id], rating, pending[item.bakeoff_id])
        for item, rating in zip(items, stored, strict=True)
    ]


@transactional
def decline(tx: Connection, reviewer: str, item: str, *, why: Declined, comment: str = "") -> Declination:
    """Give an item back for good: `unsure`, or because its case is `broken`; another person may rate it.

    Refused when the person does not hold it. `undo` takes it back.
    """
    check_reviewer(reviewer)
    try:
        _refuse_long(comment)
    except ValueError as exc:
        raise InputError(Problem(*split_remedy(str(exc)))) from None
    found = find_item(tx, item)
    reviews.lock(tx, [found.id])
    if not reviews.decline(tx, found.id, reviewer, declined=why, comment=comment):
        raise Refused(f"{reviewer} does not hold item {found.token}; `evalq review next` offers one")
    return Declination(found.token, found.bakeoff_id, why, reviews.count_pending(tx, found.bakeoff_id))


def undo(db: Database, reviewer: str, *, item: str | None = None, bakeoff_id: int | None = None) -> Undone:
    """Take back a person's rating of an item, or their last one; what was only in hand is given back.

    The item is in their hands again; outcomes, rows and reports are as if it had not been rated.
    """
    undone = _undo(db, reviewer, item=item, bakeoff_id=bakeoff_id)
    if undone.was == "rated":
        rewrite_reports(db, [undone.bakeoff_id])
    return undone


@transactional
def _undo(tx: Connection, reviewer: str, *, item: str | None, bakeoff_id: int | None) -> Undone:
    check_reviewer(reviewer)
    item_id = find_item(tx, item).id if item else None
    last = reviews.last_rated(tx, reviewer, item_id=item_id, bakeoff_id=bakeoff_id)
    if last is None:
        what = f"item {item}" if item else "anything"
        raise InputError(Problem(f"{reviewer} has not rated {what}", "`evalq review status` lists who has"))
    bakeoffs.lock_conclusions(tx, last.bakeoff_id)
    reviews.lock(tx, [last.id])
    was = reviews.undo(tx, last.id, reviewer)
    reviews.relabel(tx, last.id, reviewer)
    _follow(tx, {last.id: last.bakeoff_id})
    pending = reviews.count_pending(tx, last.bakeoff_id)
    return Undone(last.token, last.bakeoff_id, was or "withdrawn", pending)


def find_item(db: Database | Connection, name: str) -> ItemName:
    """The item meant by its name or the beginning of it."""
    prefix = name.strip().lower()
    found = reviews.find_items(db, prefix) if _TOKEN.fullmatch(prefix) else []
    if len(found) == 1 or (found and found[0].token == prefix):
        return found[0]
    if found:
        raise InputError(Problem(f"more than one item is called {prefix}…", "write more of its name"))
    raise InputError(Problem(f"there is no item {name[:40]!r}", "`evalq review next` names one"))


def _find_all(tx: Connection, given: Sequence[Given]) -> list[ItemName]:
    items: list[ItemName] = []
    problems: list[Problem] = []
    for one in given:
        try:
            check_reviewer(one.reviewer)
            items.append(find_item(tx, one.item))
        except InputError as exc:
            problems += [Problem(p.message, p.remedy, one.file, one.line) for p in exc.problems]
    if problems:
        raise InputError(*limit_problems(problems))
    return items


def _store_all(tx: Connection, given: Sequence[Given], items: Sequence[ItemName]) -> list[Any]:
    """The ratings as stored; InputError with all that cannot be, Refused when one alone finds no room."""
    snapshots, stored, problems = Snapshots(tx), [], []
    for one, item in zip(given, items, strict=True):
        try:
            stored.append(_store(tx, one, item.id, snapshots))
        except ValueError as exc:
            problems.append(Problem(*split_remedy(str(exc)), one.file, one.line))
        except Refused as exc:
            if not one.file:
                raise
            problems.append(Problem(str(exc), "leave this line out", one.file, one.line))
    if problems:
        raise InputError(*limit_problems(problems))
    return stored


def _store(tx: Connection, given: Given, item_id: int, snapshots: Snapshots) -> Any:
    """Store one rating and the label that follows; the rating in its one form."""
    found = reviewed.read_reviewed(tx, item_id, snapshots)
    scale = found.grader.rating_scale
    values = read_rating(scale, given.said, n_answers=len(found.job_ids))
    _refuse_long(given.comment)
    _refuse_second_adjudicator(tx, given, item_id)
    passed = [mark.passed != found.grader.negate for mark in marks_of(scale, [values])]
    review = NewReview(
        given.reviewer,
        rating_json(scale, values),
        dict(zip(found.job_ids, passed, strict=True)),
        given.comment,
        given.adjudicates,
    )
    if not reviews.rate(tx, item_id, review):
        full = f"item {found.item.token} has {found.item.taken} reviews or people at it"
        raise Refused(f"{full}, and max_allowed is {found.item.max_allowed}")
    reviews.relabel(tx, item_id, given.reviewer)
    return review.rating


def _refuse_long(comment: str) -> None:
    if len(comment) > MAX_COMMENT:
        raise ValueError(f"a comment of {len(comment)} characters; write at most {MAX_COMMENT}")


def _refuse_second_adjudicator(tx: Connection, given: Given, item_id: int) -> None:
    other = reviews.adjudicator(tx, item_id) if given.adjudicates else None
    if other and other != given.reviewer:
        raise Refused(f"{other} has decided this item; they can take it back: evalq review undo")


def _follow(tx: Connection, touched: Mapping[int, int]) -> None:
    """Grades and outcomes of the items, then what is concluded of their bake-offs."""
    for bakeoff_id in sorted(set(touched.values())):
        item_ids = sorted(item for item, owner in touched.items() if owner == bakeoff_id)
        conclude_again(tx, bakeoff_id, reviewed.regrade(tx, item_ids))


def _rated(found: reviewed.Reviewed, rating: Any, n_pending: int) -> Rated:
    agreement = found.decision.agreement
    return Rated(
        found.item.token,
        found.item.bakeoff_id,
        rating,
        found.decision.state,
        _reason(found),
        None if agreement is None else round(agreement, 4),
        found.item.rated,
        n_pending,
    )


def _reason(found: reviewed.Reviewed) -> str:
    if found.decision.state != "decided" or len(found.job_ids) > 1:
        return found.decision.reason
    return found.grades()[0][1].reason
