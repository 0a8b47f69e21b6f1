"""Marking the structure of an answer."""

from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.structure import StructuralMatch
from evalq.grading.checks.answer import nothing_to_compare, text_of
from evalq.grading.json_answers import mark_json
from evalq.grading.structure import Difference, StructureOptions, differences, missing_keys
from evalq.grading.subject import Mark, Subject, mark
from evalq.grading.words import shown

MAX_LISTED = 20


def mark_structural_match(grader: StructuralMatch, subject: Subject) -> Mark:
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


def _told(difference: Difference) -> dict[str, Any]:
    """A difference as reports show it; what is absent has no key."""
    values = {"expected": difference.expected, "actual": difference.actual}
    told = {name: shown(value, 200) for name, value in values.items() if value is not ABSENT}
    return {"path": difference.path, "why": difference.why, **told}
