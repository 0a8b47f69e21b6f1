"""Marking an answer that is to be JSON."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.structure import (
    FieldAccuracy,
    FieldMatch,
    IsJson,
    JsonPath,
    JsonSchema,
    StructuralMatch,
)
from evalq.definitions.graders.values import Numeric, NumericDelta, is_number
from evalq.definitions.json_queries import Schema, parsed_json_path, value_at
from evalq.grading.checks.text import nothing_to_compare, text_of
from evalq.grading.compare_json import (
    JsonDifference,
    StructureOptions,
    differences,
    equals,
    missing_keys,
    numeric_differences,
)
from evalq.grading.grader import AnswerToGrade, Mark, mark
from evalq.grading.reading import (
    DATE_FORMATS,
    Search,
    is_near,
    mark_json,
    numbers_in,
    read_date,
    read_json,
    read_number,
    shown,
    unfenced,
)


def mark_is_json(grader: IsJson, subject: AnswerToGrade) -> Mark:
    """Passed when the whole answer is one JSON value."""
    text = text_of(subject)
    try:
        read_json(unfenced(text) if grader.allow_fence else text)
    except ValueError as exc:
        return mark(False, f"not JSON: {exc}")
    return mark(True, "is JSON")


def mark_json_schema(grader: JsonSchema, subject: AnswerToGrade) -> Mark:
    """Passed when the answer's JSON fits the schema."""
    schemas = grader.wanted(subject.expected)
    if not schemas:
        raise nothing_to_compare()
    return mark_json(text_of(subject), lambda value: _by_schemas(schemas, value))


def _by_schemas(schemas: list[Schema], value: Any) -> Mark:
    from evalq.grading.schemas import misfit  # the library behind it takes a while to load

    place, why = "", ""
    for schema in reversed(schemas):  # the first is told of when none fits
        found = misfit(schema, value)
        if found is None:
            return mark(True, "fits the schema")
        place, why = found
    return mark(False, f"{place}: {why}", path=place)


def mark_json_path(grader: JsonPath, subject: AnswerToGrade) -> Mark:
    """Passed when a value at the path equals or matches one of the wanted."""
    if not grader.patterns() and not grader.wanted(subject.expected):
        raise nothing_to_compare()
    return mark_json(text_of(subject), lambda value: _at_path(grader, subject, value))


def _at_path(grader: JsonPath, subject: AnswerToGrade, document: Any) -> Mark:
    found = [match.value for match in parsed_json_path(grader.path).find(document)]
    if not found:
        return mark(False, f"nothing at {grader.path}")
    verb = "matches" if grader.patterns() else "is as wanted"
    search = Search()
    fitting = [value for value in found if _fits(grader, subject, value, search)]
    if fitting:
        return mark(True, f"{grader.path} {verb}: {shown(fitting[0])}")
    return mark(False, f"{grader.path} is {', '.join(shown(value) for value in found[:3])}")


def _fits(grader: JsonPath, subject: AnswerToGrade, value: Any, search: Search) -> bool:
    if not grader.patterns():
        return any(equals(value, wanted) for wanted in grader.wanted(subject.expected))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return any(search.find(pattern, text, grader.flags) is not None for pattern in grader.patterns())


MAX_LISTED = 20


def mark_structural_match(grader: StructuralMatch, subject: AnswerToGrade) -> Mark:
    """Passed when the answer's JSON has the structure of the wanted value or of an alternative."""
    wanted = grader.wanted(subject.expected)
    if not wanted and not grader.require_keys:
        raise nothing_to_compare()
    return mark_json(text_of(subject), lambda value: _mark_value(grader, wanted, value))


