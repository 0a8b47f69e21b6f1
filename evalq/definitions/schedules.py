"""When drift is checked: cron lines, and the entries of `drift:` in evalq.yaml."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from evalq.definitions.definition import Definition
from evalq.definitions.judge import Dollars

DEFAULT_LINE = "0 3 * * 6"
"""Saturday 03:00 UTC."""

_FIELDS = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_PART = re.compile(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?")
_LONGEST_MONTHS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
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
        for offset in range(_DAYS_AHEAD):
            for instant in self._instants_on(moment, offset):
                if instant > moment:
                    return instant
        raise AssertionError("parse_cron refuses lines without any day")

    def latest_until(self, moment: datetime) -> datetime:
        """The last instant that is not after `moment`."""
        for offset in range(_DAYS_AHEAD):
            for instant in reversed(self._instants_on(moment, -offset)):
                if instant <= moment:
                    return instant
        raise AssertionError("parse_cron refuses lines without any day")

    def _instants_on(self, moment: datetime, offset: int) -> list[datetime]:
        """The instants on the day `offset` days after the moment's, in order."""
        midnight = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        day = midnight + timedelta(days=offset)
        if day.month not in self.months or day.day not in self.days:
            return []
        if day.isoweekday() % 7 not in self.weekdays:
            return []
        instants = []
        for hour in sorted(self.hours):
            for minute in sorted(self.minutes):
                instants.append(day + timedelta(hours=hour, minutes=minute))
        return instants


def parse_cron(line: str) -> Cron:
    """Read `minute hour day month weekday`; raise ValueError with what is wrong.

    A day of the month and a day of the week exclude each other: programs differ on what both together mean.
    """
    fields = line.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            f"{line!r} has {len(fields)} fields; write five, e.g. '0 3 * * 6' for Saturday 03:00"
        )
    if fields[2] != "*" and fields[4] != "*":
        raise ValueError("it names a day of the month and one of the week; write * for one of them")
    minutes, hours, days, months, weekdays = (
        _parse_field(text, *bounds) for text, bounds in zip(fields, _FIELDS, strict=True)
    )
    if all(min(days) > _LONGEST_MONTHS.get(month, 31) for month in months):
        raise ValueError(f"{line!r} is on no day of any year")
    return Cron(minutes, hours, days, months, frozenset(day % 7 for day in weekdays))


def _parse_field(text: str, name: str, lowest: int, highest: int) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(
                f"{part!r} is not valid for the {name}; write a number, *, a range 1-5, a step */10 or a list"
            )
        first, last, step = lowest, highest, int(match[3] or 1)
        if match[1] is not None:
            first = int(match[1])
        if match[2] is not None:
            last = int(match[2])
        elif match[1] is not None and match[3] is None:
            last = first
        if not (lowest <= first <= last <= highest and step):
            raise ValueError(f"{part!r} is not valid for the {name}; it lies between {lowest} and {highest}")
        values.update(range(first, last + 1, step))
    return frozenset(values)


class DriftSchedule(Definition):
    """One entry of `drift:` in evalq.yaml. Without `judges` the task's own are checked.

    `max_cost_usd` bounds one check with all its confirmations. `every_s` counts seconds instead of naming
    minutes.
    """

    task: str
    eval_set: str
    judges: list[str] = Field(default=[])
    schedule: str = DEFAULT_LINE
    every_s: Annotated[FiniteFloat, Field(gt=0, le=31_536_000)] | None = None
    rule: Literal["seed", "confirm", "sequential"] = "confirm"
    max_cost_usd: Dollars | None = None

    @model_validator(mode="after")
    def _has_one_valid_timing(self) -> Self:
        parse_cron(self.schedule)
        if self.every_s is not None and "schedule" in self.model_fields_set:
            raise ValueError("schedule and every_s exclude each other; keep one of them")
        return self

    @property
    def name(self) -> str:
        """The name that tells it from the others."""
        return f"{self.task}/{self.eval_set}/{','.join(self.judges) or '*'}/{self.rule}"

    def latest_tick(self, now: datetime) -> datetime:
        """The last time it was due."""
        if self.every_s is None:
            return parse_cron(self.schedule).latest_until(now)
        return _tick(now.timestamp() // self.every_s, self.every_s)

    def next_tick(self, now: datetime) -> datetime:
        """The next time it is due."""
        if self.every_s is None:
            return parse_cron(self.schedule).next_after(now)
        return _tick(now.timestamp() // self.every_s + 1, self.every_s)


def _tick(number: float, every_s: float) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=number * every_s)
