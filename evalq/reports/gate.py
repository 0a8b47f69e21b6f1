"""Gates on suite reports: each metric against its threshold, and the verdict those come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["PASS", "FAIL", "INCONCLUSIVE", "INFO"]
"""INFO: shown, nothing demanded."""


@dataclass(frozen=True)
class Demand:
    """A metric by its key in a report and by the name people write; None demands nothing."""

    key: str
    label: str
    threshold: float | None = None


@dataclass(frozen=True)
class Check:
    """A metric as it is, and as it should be."""

    demand: Demand
    value: float | None
    interval: tuple[float, float] | None
    status: Status
    strict: bool = False

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "metric": self.demand.label,
            "key": self.demand.key,
            "value": self.value,
            "ci": list(self.interval) if self.interval else None,
            "threshold": self.demand.threshold,
            "status": self.status,
            "decided_on": "lower bound" if self.strict else "value",
        }


@dataclass(frozen=True)
class Gated:
    """One judge's report held against what is demanded."""

    judge: str
    checks: tuple[Check, ...]
    report: Mapping[str, Any]

    @property
    def verdict(self) -> Status:
        """FAIL by one metric; PASS only if every one passes and no eval is without a verdict."""
        statuses = [check.status for check in self.checks]
        if "FAIL" in statuses:
            return "FAIL"
        if "INCONCLUSIVE" in statuses or self.report["summary"]["skipped"]:
            return "INCONCLUSIVE"
        return "PASS" if "PASS" in statuses else "INFO"


def gate_report(
    document: Mapping[str, Any], demands: Sequence[Demand], *, strict: bool = False
) -> list[Gated]:
    """Every judge of a report held against the demands."""
    report = document["eval_report"]
    judges = report.get("judges") or [{**report, "judge": report["metadata"]["environment"]["model"]}]
    return [
        Gated(str(one.get("judge", "")), tuple(_check(demand, one, strict=strict) for demand in demands), one)
        for one in judges
    ]


def verdict_of(found: Sequence[Gated]) -> Status:
    """The worst of several."""
    order: tuple[Status, ...] = ("FAIL", "INCONCLUSIVE", "PASS")
    return next((status for status in order if any(one.verdict == status for one in found)), "INFO")


def _check(demand: Demand, report: Mapping[str, Any], *, strict: bool) -> Check:
    section = report["summary"] if demand.key == "pass_rate" else report["metrics"]
    value = section.get(demand.key)
    ends = section.get(f"{demand.key}_ci")
    interval = (float(ends[0]), float(ends[1])) if ends else None
    return Check(demand, value, interval, _status(demand, value, interval, strict=strict), strict)


def _status(
    demand: Demand, value: float | None, interval: tuple[float, float] | None, *, strict: bool
) -> Status:
    if demand.threshold is None:
        return "INFO"
    decisive = (interval[0] if interval else None) if strict else value
    if decisive is None:
        return "INCONCLUSIVE"
    # As precise as people write thresholds: 0.7 is reached by 0.3 + 0.4.
    return "PASS" if round(decisive, 9) >= demand.threshold else "FAIL"
