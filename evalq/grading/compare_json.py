"""Compares JSON values: by equality, by structure, and by numbers within a tolerance."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.code import Comparator, FunctionCase
from evalq.definitions.graders.values import is_number
from evalq.definitions.json_queries import dotted_parts
from evalq.definitions.template import MATCHERS, has_matcher, matcher_in, split_at_matchers
from evalq.grading.json_locations import Location, absent_locations, entries, entry, is_named
from evalq.grading.reading import is_datetime, is_email, is_uuid
from evalq.grading.search import TimedSearch

RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""What `approx` allows when the case has no tolerance of its own: the larger of the two."""

_RECOGNISED = {"any_uuid": is_uuid, "any_email": is_email, "any_iso_datetime": is_datetime}
_KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "null"}


def equals(value: Any, expected: Any) -> bool:
    """The same JSON value."""
    return _alike(value, expected, _is_same_scalar)


def approx(value: Any, expected: Any, tolerance: float | None = None) -> bool:
    """The same JSON value, with numbers at any depth at most the tolerance apart."""
    return _alike(value, expected, lambda one, other: _is_near(one, other, tolerance))


def unordered(value: Any, expected: Any) -> bool:
    """The same items in any order, each the same number of times; order counts inside an item."""
    if not (isinstance(value, list) and isinstance(expected, list)):
        return equals(value, expected)
    if len(value) != len(expected):
        return False
    left = list(value)
    for item in expected:
        found = next((at for at, one in enumerate(left) if equals(one, item)), None)
        if found is None:
            return False
        del left[found]
    return True


def contains(value: Any, expected: Any) -> bool:
    """A text containing this text, a list containing these items, a mapping containing these entries."""
    match value, expected:
        case str(), str():
            return expected in value
        case dict(), dict():
            return all(key in value and equals(value[key], wanted) for key, wanted in expected.items())
        case dict(), str():
            return expected in value
        case list(), list() if expected:
            return _is_item(expected, value) or all(_is_item(item, value) for item in expected)
        case list(), _:
            return _is_item(expected, value)
    return False


def matches(case: FunctionCase, value: Any) -> bool:
    """Whether a returned value is what the case expects; never if it expects an exception."""
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


def _is_item(wanted: Any, items: list[Any]) -> bool:
    return any(equals(item, wanted) for item in items)


def _alike(value: Any, expected: Any, is_same: Callable[[Any, Any], bool]) -> bool:
    """Compare part by part, no deeper than the expected value goes."""
    match value, expected:
        case list(), list():
            if len(value) != len(expected):
                return False
            return all(_alike(one, other, is_same) for one, other in zip(value, expected, strict=True))
        case dict(), dict():
            return value.keys() == expected.keys() and all(
                _alike(value[key], expected[key], is_same) for key in expected
            )
    return is_same(value, expected)


def _is_same_scalar(value: Any, expected: Any) -> bool:
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if is_number(value) and is_number(expected):
        return bool(value == expected)
    return type(value) is type(expected) and bool(value == expected)


