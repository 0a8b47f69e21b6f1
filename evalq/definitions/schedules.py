"""A channel alerts go to: Telegram, Slack, a webhook or a command; its secrets are named, never written."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from evalq.definitions.definition import Definition
from evalq.definitions.judge import Dollars

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The name of an environment variable (or of a key kept by `evalq keys set`)."""


class Telegram(Definition):
    """A bot's message to a chat."""

    token_env: Variable = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - the variable's name
    chat_id_env: Variable = "TELEGRAM_CHAT_ID"


class Slack(Definition):
    """A Slack incoming webhook; its address is its secret."""

    url_env: Variable = "SLACK_WEBHOOK_URL"


class Webhook(Definition):
    """Any address that takes a JSON document; `headers_env` names the variables that hold header values.

    Private, loopback and link-local addresses are refused unless `allow_private` is true.
    """

    url: str | None = Field(default=None, pattern=r"^https?://")
    url_env: Variable | None = None
    headers_env: dict[str, Variable] = Field(default={})
    allow_private: bool = False

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("a webhook has one address; write url, or url_env for a secret one")
        return self


class AlertChannel(Definition):
    """One entry of `alerts:` in evalq.yaml: exactly one kind."""

    telegram: Telegram | None = None
    slack: Slack | None = None
    webhook: Webhook | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        if len(self.model_fields_set) != 1 or getattr(self, self.kind) is None:
            raise ValueError("an alert channel is one of telegram, slack, webhook or command")
        return self

    @property
    def kind(self) -> Literal["telegram", "slack", "webhook", "command"]:
        """Which of them it is."""
        (kind,) = self.model_fields_set
        return kind  # type: ignore[return-value]


def name_channels(channels: Sequence[AlertChannel]) -> dict[str, AlertChannel]:
    """The channels by kind, the second of a kind as `webhook-2`: how deliveries remember them."""
    seen: Counter[str] = Counter()
    by_name = {}
    for channel in channels:
        seen[channel.kind] += 1
        by_name[channel.kind if seen[channel.kind] == 1 else f"{channel.kind}-{seen[channel.kind]}"] = channel
    return by_name


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


DEFAULT_LINE = "0 3 * * 6"
"""Saturday 03:00 UTC."""


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
    def _is_a_cron_line(self) -> Self:
        parse_cron(self.schedule)
        if self.every_s is not None and "schedule" in self.model_fields_set:
            raise ValueError("schedule and every_s exclude each other; keep one of them")
        return self

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return f"{self.task}/{self.eval_set}/{','.join(self.judges) or '*'}/{self.rule}"

    @property
    def cron(self) -> Cron:
        """Its minutes, unless it counts seconds."""
        return parse_cron(self.schedule)

    def latest_tick(self, now: datetime) -> datetime:
        """When it was due last."""
        return self.cron.latest_until(now) if self.every_s is None else self._counted(now, ahead=0)

    def next_tick(self, now: datetime) -> datetime:
        """When it is due next."""
        return self.cron.next_after(now) if self.every_s is None else self._counted(now, ahead=1)

    def _counted(self, now: datetime, *, ahead: int) -> datetime:
        assert self.every_s is not None
        return datetime.fromtimestamp(0, UTC) + timedelta(
            seconds=(now.timestamp() // self.every_s + ahead) * self.every_s
        )
