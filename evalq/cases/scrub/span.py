"""Spans: where in a text something stands that is to be replaced, and of what kind it is."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

Kind = Literal[
    "private-key",
    "url-login",
    "jwt",
    "key",
    "auth",
    "secret",
    "iban",
    "card",
    "ssn",
    "id-number",
    "email",
    "phone",
    "ip",
    "birth-date",
    "address",
    "name",
]

Place = tuple[int, int]
Find = Callable[[str], Iterator[Place]]
"""A detector: the places of one kind in a text, in time that grows with its length and no faster."""


class Span(NamedTuple):
    """The characters from `start` up to `end`."""

    start: int
    end: int
    kind: Kind


def merge_spans(spans: Iterable[Span], ranking: Sequence[Kind]) -> list[Span]:
    """Spans that overlap become one over all they cover, of the kind that comes first in the ranking.

    Nothing that any detector found is left standing, whoever else found a part of it.
    """
    merged: list[Span] = []
    for span in sorted(spans):
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
            continue
        kind = min(last.kind, span.kind, key=ranking.index)
        merged[-1] = Span(last.start, max(last.end, span.end), kind)
    return merged


# ISO 13616: how long an IBAN is in each country that has them.
_IBAN_LENGTHS = {
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH CR HR LI LV",
    22: "BG BH DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
IBAN_LENGTH = {country: length for length, names in _IBAN_LENGTHS.items() for country in names.split()}

_DATE = re.compile(
    r"(?P<y>\d{4})(?P<s>[./-])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d)"
    r"|(?P<a>\d{1,2})(?P<t>[./-])(?P<b>\d{1,2})(?P=t)(?:\d{4}|\d{2})(?!\d)"
    r"|(?P<e>\d{1,2}) (?P<f>\d{1,2}) (?:19|20)\d{2}(?!\d)"
)


def passes_luhn(digits: str) -> bool:
    """The check digit of payment cards: ISO/IEC 7812-1."""
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(n - 9 if n > 9 else n for n in doubled)) % 10 == 0


def is_card_number(digits: str) -> bool:
    """13 to 19 digits that pass Luhn and begin as cards do: 3 to 6, or Mastercard's 2221 to 2720."""
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    begins_well = digits[0] in "3456" or (len(digits) == 16 and 2221 <= int(digits[:4]) <= 2720)
    return begins_well and passes_luhn(digits)


def is_iban(compact: str) -> bool:
    """ISO 13616: the country's length, and mod 97 is 1 with the first four characters at the end."""
    text = compact.upper()
    if IBAN_LENGTH.get(text[:2]) != len(text):
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def begins_with_date(text: str) -> bool:
    """2024-05-21, 21.05.2024, 5/21/24 and the like, with a day and a month that exist."""
    found = _DATE.match(text.lstrip("("))
    if found is None:
        return False
    first, second = (int(found[one]) for one in "mdabef" if found[one])
    return 1 <= min(first, second) <= 12 and max(first, second) <= 31


def bits_per_character(text: str) -> float:
    """Shannon's entropy of a text's own characters; 0 for an empty one."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts) if text else 0.0
