"""The metrics a gate can demand, by any of their spellings: pass@1, pass_at_1, pass^3, required_pass_rate."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

PASS_RATE = "pass_rate"  # noqa: S105 - a metric, not a password

_SPELLING = re.compile(r"pass(?:@|_at_|\^|_hat_)(?P<k>[1-9]\d{0,2}|k)")
_KNOWN = "pass_at_1, pass_at_3, pass_hat_3, required_pass_rate"

CONTEXTS: Mapping[str, Mapping[str, float]] = {
    "development": {"pass_at_1": 0.70, "pass_at_k": 0.90, "pass_hat_k": 0.50},
    "staging": {"pass_at_1": 0.80, "pass_at_k": 0.95, "pass_hat_k": 0.65},
    "production": {"pass_at_1": 0.90, "pass_at_k": 0.99, "pass_hat_k": 0.80},
    "critical": {"pass_at_1": 0.95, "pass_at_k": 0.999, "pass_hat_k": 0.90},
}
"""What each stage of a product's life usually demands."""


@dataclass(frozen=True)
class Metric:
    """pass@k, pass^k, or the share of evals that passed, retries included."""

    kind: Literal["pass_at", "pass_hat", "pass_rate"]
    k: int = 1

    @property
    def key(self) -> str:
        """As reports have it: pass_at_3."""
        return PASS_RATE if self.kind == "pass_rate" else f"{self.kind}_{self.k}"

    @property
    def label(self) -> str:
        """As people write it: pass@3, pass^3."""
        sign = {"pass_at": "pass@", "pass_hat": "pass^"}.get(self.kind)
        return PASS_RATE if sign is None else f"{sign}{self.k}"

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands in a table: pass@k, then pass^k, then the pass rate."""
        return ("pass_at", "pass_hat", "pass_rate").index(self.kind), self.k

    @property
    def samples(self) -> int:
        """How many answers per case it takes to know it."""
        return self.k


def read_metric(name: str, *, k: int = 3) -> Metric:
    """The metric a name means, `k` standing for the letter; ValueError for one that means none."""
    if name in (PASS_RATE, "required_pass_rate"):
        return Metric("pass_rate")
    found = _SPELLING.fullmatch(name)
    if not found:
        raise ValueError(f"there is no metric {name!r}; write one of {_KNOWN}")
    count = k if found["k"] == "k" else int(found["k"])
    return Metric("pass_at" if "@" in name or "_at_" in name else "pass_hat", count)


def spelled(name: str) -> str:
    """The name as reports have it, a letter k left open."""
    if name.endswith(("@k", "^k", "_k")):
        read_metric(name)
        return "pass_at_k" if "@" in name or "_at_" in name else "pass_hat_k"
    return read_metric(name).key


def read_thresholds(value: Any) -> Any:
    """A mapping of metrics to shares, every name in one spelling; what is no mapping is left to the model."""
    if not isinstance(value, dict):
        return value
    found: dict[str, float] = {}
    for name, share in value.items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(f"{name} is no share; write a number from 0 to 1")
        found[spelled(str(name))] = float(share)
    return found


def demands(thresholds: Mapping[str, float], *, k: int = 3) -> dict[Metric, float]:
    """The thresholds by metric, each in its place."""
    read = {read_metric(name, k=k): share for name, share in thresholds.items()}
    return dict(sorted(read.items(), key=lambda item: item[0].place))
