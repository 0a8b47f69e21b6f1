"""Concluding: when a run's last job has ended its row is written, with the last run the bake-off's result."""

import contextlib
import dataclasses
import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from evalq.bakeoff import holdout
from evalq.calling.failpoints import failpoint
from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import Human
from evalq.definitions.graders.human import RankingScale
from evalq.grading.grade import outcome_of, threshold_of
from evalq.grading.people import ReviewDecision, decide, grade_of, human_grader, read_rating
from evalq.records import Grade, Outcome
from evalq.results import BakeOffResult, CiMethod
from evalq.store import answers, bakeoffs, jobs, outcomes, reviews
from evalq.store.database import Connection, Database, transactional
from evalq.store.definitions import Snapshots
from evalq.store.outcomes import evidence
from evalq.store.reviews import ItemRow, NewItem, UnlistedGrade
from evalq.summary.summarise import summarise, summarise_run

log = logging.getLogger(__name__)

_TOKEN_DIGITS = 12


@dataclass(frozen=True)
class Reviewed:
    """An item with its grader, the jobs whose answers it holds, and where its review stands."""

    item: ItemRow
    case: EvalCase
    grader: Human
    job_ids: tuple[int, ...]
    standing: ReviewDecision
    threshold: float | None

    def grades(self) -> list[tuple[int, Grade]]:
        """The grade each job is to have."""
        return [
            (job_id, grade_of(self.item.grader, self.grader, self.standing, place))
            for place, job_id in enumerate(self.job_ids)
        ]

    def outcome(self, grades: Sequence[Grade]) -> Outcome:
        """The outcome that follows from a job's grades."""
        return outcome_of(grades, self.threshold)


def catch_up(tx: Connection, bakeoff_id: int) -> set[int]:
    """List what waits for people, grade what they have rated already; the runs whose outcomes changed.

    The caller holds the lock of the bake-off's conclusions.
    """
    listed = list_items(tx, bakeoff_id)
    return regrade(tx, sorted({*listed, *reviews.stale_items(tx, bakeoff_id)}))


def list_items(tx: Connection, bakeoff_id: int) -> list[int]:
    """Make items of the grades that wait for people; return those that must be graded anew: rankings."""
    snapshots = Snapshots(tx)
    waiting: defaultdict[str, list[UnlistedGrade]] = defaultdict(list)
    graders: dict[str, Human] = {}
    for grade in reviews.unlisted_grades(tx, bakeoff_id):
        grader = _grader(snapshots, grade.task_sha, grade.case_body, grade.grader)[1]
        is_ranking = isinstance(grader.rating_scale, RankingScale)
        if grade.is_complete if is_ranking else grade.is_wanted:
            token = _token(grade) if is_ranking else _token(grade, grade.job_id)
            waiting[token].append(grade)
            graders[token] = grader
    items = [_new_item(token, grades, graders[token]) for token, grades in waiting.items()]
    ids = reviews.add_items(tx, bakeoff_id, items) if items else {}
    rankings = [ids[item.token] for item in items if isinstance(item.terms.rating_scale, RankingScale)]
    for item_id in rankings:
        _void(tx, bakeoff_id, item_id)
    return rankings


def regrade(tx: Connection, item_ids: Iterable[int]) -> set[int]:
    """Bring grades and outcomes of these items in line with their ratings; return the runs that changed."""
    snapshots = Snapshots(tx)
    changed: set[int | None] = set()
    for item_id in item_ids:
        found = read_reviewed(tx, item_id, snapshots)
        reviews.set_open(tx, item_id, is_open=found.standing.state == "pending")
        for job_id, grade in found.grades():
            changed.add(reviews.regrade(tx, job_id, grade))
            grades = answers.grades(tx, [job_id])[job_id]
            # While a job is run again it has neither grades nor an outcome; its conclusion catches up.
            if grades:
                changed.add(reviews.change_outcome(tx, job_id, found.outcome(grades)))
    return {run_id for run_id in changed if run_id is not None}


