"""Checks of answers that are JSON or a number: schema, paths, structure, fields, tolerances."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_never

from evalq.definitions.definition import ABSENT
from evalq.definitions.fences import unfence
from evalq.definitions.graders.structure import (
    FieldAccuracy,
    FieldMatch,
    IsJson,
    JsonPath,
    JsonSchema,
    StructuralMatch,
)
from evalq.definitions.graders.values import Numeric, NumericDelta, is_number
from evalq.definitions.json_queries import Schema, parse_json_path, value_at
from evalq.grading.checks.text import nothing_to_compare, text_of
from evalq.grading.compare_json import (
    JsonDifference,
    StructureOptions,
    differences,
    equals,
    missing_keys,
    numeric_differences,
)
from evalq.grading.grader import AnswerToGrade, Mark, mark, quote
from evalq.grading.reading import (
    DATE_FORMATS,
    is_near,
    mark_json,
    numbers_in,
    read_date,
    read_json,
    read_number,
)
from evalq.grading.search import TimedSearch

MAX_LISTED = 20


def mark_is_json(grader: IsJson, answer: AnswerToGrade) -> Mark:
    """Passed when the whole answer is one JSON value."""
    text = text_of(answer)
    if grader.allow_fence:
        text = unfence(text)
    try:
        read_json(text)
    except ValueError as exc:
        return mark(False, f"not JSON: {exc}")
    return mark(True, "is JSON")


def mark_json_schema(grader: JsonSchema, answer: AnswerToGrade) -> Mark:
    """Passed when the answer's JSON fits one of the schemas."""
    schemas = grader.wanted(answer.expected)
    if not schemas:
        raise nothing_to_compare()
    return mark_json(text_of(answer), lambda value: _mark_by_schemas(schemas, value))


def _mark_by_schemas(schemas: list[Schema], value: Any) -> Mark:
    from evalq.grading.schemas import find_misfit  # the library behind it takes a while to load

    path, why = "", ""
    for schema in reversed(schemas):  # so that the reason is about the first when none fits
        found = find_misfit(schema, value)
        if found is None:
            return mark(True, "fits the schema")
        path, why = found
    return mark(False, f"{path}: {why}", path=path)


def mark_json_path(grader: JsonPath, answer: AnswerToGrade) -> Mark:
    """Passed when a value at the path equals or matches one of the wanted values."""
    wanted = grader.wanted(answer.expected)
    if not grader.patterns() and not wanted:
        raise nothing_to_compare()
    return mark_json(text_of(answer), lambda document: _mark_at_path(grader, wanted, document))


def _mark_at_path(grader: JsonPath, wanted: list[Any], document: Any) -> Mark:
    found = [match.value for match in parse_json_path(grader.path).find(document)]
    if not found:
        return mark(False, f"nothing at {grader.path}")
    verb = "matches" if grader.patterns() else "is as wanted"
    search = TimedSearch()
    for value in found:
        if _is_wanted(grader, wanted, value, search):
            return mark(True, f"{grader.path} {verb}: {quote(value)}")
    return mark(False, f"{grader.path} is {', '.join(quote(value) for value in found[:3])}")


def _is_wanted(grader: JsonPath, wanted: list[Any], value: Any, search: TimedSearch) -> bool:
    patterns = grader.patterns()
    if not patterns:
        return any(equals(value, one) for one in wanted)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return any(search.find(pattern, text, grader.flags) is not None for pattern in patterns)


def mark_structural_match(grader: StructuralMatch, answer: AnswerToGrade) -> Mark:
    """Passed when the answer's JSON has the structure of the wanted value or of an alternative."""
    wanted = grader.wanted(answer.expected)
    if not wanted and not grader.require_keys:
        raise nothing_to_compare()
    return mark_json(text_of(answer), lambda value: _mark_structure(grader, wanted, value))


def _mark_structure(grader: StructuralMatch, wanted: list[Any], value: Any) -> Mark:
    options = StructureOptions(
        ignore_values=grader.ignore_values,
        ignore_fields=grader.ignore_fields,
        require_keys=grader.require_keys,
        allow_additional_fields=grader.allow_additional_fields,
        allow_field_reordering=grader.allow_field_reordering,
        strict=grader.strict,
    )
    if wanted:
        found = min((differences(one, value, options) for one in wanted), key=len)
    else:
        found = missing_keys(value, grader.require_keys)
    if not found:
        return mark(True, "has the wanted structure")
    reason = _join_first([str(one) for one in found])
    return mark(False, reason, differences=[_difference_json(one) for one in found[:MAX_LISTED]])


def _difference_json(found: JsonDifference) -> dict[str, Any]:
    """A difference for the grade's details, without the keys of absent values."""
    described = {"path": found.path, "why": found.why}
    if found.expected is not ABSENT:
        described["expected"] = quote(found.expected, 200)
    if found.actual is not ABSENT:
        described["actual"] = quote(found.actual, 200)
    return described


def _join_first(reasons: Sequence[str]) -> str:
    more = f" and {len(reasons) - 3} more" if len(reasons) > 3 else ""
    return "; ".join(reasons[:3]) + more


@dataclass(frozen=True)
class _FieldVerdict:
    """Whether one field is right; None when it does not count."""

    path: str
    weight: float
    is_right: bool | None
    why: str = ""


