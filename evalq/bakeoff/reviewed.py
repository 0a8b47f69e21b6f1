"""Turns people's ratings into grades and outcomes, and lists the answers that still wait for people."""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import Human
from evalq.definitions.graders.human import RankingScale
from evalq.grading.grade import outcome_of, threshold_of
from evalq.grading.people import ReviewDecision, decide, grade_of, human_grader, read_rating
from evalq.records import Grade, Outcome
from evalq.store import answers, outcomes, reviews
from evalq.store.database import Connection, Database
from evalq.store.definitions import Snapshots
from evalq.store.reviews import ItemRow, NewItem, UnlistedGrade

log = logging.getLogger(__name__)

LABELS = ":labels"
"""The grader of items that only give labels: no grader of a task can have this name."""

_TOKEN_DIGITS = 12
_LABEL_RUBRIC = "Would someone who knows the subject accept this answer?"


@dataclass(frozen=True)
class Reviewed:
    """A review item: its grader, the jobs whose answers it shows, and what its ratings decide."""

    item: ItemRow
    case: EvalCase
    grader: Human
    job_ids: tuple[int, ...]
    decision: ReviewDecision
    threshold: float | None

    def grades(self) -> list[tuple[int, Grade]]:
        """The grade that each job should have."""
        return [
            (job_id, grade_of(self.item.grader, self.grader, self.decision, place))
            for place, job_id in enumerate(self.job_ids)
        ]

    def outcome(self, grades: Sequence[Grade]) -> Outcome:
        """The outcome that follows from a job's grades."""
        return outcome_of(grades, self.threshold)


def catch_up(tx: Connection, bakeoff_id: int) -> set[int]:
    """List answers that wait for people and grade those already rated; return the runs that changed.

    The caller holds the lock of the bake-off's conclusions.
    """
    listed = list_items(tx, bakeoff_id)
    return regrade(tx, sorted({*listed, *reviews.stale_items(tx, bakeoff_id)}))


def list_items(tx: Connection, bakeoff_id: int) -> list[int]:
    """Make an item of every grade that waits for people; return the rankings, which need grading again."""
    snapshots = Snapshots(tx)
    waiting: defaultdict[str, list[UnlistedGrade]] = defaultdict(list)
    graders: dict[str, Human] = {}
    for grade in reviews.unlisted_grades(tx, bakeoff_id):
        grader = _grader(snapshots, grade.task_sha, grade.case_body, grade.grader)[1]
        is_ranking = isinstance(grader.rating_scale, RankingScale)
        # A ranking shows all answers to a case in one item, every other scale one answer.
        if is_ranking and grade.is_complete:
            token = _token(grade)
        elif not is_ranking and grade.is_wanted:
            token = _token(grade, grade.job_id)
        else:
            continue
        waiting[token].append(grade)
        graders[token] = grader
    items = [_new_item(token, grades, graders[token]) for token, grades in waiting.items()]
    ids = reviews.add_items(tx, bakeoff_id, items) if items else {}
    rankings = [ids[item.token] for item in items if isinstance(item.terms.rating_scale, RankingScale)]
    for item_id in rankings:
        _drop_rankings(tx, bakeoff_id, item_id)
    return rankings


def regrade(tx: Connection, item_ids: Iterable[int]) -> set[int]:
    """Bring grades and outcomes of these items in line with their ratings; return the runs that changed."""
    snapshots = Snapshots(tx)
    changed: set[int | None] = set()
    for item_id in item_ids:
        found = read_reviewed(tx, item_id, snapshots)
        dispute = found.decision.reason if found.decision.state == "undecidable" else None
        reviews.set_open(tx, item_id, is_open=found.decision.state == "pending", dispute=dispute)
        if found.item.purpose == "label":
            continue  # the answer is graded already; a label says whether rightly
        for job_id, grade in found.grades():
            changed.add(reviews.regrade(tx, job_id, grade))
            grades = answers.grades(tx, [job_id])[job_id]
            # While a job is run again it has neither grades nor an outcome; its conclusion catches up.
            if grades:
                changed.add(reviews.change_outcome(tx, job_id, found.outcome(grades)))
    return {run_id for run_id in changed if run_id is not None}


