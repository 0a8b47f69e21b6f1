"""Reads numbers, dates and JSON from answers, and recognises the formats of JSON Schema."""

import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NoReturn
from urllib.parse import urlsplit

from evalq.definitions.fences import unfence
from evalq.definitions.template import MATCHERS
from evalq.errors import UngradableAnswer
from evalq.grading.grader import Mark, mark

MAX_NUMBER_CHARS = 400
MAX_DATE_CHARS = 64
MAX_FORMAT_CHARS = 2_000
MAX_DEPTH = 100
MAX_DIGITS = 4_000

DATE_FORMATS = (
    "YYYY-MM-DD",
    "YYYY-MM-DDTHH:mm:ss",
    "YYYY-MM-DDTHH:mm:ssZ",
    "DD-MMM-YYYY",
    "DD.MM.YYYY",
    "MM/DD/YYYY",
    "DD/MM/YYYY",
    "MM-DD-YYYY",
    "DD-MM-YYYY",
)
"""Tried in this order: 03/04/2026 is the fourth of March unless the grader lists other formats."""

_EXPONENT = r"(?:[eE][-+]?\d{1,4})?"
_NUMBER = re.compile(rf"(?:(?<!\w)[-+−])?(?:\d[\d,.]*\d|[.,]\d+|\d){_EXPONENT}")
_WHOLE = re.compile(rf"[-+]?(?:(?:\d+|\d{{1,3}}(?:,\d{{3}})+)(?:\.\d+)?|\.\d+){_EXPONENT}")

_TOKENS = {"YYYY": "%Y", "MMM": "%b", "MM": "%m", "DD": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "Z": "%z"}
_TOKEN = re.compile("|".join(_TOKENS))


def read_number(text: str, *, decimal: str = ".") -> Decimal | None:
    """The text as a number, with or without thousands separators; None for any other text.

    `decimal` is the decimal mark; the other one of point and comma separates thousands.
    """
    plain = text.strip().replace("−", "-")
    if decimal == ",":
        plain = plain.translate(str.maketrans(",.", ".,"))
    if len(plain) > MAX_NUMBER_CHARS or not _WHOLE.fullmatch(plain):
        return None
    return Decimal(plain.replace(",", ""))


def numbers_in(text: str, *, decimal: str = ".", backwards: bool = False) -> Iterator[Decimal]:
    """The numbers in a text, in order; a hyphen between letters or digits is not a minus."""
    tokens = _NUMBER.findall(text)
    if backwards:
        tokens.reverse()
    for token in tokens:
        number = read_number(token, decimal=decimal)
        if number is not None:
            yield number


def is_near(number: Decimal, wanted: float, *, abs_tol: float = 0.0, rel_tol: float = 0.0) -> bool:
    """True within the larger tolerance; `rel_tol` is a share of the wanted number."""
    goal = Decimal(repr(wanted))
    tolerance = max(Decimal(repr(abs_tol)), Decimal(repr(rel_tol)) * abs(goal))
    return abs(number - goal) <= tolerance


def read_date(text: str, formats: Sequence[str] = DATE_FORMATS) -> date | None:
    """The date in the first format that fits; None if no format does."""
    if len(text) > MAX_DATE_CHARS:
        return None
    for form in formats:
        directives = _TOKEN.sub(lambda token: _TOKENS[token.group()], form.replace("%", "%%"))
        try:
            return datetime.strptime(text.strip(), directives).date()  # noqa: DTZ007 - only the day counts
        except ValueError:
            continue
    return None


def read_json(text: str) -> Any:
    """The text as one JSON value; ValueError if it is not JSON.

    Raises UngradableAnswer for JSON that is nested too deep or has a number with too many digits.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_read_int)
    except RecursionError:
        raise UngradableAnswer("the answer's JSON is nested too deep") from None
    check_depth(value)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _read_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise UngradableAnswer(f"the answer's JSON has a number of {len(digits):,} digits")
    return int(digits)


def check_depth(value: Any) -> None:
    """Raise UngradableAnswer for a value nested too deep for the recursive functions that compare it."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise UngradableAnswer(f"the answer's JSON is nested deeper than {MAX_DEPTH} levels")
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = below


def mark_json(text: str, mark_value: Callable[[Any], Mark]) -> Mark:
    """Mark the answer's JSON, inside a code fence or not; an answer that is not JSON fails."""
    try:
        value = read_json(unfence(text))
    except ValueError as exc:
        return mark(False, f"the answer is not JSON: {exc}")
    return mark_value(value)


def is_uuid(text: str) -> bool:
    """True for the usual form with four hyphens."""
    return _is_like("any_uuid", text)


def is_email(text: str) -> bool:
    """True for one @ with something before it and a domain after it."""
    return _is_like("any_email", text)


def is_datetime(text: str) -> bool:
    """True for an existing date and time in ISO 8601's usual form, with or without an offset."""
    return _is_like("any_iso_datetime", text) and _is_readable(datetime.fromisoformat, text.upper())


def is_date(text: str) -> bool:
    """True for an existing date as YYYY-MM-DD."""
    return len(text) == 10 and _is_readable(date.fromisoformat, text)


def is_time(text: str) -> bool:
    """True for a time of day as hh:mm:ss, with or without an offset."""
    return re.match(r"\d\d:\d\d:\d\d", text) is not None and _is_readable(time.fromisoformat, text.upper())


def is_uri(text: str) -> bool:
    """True for an address with a scheme."""
    return not re.search(r"\s", text) and _is_readable(urlsplit, text) and bool(urlsplit(text).scheme)


def is_ipv4(text: str) -> bool:
    """True for an IPv4 address."""
    return _is_readable(ipaddress.IPv4Address, text)


def is_ipv6(text: str) -> bool:
    """True for an IPv6 address."""
    return _is_readable(ipaddress.IPv6Address, text)


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": is_date,
    "date-time": is_datetime,
    "email": is_email,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "time": is_time,
    "uri": is_uri,
    "uuid": is_uuid,
}
"""The formats of JSON Schema that are checked; any other format is only an annotation."""


def _is_like(matcher: str, text: str) -> bool:
    return len(text) <= MAX_FORMAT_CHARS and re.fullmatch(MATCHERS[matcher], text) is not None


def _is_readable(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return len(text) <= MAX_FORMAT_CHARS
