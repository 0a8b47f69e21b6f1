"""A drift schedule: which judges are checked on which set, when, and by which rule."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from evalq.definitions.cron import Cron, parse_cron
from evalq.definitions.definition import Definition
from evalq.definitions.judge import Dollars

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
