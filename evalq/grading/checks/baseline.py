"""Marking an answer's numbers against a baseline's."""

from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.baseline import NumericDelta
from evalq.grading.checks.answer import text_of
from evalq.grading.json_answers import mark_json
from evalq.grading.structure import Difference, numeric_differences
from evalq.grading.subject import Mark, Subject, mark

MAX_LISTED = 20


def mark_numeric_delta(grader: NumericDelta, subject: Subject) -> Mark:
    """Passed when every number of the baseline is there and within its tolerance."""
    return mark_json(text_of(subject), lambda value: _mark_value(grader, value))


def _mark_value(grader: NumericDelta, value: Any) -> Mark:
    found = numeric_differences(grader.value, value, grader.tolerance)
    if not found:
        return mark(True, "every number is within its tolerance")
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    reason = "; ".join(_said(one) for one in found[:3]) + more
    return mark(False, reason, differences=[_told(one) for one in found[:MAX_LISTED]])


def _said(one: Difference) -> str:
    values = f" (from {one.expected} to {one.actual})" if one.actual is not ABSENT else ""
    return f"{one}{values}"


def _told(one: Difference) -> dict[str, Any]:
    told = {"path": one.path, "why": one.why, "expected": one.expected}
    return told if one.actual is ABSENT else {**told, "actual": one.actual}
