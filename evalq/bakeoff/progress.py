"""Progress of a bake-off and the state of its gates, read for the live display."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evalq.definitions.catalogue import all_judges
from evalq.definitions.judge import JudgeConfig
from evalq.engines.broker import Broker
from evalq.records import describe_errors
from evalq.results import JudgeProgress, Progress
from evalq.settings import Settings
from evalq.store import bakeoffs, cached_verdicts, outcomes
from evalq.store.database import Database
from evalq.store.outcomes import JudgeCost, JudgeTally

_BROKEN_AFTER = 10
"""A judge with this many errors and no verdict is called broken while it runs."""


def read_progress(db: Database, bakeoff_id: int) -> Progress:
    """Read how far a bake-off is."""
    bakeoff = bakeoffs.get(db, bakeoff_id)
    costs = outcomes.judge_costs(db, bakeoff_id)
    minutes = max((bakeoff.read_at - bakeoff.created_at).total_seconds(), 1.0) / 60
    return Progress(
        bakeoff_id=bakeoff.id,
        task=bakeoff.task_name,
        eval_set=bakeoff.eval_set_name,
        state=bakeoff.state,
        started_at=bakeoff.created_at,
        now=bakeoff.ended_at or bakeoff.read_at,
        cap_usd=bakeoff.cap_usd,
        spent_usd=bakeoff.spent_usd,
        reserved_usd=bakeoff.reserved_usd,
        judges=tuple(
            _judge(tally, costs[tally.judge], min(minutes, 1.0))
            for tally in outcomes.judge_tallies(db, bakeoff_id)
        ),
        cached_verdicts=cached_verdicts.savings(db, bakeoff_id).n,
        graded_findings=sum(cost.grade_calls for cost in costs.values()),
    )


def _judge(tally: JudgeTally, cost: JudgeCost, minutes: float) -> JudgeProgress:
    return JudgeProgress(
        judge=tally.judge,
        total=tally.n_jobs,
        done=tally.done,
        n_pass=tally.n_pass,
        n_fail=tally.n_fail,
        n_error=tally.n_error,
        cost_usd=cost.cost_usd,
        p95_latency_ms=tally.p95_latency_ms,
        retries=cost.retries,
        rpm=tally.last_minute / minutes,
        broken=f"paused: {tally.pause_reason}" if tally.pause_reason else _broken(tally),
        note=cost.trouble,
    )


def _broken(tally: JudgeTally) -> str | None:
    if tally.n_error < _BROKEN_AFTER or tally.n_error < tally.done:
        return None
    return describe_errors(tally.n_error, tally.done, tally.error_kind)


_NAMES = {"rpm": "requests", "input_tpm": "input", "output_tpm": "output"}


@dataclass(frozen=True)
class Gate:
    """One (provider, key, model) at this instant; limits are the smaller of configured and learned.

    `room` is the number of calls in flight that a gate without a `concurrency` has learned to take.
    """

    name: str
    limit: dict[str, float]
    room: int | None
    used_rpm: float
    in_flight: int
    waiting: int
    closed_until: datetime | None
    breaker_open_until: datetime | None

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "gate": self.name,
            "limit": self.limit,
            "room": self.room,
            "used_rpm": round(self.used_rpm, 1),
            "in_flight": self.in_flight,
            "waiting": self.waiting,
            "closed_until": _iso(self.closed_until),
            "breaker_open_until": _iso(self.breaker_open_until),
        }


def read_gates(broker: Broker, settings: Settings) -> Iterator[Gate]:
    """Every gate used in the last day."""
    judges = {judge.gate: judge for judge in all_judges(settings.judges).values()}
    now = datetime.now(UTC)
    for name, state in broker.gates().items():
        yield _gate(name, state, judges.get(name), broker.waiting_at(name), now)


def _gate(
    name: str, state: dict[str, str], judge: JudgeConfig | None, counts: tuple[int, int], now: datetime
) -> Gate:
    return Gate(
        name=name,
        limit={unit: _smaller(state, judge, unit) for unit in _NAMES}
        | {"concurrency": (judge and judge.concurrency) or 0},
        room=_room(state, judge),
        used_rpm=_used_rpm(state, now),
        in_flight=counts[0],
        waiting=counts[1],
        closed_until=_if_later(state.get("closed_until"), now),
        breaker_open_until=_if_later(state.get("open_until"), now),
    )


def _smaller(state: dict[str, str], judge: JudgeConfig | None, unit: str) -> float:
    known = [float(state.get(f"learned.{_NAMES[unit]}", 0)), float((judge and getattr(judge, unit)) or 0)]
    return min((value for value in known if value > 0), default=0.0)


def _room(state: dict[str, str], judge: JudgeConfig | None) -> int | None:
    has_limit = judge is not None and judge.concurrency
    return None if has_limit or "room" not in state else int(float(state["room"]))


def _used_rpm(state: dict[str, str], now: datetime) -> float:
    """Permits of the last sixty seconds: this minute's, and the part of the last minute that is in them."""
    minute, second = divmod(now.timestamp(), 60)
    minutes_ago = minute - float(state.get("minute", 0))
    this_minute = last_minute = 0.0
    if minutes_ago <= 0:
        this_minute = float(state.get("granted", 0))
        last_minute = float(state.get("granted_before", 0))
    elif minutes_ago <= 1:
        last_minute = float(state.get("granted", 0))
    return this_minute + last_minute * (1 - second / 60)


def _if_later(text: str | None, now: datetime) -> datetime | None:
    instant = datetime.fromtimestamp(float(text or 0) / 1000, UTC)
    return instant if instant > now else None


def _iso(instant: datetime | None) -> str | None:
    return instant.isoformat(timespec="seconds") if instant else None
