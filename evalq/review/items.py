"""An item as a reviewer sees it: question, answers, rubric, scale; nothing of the judge if it is blind."""

import getpass
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from evalq.bakeoff import reviewed
from evalq.bakeoff.conclude import conclude_again
from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import Human
from evalq.definitions.graders.human import LikertScale, RankingScale, RatingScale
from evalq.definitions.located import is_storable
from evalq.definitions.prompt import answer_prompt
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem
from evalq.grading.people import LETTERS, rating_form, rating_json
from evalq.records import Grade
from evalq.store import answers as stored
from evalq.store import bakeoffs, reviews
from evalq.store.database import Connection, Database, transactional
from evalq.store.definitions import Snapshots
from evalq.store.reviews import AnswerRow, ItemRow

SCHEMA = "evalq.review/1"

_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Answer:
    """One answer, by its letter; the rest is None in a blind review."""

    letter: str
    text: str
    judge: str | None = None
    cost_usd: str | None = None
    latency_ms: int | None = None
    grades: tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True)
class ItemView:
    """Everything a person needs to rate an item. `ratings`: what others said, for an adjudicator only."""

    item: str
    bakeoff_id: int
    task: str
    grader: str
    case_id: str
    interface: str | None
    instructions: str
    question: str
    reference: str
    answers: tuple[Answer, ...]
    rubric: str
    scale: RatingScale
    is_blind: bool
    rated: int
    min_required: int
    max_allowed: int
    lease_until: datetime | None = None
    ratings: tuple[Any, ...] | None = None

    @property
    def form(self) -> str:
        """What to type."""
        return rating_form(self.scale, len(self.answers))

    def to_dict(self) -> dict[str, Any]:
        """The item as JSON; what a blind review hides is not in it."""
        answers = [
            {name: value for name, value in vars(one).items() if value is not None} for one in self.answers
        ]
        is_one = not isinstance(self.scale, RankingScale)
        return {
            "schema": SCHEMA,
            "item": self.item,
            "bakeoff_id": self.bakeoff_id,
            "task": self.task,
            "grader": self.grader,
            "case_id": self.case_id,
            **({"interface": self.interface} if self.interface else {}),
            "instructions": self.instructions,
            "question": self.question,
            "reference": self.reference or None,
            **({"answer": self.answers[0].text} if is_one else {}),
            "answers": answers,
            "rubric": self.rubric,
            "scale": {**self.scale.model_dump(mode="json"), "form": self.form},
            "blind": self.is_blind,
            "reviews": {
                "rated": self.rated,
                "min_required": self.min_required,
                "max_allowed": self.max_allowed,
            },
            **({"lease_until": self.lease_until.isoformat()} if self.lease_until else {}),
            **({"ratings": list(self.ratings)} if self.ratings is not None else {}),
        }


@dataclass(frozen=True)
class Offer:
    """The next item for a person, None when nothing is left; how many they have rated, how many are left."""

    item: ItemView | None
    done: int
    left: int

    def to_dict(self) -> dict[str, Any]:
        """The item with the counts; `item` is null when there is none."""
        item = self.item.to_dict() if self.item else {"schema": SCHEMA, "item": None}
        return {**item, "done": self.done, "left": self.left}


def show_item(
    row: ItemRow, task: TaskConfig, case: EvalCase, grader: Human, answers: Sequence[Answer]
) -> ItemView:
    """An item with its texts."""
    prompt = answer_prompt(task, case)
    earlier = [f"{turn.role}: {turn.text}" for turn in prompt.turns]
    question = "\n\n".join([*earlier, f"user: {prompt.user}"]) if earlier else prompt.user
    return ItemView(
        item=row.token,
        bakeoff_id=row.bakeoff_id,
        task=row.task_name,
        grader=row.grader,
        case_id=row.case_id,
        interface=grader.interface,
        instructions=prompt.system,
        question=question,
        reference=plain_text(case.expected),
        answers=tuple(answers),
        rubric=render_rubric(grader, task, case),
        scale=grader.rating_scale,
        is_blind=grader.blind_evaluation,
        rated=row.rated,
        min_required=row.min_required,
        max_allowed=row.max_allowed,
    )


def show_answer(row: AnswerRow, grades: Sequence[Grade], *, is_blind: bool) -> Answer:
    """An answer; who gave it, its price and its other grades only where the review is not blind."""
    letter, text = LETTERS[row.place], row.answer or ""
    if is_blind:
        return Answer(letter, text)
    others = tuple(
        {"grader": grade.grader, "passed": grade.passed, "score": grade.score, "reason": grade.reason}
        for grade in grades
        if grade.kind != "human"
    )
    cost = None if row.cost_usd is None else f"{row.cost_usd.normalize():f}"
    return Answer(letter, text, row.judge, cost, row.latency_ms, others)


