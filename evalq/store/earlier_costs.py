"""What answers and grading cost in earlier bake-offs of a task, for estimates."""

from dataclasses import dataclass
from decimal import Decimal

from evalq.store.database import Database


@dataclass(frozen=True)
class EarlierAnswers:
    """Mean tokens of the newest answers of one judge to one task.

    `is_same_set`: to the set that is asked about. `is_smoke`: of smoke calls, since there are no others.
    """

    is_same_set: bool
    is_smoke: bool
    n: int
    input_tokens: Decimal
    output_tokens: Decimal


@dataclass(frozen=True)
class EarlierGrading:
    """Dollars that a grader model cost per answer it graded."""

    usd_per_answer: Decimal


def earlier_answers(
    db: Database, *, task_sha: str, judge_sha: str, eval_set_name: str
) -> EarlierAnswers | None:
    """The best known answers: to the same set, else to others, else of smoke calls; None without any."""
    rows = db.rows("earlier_answers", task_sha=task_sha, judge_sha=judge_sha, eval_set_name=eval_set_name)
    found = [EarlierAnswers(**row) for row in rows]
    # A smoke call asks one case only, so its prompt says nothing about the others.
    found = [one if not one.is_smoke else _without_input(one) for one in found]
    return min(found, key=lambda one: (one.is_smoke, not one.is_same_set), default=None)


def _without_input(one: EarlierAnswers) -> EarlierAnswers:
    return EarlierAnswers(False, one.is_smoke, one.n, one.input_tokens, one.output_tokens)


def earlier_grading(db: Database, *, task_sha: str) -> dict[tuple[str, str], EarlierGrading]:
    """What each grader cost on a task, by its name and model."""
    found = {}
    for row in db.rows("earlier_grading", task_sha=task_sha):
        found[row["judge"], row["model"]] = EarlierGrading(row["usd_per_answer"])
    return found