def mark_field_accuracy(grader: FieldAccuracy, answer: AnswerToGrade) -> Mark:
    """Scores the weighted share of right fields in the best alternative; passed from the threshold on."""
    wanted = grader.wanted(answer.expected)
    if not wanted:
        raise nothing_to_compare()

    def mark_best(value: Any) -> Mark:
        return max((_mark_fields(grader, one, value) for one in wanted), key=lambda found: found.score)

    return mark_json(text_of(answer), mark_best)


def _mark_fields(grader: FieldAccuracy, wanted: Any, actual: Any) -> Mark:
    fields = [
        _check_field(field, value_at(wanted, field.path), value_at(actual, field.path))
        for field in grader.fields
    ]
    counted = [field for field in fields if field.is_right is not None]
    wrong = [field for field in counted if not field.is_right]
    total = sum(field.weight for field in counted)
    share = 0.0
    if grader.aggregation == "all_or_nothing":
        share = float(bool(counted) and not wrong)
    elif total:
        share = sum(field.weight for field in counted if field.is_right) / total
    reason = f"all {len(counted)} fields are right"
    if wrong:
        reason = "; ".join(f"{field.path} {field.why}" for field in wrong[:5])
    details = {field.path: field.why or "right" for field in fields}
    return Mark(round(share, 9) >= grader.threshold, share, reason, {"fields": details})


def _check_field(field: FieldMatch, wanted: Any, actual: Any) -> _FieldVerdict:
    if wanted is ABSENT or (actual is ABSENT and not field.required):
        return _FieldVerdict(field.path, field.weight, None, "left out")
    if actual is ABSENT:
        return _FieldVerdict(field.path, field.weight, False, "is missing")
    if _is_field_right(field, wanted, actual):
        return _FieldVerdict(field.path, field.weight, True)
    why = f"is {quote(actual, 40)} instead of {quote(wanted, 40)}"
    return _FieldVerdict(field.path, field.weight, False, why)


def _is_field_right(field: FieldMatch, wanted: Any, actual: Any) -> bool:
    match field.match:
        case "exact":
            return equals(wanted, actual)
        case "numeric_tolerance":
            return _is_near_field(field, wanted, actual)
        case "date":
            return _is_same_day(field, wanted, actual)
        case _:
            assert_never(field.match)


def _is_near_field(field: FieldMatch, wanted: Any, actual: Any) -> bool:
    goal, number = _as_number(wanted), _as_number(actual)
    if goal is None or number is None:
        return False
    if field.relative:
        return is_near(number, float(goal), rel_tol=field.tolerance)
    return is_near(number, float(goal), abs_tol=field.tolerance)


def _is_same_day(field: FieldMatch, wanted: Any, actual: Any) -> bool:
    if not isinstance(wanted, str) or not isinstance(actual, str):
        return False
    formats = field.formats or DATE_FORMATS
    day = read_date(actual, formats)
    return day is not None and day == read_date(wanted, formats)


def _as_number(value: Any) -> Decimal | None:
    """A number, or a text that reads as a number."""
    if is_number(value):
        return Decimal(repr(value))
    return read_number(value) if isinstance(value, str) else None


def mark_numeric_delta(grader: NumericDelta, answer: AnswerToGrade) -> Mark:
    """Passed when every number of the baseline is present and within its tolerance."""
    return mark_json(text_of(answer), lambda value: _mark_delta(grader, value))


def _mark_delta(grader: NumericDelta, value: Any) -> Mark:
    found = numeric_differences(grader.value, value, grader.tolerance)
    if not found:
        return mark(True, "every number is within its tolerance")
    reasons, listed = [], []
    for one in found:
        change = {"path": one.path, "why": one.why, "expected": one.expected}
        reason = str(one)
        if one.actual is not ABSENT:
            change["actual"] = one.actual
            reason += f" (from {one.expected} to {one.actual})"
        reasons.append(reason)
        listed.append(change)
    return mark(False, _join_first(reasons), differences=listed[:MAX_LISTED])


def mark_numeric(grader: Numeric, answer: AnswerToGrade) -> Mark:
    """Passed when the answer's number is near enough to one of the wanted; failed when it has none."""
    wanted = grader.wanted(answer.expected)
    if not wanted:
        raise nothing_to_compare()
    number = _number_in_answer(grader, text_of(answer))
    if number is None:
        lack = "is not a number" if grader.extract == "whole" else "has no number in it"
        return mark(False, f"the answer {lack}: {quote(answer.text)}")
    passed = any(is_near(number, one, abs_tol=grader.abs_tol, rel_tol=grader.rel_tol) for one in wanted)
    goals = " or ".join(f"{one:g}" for one in wanted[:5])
    return mark(passed, f"{number} for {goals}{_describe_tolerance(grader)}")


def _number_in_answer(grader: Numeric, text: str) -> Decimal | None:
    if grader.extract == "whole":
        return read_number(text.strip().removesuffix("."), decimal=grader.decimal)
    return next(numbers_in(text, decimal=grader.decimal, backwards=grader.extract == "last"), None)


def _describe_tolerance(grader: Numeric) -> str:
    tolerances = []
    if grader.abs_tol:
        tolerances.append(f"± {grader.abs_tol:g}")
    if grader.rel_tol:
        tolerances.append(f"± {grader.rel_tol:.3g} of it")
    return f" ({' or '.join(tolerances)})" if tolerances else ""
