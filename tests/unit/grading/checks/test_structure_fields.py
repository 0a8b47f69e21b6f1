"""Fields of an answer, compared one by one, each in its own way."""

import json
from datetime import date
from typing import Any

import pytest
from answers import grade, passed

from evalq.grading.reading import read_date

INVOICE = {"number": "7", "net": 100.0, "due": "2026-01-15", "lines": [{"sku": "a"}]}


def mark(field: dict[str, Any], value: Any, **more: Any) -> bool | None:
    """Whether one field of the invoice is right with this value."""
    grader = {"type": "field_accuracy", "fields": [field], "value": INVOICE, **more}
    answer = {**INVOICE, field["path"]: value}
    return passed(grader, json.dumps(answer))


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ({"path": "number"}, "7", 7),
        ({"path": "lines"}, [{"sku": "a"}], [{"sku": "b"}]),
        ({"path": "net", "match": "numeric_tolerance"}, "100", 100.1),
        ({"path": "net", "match": "numeric_tolerance", "tolerance": 0.5}, 99.5, 99.4),
        ({"path": "net", "match": "numeric_tolerance", "tolerance": 0.05, "relative": True}, 105, 105.1),
        ({"path": "net", "match": "numeric_tolerance"}, 1e2, "about 100"),
        ({"path": "net", "match": "numeric_tolerance"}, 100, True),
        ({"path": "due", "match": "date"}, "15.01.2026", "16.01.2026"),
        ({"path": "due", "match": "date"}, "2026-01-15T23:00:00Z", 20260115),
        ({"path": "due", "match": "date", "formats": ["YYYY-MM-DD"]}, "2026-01-15", "15.01.2026"),
    ],
)
def test_a_field_is_compared_in_its_own_way(field: dict[str, Any], right: Any, wrong: Any) -> None:
    assert (mark(field, right), mark(field, wrong)) == (True, False)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-01-15", date(2026, 1, 15)),
        (" 2026-01-15T10:00:00 ", date(2026, 1, 15)),
        ("2026-01-15T23:30:00-05:00", date(2026, 1, 15)),
        ("15-JAN-2026", date(2026, 1, 15)),
        ("01/15/2026", date(2026, 1, 15)),
        ("15/01/2026", date(2026, 1, 15)),
        ("03/04/2026", date(2026, 3, 4)),
        ("30.02.2026", None),
        ("next week", None),
        ("2026-01-15" + " " * 99, None),
    ],
)
def test_a_date_is_read_in_one_of_its_formats(text: str, day: date | None) -> None:
    assert read_date(text) == day


def test_a_named_format_decides_what_the_day_is() -> None:
    assert read_date("03/04/2026", ["DD/MM/YYYY"]) == date(2026, 4, 3)
    assert read_date("%Y 03-04-2026", ["%Y DD-MM-YYYY"]) == date(2026, 4, 3)


FIELDS = [{"path": "number", "weight": 3}, {"path": "lines[0].sku"}]


def test_the_score_is_the_share_by_weight() -> None:
    grader = {"type": "field_accuracy", "fields": FIELDS, "value": INVOICE}
    found = grade(grader, '{"number": "7", "lines": []}')
    assert (found.passed, found.score, found.reason) == (False, 0.75, "lines[0].sku is missing")
    assert passed({**grader, "threshold": 0.75}, '{"number": "7", "lines": []}') is True
    assert found.details == {"fields": {"number": "right", "lines[0].sku": "is missing"}}


def test_all_or_nothing_is_either() -> None:
    grader = {"type": "field_accuracy", "fields": FIELDS, "value": INVOICE, "aggregation": "all_or_nothing"}
    assert grade(grader, '{"number": "7"}').score == 0.0
    assert grade(grader, json.dumps(INVOICE)).reason == "all 2 fields are right"


def test_a_field_that_is_not_required_is_left_out_where_it_is_absent() -> None:
    fields = [{"path": "number"}, {"path": "vat", "required": False}, {"path": "due", "required": False}]
    grader = {"type": "field_accuracy", "fields": fields, "value": INVOICE}
    assert grade(grader, '{"number": "7", "vat": 19}').score == 1.0
    assert grade(grader, '{"number": "7", "due": "later"}').score == 0.5
    alone = {**grader, "fields": fields[1:]}
    assert grade(alone, "{}").score == 0.0


def test_the_best_of_the_alternatives_counts() -> None:
    grader = {"type": "field_accuracy", "fields": [{"path": "a"}]}
    assert passed(grader, '{"a": 2}', {"answer": {"a": 1}, "alternatives": [{"a": 2}]}) is True
    assert passed({**grader, "value": {"a": 1}, "alternatives": [{"a": 3}]}, '{"a": 2}') is False
