"""What a provider changed on its side, noted beside accuracy: the version that answers, speed, price."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

_NOTABLE = 1.25
"""A quarter more, or as much less: below that it is the time of day."""


@dataclass(frozen=True)
class Trace:
    """One run's: the model names the provider reported, median latency, dollars a case."""

    models: tuple[str, ...]
    p50_latency_ms: float | None
    cost_per_case_usd: float | None


def compare_traces(before: Sequence[Trace], now: Trace | None) -> dict[str, Any]:
    """Both sides as numbers, and in words what is notable; nothing without both sides."""
    if now is None or not before:
        return {}
    known = sorted({model for trace in before for model in trace.models})
    numbers = {
        name: {"from": _median([getattr(trace, name) for trace in before]), "to": getattr(now, name)}
        for name in ("p50_latency_ms", "cost_per_case_usd")
    }
    return {
        "models": {"from": known, "to": sorted(now.models)},
        **numbers,
        "notes": [
            *_new_models(known, now.models),
            *_notable("p50 latency", numbers["p50_latency_ms"], "{:.0f} ms"),
            *_notable("cost per case", numbers["cost_per_case_usd"], "${:.6f}"),
        ],
    }


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _new_models(known: Sequence[str], now: Sequence[str]) -> list[str]:
    new = sorted(set(now) - set(known))
    return [f"model version {', '.join(known)} → {', '.join(new)}"] if new and known else []


def _notable(name: str, change: dict[str, float | None], form: str) -> list[str]:
    before, now = change["from"], change["to"]
    if before is None or now is None or before == now:
        return []
    if before and 1 / _NOTABLE < now / before < _NOTABLE:
        return []
    return [f"{name} {form.format(before)} → {form.format(now)}"]