def render_rubric(grader: Human, task: TaskConfig, case: EvalCase) -> str:
    """The rubric with the names it knows filled in; any other brace stays as it is written."""
    values = {
        "task_description": task.description or task.name,
        "input_summary": plain_text(case.inputs),
        "requirements": task.system_prompt,
        "expected": plain_text(case.expected),
        **{name: _text(value) for name, value in case.inputs.items()},
    }
    if isinstance(grader.rating_scale, LikertScale):
        criteria = enumerate(grader.rating_scale.criteria, start=1)
        values |= {f"criterion_{number}_name": name for number, name in criteria}
    return _NAME.sub(lambda found: values.get(found[1], found[0]), grader.rubric)


def plain_text(value: Mapping[str, Any] | None) -> str:
    """Inputs or an expectation for people: a single text as it is, more as lines of name and value."""
    parts = {name: _text(part) for name, part in (value or {}).items()}
    if len(parts) < 2:
        return "".join(parts.values())
    return "\n".join(f"{name}: {part}" for name, part in parts.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


MAX_NAME = 100


def check_reviewer(name: str) -> str:
    """The name, if it can be one."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or not is_storable(name):
        raise InputError(Problem("the reviewer needs a name", f"write 1 to {MAX_NAME} plain characters"))
    return name


def reviewer_name(given: str | None, environ: Mapping[str, str]) -> str:
    """The name given, else EVALQ_REVIEWER, else the login name."""
    if given is None and not environ.get("EVALQ_REVIEWER"):
        try:
            return check_reviewer(getpass.getuser())
        except (KeyError, OSError):
            raise InputError(Problem("the user of this system has no name", "give --reviewer NAME")) from None
    return check_reviewer(given if given is not None else environ["EVALQ_REVIEWER"])


def next_item(
    db: Database,
    bakeoff_id: int | None,
    reviewer: str,
    *,
    grader: str | None = None,
    adjudicates: bool = False,
    beside: int | None = None,
) -> Offer:
    """The next item for a reviewer, of one bake-off or of all; reserved for its time limit.

    Who asks again without rating gets the same one; `beside` an item that is on their screen, the one after
    it. With `adjudicates`: one that people disagree on, with what they said.
    """
    check_reviewer(reviewer)
    catch_up(db, bakeoff_id)
    if adjudicates:
        item_id = reviews.disputed_item(db, bakeoff_id=bakeoff_id, grader=grader)
    else:
        item_id = reviews.lease(db, reviewer=reviewer, bakeoff_id=bakeoff_id, grader=grader, beside=beside)
    item = view(db, item_id, Snapshots(db), with_ratings=adjudicates) if item_id else None
    if item and item_id and not adjudicates:
        item = replace(item, lease_until=reviews.lease_end(db, item_id, reviewer))
    progress = reviews.progress(db, reviewer, bakeoff_id=bakeoff_id, grader=grader)
    return Offer(item, progress.done, progress.left)


def open_items(db: Database, bakeoff_id: int, *, grader: str | None = None) -> Iterator[ItemView]:
    """Every item of a bake-off that reviews are wanted of, in shuffled order; none is taken in hand."""
    catch_up(db, bakeoff_id)
    snapshots = Snapshots(db)
    for item in reviews.list_items(db, bakeoff_id, grader=grader):
        if item.is_open:
            yield view(db, item.id, snapshots)


def catch_up(db: Database, bakeoff_id: int | None) -> None:
    """List the answers that wait for people, in one bake-off or in all."""
    for each in sorted({grade.bakeoff_id for grade in reviews.unlisted_grades(db, bakeoff_id)}):
        _catch_up(db, each)


@transactional
def _catch_up(tx: Connection, bakeoff_id: int) -> None:
    bakeoffs.lock_conclusions(tx, bakeoff_id)
    conclude_again(tx, bakeoff_id, reviewed.catch_up(tx, bakeoff_id))


def view(db: Database, item_id: int, snapshots: Snapshots, *, with_ratings: bool = False) -> ItemView:
    """An item as people see it."""
    found = reviewed.read_reviewed(db, item_id, snapshots)
    is_blind = found.grader.blind_evaluation
    answers = [
        show_answer(row, [] if is_blind else stored.grades(db, [row.job_id])[row.job_id], is_blind=is_blind)
        for row in reviews.answers(db, item_id)
    ]
    task = snapshots.task(found.item.task_sha)
    shown = show_item(found.item, task, found.case, found.grader, answers)
    if not with_ratings:
        return shown
    said = tuple(rating_json(shown.scale, rating) for rating in found.decision.ratings)
    return replace(shown, ratings=said)
