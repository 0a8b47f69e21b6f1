"""Numbers in texts: read as people write them, compared as they mean them."""

import ipaddress
import json
import re
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from evalq.definitions.regexes import Flag, compiled
from evalq.definitions.template import MATCHERS
from evalq.errors import UngradableAnswer
from evalq.grading.grader import Mark, mark

if TYPE_CHECKING:
    import regex

MAX_NUMBER_CHARS = 400

_EXPONENT = r"(?:[eE][-+]?\d{1,4})?"
_NUMBER = re.compile(rf"(?:(?<!\w)[-+−])?(?:\d[\d,.]*\d|[.,]\d+|\d){_EXPONENT}")
_WHOLE = re.compile(rf"[-+]?(?:(?:\d+|\d{{1,3}}(?:,\d{{3}})+)(?:\.\d+)?|\.\d+){_EXPONENT}")


def read_number(text: str, *, decimal: str = ".") -> Decimal | None:
    """The number that is the text, thousands separated or not; None for anything else.

    `decimal` is what stands before the decimals; the other one of point and comma separates thousands.
    """
    plain = text.strip().replace("−", "-")
    if decimal == ",":
        plain = plain.translate(str.maketrans(",.", ".,"))
    if len(plain) > MAX_NUMBER_CHARS or not _WHOLE.fullmatch(plain):
        return None
    return Decimal(plain.replace(",", ""))


def numbers_in(text: str, *, decimal: str = ".", backwards: bool = False) -> Iterator[Decimal]:
    """The numbers in a text, one after the other; a hyphen between letters or digits is no minus."""
    tokens = _NUMBER.findall(text)
    for token in reversed(tokens) if backwards else tokens:
        number = read_number(token, decimal=decimal)
        if number is not None:
            yield number


def is_near(number: Decimal, wanted: float, *, abs_tol: float = 0.0, rel_tol: float = 0.0) -> bool:
    """True within the larger tolerance; `rel_tol` is a share of the wanted number."""
    goal = Decimal(repr(wanted))
    room = max(Decimal(repr(abs_tol)), Decimal(repr(rel_tol)) * abs(goal))
    return abs(number - goal) <= room


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
"""Tried in this order: 03/04/2026 is the fourth of March unless the formats say otherwise."""

MAX_DATE_CHARS = 64

_TOKENS = {"YYYY": "%Y", "MMM": "%b", "MM": "%m", "DD": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "Z": "%z"}
_TOKEN = re.compile("|".join(_TOKENS))


def read_date(text: str, formats: Sequence[str] = DATE_FORMATS) -> date | None:
    """The day a text names in one of the formats; None when in none of them."""
    for form in formats if len(text) <= MAX_DATE_CHARS else ():
        try:
            return datetime.strptime(text.strip(), _directives(form)).date()  # noqa: DTZ007 - only the day counts
        except ValueError:
            continue
    return None


def _directives(form: str) -> str:
    return _TOKEN.sub(lambda token: _TOKENS[token.group()], form.replace("%", "%%"))


MAX_CHARS = 2_000


def is_uuid(text: str) -> bool:
    """True for the usual form with four hyphens."""
    return _is("any_uuid", text)


def is_email(text: str) -> bool:
    """True for one @ with something before it and a domain behind it."""
    return _is("any_email", text)


def is_datetime(text: str) -> bool:
    """True for a day that exists and a time on it, in ISO 8601's usual form, with or without its offset."""
    return _is("any_iso_datetime", text) and _is_read_by(datetime.fromisoformat, text.upper())


def is_date(text: str) -> bool:
    """True for a day that exists, as YYYY-MM-DD."""
    return len(text) == 10 and _is_read_by(date.fromisoformat, text)


def is_time(text: str) -> bool:
    """True for a time of day as hh:mm:ss, with or without its offset."""
    return re.match(r"\d\d:\d\d:\d\d", text) is not None and _is_read_by(time.fromisoformat, text.upper())