def read_reviewed(db: Database | Connection, item_id: int, snapshots: Snapshots) -> Reviewed:
    """An item and what its ratings come to."""
    item = reviews.item(db, item_id)
    case, grader = _grader(snapshots, item.task_sha, item.case_body, item.grader)
    job_ids = tuple(answer.job_id for answer in reviews.answers(db, item_id))
    ratings, adjudicated = [], None
    for review in reviews.reviews(db, item_id):
        values = read_rating(grader.rating_scale, review.rating, n_answers=len(job_ids))
        if review.adjudicates:
            adjudicated = values
        else:
            ratings.append(values)
    standing = decide(grader, ratings, n_answers=len(job_ids), adjudicated=adjudicated)
    threshold = threshold_of(snapshots.task(item.task_sha), case)
    return Reviewed(item, case, grader, job_ids, standing, threshold)


def find_stale(db: Database, bakeoff_id: int | None) -> list[tuple[Reviewed, str]]:
    """Rated items whose grades or outcomes are not what their ratings say, and what is wrong."""
    snapshots = Snapshots(db)
    found = []
    for item_id in reviews.rated_items(db, bakeoff_id):
        reviewed = read_reviewed(db, item_id, snapshots)
        if wrong := next(filter(None, (_wrong(db, reviewed, *pair) for pair in reviewed.grades())), None):
            found.append((reviewed, wrong))
    return found


def _wrong(db: Database, reviewed: Reviewed, job_id: int, grade: Grade) -> str | None:
    grades, outcome = answers.grades(db, [job_id])[job_id], outcomes.read_outcome(db, job_id)
    kept = next((one for one in grades if one.grader == grade.grader), None)
    if kept is None or outcome is None:
        return None  # it is being run again
    if (kept.passed, kept.pending) != (grade.passed, grade.pending):
        return f"{_words(kept)} though its {len(reviewed.standing.ratings)} reviews say {_words(grade)}"
    follows = reviewed.outcome(grades).verdict
    return None if follows == outcome.verdict else f"{outcome.verdict} though its grades say {follows}"


def _words(grade: Grade) -> str:
    if grade.pending:
        return "pending"
    return {True: "passed", False: "failed", None: "undecided"}[grade.passed]


def _new_item(token: str, grades: Sequence[UnlistedGrade], grader: Human) -> NewItem:
    """Answers in an order that says nothing of their judges."""
    first = grades[0]
    job_ids = sorted((grade.job_id for grade in grades), key=lambda job_id: _token(first, job_id))
    return NewItem(token, first.grader, first.case_id, first.sample, grader, tuple(job_ids))


def _void(tx: Connection, bakeoff_id: int, item_id: int) -> None:
    """Rankings that do not hold a late answer count no more."""
    for reviewer in sorted(reviews.drop_reviews(tx, item_id)):
        log.warning("bakeoff_id=%s: a late answer makes a ranking void", bakeoff_id)
        reviews.relabel(tx, item_id, reviewer)


def _grader(snapshots: Snapshots, task_sha: str, case_body: str, name: str) -> tuple[EvalCase, Human]:
    case = EvalCase.model_validate_json(case_body)
    return case, human_grader(snapshots.task(task_sha), case, name)


def _token(grade: UnlistedGrade, job_id: int | None = None) -> str:
    """A name that gives nothing away: the bake-off's uid is in it, and nobody who reviews sees that."""
    parts = (grade.uid, grade.grader, grade.case_id, grade.sample, job_id or "")
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:_TOKEN_DIGITS]


def conclude(db: Database, run_id: int) -> bool:
    """Write a run's row if all its jobs have ended and nobody has; True when this call did.

    Idempotent and safe to call at any time: Postgres rows decide, not the number of messages seen.
    """
    is_concluded = _conclude(db, run_id)
    if is_concluded:
        failpoint("conclude_after_commit")
    return is_concluded


