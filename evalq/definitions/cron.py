"""Cron lines of five fields, in UTC: which minutes they mean, the next one, the latest one."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_NAMES = ("minute", "hour", "day of the month", "month", "day of the week")
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_PART = re.compile(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?")
_DAYS_AHEAD = 366 * 8 + 1  # the 29th of February is never further away


@dataclass(frozen=True)
class Cron:
    """The minutes, hours, days, months and weekdays (0 = Sunday) on which something happens."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def next_after(self, moment: datetime) -> datetime:
        """The first instant after `moment`."""
        return self._nearest(moment, direction=1)

    def latest_until(self, moment: datetime) -> datetime:
        """The last instant that is not after `moment`."""
        return self._nearest(moment, direction=-1)

    def _nearest(self, moment: datetime, *, direction: int) -> datetime:
        midnight = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        days = (midnight + timedelta(days=offset * direction) for offset in range(_DAYS_AHEAD))
        instants = (at for day in days if self._has_day(day) for at in self._on(day)[::direction])
        return next(at for at in instants if (at > moment if direction > 0 else at <= moment))

    def _on(self, day: datetime) -> list[datetime]:
        return [day + timedelta(hours=h, minutes=m) for h in sorted(self.hours) for m in sorted(self.minutes)]

    def _has_day(self, day: datetime) -> bool:
        return day.month in self.months and day.day in self.days and day.isoweekday() % 7 in self.weekdays


def parse_cron(line: str) -> Cron:
    """Read `minute hour day month weekday`; ValueError says what is wrong with it.

    Days of the month and of the week exclude each other: programs differ on what both together mean.
    """
    fields = line.split()
    if len(fields) != len(_NAMES):
        raise ValueError(
            f"{line!r} has {len(fields)} fields; write five, e.g. '0 3 * * 6' for Saturday 03:00"
        )
    if fields[2] != "*" and fields[4] != "*":
        raise ValueError("it names a day of the month and one of the week; write * for one of them")
    minutes, hours, days, months, weekdays = (
        _values(text, name, bounds) for text, name, bounds in zip(fields, _NAMES, _BOUNDS, strict=True)
    )
    if not any(day <= _longest(month) for month in months for day in days):
        raise ValueError(f"{line!r} is on no day of any year")
    return Cron(minutes, hours, days, months, frozenset(day % 7 for day in weekdays))


def _values(text: str, name: str, bounds: tuple[int, int]) -> frozenset[int]:
    return frozenset(value for part in text.split(",") for value in _range(part, name, bounds))


def _range(part: str, name: str, bounds: tuple[int, int]) -> range:
    match = _PART.fullmatch(part)
    lowest, highest = bounds
    if match is None:
        raise ValueError(f"{part!r} is no {name}; write a number, *, a range 1-5, a step */10 or a list")
    first = lowest if match[1] is None else int(match[1])
    last = highest if match[1] is None or (match[2] is None and match[3]) else int(match[2] or match[1])
    step = int(match[3] or 1)
    if not (lowest <= first <= last <= highest and step):
        raise ValueError(f"{part!r} is no {name}; it lies between {lowest} and {highest}")
    return range(first, last + 1, step)


def _longest(month: int) -> int:
    return 29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