def _mark_value(grader: StructuralMatch, wanted: list[Any], value: Any) -> Mark:
    options = StructureOptions(
        ignore_values=grader.ignore_values,
        ignore_fields=grader.ignore_fields,
        require_keys=grader.require_keys,
        allow_additional_fields=grader.allow_additional_fields,
        allow_field_reordering=grader.allow_field_reordering,
        strict=grader.strict,
    )
    tries = [differences(one, value, options) for one in wanted]
    found = min(tries, key=len) if tries else missing_keys(value, grader.require_keys)
    if not found:
        return mark(True, "has the wanted structure")
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    reason = "; ".join(str(one) for one in found[:3]) + more
    return mark(False, reason, differences=[_told(one) for one in found[:MAX_LISTED]])


def _told(difference: JsonDifference) -> dict[str, Any]:
    """A difference as reports show it; what is absent has no key."""
    values = {"expected": difference.expected, "actual": difference.actual}
    told = {name: shown(value, 200) for name, value in values.items() if value is not ABSENT}
    return {"path": difference.path, "why": difference.why, **told}


@dataclass(frozen=True)
class _Field:
    """One field's verdict; None when it is left out."""

    path: str
    weight: float
    is_right: bool | None
    why: str = ""


def mark_field_accuracy(grader: FieldAccuracy, subject: AnswerToGrade) -> Mark:
    """Scores the share of right fields by weight; passed from the threshold on."""
    wanted = grader.wanted(subject.expected)
    if not wanted:
        raise nothing_to_compare()
    return mark_json(
        text_of(subject),
        lambda value: max((_mark_field(grader, one, value) for one in wanted), key=lambda found: found.score),
    )


def _mark_field(grader: FieldAccuracy, wanted: Any, answer: Any) -> Mark:
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


MAX_LISTED_CHANGES = 20


def mark_numeric_delta(grader: NumericDelta, subject: AnswerToGrade) -> Mark:
    """Passed when every number of the baseline is there and within its tolerance."""
    return mark_json(text_of(subject), lambda value: _mark_delta(grader, value))


def _mark_delta(grader: NumericDelta, value: Any) -> Mark:
    found = numeric_differences(grader.value, value, grader.tolerance)
    if not found:
        return mark(True, "every number is within its tolerance")
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    reason = "; ".join(_said(one) for one in found[:3]) + more
    return mark(False, reason, differences=[_describe_change(one) for one in found[:MAX_LISTED_CHANGES]])


def _said(one: JsonDifference) -> str:
    values = f" (from {one.expected} to {one.actual})" if one.actual is not ABSENT else ""
    return f"{one}{values}"


def _describe_change(one: JsonDifference) -> dict[str, Any]:
    told = {"path": one.path, "why": one.why, "expected": one.expected}
    return told if one.actual is ABSENT else {**told, "actual": one.actual}


def mark_numeric(grader: Numeric, subject: AnswerToGrade) -> Mark:
    """Passed when the answer's number is near enough to one of the wanted ones; failed when it has none."""
    wanted = grader.wanted(subject.expected)
    if not wanted:
        raise nothing_to_compare()
    number = _number_in_answer(grader, text_of(subject))
    if number is None:
        place = "is not a number" if grader.extract == "whole" else "has no number in it"
        return mark(False, f"the answer {place}: {shown(subject.answer)}")
    passed = any(is_near(number, one, abs_tol=grader.abs_tol, rel_tol=grader.rel_tol) for one in wanted)
    return mark(passed, f"{number} for {' or '.join(f'{one:g}' for one in wanted[:5])}{_room(grader)}")


def _number_in_answer(grader: Numeric, answer: str) -> Decimal | None:
    if grader.extract == "whole":
        return read_number(answer.strip().removesuffix("."), decimal=grader.decimal)
    return next(numbers_in(answer, decimal=grader.decimal, backwards=grader.extract == "last"), None)


def _room(grader: Numeric) -> str:
    rooms = [f"± {grader.abs_tol:g}"] if grader.abs_tol else []
    rooms += [f"± {grader.rel_tol:.3g} of it"] if grader.rel_tol else []
    return f" ({' or '.join(rooms)})" if rooms else ""
