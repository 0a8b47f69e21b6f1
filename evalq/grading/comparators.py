"""How a returned value is held against the expected one: one function per comparator, over JSON values.

Numbers are equal by value, 1 and 1.0 too; true and false equal only themselves. Tuples and sets come back as
lists. NaN equals nothing, NaN included, except that `approx` takes NaN for NaN when both sides are.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalq.definitions.graders.code import Comparator, FunctionCase

RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""What `approx` allows when the case has no tolerance of its own: the larger of the two."""


def equals(value: Any, expected: Any) -> bool:
    """The same JSON value."""
    return _alike(value, expected, _is_same_scalar)


def approx(value: Any, expected: Any, tolerance: float | None = None) -> bool:
    """The same, with numbers at any depth no further apart than the tolerance, a plain difference."""
    return _alike(value, expected, lambda one, other: _is_near(one, other, tolerance))


def unordered(value: Any, expected: Any) -> bool:
    """The same items in any order, each as often; order counts inside an item."""
    if not (isinstance(value, list) and isinstance(expected, list)):
        return equals(value, expected)
    if len(value) != len(expected):
        return False
    left = list(value)
    for item in expected:
        place = next((at for at, one in enumerate(left) if equals(one, item)), None)
        if place is None:
            return False
        del left[place]
    return True


def contains(value: Any, expected: Any) -> bool:
    """Text that has the text in it, a list the item (or all items), a mapping the entries (or the key)."""
    match value, expected:
        case str(), str():
            return expected in value
        case dict(), dict():
            return all(key in value and equals(value[key], wanted) for key, wanted in expected.items())
        case dict(), str():
            return expected in value
        case list(), list() if expected:
            return _has(value, expected) or all(_has(value, item) for item in expected)
        case list(), _:
            return _has(value, expected)
    return False


def matches(case: FunctionCase, value: Any) -> bool:
    """Whether a returned value is what the case expects; never, when it expects an exception."""
    return _COMPARATORS[case.comparator](case, value)


def matches_exception(case: FunctionCase, raised: Sequence[str], message: str) -> bool:
    """Whether an exception is what the case expects: by its type or one of its bases, and by its message."""
    if case.comparator != "raises":
        return False
    name, part = case.raises()
    return (not name or name in raised) and part in message


_COMPARATORS: Mapping[Comparator, Callable[[FunctionCase, Any], bool]] = {
    "equals": lambda case, value: equals(value, case.expected),
    "approx": lambda case, value: approx(value, case.expected, case.tolerance),
    "unordered": lambda case, value: unordered(value, case.expected),
    "contains": lambda case, value: contains(value, case.expected),
    "raises": lambda _case, _value: False,
}


def _has(items: list[Any], wanted: Any) -> bool:
    return any(equals(item, wanted) for item in items)


def _alike(value: Any, expected: Any, is_same: Callable[[Any, Any], bool]) -> bool:
    """Compared part by part; no deeper than what is expected, however deep the value goes."""
    match value, expected:
        case list(), list():
            pairs = zip(value, expected, strict=False)
            return len(value) == len(expected) and all(_alike(one, other, is_same) for one, other in pairs)
        case dict(), dict():
            return value.keys() == expected.keys() and all(
                _alike(value[key], expected[key], is_same) for key in expected
            )
    return is_same(value, expected)


def _is_same_scalar(value: Any, expected: Any) -> bool:
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    return _kind(value) == _kind(expected) and bool(value == expected)


def _kind(value: Any) -> type:
    return float if isinstance(value, int | float) else type(value)


def _is_near(value: Any, expected: Any, tolerance: float | None) -> bool:
    if _is_same_scalar(value, expected):
        return True
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, expected)):
        return False
    relative, absolute = (RELATIVE, ABSOLUTE) if tolerance is None else (0.0, tolerance)
    try:
        if math.isnan(value) and math.isnan(expected):
            return True
        return math.isclose(value, expected, rel_tol=relative, abs_tol=absolute)
    except OverflowError:  # a whole number beyond any float
        return False
