"""The gates of the fleet as the limiter knows them: limits, use, who waits, until when they are closed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evalq.broker import Broker
from evalq.catalogue import catalogue
from evalq.definitions.judge import JudgeConfig
from evalq.settings import Settings

_NAMES = {"rpm": "requests", "input_tpm": "input", "output_tpm": "output"}


@dataclass(frozen=True)
class Gate:
    """One (provider, key, model) at this instant; limits are the smaller of configured and learned."""

    name: str
    limit: dict[str, float]
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
            "used_rpm": round(self.used_rpm, 1),
            "in_flight": self.in_flight,
            "waiting": self.waiting,
            "closed_until": _iso(self.closed_until),
            "breaker_open_until": _iso(self.breaker_open_until),
        }


def read_gates(broker: Broker, settings: Settings) -> Iterator[Gate]:
    """Every gate used in the last day."""
    judges = {judge.gate: judge for judge in catalogue(settings.judges).values()}
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
        used_rpm=_used(state, now),
        in_flight=counts[0],
        waiting=counts[1],
        closed_until=_later(state.get("closed_until"), now),
        breaker_open_until=_later(state.get("open_until"), now),
    )


def _smaller(state: dict[str, str], judge: JudgeConfig | None, unit: str) -> float:
    known = [float(state.get(f"learned.{_NAMES[unit]}", 0)), float((judge and getattr(judge, unit)) or 0)]
    return min((value for value in known if value > 0), default=0.0)


def _used(state: dict[str, str], now: datetime) -> float:
    """Permits of the last sixty seconds: this minute's, and the share of the last one still in sight."""
    minute, second = divmod(now.timestamp(), 60)
    behind = minute - float(state.get("minute", 0))
    granted, before = float(state.get("granted", 0)), float(state.get("granted_before", 0))
    this, last = (granted, before) if behind <= 0 else (0.0, granted) if behind <= 1 else (0.0, 0.0)
    return this + last * (1 - second / 60)


def _later(text: str | None, now: datetime) -> datetime | None:
    instant = datetime.fromtimestamp(float(text or 0) / 1000, UTC)
    return instant if instant > now else None


def _iso(instant: datetime | None) -> str | None:
    return instant.isoformat(timespec="seconds") if instant else None
