"""Puts graded answers before people: the ones a label tells most about, or all answers to one case."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalq.bakeoff.holdout import refuse_cases
from evalq.bakeoff.reviewed import LABELS, label_terms, make_token
from evalq.errors import InputError, Problem
from evalq.review.calibration import gather
from evalq.review.labels import contested_cases
from evalq.review.next_labels import choose_next
from evalq.store import bakeoffs, outcomes, reviews
from evalq.store.database import Connection, Database, transactional
from evalq.store.outcomes import LabelledAnswer
from evalq.store.reviews import NewItem

LEASE_S = 30 * 60.0
_TIE_BREAKERS = 1
"""How many people more than wanted may be asked when those disagree."""


@dataclass(frozen=True)
class SentToReview:
    """What was put before people: how many answers of a bake-off are new to them, of how many asked for."""

    bakeoff_id: int
    added: int
    asked: int
    reviewers: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {"schema": "evalq.review-queue/1", **asdict(self)}


def send_to_review(db: Database, bakeoff_id: int, case_id: str, *, reviewers: int = 1) -> SentToReview:
    """Ask people whether each answer to one case is right; what is in the queue already stays as it is.

    Their labels never change an outcome: `calibrate` corrects the grader by them. Answers that wait for
    people anyway, and judges that gave none, are left out.
    """
    refuse_cases(db, bakeoff_id)
    found = [one for one in outcomes.labelled_answers(db, bakeoff_id) if one.case_id == case_id]
    if not found:
        raise InputError(
            Problem(
                f"bake-off {bakeoff_id} has no case {case_id!r}", f"`evalq inspect {bakeoff_id}` lists them"
            )
        )
    graded = [one for one in found if one.verdict in ("passed", "failed")]
    return _add(db, bakeoff_id, graded, reviewers=reviewers)


def queue_labels(
    db: Database, bakeoff_id: int, *, count: int, reviewers: int = 1, seed: int | None = None
) -> SentToReview:
    """Put the answers whose labels tell most about judges and grader before people, in that order."""
    labelled = gather(db, bakeoff_id)
    answers = labelled.ranked
    drawn = labelled.result.seed if seed is None else seed
    chosen = choose_next(answers, contested_cases(answers), count=count, seed=drawn)
    by_job = {one.job_id: one for one in outcomes.labelled_answers(db, bakeoff_id)}
    return _add(db, bakeoff_id, [by_job[one.job_id] for one in chosen], reviewers=reviewers)


@transactional
def _add(
    tx: Connection, bakeoff_id: int, chosen: Sequence[LabelledAnswer], *, reviewers: int
) -> SentToReview:
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    uid = bakeoffs.get(tx, bakeoff_id).uid
    terms = label_terms(reviewers, reviewers + _TIE_BREAKERS, lease_s=LEASE_S)
    known = {item.token for item in reviews.list_items(tx, bakeoff_id, grader=LABELS)}
    items = []
    for place, one in enumerate(chosen, start=len(known)):
        token = make_token(uid, LABELS, one.job_id)
        if token not in known:
            jobs = (one.job_id,)
            items.append(NewItem(token, LABELS, one.case_id, one.sample, terms, jobs, "label", place))
    if items:
        reviews.add_items(tx, bakeoff_id, items)
    return SentToReview(bakeoff_id, len(items), len(chosen), reviewers)