@transactional
def _conclude(tx: Connection, run_id: int) -> bool:
    place = bakeoffs.place_of_run(tx, run_id)
    if place is None:
        return False
    bakeoff_id, _ = place
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    if jobs.has_open_jobs(tx, run_id) or not bakeoffs.conclude_run(tx, run_id):
        return False
    changed = catch_up(tx, bakeoff_id)
    conclude_again(tx, bakeoff_id, {*changed, run_id})
    if _is_last(tx, bakeoff_id):
        _write_bakeoff(tx, bakeoff_id)
    failpoint("conclude_before_commit")
    return True


@transactional
def conclude_paused(tx: Connection, bakeoff_id: int) -> None:
    """Conclude a bake-off whose last judges were paused, once the calls in flight are home."""
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    if bakeoffs.get(tx, bakeoff_id).state == "running" and _is_last(tx, bakeoff_id):
        _write_bakeoff(tx, bakeoff_id)


def conclude_again(tx: Connection, bakeoff_id: int, run_ids: Collection[int]) -> None:
    """Write anew what is concluded of some runs and of their bake-off, now that outcomes have changed.

    The caller holds the lock of conclusions. What is not concluded yet will be, from the same outcomes.
    """
    for run in bakeoffs.runs(tx, bakeoff_id):
        if run.id in run_ids and run.state == "concluded":
            _write_run(tx, bakeoff_id, run.id)
    if run_ids and bakeoffs.get(tx, bakeoff_id).state == "concluded":
        _write_bakeoff(tx, bakeoff_id)


def result_of(db: Database, bakeoff_id: int, *, ci: CiMethod = "wilson") -> BakeOffResult:
    """The stored result of a concluded bake-off, or its result as of now.

    Another `ci` than the stored one is computed from the outcomes, and so is a result that another version
    stored in another form.
    """
    bakeoff = bakeoffs.get(db, bakeoff_id)
    if bakeoff.state == "concluded" and bakeoff.result and ci == "wilson":
        with contextlib.suppress(ValueError):
            stored = BakeOffResult.from_dict(json.loads(bakeoff.result))
            # A call that was written off may be settled late, at its true price.
            return dataclasses.replace(stored, spent_usd=bakeoff.spent_usd)
    result = summarise(bakeoff, bakeoffs.runs(db, bakeoff_id), evidence(db, bakeoff_id), ci=ci)
    return holdout.annotate(db, bakeoff, result)


def _is_last(tx: Connection, bakeoff_id: int) -> bool:
    """True when no judge is running and no job of a paused one is in hand: its end is part of the result."""
    return not bakeoffs.has_running_runs(tx, bakeoff_id) and jobs.leased_count(tx, bakeoff_id) == 0


def _write_run(tx: Connection, bakeoff_id: int, run_id: int) -> None:
    bakeoff, facts = bakeoffs.get(tx, bakeoff_id), evidence(tx, bakeoff_id, run_id=run_id)
    run = next(run for run in bakeoffs.runs(tx, bakeoff_id) if run.id == run_id)
    outcomes.write_eval_run(tx, summarise_run(bakeoff, run, facts.outcomes, facts))


def _write_bakeoff(tx: Connection, bakeoff_id: int) -> None:
    bakeoff = dataclasses.replace(bakeoffs.get(tx, bakeoff_id), state="concluded")
    result = summarise(bakeoff, bakeoffs.runs(tx, bakeoff_id), evidence(tx, bakeoff_id))
    ids = {run.judge: run.run_id for run in result.runs}
    # A second conclusion may rank the judges, and so pair them, in another order.
    outcomes.drop_kappas(tx, list(ids.values()))
    outcomes.keep_kappas(tx, result.kappa, ids)
    bakeoffs.conclude(tx, bakeoff_id, holdout.close_bakeoff(tx, bakeoff, result).to_dict())