def is_uri(text: str) -> bool:
    """True for an address with its scheme."""
    return not re.search(r"\s", text) and _is_read_by(urlsplit, text) and bool(urlsplit(text).scheme)


def is_ipv4(text: str) -> bool:
    """True for four numbers with dots between them."""
    return _is_read_by(ipaddress.IPv4Address, text)


def is_ipv6(text: str) -> bool:
    """True for an address of the longer kind."""
    return _is_read_by(ipaddress.IPv6Address, text)


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
"""The formats of JSON Schema that are asserted; the others are remarks."""


def _is(name: str, text: str) -> bool:
    return len(text) <= MAX_CHARS and re.fullmatch(MATCHERS[name], text) is not None


def _is_read_by(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return len(text) <= MAX_CHARS


MAX_DEPTH = 100
MAX_DIGITS = 4_000

_FENCE = re.compile(r"\A\s*```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)


def read_json(text: str) -> Any:
    """The one JSON value that is the text; ValueError for what is none.

    Raises UngradableAnswer for JSON that goes deeper or has longer numbers than can be handled.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole_number)
    except RecursionError:
        raise UngradableAnswer("the answer's JSON is nested too deep") from None
    check_depth(value)
    return value


def unfenced(text: str) -> str:
    """The text without the code fence around the whole of it, if there is one."""
    fenced = _FENCE.match(text)
    return fenced.group(1) if fenced else text


def mark_json(text: str, look: Callable[[Any], Mark]) -> Mark:
    """Look at the answer's JSON, a code fence around it or not; an answer that is none has failed."""
    try:
        value = read_json(unfenced(text))
    except ValueError as exc:
        return mark(False, f"the answer is not JSON: {exc}")
    return look(value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise UngradableAnswer(f"the answer's JSON has a number of {len(digits):,} digits")
    return int(digits)


def check_depth(value: Any) -> None:
    """UngradableAnswer for a value too deep: what looks at it later does so by recursion."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise UngradableAnswer(f"the answer's JSON is nested deeper than {MAX_DEPTH} levels")
        containers = [item for item in level if isinstance(item, dict | list)]
        level = [
            below for item in containers for below in (item.values() if isinstance(item, dict) else item)
        ]


LISTED = 5


def shown(value: Any, width: int = 80) -> str:
    """A value as a reason quotes it, cut to about `width` characters."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else repr(value[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"


def listed(values: Sequence[Any]) -> str:
    """The first few of several values."""
    names = ", ".join(shown(value, 40) for value in values[:LISTED])
    return names if len(values) <= LISTED else f"{names} and {len(values) - LISTED} more"


TIME_LIMIT_S = 0.5
"""Of processor time; the engine looks at its clock now and then only, so it may take half as much again."""


class Search:
    """Searches that share one time limit; a pattern that would go over it cannot be decided."""

    def __init__(self, limit_s: float = TIME_LIMIT_S) -> None:
        self._limit_s = self._left_s = limit_s

    def find(self, pattern: str, text: str, flags: Sequence[Flag] = ()) -> "regex.Match[str] | None":
        """The first place in the text that the pattern matches."""
        return self._timed(pattern, text, flags, is_whole=False)

    def is_all(self, pattern: str, text: str) -> bool:
        """True when the pattern matches the whole text."""
        return self._timed(pattern, text, (), is_whole=True) is not None

    def _timed(
        self, pattern: str, text: str, flags: Sequence[Flag], *, is_whole: bool
    ) -> "regex.Match[str] | None":
        ready = compiled(pattern, tuple(flags))
        look = ready.fullmatch if is_whole else ready.search
        started = clock.thread_time()
        try:
            return look(text, timeout=max(self._left_s, 0.001))
        except TimeoutError:
            raise UngradableAnswer(
                f"the pattern {pattern[:80]!r} takes longer than {self._limit_s:g} s on this answer"
            ) from None
        finally:
            self._left_s -= clock.thread_time() - started
