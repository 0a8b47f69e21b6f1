"""Reads how long a provider asks to wait, and its limits, from headers and words; every number is bounded."""

import math
import re
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from evalq.records import RateHints

LONGEST_WAIT_S = 300.0
"""A longer wait is cut to this, then the provider is asked again: one odd reply must not stop a judge."""

_LONGEST_RESET_S = 60.0
"""A reset may name the time until the whole limit is free again; the next request is free much earlier."""

_LARGEST_LIMIT = 10**9
_LIMIT = re.compile(r"[0-9]{1,12}")
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_DURATION = re.compile(
    rf"(?:(?P<h>{_NUMBER})h)?(?:(?P<m>{_NUMBER})m(?!s))?(?:(?P<s>{_NUMBER})s)?(?:(?P<ms>{_NUMBER})ms)?"
)
_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

# OpenAI: "Please try again in 6m0s." Google: "Please retry in 3.1s." Azure: "Please retry after 7 seconds."
_IN_WORDS = re.compile(
    r"(?:try again|retry)(?: your request)? (?:in|after) ([0-9][0-9hms.]{0,24})"
    r"( ?(?:milli)?seconds?| ?minutes?)?",
    re.IGNORECASE,
)
_WORDS_S = {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "": 1.0}

_LIMIT_NAMES = {
    "rpm": ("anthropic-ratelimit-requests-limit", "x-ratelimit-limit-requests"),
    "input_tpm": ("anthropic-ratelimit-input-tokens-limit", "x-ratelimit-limit-tokens"),
    "output_tpm": ("anthropic-ratelimit-output-tokens-limit",),
}
_RESETS = {
    f"anthropic-ratelimit-{what}-remaining": f"anthropic-ratelimit-{what}-reset"
    for what in ("requests", "tokens", "input-tokens", "output-tokens")
} | {
    f"x-ratelimit-remaining-{what}": f"x-ratelimit-reset-{what}"
    for what in ("requests", "tokens", "requests-day")
}


def read_wait_s(
    headers: Mapping[str, str], details: list[dict[str, Any]] | None = None, message: str = ""
) -> float | None:
    """How long to wait before the next call: from headers, Google's RetryInfo, the message, or a reset.

    None when the reply does not say. At most LONGEST_WAIT_S.
    """
    found = _read_retry_after_s(headers)
    if found is None:
        found = read_retry_info_s(details or [])
    if found is None:
        found = _read_words_s(message)
    if found is None:
        found = _read_reset_s(headers)
    return found if found is None else min(found, LONGEST_WAIT_S)


def read_rate_hints(headers: Mapping[str, str]) -> RateHints | None:
    """The limits per minute in a provider's headers; None if there are none."""
    limits: dict[str, int] = {}
    for field, names in _LIMIT_NAMES.items():
        for name in names:
            limit = _read_limit(headers.get(name))
            if limit is not None:
                limits[field] = limit
    return RateHints(**limits) if limits else None


def read_retry_info_s(details: list[dict[str, Any]]) -> float | None:
    """The delay in Google's RetryInfo."""
    for entry in details:
        if str(entry.get("@type")).endswith("RetryInfo"):
            return _read_duration_s(entry.get("retryDelay"))
    return None


def _read_retry_after_s(headers: Mapping[str, str]) -> float | None:
    """`retry-after-ms`, then `retry-after` in seconds or as a date; nonsense is ignored."""
    in_ms = _read_amount(headers.get("retry-after-ms"))
    if in_ms is not None:
        return in_ms / 1000
    value = headers.get("retry-after")
    seconds = _read_amount(value)
    return seconds if seconds is not None else _seconds_until_date(value)


def _read_words_s(message: str) -> float | None:
    found = _IN_WORDS.search(message)
    if found is None:
        return None
    amount = found[1].rstrip(".")
    number = _read_amount(amount)
    if number is None:
        return _read_duration_s(amount)
    return number * _WORDS_S[(found[2] or "").strip().lower().removesuffix("s")]


def _read_reset_s(headers: Mapping[str, str]) -> float | None:
    """The longest wait for a limit of which nothing remains."""
    waits = []
    for remaining, reset in _RESETS.items():
        if headers.get(remaining, "").strip() == "0":
            wait_s = _read_moment_s(headers.get(reset, ""))
            if wait_s is not None:
                waits.append(min(wait_s, _LONGEST_RESET_S))
    return max(waits, default=None)


def _read_moment_s(value: str) -> float | None:
    """Seconds until a reset: a duration (`6m0s`), a number of seconds, or an ISO time."""
    number = _read_amount(value)
    if number is not None:
        return number
    duration = _read_duration_s(value)
    return duration if duration is not None else _seconds_until_iso(value)


def _read_duration_s(value: object) -> float | None:
    """Seconds of a duration such as `13.5s`, `6m0s` or `120ms`."""
    if not isinstance(value, str) or not value:
        return None
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        return None
    return sum(float(amount) * _UNITS_S[unit] for unit, amount in found.groupdict().items() if amount)


def _read_limit(value: str | None) -> int | None:
    if value is None or not _LIMIT.fullmatch(value.strip()):
        return None
    limit = min(int(value), _LARGEST_LIMIT)
    return limit if limit > 0 else None


def _read_amount(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _seconds_until_date(date: str | None) -> float | None:
    try:
        seconds = parsedate_to_datetime(date or "").timestamp() - time.time()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return seconds if seconds > 0 else None


def _seconds_until_iso(date: str) -> float | None:
    try:
        moment = datetime.fromisoformat(date)
        seconds = moment.timestamp() - time.time()
    except (ValueError, OverflowError, OSError):
        return None
    return seconds if seconds > 0 and moment.tzinfo is not None else None
