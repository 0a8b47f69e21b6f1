"""Recognising what a text is: a UUID, an address, a date."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from urllib.parse import urlsplit

from evalq.definitions.matchers import MATCHERS

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