def label_terms(min_required: int, max_allowed: int, *, lease_s: float) -> Human:
    """How people label an answer that is graded already: right or wrong, blind."""
    sides = [{"value": True, "label": "Right"}, {"value": False, "label": "Wrong"}]
    return Human.model_validate(
        {
            "type": "human",
            "rating_scale": {"type": "binary", "options": sides},
            "min_required": min_required,
            "max_allowed": max_allowed,
            "rubric": _LABEL_RUBRIC,
            "time_limit_minutes": lease_s / 60,
        }
    )


def make_token(*parts: object) -> str:
    """An opaque name of an item; with a bake-off's uid among the parts, reviewers cannot guess it."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:_TOKEN_DIGITS]


def read_reviewed(db: Database | Connection, item_id: int, snapshots: Snapshots) -> Reviewed:
    """Read an item and decide it by its ratings."""
    item = reviews.item(db, item_id)
    if item.purpose == "label":
        case = EvalCase.model_validate_json(item.case_body)
        grader = label_terms(item.min_required, item.max_allowed, lease_s=item.lease_s)
    else:
        case, grader = _grader(snapshots, item.task_sha, item.case_body, item.grader)
    job_ids = tuple(answer.job_id for answer in reviews.answers(db, item_id))
    ratings, adjudicated = [], None
    for review in reviews.reviews(db, item_id):
        values = read_rating(grader.rating_scale, review.rating, n_answers=len(job_ids))
        if review.adjudicates:
            adjudicated = values
        else:
            ratings.append(values)
    decision = decide(grader, ratings, n_answers=len(job_ids), adjudicated=adjudicated)
    threshold = threshold_of(snapshots.task(item.task_sha), case)
    return Reviewed(item, case, grader, job_ids, decision, threshold)


def find_stale(db: Database, bakeoff_id: int | None) -> list[tuple[Reviewed, str]]:
    """Rated items whose grades or outcomes do not follow from their ratings, each with what is wrong."""
    snapshots = Snapshots(db)
    found = []
    for item_id in reviews.rated_items(db, bakeoff_id):
        reviewed = read_reviewed(db, item_id, snapshots)
        if reviewed.item.purpose == "label":
            continue
        for job_id, grade in reviewed.grades():
            problem = _find_problem(db, reviewed, job_id, grade)
            if problem:
                found.append((reviewed, problem))
                break
    return found


def _find_problem(db: Database, reviewed: Reviewed, job_id: int, grade: Grade) -> str | None:
    grades = answers.grades(db, [job_id])[job_id]
    outcome = outcomes.read_outcome(db, job_id)
    kept = next((one for one in grades if one.grader == grade.grader), None)
    if kept is None or outcome is None:
        return None  # the job is being run again
    if (kept.passed, kept.pending) != (grade.passed, grade.pending):
        n_reviews = len(reviewed.decision.ratings)
        return f"{_name_grade(kept)} though its {n_reviews} reviews say {_name_grade(grade)}"
    follows = reviewed.outcome(grades).verdict
    if follows != outcome.verdict:
        return f"{outcome.verdict} though its grades say {follows}"
    return None


def _name_grade(grade: Grade) -> str:
    if grade.pending:
        return "pending"
    return {True: "passed", False: "failed", None: "undecided"}[grade.passed]


def _new_item(token: str, grades: Sequence[UnlistedGrade], grader: Human) -> NewItem:
    """A new item; the order of its answers tells nothing about their judges."""
    first = grades[0]
    job_ids = sorted((grade.job_id for grade in grades), key=lambda job_id: _token(first, job_id))
    return NewItem(token, first.grader, first.case_id, first.sample, grader, tuple(job_ids))


def _drop_rankings(tx: Connection, bakeoff_id: int, item_id: int) -> None:
    """Drop the rankings that were given before a late answer joined the item."""
    for reviewer in sorted(reviews.drop_reviews(tx, item_id)):
        log.warning("bakeoff_id=%s: a late answer makes a ranking void", bakeoff_id)
        reviews.relabel(tx, item_id, reviewer)


def _grader(snapshots: Snapshots, task_sha: str, case_body: str, name: str) -> tuple[EvalCase, Human]:
    case = EvalCase.model_validate_json(case_body)
    return case, human_grader(snapshots.task(task_sha), case, name)


def _token(grade: UnlistedGrade, job_id: int | None = None) -> str:
    return make_token(grade.uid, grade.grader, grade.case_id, grade.sample, job_id or "")
