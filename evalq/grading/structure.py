"""How one JSON value differs from another: in structure, or in numbers beyond a tolerance."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders.numbers import is_number
from evalq.definitions.json_paths import dotted_parts
from evalq.definitions.matchers import MATCHERS, has_matcher, matcher_in, parts_of
from evalq.grading.comparators import equals
from evalq.grading.places import Place, absent_places, entries, entry, is_named
from evalq.grading.recognition import is_datetime, is_email, is_uuid
from evalq.grading.search import Search

_RECOGNISED = {"any_uuid": is_uuid, "any_email": is_email, "any_iso_datetime": is_datetime}
_KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "null"}


@dataclass(frozen=True)
class Difference:
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


def differences(expected: Any, actual: Any, options: StructureOptions = NO_OPTIONS) -> list[Difference]:
    """Where `actual` is not of the structure that `expected` and the options describe; empty when it is.

    Raises UngradableAnswer when a matcher inside a text takes too long on it.
    """
    return [*missing_keys(actual, options.require_keys), *_Comparison(options).compare(expected, actual, ())]


def missing_keys(actual: Any, require_keys: Sequence[str]) -> list[Difference]:
    """The required keys that are not there."""
    places = (place for key in require_keys for place in absent_places(actual, dotted_parts(key)))
    return [_difference(place, ABSENT, ABSENT, "is required, and not there") for place in places]


@dataclass
class _Comparison:
    """One walk through two values; all its patterns share one time limit."""

    options: StructureOptions
    search: Search = field(default_factory=Search)

    def compare(self, expected: Any, actual: Any, place: Place) -> Iterator[Difference]:
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
    ) -> Iterator[Difference]:
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

    def _compare_entries(self, expected: list[Any], actual: list[Any], place: Place) -> Iterator[Difference]:
        if len(expected) == 1 and actual and not self.options.strict and has_matcher(expected):
            expected = expected * len(actual)
        for i, (one, other) in enumerate(zip(expected, actual, strict=False)):
            yield from self.compare(one, other, (*place, str(i)))
        for i in range(len(actual), len(expected)):
            if not self._is_free((*place, str(i))):
                yield _difference((*place, str(i)), expected[i], ABSENT, "is missing")
        yield from self._unexpected(actual, [str(i) for i in range(len(expected), len(actual))], place)

    def _unexpected(self, actual: Any, keys: Sequence[str], place: Place) -> Iterator[Difference]:
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
            return "" if self.search.is_all(_pattern(expected), actual) else "does not match"
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


def numeric_differences(baseline: Any, current: Any, tolerance: Mapping[str, Any]) -> list[Difference]:
    """The numbers of the baseline that are gone, or have changed beyond their tolerance.

    A tolerance is {min_delta, max_delta}, either one without bound where it is null or left out. It holds
    for everything below the key it stands under (`*`: any key), unless a nearer one says otherwise.
    Numbers without any must be equal; what is no number in the baseline is not looked at.
    """
    return list(_changes(baseline, current, tolerance, Tolerance(), ()))


def _changes(
    baseline: Any, current: Any, tolerance: Any, inherited: Tolerance, place: Place
) -> Iterator[Difference]:
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
    parts = parts_of(text)
    return "".join(f"(?:{MATCHERS[part]})" if is_matcher else re.escape(part) for part, is_matcher in parts)


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")


def _difference(place: Place, expected: Any, actual: Any, why: str) -> Difference:
    return Difference(".".join(place), expected, actual, why)
