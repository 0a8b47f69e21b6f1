"""Marking the fields of an answer, one by one."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.numbers import is_number
from evalq.definitions.graders.structure import FieldAccuracy, FieldMatch
from evalq.definitions.json_paths import value_at
from evalq.grading.checks.answer import nothing_to_compare, text_of
from evalq.grading.comparators import equals
from evalq.grading.dates import DATE_FORMATS, read_date
from evalq.grading.json_answers import mark_json
from evalq.grading.numbers import is_near, read_number
from evalq.grading.subject import Mark, Subject
from evalq.grading.words import shown


@dataclass(frozen=True)
class _Field:
    """One field's verdict; None when it is left out."""

    path: str
    weight: float
    is_right: bool | None
    why: str = ""


def mark_field_accuracy(grader: FieldAccuracy, subject: Subject) -> Mark:
    """Scores the share of right fields by weight; passed from the threshold on."""
    wanted = grader.wanted(subject.expected)
    if not wanted:
        raise nothing_to_compare()
    return mark_json(
        text_of(subject),
        lambda value: max((_mark_value(grader, one, value) for one in wanted), key=lambda found: found.score),
    )


def _mark_value(grader: FieldAccuracy, wanted: Any, answer: Any) -> Mark:
    fields = [
        _look(field, value_at(wanted, field.path), value_at(answer, field.path)) for field in grader.fields
    ]
    counted = [field for field in fields if field.is_right is not None]
    weight = sum(field.weight for field in counted)
    share = sum(field.weight for field in counted if field.is_right) / weight if weight else 0.0
    wrong = [field for field in counted if not field.is_right]
    if grader.aggregation == "all_or_nothing":
        share = float(not wrong and bool(counted))
    reason = (
        "; ".join(f"{field.path} {field.why}" for field in wrong[:5])
        or f"all {len(counted)} fields are right"
    )
    details = {field.path: field.why or "right" for field in fields}
    return Mark(round(share, 9) >= grader.threshold, share, reason, {"fields": details})


def _look(field: FieldMatch, wanted: Any, actual: Any) -> _Field:
    if wanted is ABSENT or (actual is ABSENT and not field.required):
        return _Field(field.path, field.weight, None, "left out")
    if actual is ABSENT:
        return _Field(field.path, field.weight, False, "is missing")
    is_right = _COMPARISONS[field.match](field, wanted, actual)
    why = "" if is_right else f"is {shown(actual, 40)} instead of {shown(wanted, 40)}"
    return _Field(field.path, field.weight, is_right, why)


def _is_same(field: FieldMatch, wanted: Any, actual: Any) -> bool:
    del field
    return equals(wanted, actual)


def _is_near(field: FieldMatch, wanted: Any, actual: Any) -> bool:
    goal, number = _number(wanted), _number(actual)
    if goal is None or number is None:
        return False
    share, room = (field.tolerance, 0.0) if field.relative else (0.0, field.tolerance)
    return is_near(number, float(goal), abs_tol=room, rel_tol=share)


def _is_same_day(field: FieldMatch, wanted: Any, actual: Any) -> bool:
    formats = field.formats or DATE_FORMATS
    day = read_date(actual, formats) if isinstance(actual, str) else None
    return day is not None and isinstance(wanted, str) and day == read_date(wanted, formats)


def _number(value: Any) -> Decimal | None:
    """A number, or a text that is one."""
    if is_number(value):
        return Decimal(repr(value))
    return read_number(value) if isinstance(value, str) else None


_COMPARISONS = {"exact": _is_same, "numeric_tolerance": _is_near, "date": _is_same_day}
