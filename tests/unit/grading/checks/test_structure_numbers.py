"""Numbers in the answer, and what the call took."""

from decimal import Decimal
from typing import Any

import pytest
from answers import grade, passed

from evalq.grading.reading import numbers_in, read_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", "42"),
        (" -3.5\n", "-3.5"),
        ("+1e-3", "0.001"),
        ("1,234,567.5", "1234567.5"),
        (".5", "0.5"),
        ("−4", "-4"),
        ("1,23", None),
        ("12,3456", None),
        ("3.14.15", None),
        ("5 apples", None),
        ("", None),
        ("-", None),
        ("nan", None),
        ("1" * 401, None),
    ],
)
def test_a_number_is_read_as_people_write_it(text: str, number: str | None) -> None:
    assert read_number(text) == (None if number is None else Decimal(number))


def test_a_comma_may_stand_before_the_decimals() -> None:
    assert read_number("1.234,5", decimal=",") == Decimal("1234.5")
    assert read_number("1,234.5", decimal=",") is None


def test_numbers_are_found_in_sentences() -> None:
    found = list(numbers_in("On 2026-11-17, 3 of 10 cost $1,234.50, up by -.5, not v1.2.3."))
    assert found == [Decimal(n) for n in ("2026", "11", "17", "3", "10", "1234.50", "-0.5")]
    assert list(numbers_in("1, 2, v1.2.3", backwards=True)) == [2, 1]


@pytest.mark.parametrize(
    ("options", "answer", "is_passed"),
    [
        ({"value": 42}, "42.", True),
        ({"value": 42}, "It is 42", False),
        ({"value": 42, "extract": "last"}, "Of 7, 42", True),
        ({"value": 42, "extract": "first"}, "Of 7, 42", False),
        ({"value": 42, "extract": "first"}, "none at all", False),
        ({"value": 3.14, "tolerance": 0.1}, "3.24", True),
        ({"value": 3.14, "abs_tol": 0.1}, "3.2400001", False),
        ({"value": 200, "rel_tol": 0.05}, "210", True),
        ({"value": 200, "rel_tol": 0.05}, "210.1", False),
        ({"value": 200, "rel_tol": 0.05, "abs_tol": 20}, "220", True),
        ({"value": 0.3}, "0.3", True),
        ({"value": 1, "alternatives": [2]}, "2", True),
        ({"value": 1.5, "decimal": ","}, "1,5", True),
        ({"value": 5}, "1e9999", False),
        ({"value": 9007199254740993}, "9007199254740992", False),
    ],
)
def test_a_number_is_near_enough_or_not(options: dict[str, Any], answer: str, is_passed: bool) -> None:
    assert passed({"type": "numeric", **options}, answer) is is_passed


def test_a_number_may_stand_in_the_case() -> None:
    assert passed({"type": "numeric"}, "4", {"answer": 5, "alternatives": [4.0]}) is True
    assert grade({"type": "numeric", "abs_tol": 0.5, "rel_tol": 0.1}, "7", {"answer": 5}).reason == (
        "7 for 5 (± 0.5 or ± 0.1 of it)"
    )


@pytest.mark.parametrize(
    ("options", "took", "is_passed"),
    [
        ({"max_total": 10}, (5, 5), True),
        ({"max_total": 10}, (5, 6), False),
        ({"max_input": 4}, (5, 1), False),
        ({"max_input": 5, "max_output": 1}, (5, 1), True),
        ({"max_input": 5, "max_output": 0}, (5, 1), False),
    ],
)
def test_every_limit_on_tokens_counts(
    options: dict[str, int], took: tuple[int, int], is_passed: bool
) -> None:
    answer = {"input_tokens": took[0], "output_tokens": took[1]}
    assert passed({"type": "token_usage", **options}, answer) is is_passed


def test_a_budget_is_kept_to_the_last_digit() -> None:
    assert passed({"type": "cost", "max_usd": 0.1}, {"cost_usd": "0.1000000000001"}) is False
    assert grade({"type": "cost", "budget": 0.0001}, {"cost_usd": "0.0001"}).reason == (
        "$0.0001, at most $0.000100 wanted"
    )


def test_a_limit_on_latency_includes_the_limit() -> None:
    assert (
        grade({"type": "latency", "max_ms": 1500}, {"latency_ms": 1501}).reason
        == "1501 ms, at most 1500 wanted"
    )
    assert passed({"type": "latency", "value": 1500}, {"latency_ms": 1500}) is True
