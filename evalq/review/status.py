"""The state of a review: what waits, who rated, how far reviewers agree, what to adjudicate."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from evalq.bakeoff.reviewed import read_reviewed
from evalq.definitions.graders import Human
from evalq.definitions.graders.human import BinaryScale, RatingScale
from evalq.grading.people import Values, rating_words, read_rating
from evalq.review.figures import GraderBesidePeople, count_by_reviews, graders_beside_people
from evalq.review.items import catch_up
from evalq.stats.agreement import Level, alpha_interval, cohen_kappa, krippendorff_alpha
from evalq.store import bakeoffs, reviewers, reviews
from evalq.store.database import Database
from evalq.store.definitions import Snapshots
from evalq.store.reviewers import DeclinedItem
from evalq.store.reviews import ListedItem, ListedReview

Rated = Mapping[int, Mapping[str, Values]]
"""By item what each reviewer said."""

_Column = list[float | None]
_UNDEFINED = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class RaterAgreement:
    """Cohen's kappa of two raters, Krippendorff's alpha of more; `value` is None where it is undefined.

    n: how many ratings were given at least twice: items, or items times criteria or answers.
    """

    method: Literal["kappa", "alpha"]
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    raters: int


def rater_agreement(scale: RatingScale, rated: Rated) -> RaterAgreement:
    """Agreement on all items together; a likert step or a rank counts by how far it is off."""
    raters = sorted({reviewer for said in rated.values() for reviewer in said})
    table = [_column(rated, reviewer) for reviewer in raters]
    n = sum(sum(value is not None for value in unit) >= 2 for unit in zip(*table, strict=True))
    is_sides = isinstance(scale, BinaryScale)
    if len(raters) == 2:
        ends = _kappa(table[0], table[1], is_sides=is_sides)
    else:
        level: Level = "nominal" if is_sides else "ordinal"
        ends = (krippendorff_alpha(table, level), *alpha_interval(table, level)) if n else _UNDEFINED
    value, low, high = (None if math.isnan(end) else round(end, 4) for end in ends)
    return RaterAgreement("kappa" if len(raters) == 2 else "alpha", value, low, high, n, len(raters))


def _kappa(first: _Column, second: _Column, *, is_sides: bool) -> tuple[float, float, float]:
    """Kappa with its ends; undefined when one of the two always said the same."""
    # Ranks may be halves; twice as far apart for all, they weigh the same.
    a, b = ([None if value is None else round(2 * value) for value in column] for column in (first, second))
    found = cohen_kappa(a, b, None if is_sides else "quadratic")
    return _UNDEFINED if found.degenerate or found.raw is None else (found.raw, found.ci_low, found.ci_high)


def _column(rated: Rated, reviewer: str) -> _Column:
    """A reviewer's numbers over all items in order; None for what they have not rated."""
    column: _Column = []
    for said in rated.values():
        width = len(next(iter(said.values())))
        column += said.get(reviewer, (None,) * width)
    return column


SCHEMA = "evalq.reviews/1"


@dataclass(frozen=True)
class Opinion:
    """What one person said, in words."""

    reviewer: str
    rating: Any
    words: str
    comment: str = ""


@dataclass(frozen=True)
class Disagreement:
    """An item that reviewers could not decide: their ratings, and why they do not decide it."""

    item: str
    case_id: str
    reason: str
    ratings: tuple[Opinion, ...]


@dataclass(frozen=True)
class GraderStatus:
    """One grader: items by state; `in_hand` are being rated, `waiting` answers wait for others.

    `by_reviews`: how many items have none, one, … of the reviews they need.
    """

    grader: str
    scale: str
    interface: str | None
    min_required: int
    max_allowed: int
    items: int
    pending: int
    decided: int
    disputed: int
    in_hand: int
    waiting: int
    reviews: int
    by_reviews: dict[int, int]
    reviewers: dict[str, int]
    agreement: RaterAgreement
    disagreements: tuple[Disagreement, ...]


