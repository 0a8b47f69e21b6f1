"""What a blind review hides until a person has rated: whose answer it was, and what others made of it."""

from dataclasses import dataclass

from evalq.bakeoff.reviewed import read_reviewed
from evalq.grading.people import LETTERS, rating_words, read_rating
from evalq.review.ratings import find_item
from evalq.store import answers, reviews
from evalq.store.database import Database
from evalq.store.definitions import Snapshots


@dataclass(frozen=True)
class RevealedGrade:
    """The mark of another grader; `passed` is None where it could not decide."""

    grader: str
    passed: bool | None
    reason: str


@dataclass(frozen=True)
class RevealedAnswer:
    """Who gave an answer, and what the other graders say of it."""

    letter: str
    judge: str
    grades: tuple[RevealedGrade, ...]


@dataclass(frozen=True)
class Revealed:
    """An item after a person has rated it: what they said, whose answers those were, what others said."""

    item: str
    case_id: str
    said: str
    answers: tuple[RevealedAnswer, ...]
    others: tuple[str, ...]


def reveal(db: Database, item: str, reviewer: str) -> Revealed | None:
    """What was hidden of an item; None for a person who has not rated it."""
    found = read_reviewed(db, find_item(db, item).id, Snapshots(db))
    scale = found.grader.rating_scale
    words: list[tuple[str, str]] = []
    for review in reviews.reviews(db, found.item.id):
        values = read_rating(scale, review.rating, n_answers=len(found.job_ids))
        words.append((review.reviewer, rating_words(scale, values)))
    own = [said for who, said in words if who == reviewer]
    if not own:
        return None
    grades = answers.grades(db, found.job_ids)
    shown = tuple(
        RevealedAnswer(
            LETTERS[row.place],
            row.judge,
            tuple(
                RevealedGrade(one.grader, one.passed, one.reason)
                for one in grades[row.job_id]
                if one.kind != "human"
            ),
        )
        for row in reviews.answers(db, found.item.id)
    )
    others = tuple(said for who, said in words if who != reviewer)
    return Revealed(found.item.token, found.item.case_id, own[-1], shown, others)
