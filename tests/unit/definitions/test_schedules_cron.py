"""Cron lines: which minutes they mean, what is refused, and the same as Celery understands them."""

from datetime import UTC, datetime, timedelta

import pytest

from evalq.definitions.schedules import parse_cron


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


NOW = datetime(2026, 11, 17, 7, 14, 13, tzinfo=UTC)  # a Tuesday


@pytest.mark.parametrize(
    ("line", "latest", "following"),
    [
        ("0 3 * * 6", at(2026, 11, 14, 3), at(2026, 11, 21, 3)),
        ("*/15 * * * *", at(2026, 11, 17, 7), at(2026, 11, 17, 7, 15)),
        ("14 7 * * *", at(2026, 11, 17, 7, 14), at(2026, 11, 18, 7, 14)),
        ("0 0 1 1,7 *", at(2026, 7, 1), at(2027, 1, 1)),
        ("30 22 * * 1-5", at(2026, 11, 16, 22, 30), at(2026, 11, 17, 22, 30)),
        ("0 12 * * 7", at(2026, 11, 15, 12), at(2026, 11, 22, 12)),
        ("5/20 6-8/2 * * *", at(2026, 11, 17, 6, 45), at(2026, 11, 17, 8, 5)),
        ("0 0 29 2 *", at(2024, 2, 29), at(2028, 2, 29)),
    ],
)
def test_a_line_has_a_latest_and_a_next_minute(line: str, latest: datetime, following: datetime) -> None:
    cron = parse_cron(line)
    assert cron.latest_until(NOW) == latest
    assert cron.next_after(NOW) == following


def test_a_minute_is_its_own_latest_and_not_its_own_next() -> None:
    cron, minute = parse_cron("0 3 * * 6"), datetime(2026, 11, 21, 3, tzinfo=UTC)
    assert cron.latest_until(minute) == minute
    assert cron.next_after(minute) == minute + timedelta(days=7)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0 3 * *", "has 4 fields; write five"),
        ("0 3 1 * 6", "write \\* for one of them"),
        ("60 3 * * *", "'60' is not valid for the minute; it lies between 0 and 59"),
        ("0 9-3 * * *", "'9-3' is not valid for the hour"),
        ("*/0 3 * * *", "'\\*/0' is not valid for the minute"),
        ("0 3 * * sat", "'sat' is not valid for the day of the week"),
        ("0 3 0 * *", "'0' is not valid for the day of the month"),
        ("0 3 31 2,4 *", "is on no day of any year"),
        ("0 3 30 2 *", "is on no day of any year"),
        ("1,,2 3 * * *", "'' is not valid for the minute"),
    ],
)
def test_what_is_no_line_is_refused_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_cron(line)
