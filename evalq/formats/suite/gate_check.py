"""Checking a suite report against what a gate demands of its metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalq.errors import InputError, Problem
from evalq.formats.suite.forms import Thresholds
from evalq.formats.suite.gates import GateForm
from evalq.formats.suite.library import context_thresholds
from evalq.formats.suite.metrics import Metric, canonical_name, read_metric, thresholds_by_metric

GateStatus = Literal["PASS", "FAIL", "INCONCLUSIVE", "INFO"]
"""INFO: shown without a threshold."""

WORST_FIRST: tuple[GateStatus, ...] = ("FAIL", "INCONCLUSIVE", "PASS", "INFO")


@dataclass(frozen=True)
class Demand:
    """A metric, by its key in the report and its label, and its threshold; None only shows it."""

    key: str
    label: str
    threshold: float | None = None


@dataclass(frozen=True)
class MetricCheck:
    """The value of a metric and whether it reaches its threshold."""

    demand: Demand
    value: float | None
    interval: tuple[float, float] | None
    status: GateStatus
    strict: bool = False

    def document(self) -> dict[str, Any]:
        """The check as JSON."""
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
class GatedJudge:
    """One judge's report checked against the demands."""

    judge: str
    checks: tuple[MetricCheck, ...]
    report: Mapping[str, Any]

    @property
    def verdict(self) -> GateStatus:
        """FAIL if one metric fails; PASS only if every metric passes and every eval has a verdict."""
        statuses = [check.status for check in self.checks]
        if "FAIL" in statuses:
            return "FAIL"
        if "INCONCLUSIVE" in statuses or self.report["summary"]["skipped"]:
            return "INCONCLUSIVE"
        return "PASS" if "PASS" in statuses else "INFO"


def gate_report(
    document: Mapping[str, Any], demands: Sequence[Demand], *, strict: bool = False
) -> list[GatedJudge]:
    """Check every judge of a report against the demands."""
    report = document["eval_report"]
    judges = report.get("judges") or [{**report, "judge": report["metadata"]["environment"]["model"]}]
    gated = []
    for one in judges:
        checks = tuple(_check(demand, one, strict=strict) for demand in demands)
        gated.append(GatedJudge(str(one.get("judge", "")), checks, one))
    return gated


def worst_of(statuses: Sequence[GateStatus]) -> GateStatus:
    """The worst of several verdicts; INFO for none."""
    return min(statuses, key=WORST_FIRST.index, default="INFO")


def _check(demand: Demand, report: Mapping[str, Any], *, strict: bool) -> MetricCheck:
    section = report["summary"] if demand.key == "pass_rate" else report["metrics"]
    value = section.get(demand.key)
    ends = section.get(f"{demand.key}_ci")
    interval = (float(ends[0]), float(ends[1])) if ends else None
    decisive = value
    if strict:
        decisive = interval[0] if interval else None
    return MetricCheck(demand, value, interval, _status(demand.threshold, decisive), strict)


def _status(threshold: float | None, value: float | None) -> GateStatus:
    if threshold is None:
        return "INFO"
    if value is None:
        return "INCONCLUSIVE"
    # As precise as people write thresholds: 0.7 is reached by 0.3 + 0.4.
    return "PASS" if round(value, 9) >= threshold else "FAIL"


def collect_demands(
    form: GateForm | None,
    shared: Thresholds | None = None,
    *,
    context: str | None = None,
    given: Mapping[str, float] | None = None,
    file: str = "",
) -> list[Demand]:
    """Every metric that is demanded or shown, from all sources; later sources override earlier ones.

    `shared` are the thresholds of the suite that is gated, and `file` is where it is written.
    InputError when nothing is demanded: a gate without a threshold would pass everything.
    """
    shared = shared or Thresholds()
    sources: list[Mapping[str, float]] = [shared.metrics]
    if form and form.context:
        sources.append(context_thresholds(form.context, shared))
    if form:
        sources.append(form.thresholds)
    if context:
        sources.append(context_thresholds(context, shared))
    sources.append(given or {})
    found: dict[Metric, float | None] = {}
    for source in sources:
        found |= thresholds_by_metric(source, k=shared.k)
    if not found:
        remedy = "give --context production, or --set pass_at_1=0.9, or write thresholds"
        raise InputError(Problem("nothing is demanded", remedy, file))
    demanded = dict(sorted(found.items(), key=lambda item: item[0].place))
    for name in form.shown_metrics if form else ():
        demanded.setdefault(read_metric(name, k=shared.k), None)
    return [Demand(metric.key, metric.label, threshold) for metric, threshold in demanded.items()]


def ks_of(demands: Sequence[Demand]) -> tuple[int, ...]:
    """The k of every metric."""
    return tuple(read_metric(one.key).k for one in demands)


def samples_for(demands: Sequence[Demand], samples: int = 1) -> int:
    """How many answers per eval the metrics need, at least `samples`."""
    return max((samples, *ks_of(demands)))


def parse_thresholds(pairs: Sequence[str]) -> dict[str, float]:
    """The `metric=share` pairs of the command line."""
    found = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            key, share = canonical_name(name.strip()), float(text)
        except ValueError:
            message = f"--set {pair!r} is not a threshold"
            raise InputError(Problem(message, "write for instance --set pass_at_1=0.9")) from None
        if not 0 <= share <= 1:
            raise InputError(Problem(f"--set {pair!r} is not a share", "write a number from 0 to 1"))
        found[key] = share
    return found
