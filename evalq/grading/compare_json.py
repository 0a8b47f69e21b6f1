"""How one JSON value differs from another: in structure, or in numbers beyond a tolerance."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.code import Comparator, FunctionCase
from evalq.definitions.graders.values import is_number
from evalq.definitions.json_queries import dotted_parts
from evalq.definitions.template import MATCHERS, has_matcher, matcher_in, split_at_matchers
from evalq.grading.reading import is_datetime, is_email, is_uuid
from evalq.grading.search import TimedSearch

Place = tuple[str, ...]


def is_named(place: Place, patterns: Sequence[str]) -> bool:
    """True when one of the patterns names the place: `users.*.id`, with `**` for any number of keys."""
    return any(_matches(place, dotted_parts(pattern)) for pattern in patterns)


def entries(value: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    """What is in a mapping or a list, by key or place."""
    if isinstance(value, dict):
        return iter(value.items())
    return ((str(i), item) for i, item in enumerate(value))


def entry(value: Any, key: str) -> Any:
    """What stands under a key or at a place of a list; ABSENT where nothing does."""
    if isinstance(value, dict):
        return value.get(key, ABSENT)
    is_there = isinstance(value, list) and key.isdecimal() and int(key) < len(value)
    return value[int(key)] if is_there else ABSENT


def absent_places(value: Any, required: Place, above: Place = ()) -> Iterator[Place]:
    """Where a required path is not there: `*` asks it of every entry, `**` of one place anywhere below."""
    if not required:
        return
    head, rest = required[0], required[1:]
    if head == "**":
        if all(any(absent_places(item, rest)) for item in _all_below(value)):
            yield (*above, *required)
    elif head == "*":
        for key, item in entries(value) if isinstance(value, dict | list) else ():
            yield from absent_places(item, rest, (*above, key))
    elif (below := entry(value, head)) is ABSENT:
        yield (*above, head)
    else:
        yield from absent_places(below, rest, (*above, head))


def _all_below(value: Any) -> Iterator[Any]:
    rest = [value]
    while rest:
        item = rest.pop()
        yield item
        rest += [below for _, below in entries(item)] if isinstance(item, dict | list) else []


@lru_cache(maxsize=4096)
def _matches(place: Place, parts: Place) -> bool:
    if not parts:
        return not place
    if parts[0] == "**":
        return any(_matches(place[i:], parts[1:]) for i in range(len(place) + 1))
    return bool(place) and parts[0] in ("*", place[0]) and _matches(place[1:], parts[1:])


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
    return _comparator_kind(value) == _comparator_kind(expected) and bool(value == expected)


def _comparator_kind(value: Any) -> type:
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


_RECOGNISED = {"any_uuid": is_uuid, "any_email": is_email, "any_iso_datetime": is_datetime}
_KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "null"}


@dataclass(frozen=True)
class JsonDifference:
    """One place where two values differ, as a dotted path; ABSENT where a value has nothing there."""

    path: str
    expected: Any
    actual: Any
    why: str

    def __str__(self) -> str:
        return f"{self.path or 'the whole'}: {self.why}"


@dataclass(frozen=True)
class StructureOptions:
    """What of a structure counts. Paths are dotted: `users.*.id`; they name all below them, too.

    ignore_values: the key must be there if the expected value has it; what it holds is free.
    ignore_fields: not looked at; it may be there or not, on either side.
    require_keys: must be there, whether the expected value has them or not.
    strict: no additional fields and no other order of fields, unless allowed one by one; and a list has
    exactly the expected entries. Otherwise a list whose only expected entry has a matcher in it may have
    any number of entries like that, one at least.
    """

    ignore_values: Sequence[str] = ()
    ignore_fields: Sequence[str] = ()
    require_keys: Sequence[str] = ()
    allow_additional_fields: bool | None = None
    allow_field_reordering: bool | None = None
    strict: bool = False

    @property
    def allows_additional(self) -> bool:
        """As said, or else as strictness has it."""
        return not self.strict if self.allow_additional_fields is None else self.allow_additional_fields

    @property
    def allows_reordering(self) -> bool:
        """As said, or else as strictness has it."""
        return not self.strict if self.allow_field_reordering is None else self.allow_field_reordering


NO_OPTIONS = StructureOptions()


def differences(expected: Any, actual: Any, options: StructureOptions = NO_OPTIONS) -> list[JsonDifference]:
    """Where `actual` is not of the structure that `expected` and the options describe; empty when it is.

    Raises UngradableAnswer when a matcher inside a text takes too long on it.
    """
    return [*missing_keys(actual, options.require_keys), *_Comparison(options).compare(expected, actual, ())]


def missing_keys(actual: Any, require_keys: Sequence[str]) -> list[JsonDifference]:
    """The required keys that are not there."""
    places = (place for key in require_keys for place in absent_places(actual, dotted_parts(key)))
    return [_difference(place, ABSENT, ABSENT, "is required, and not there") for place in places]


@dataclass
class _Comparison:
    """One walk through two values; all its patterns share one time limit."""

    options: StructureOptions
    search: TimedSearch = field(default_factory=TimedSearch)

    def compare(self, expected: Any, actual: Any, place: Place) -> Iterator[JsonDifference]:
        """The differences at a place and below it."""
        if self._is_free(place):
            return
        if isinstance(expected, dict) and isinstance(actual, dict):
            yield from self._compare_fields(expected, actual, place)
        elif isinstance(expected, list) and isinstance(actual, list):
            yield from self._compare_entries(expected, actual, place)
        elif not equals(expected, actual) and (why := self._objection(expected, actual)):
            yield _difference(place, expected, actual, why)

    def _compare_fields(
        self, expected: dict[str, Any], actual: dict[str, Any], place: Place
    ) -> Iterator[JsonDifference]:
        for key, value in expected.items():
            if key in actual:
                yield from self.compare(value, actual[key], (*place, key))
            elif not is_named((*place, key), self.options.ignore_fields):
                yield _difference((*place, key), value, ABSENT, "is missing")
        if not self.options.allows_additional:
            yield from self._unexpected(actual, [key for key in actual if key not in expected], place)
        both = [key for key in expected if key in actual]
        if not self.options.allows_reordering and both != [key for key in actual if key in expected]:
            yield _difference(place, list(expected), list(actual), "has its fields in another order")

    def _compare_entries(
        self, expected: list[Any], actual: list[Any], place: Place
    ) -> Iterator[JsonDifference]:
        if len(expected) == 1 and actual and not self.options.strict and has_matcher(expected):
            expected = expected * len(actual)
        for i, (one, other) in enumerate(zip(expected, actual, strict=False)):
            yield from self.compare(one, other, (*place, str(i)))
        for i in range(len(actual), len(expected)):
            if not self._is_free((*place, str(i))):
                yield _difference((*place, str(i)), expected[i], ABSENT, "is missing")
        yield from self._unexpected(actual, [str(i) for i in range(len(expected), len(actual))], place)

    def _unexpected(self, actual: Any, keys: Sequence[str], place: Place) -> Iterator[JsonDifference]:
        for key in keys:
            if not self._is_free((*place, key)):
                yield _difference((*place, key), ABSENT, entry(actual, key), "is not expected")

    def _is_free(self, place: Place) -> bool:
        return is_named(place, self.options.ignore_fields) or is_named(place, self.options.ignore_values)

    def _objection(self, expected: Any, actual: Any) -> str:
        """Why two values that are not equal do not match either; empty when they do."""
        name = matcher_in(expected) if isinstance(expected, str) else None
        if name is not None:
            return "" if _is_of(name, actual) else f"is no {name.removeprefix('any_').replace('_', ' ')}"
        if isinstance(expected, str) and isinstance(actual, str) and has_matcher(expected):
            return "" if self.search.matches_all(_pattern(expected), actual) else "does not match"
        if _kind(expected) != _kind(actual):
            return f"is {_kind(actual)} instead of {_kind(expected)}"
        return "differs"


@dataclass(frozen=True)
class Tolerance:
    """How much a number may change; None is without bound."""

    min_delta: float | None = 0.0
    max_delta: float | None = 0.0

    def holds(self, delta: float) -> bool:
        """True when the change is within both bounds."""
        is_low = self.min_delta is not None and not delta >= self.min_delta
        is_high = self.max_delta is not None and not delta <= self.max_delta
        return not is_low and not is_high


def numeric_differences(baseline: Any, current: Any, tolerance: Mapping[str, Any]) -> list[JsonDifference]:
    """The numbers of the baseline that are gone, or have changed beyond their tolerance.

    A tolerance is {min_delta, max_delta}, either one without bound where it is null or left out. It holds
    for everything below the key it stands under (`*`: any key), unless a nearer one says otherwise.
    Numbers without any must be equal; what is no number in the baseline is not looked at.
    """
    return list(_changes(baseline, current, tolerance, Tolerance(), ()))


def _changes(
    baseline: Any, current: Any, tolerance: Any, inherited: Tolerance, place: Place
) -> Iterator[JsonDifference]:
    own = tolerance if isinstance(tolerance, Mapping) else {}
    here = _tolerance(own, inherited)
    if isinstance(baseline, dict | list):
        for key, value in entries(baseline):
            below = own.get(key, own.get("*"))
            yield from _changes(value, entry(current, key), below, here, (*place, key))
    elif is_number(baseline) and not is_number(current):
        why = "is missing" if current is ABSENT else f"is {_kind(current)} instead of a number"
        yield _difference(place, baseline, current, why)
    elif is_number(baseline) and not here.holds(delta := _delta(baseline, current)):
        yield _difference(place, baseline, current, f"changed by {delta:+g}")


def _tolerance(own: Mapping[str, Any], inherited: Tolerance) -> Tolerance:
    if not {"min_delta", "max_delta"} & own.keys():
        return inherited
    return Tolerance(own.get("min_delta"), own.get("max_delta"))


def _delta(baseline: float, current: float) -> float:
    """As precise as people write tolerances: from 4.2 to 3.9 is -0.3."""
    try:
        return 0.0 if baseline == current else round(float(current) - float(baseline), 9)
    except OverflowError:  # a whole number of hundreds of digits
        return float("inf") if current > baseline else float("-inf")


def _is_of(name: str, value: Any) -> bool:
    """True when a whole value is what a matcher stands for."""
    if name == "any_number":
        return is_number(value)
    return isinstance(value, str) and (name not in _RECOGNISED or _RECOGNISED[name](value))


def _pattern(text: str) -> str:
    parts = split_at_matchers(text)
    return "".join(f"(?:{MATCHERS[part]})" if is_matcher else re.escape(part) for part, is_matcher in parts)


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")


def _difference(place: Place, expected: Any, actual: Any, why: str) -> JsonDifference:
    return JsonDifference(".".join(place), expected, actual, why)
