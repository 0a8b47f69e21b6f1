import math
from typing import Any

import pytest

from evalq.definitions.graders.code import FunctionCase
from evalq.grading.compare_json import approx, contains, equals, matches, matches_exception, unordered

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        (1, 1.0, True),
        (True, True, True),
        (True, 1, False),
        (0, False, False),
        (None, None, True),
        (None, False, False),
        ("1", 1, False),
        (10**400, 10**400, True),
        ([1, [2]], [1, [2.0]], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([], {}, False),
        (NAN, NAN, False),
        ([math.inf], [math.inf], True),
    ],
)
def test_equals_is_the_same_json_value(value: Any, expected: Any, same: bool) -> None:
    assert equals(value, expected) is same
    assert equals(expected, value) is same


@pytest.mark.parametrize(
    ("value", "expected", "near"),
    [
        (0.1 + 0.2, 0.3, True),
        (1e6 + 0.5, 1e6, True),
        (1.00001, 1.0, False),
        (1e-10, 0, True),
        (1e-8, 0, False),
        ([1, {"a": 2.0000001}], [1, {"a": 2}], True),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (math.inf, 1e308, False),
        ("1.0", 1.0, False),
        (True, 1.0, False),
        ("a", "a", True),
        (10**400, 1.0, False),
    ],
)
def test_approx_allows_numbers_to_be_off_by_a_little(value: Any, expected: Any, near: bool) -> None:
    assert approx(value, expected) is near


def test_a_tolerance_is_a_plain_difference() -> None:
    assert approx(1000.4, 1000, 0.5)
    assert not approx(1000.6, 1000, 0.5)
    assert not approx(1e6 + 0.5, 1e6, 0.1)
    assert approx(3, 3.0, 0)


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        ([3, 1, 2], [1, 2, 3], True),
        ([1, 1, 2], [1, 2, 2], False),
        ([1, 2], [1, 2, 2], False),
        ([True], [1], False),
        ([[1, 2], {"a": 1}], [{"a": 1}, [1, 2]], True),
        ([[2, 1]], [[1, 2]], False),
        ({"a": 1}, {"a": 1}, True),
        ("ab", "ba", False),
    ],
)
def test_unordered_is_the_same_items(value: Any, expected: Any, same: bool) -> None:
    assert unordered(value, expected) is same


@pytest.mark.parametrize(
    ("value", "expected", "found"),
    [
        ("hello", "ell", True),
        ("hello", "x", False),
        ([1, [2]], [2], True),
        ([1, 2, 3], [3, 1], True),
        ([1, 2], [1, 5], False),
        ([1, 2], [], False),
        ([1], True, False),
        ({"a": 1, "b": 2}, {"b": 2.0}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, "a", True),
        (12, 1, False),
    ],
)
def test_contains_looks_into_text_lists_and_mappings(value: Any, expected: Any, found: bool) -> None:
    assert contains(value, expected) is found


def test_a_case_is_compared_by_its_comparator() -> None:
    assert matches(FunctionCase(expected=[1, 2], comparator="unordered"), [2, 1])
    assert matches(FunctionCase(expected=1.0, comparator="approx", tolerance=0.5), 1.4)
    assert matches(FunctionCase(expected="b", comparator="contains"), "abc")
    assert not matches(FunctionCase(expected=[1, 2]), [2, 1])
    assert not matches(FunctionCase(comparator="raises"), None)


@pytest.mark.parametrize(
    ("expected", "passes"),
    [
        (None, True),
        ("KeyError", True),
        ("LookupError", True),
        ("ValueError", False),
        ("KeyError: missing", True),
        ("KeyError: other", False),
        (": missing", True),
        ({"type": "KeyError"}, True),
        ({"type": "KeyError", "message": "other"}, False),
    ],
)
def test_an_exception_is_known_by_its_type_and_message(expected: Any, passes: bool) -> None:
    case = FunctionCase(expected=expected, comparator="raises")
    assert matches_exception(case, ("KeyError", "LookupError", "Exception"), "'missing' (line 2)") is passes


def test_an_exception_is_nothing_a_value_was_expected_for() -> None:
    assert not matches_exception(FunctionCase(expected="KeyError"), ("KeyError",), "")
