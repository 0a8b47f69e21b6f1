"""Checks a value against a JSON Schema in bounded time."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import FormatError, ValidationError, best_match
from jsonschema.validators import extend

from evalq.definitions.json_queries import Schema, registry_of, without_dialect
from evalq.errors import UngradableAnswer
from evalq.grading.grader import quote
from evalq.grading.reading import FORMATS
from evalq.grading.search import TimedSearch

TIME_LIMIT_S = 1.5
"""Processor time: enough for a megabyte of JSON and an ordinary schema."""

STEPS_PER_CLOCK_CHECK = 500
MAX_ERRORS = 100


class Validator(Protocol):
    """The part of a jsonschema validator that keyword functions use."""

    format_checker: object

    def descend(
        self, instance: Any, schema: Any, path: str | None = None, schema_path: str | None = None
    ) -> Iterator[ValidationError]:
        """The errors of a part."""
        ...

    def iter_errors(self, instance: Any) -> Iterator[ValidationError]:
        """All errors."""
        ...


Keyword = Callable[[Validator, Any, Any, Any], Iterator[ValidationError] | None]


def find_misfit(schema: Schema, value: Any) -> tuple[str, str] | None:
    """Where a JSON value does not fit the schema, and why; None if it fits."""
    plain = without_dialect(schema)
    validator = _bounded_validator()(plain, registry=registry_of(plain), format_checker=_Allowance())
    try:
        worst = best_match(islice(validator.iter_errors(value), MAX_ERRORS))
    except RecursionError:
        raise UngradableAnswer("the schema goes too deep on this answer") from None
    return None if worst is None else (worst.json_path, worst.message[:300])


class _Allowance(FormatChecker):
    """The time limit of one validation, which travels with the validator into every part of the schema.

    A recursive schema with alternatives can take time that doubles with every level of the answer.
    """

    def __init__(self) -> None:
        super().__init__(formats=())
        self.search = TimedSearch()
        self._steps = 0
        self._members: dict[int, frozenset[Any]] = {}
        self._end_s = time.thread_time() + TIME_LIMIT_S

    def step(self) -> None:
        """Count one keyword, and check the clock now and then."""
        self._steps += 1
        if self._steps % STEPS_PER_CLOCK_CHECK == 0 and time.thread_time() > self._end_s:
            raise UngradableAnswer(f"the schema takes longer than {TIME_LIMIT_S:g} s on this answer")

    def members(self, values: list[Any]) -> frozenset[Any]:
        """The values of an enum as a set: every item of an answer may be compared with all of them."""
        found = self._members.get(id(values))
        if found is None:
            found = self._members[id(values)] = frozenset(map(_hashable, values))
        return found

    def check(self, instance: object, format: str) -> None:  # noqa: A002 - the library's name for it
        """Check the known formats, on texts only."""
        if isinstance(instance, str) and format in FORMATS and not FORMATS[format](instance):
            raise FormatError(f"{quote(instance)} is no {format}")


def _allowance(validator: Validator) -> _Allowance:
    allowance = validator.format_checker
    assert isinstance(allowance, _Allowance)
    return allowance


def _pattern(validator: Validator, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if isinstance(instance, str) and _allowance(validator).search.find(pattern, instance) is None:
        yield ValidationError(f"{quote(instance)} does not match {pattern!r}")


def _pattern_properties(
    validator: Validator, patterns: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    del schema
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for key, value in instance.items():
            if _allowance(validator).search.find(pattern, key) is not None:
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(
    validator: Validator, rest: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    search = _allowance(validator).search
    for key in instance:
        if key in named or any(search.find(pattern, key) is not None for pattern in patterns):
            continue
        if rest is False:
            yield ValidationError(f"{quote(key)} is not among the properties")
        else:
            yield from validator.descend(instance[key], rest, path=key)


def _unique_items(
    validator: Validator, is_wanted: bool, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    del validator, schema
    if is_wanted and isinstance(instance, list) and len(set(map(_hashable, instance))) < len(instance):
        yield ValidationError("an item is there twice")


def _hashable(value: Any) -> Any:
    """A key that is equal for values equal as JSON: 1 is 1.0, true is not 1."""
    if isinstance(value, dict):
        return "mapping", frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list):
        return "list", tuple(map(_hashable, value))
    return isinstance(value, bool), value


def _multiple_of(
    validator: Validator, divisor: float, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    """Exact, on numbers as they are written: 0.07 is a multiple of 0.01, and no size overflows."""
    del validator, schema
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    is_finite = isinstance(instance, int) or math.isfinite(instance)
    if not is_finite or _as_fraction(instance) % _as_fraction(divisor):
        yield ValidationError(f"{quote(instance)} is not a multiple of {quote(divisor)}")


def _as_fraction(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _enum(validator: Validator, values: list[Any], instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if _hashable(instance) not in _allowance(validator).members(values):
        yield ValidationError(f"{quote(instance)} is none of the {len(values)} values of the enum")


_OWN: Mapping[str, Keyword] = {
    "multipleOf": _multiple_of,
    "enum": _enum,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}


@lru_cache(maxsize=1)
def _bounded_validator() -> Callable[..., Validator]:
    """Draft 2020-12 with every keyword counted, and our own functions for keywords that could run forever."""
    keywords: Mapping[str, Keyword] = {**Draft202012Validator.VALIDATORS, **_OWN}
    counted = {name: _counted(keyword) for name, keyword in keywords.items()}
    bounded: Callable[..., Validator] = extend(Draft202012Validator, counted)  # type: ignore[no-untyped-call]
    return bounded


def _counted(keyword: Keyword) -> Keyword:
    def counted(
        validator: Validator, value: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError] | None:
        _allowance(validator).step()
        return keyword(validator, value, instance, schema)

    return counted