def _is_near(value: Any, expected: Any, tolerance: float | None) -> bool:
    if _is_same_scalar(value, expected):
        return True
    if not is_number(value) or not is_number(expected):
        return False
    try:
        if math.isnan(value) and math.isnan(expected):
            return True
        if tolerance is None:
            return math.isclose(value, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        return math.isclose(value, expected, rel_tol=0.0, abs_tol=tolerance)
    except OverflowError:  # an integer too large for a float
        return False


@dataclass(frozen=True)
class JsonDifference:
    """One dotted path at which two values differ; ABSENT for a value without that path."""

    path: str
    expected: Any
    actual: Any
    why: str

    def __str__(self) -> str:
        return f"{self.path or 'the whole'}: {self.why}"


@dataclass(frozen=True)
class StructureOptions:
    """What counts in a comparison of structures. Paths are dotted, `users.*.id`, and include all below them.

    ignore_values: the key must exist if the expected value has it; its value is free.
    ignore_fields: ignored; it may be absent from either side.
    require_keys: must exist even if the expected value does not have them.
    strict: no additional and no reordered fields, unless allowed by their own options, and a list has
    exactly the expected entries. Without it, a list whose only expected entry contains a matcher may have
    any number of such entries, but at least one.
    """

    ignore_values: Sequence[str] = ()
    ignore_fields: Sequence[str] = ()
    require_keys: Sequence[str] = ()
    allow_additional_fields: bool | None = None
    allow_field_reordering: bool | None = None
    strict: bool = False

    @property
    def allows_additional(self) -> bool:
        """Whether the actual value may have more fields than expected."""
        if self.allow_additional_fields is None:
            return not self.strict
        return self.allow_additional_fields

    @property
    def allows_reordering(self) -> bool:
        """Whether the fields may come in another order than expected."""
        if self.allow_field_reordering is None:
            return not self.strict
        return self.allow_field_reordering


NO_OPTIONS = StructureOptions()


def differences(expected: Any, actual: Any, options: StructureOptions = NO_OPTIONS) -> list[JsonDifference]:
    """Where `actual` departs from the structure that `expected` and the options describe.

    Raises UngradableAnswer when a matcher inside a text takes too long.
    """
    walk = _StructureWalk(options)
    return [*missing_keys(actual, options.require_keys), *walk.compare(expected, actual, ())]


def missing_keys(actual: Any, require_keys: Sequence[str]) -> list[JsonDifference]:
    """The required keys that are absent."""
    missing = []
    for key in require_keys:
        for location in absent_locations(actual, dotted_parts(key)):
            missing.append(_difference(location, ABSENT, ABSENT, "is required, and not there"))
    return missing


@dataclass
class _StructureWalk:
    """One walk through two values; all its patterns share one time limit."""

    options: StructureOptions
    search: TimedSearch = field(default_factory=TimedSearch)

    def compare(self, expected: Any, actual: Any, location: Location) -> Iterator[JsonDifference]:
        """The differences at a location and below it."""
        if self._is_free(location):
            return
        if isinstance(expected, dict) and isinstance(actual, dict):
            yield from self._compare_fields(expected, actual, location)
        elif isinstance(expected, list) and isinstance(actual, list):
            yield from self._compare_entries(expected, actual, location)
        elif not equals(expected, actual):
            why = self._explain_mismatch(expected, actual)
            if why:
                yield _difference(location, expected, actual, why)

    def _compare_fields(
        self, expected: dict[str, Any], actual: dict[str, Any], location: Location
    ) -> Iterator[JsonDifference]:
        for key, value in expected.items():
            if key in actual:
                yield from self.compare(value, actual[key], (*location, key))
            elif not is_named((*location, key), self.options.ignore_fields):
                yield _difference((*location, key), value, ABSENT, "is missing")
        if not self.options.allows_additional:
            yield from self._unexpected(actual, [key for key in actual if key not in expected], location)
        both = [key for key in expected if key in actual]
        if not self.options.allows_reordering and both != [key for key in actual if key in expected]:
            yield _difference(location, list(expected), list(actual), "has its fields in another order")

    def _compare_entries(
        self, expected: list[Any], actual: list[Any], location: Location
    ) -> Iterator[JsonDifference]:
        if len(expected) == 1 and actual and not self.options.strict and has_matcher(expected):
            expected = expected * len(actual)
        for at, (one, other) in enumerate(zip(expected, actual, strict=False)):
            yield from self.compare(one, other, (*location, str(at)))
        for at in range(len(actual), len(expected)):
            if not self._is_free((*location, str(at))):
                yield _difference((*location, str(at)), expected[at], ABSENT, "is missing")
        yield from self._unexpected(actual, [str(at) for at in range(len(expected), len(actual))], location)

    def _unexpected(self, actual: Any, keys: Sequence[str], location: Location) -> Iterator[JsonDifference]:
        for key in keys:
            if not self._is_free((*location, key)):
                yield _difference((*location, key), ABSENT, entry(actual, key), "is not expected")

    def _is_free(self, location: Location) -> bool:
        return is_named(location, self.options.ignore_fields) or is_named(
            location, self.options.ignore_values
        )

    def _explain_mismatch(self, expected: Any, actual: Any) -> str:
        """Why two unequal values do not match; empty if a matcher accepts the actual one."""
        matcher = matcher_in(expected) if isinstance(expected, str) else None
        if matcher is not None:
            if _is_of(matcher, actual):
                return ""
            return f"is no {matcher.removeprefix('any_').replace('_', ' ')}"
        if isinstance(expected, str) and isinstance(actual, str) and has_matcher(expected):
            return "" if self.search.matches_all(_pattern_of(expected), actual) else "does not match"
        if _kind_of(expected) != _kind_of(actual):
            return f"is {_kind_of(actual)} instead of {_kind_of(expected)}"
        return "differs"


@dataclass(frozen=True)
class Tolerance:
    """How much a number may change; None is unbounded."""

    min_delta: float | None = 0.0
    max_delta: float | None = 0.0

    def holds(self, delta: float) -> bool:
        """True when the change is within both bounds."""
        is_low = self.min_delta is not None and not delta >= self.min_delta
        is_high = self.max_delta is not None and not delta <= self.max_delta
        return not is_low and not is_high


def numeric_differences(baseline: Any, current: Any, tolerance: Mapping[str, Any]) -> list[JsonDifference]:
    """The numbers of the baseline that are missing or have changed beyond their tolerance.

    A tolerance is {min_delta, max_delta}; a bound that is null or left out does not apply. It holds for
    everything below its key (`*`: any key), unless a nearer tolerance overrides it. Numbers without a
    tolerance must be equal; everything in the baseline that is not a number is ignored.
    """
    return list(_find_changes(baseline, current, tolerance, Tolerance(), ()))


def _find_changes(
    baseline: Any, current: Any, tolerance: Any, inherited: Tolerance, location: Location
) -> Iterator[JsonDifference]:
    own = tolerance if isinstance(tolerance, Mapping) else {}
    here = inherited
    if "min_delta" in own or "max_delta" in own:
        here = Tolerance(own.get("min_delta"), own.get("max_delta"))
    if isinstance(baseline, dict | list):
        for key, value in entries(baseline):
            below = own.get(key, own.get("*"))
            yield from _find_changes(value, entry(current, key), below, here, (*location, key))
    elif is_number(baseline) and not is_number(current):
        why = "is missing" if current is ABSENT else f"is {_kind_of(current)} instead of a number"
        yield _difference(location, baseline, current, why)
    elif is_number(baseline):
        delta = _delta(baseline, current)
        if not here.holds(delta):
            yield _difference(location, baseline, current, f"changed by {delta:+g}")


def _delta(baseline: float, current: float) -> float:
    """The change, rounded to the precision people write tolerances in: from 4.2 to 3.9 is -0.3."""
    if baseline == current:
        return 0.0
    try:
        return round(float(current) - float(baseline), 9)
    except OverflowError:  # an integer too large for a float
        return float("inf") if current > baseline else float("-inf")


def _is_of(name: str, value: Any) -> bool:
    """True when a value is of the kind that a matcher stands for."""
    if name == "any_number":
        return is_number(value)
    return isinstance(value, str) and (name not in _RECOGNISED or _RECOGNISED[name](value))


def _pattern_of(text: str) -> str:
    """The regular expression for a text with matchers in it."""
    pattern = ""
    for part, is_matcher in split_at_matchers(text):
        pattern += f"(?:{MATCHERS[part]})" if is_matcher else re.escape(part)
    return pattern


def _kind_of(value: Any) -> str:
    return _KINDS.get(type(value), "a number")


def _difference(location: Location, expected: Any, actual: Any, why: str) -> JsonDifference:
    return JsonDifference(".".join(location), expected, actual, why)