@dataclass(frozen=True)
class ReviewStatus:
    """The review of a bake-off; `n_pending` answers wait for people.

    `median_s`: how long people take for an item. `declined`: what they could not rate, or call broken.
    `beside_people`: how far the other graders agree with people on the same answers.
    """

    bakeoff_id: int
    task: str
    eval_set: str
    state: str
    n_pending: int
    graders: tuple[GraderStatus, ...]
    median_s: float | None = None
    declined: tuple[DeclinedItem, ...] = ()
    beside_people: tuple[GraderBesidePeople, ...] = ()

    @property
    def next(self) -> str:
        """What to type next."""
        disputed = [one.item for grader in self.graders for one in grader.disagreements]
        if any(grader.pending for grader in self.graders):
            return f"evalq review next {self.bakeoff_id}"
        if disputed:
            return f"evalq review rate {disputed[0]} RATING --adjudicate"
        return f"evalq inspect {self.bakeoff_id}"

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.reviews/1` document."""
        return {"schema": SCHEMA, **asdict(self), "next": self.next}


def status(db: Database, bakeoff_id: int) -> ReviewStatus:
    """Read the state of a bake-off's review."""
    catch_up(db, bakeoff_id)
    bakeoff = bakeoffs.get(db, bakeoff_id)
    by_grader: defaultdict[str, list[ListedItem]] = defaultdict(list)
    for item in reviews.list_items(db, bakeoff_id):
        by_grader[item.grader].append(item)
    said: defaultdict[int, list[ListedReview]] = defaultdict(list)
    for review in reviews.list_reviews(db, bakeoff_id):
        said[review.item_id].append(review)
    waits = reviews.count_waiting(db, bakeoff_id)
    snapshots = Snapshots(db)
    return ReviewStatus(
        bakeoff_id,
        bakeoff.task_name,
        bakeoff.eval_set_name,
        bakeoff.state,
        reviews.count_pending(db, bakeoff_id),
        tuple(
            _grader_status(name, items, said, waits.get(name, 0), grader_of(db, snapshots, items[0]))
            for name, items in sorted(by_grader.items())
        ),
        median_s=reviewers.median_pace_s(db, bakeoff_id),
        declined=tuple(reviewers.declined_items(db, bakeoff_id)),
        beside_people=graders_beside_people(reviewers.labels_beside_grades(db, bakeoff_id)),
    )


def grader_of(db: Database, snapshots: Snapshots, listed: ListedItem) -> Human:
    """The terms under which people rate an item."""
    return read_reviewed(db, listed.id, snapshots).grader


def _grader_status(
    name: str, items: Sequence[ListedItem], said: dict[int, list[ListedReview]], waiting: int, grader: Human
) -> GraderStatus:
    rated = {
        row.id: {one.reviewer: _values(grader, row, one) for one in said[row.id] if not one.adjudicates}
        for row in items
        if any(not one.adjudicates for one in said.get(row.id, ()))
    }
    disputed = [row for row in items if not row.is_open and row.reason is not None]
    pending = sum(row.is_open for row in items)
    return GraderStatus(
        name,
        grader.rating_scale.type,
        grader.interface,
        grader.evaluators.min_required,
        grader.evaluators.max_allowed,
        items=len(items),
        pending=pending,
        decided=len(items) - pending - len(disputed),
        disputed=len(disputed),
        in_hand=sum(row.taken - row.rated for row in items),
        waiting=waiting,
        reviews=sum(len(one) for one in rated.values()),
        by_reviews=count_by_reviews(items),
        reviewers=dict(sorted(Counter(who for one in rated.values() for who in one).items())),
        agreement=rater_agreement(grader.rating_scale, rated),
        disagreements=tuple(_disagreement(grader, row, said.get(row.id, ())) for row in disputed),
    )


def _disagreement(grader: Human, row: ListedItem, said: Sequence[ListedReview]) -> Disagreement:
    opinions = [
        Opinion(
            one.reviewer,
            one.rating,
            rating_words(grader.rating_scale, _values(grader, row, one)),
            one.comment,
        )
        for one in said
    ]
    return Disagreement(row.token, row.case_id, row.reason or "", tuple(opinions))


def _values(grader: Human, row: ListedItem, review: ListedReview) -> tuple[float, ...]:
    return read_rating(grader.rating_scale, review.rating, n_answers=row.n_answers)
