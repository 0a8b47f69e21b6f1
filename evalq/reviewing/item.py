"""An item as a reviewer sees it: question, answers, rubric, scale; nothing of the judge if it is blind."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import Human
from evalq.definitions.graders.human import LikertScale, RankingScale, RatingScale
from evalq.definitions.task import TaskConfig
from evalq.grading.ratings import LETTERS, rating_form
from evalq.question import answer_prompt
from evalq.records import Grade
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
