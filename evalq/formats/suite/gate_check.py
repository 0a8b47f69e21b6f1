"""What a gate demands of a suite: its own thresholds, over its context's, over those of the suite."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from evalq.errors import InputError, Problem
from evalq.formats.suite.forms import Thresholds
from evalq.formats.suite.gates import GateForm
from evalq.formats.suite.library import context_thresholds
from evalq.formats.suite.metrics import EVAL_TYPES, Metric, demands, read_metric, spelled
from evalq.formats.suite.outcomes import SuiteRun
from evalq.formats.suite.read import Suite
from evalq.formats.suite.report import NOTHING, share
from evalq.formats.suite.report_files import inline
from evalq.formats.suite.run import outcomes_of_bakeoff
from evalq.results import plain
from evalq.store import bakeoffs
from evalq.store.database import Database

GateStatus = Literal["PASS", "FAIL", "INCONCLUSIVE", "INFO"]
"""INFO: shown, nothing demanded."""


@dataclass(frozen=True)
class Demand:
    """A metric by its key in a report and by the name people write; None demands nothing."""

    key: str
    label: str
    threshold: float | None = None


@dataclass(frozen=True)
class MetricCheck:
    """A metric as it is, and as it should be."""

    demand: Demand
    value: float | None
    interval: tuple[float, float] | None
    status: GateStatus
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
class GatedJudge:
    """One judge's report held against what is demanded."""

    judge: str
    checks: tuple[MetricCheck, ...]
    report: Mapping[str, Any]

    @property
    def verdict(self) -> GateStatus:
        """FAIL by one metric; PASS only if every one passes and no eval is without a verdict."""
        statuses = [check.status for check in self.checks]
        if "FAIL" in statuses:
            return "FAIL"
        if "INCONCLUSIVE" in statuses or self.report["summary"]["skipped"]:
            return "INCONCLUSIVE"
        return "PASS" if "PASS" in statuses else "INFO"


def gate_report(
    document: Mapping[str, Any], demands: Sequence[Demand], *, strict: bool = False
) -> list[GatedJudge]:
    """Every judge of a report held against the demands."""
    report = document["eval_report"]
    judges = report.get("judges") or [{**report, "judge": report["metadata"]["environment"]["model"]}]
    return [
        GatedJudge(
            str(one.get("judge", "")), tuple(_check(demand, one, strict=strict) for demand in demands), one
        )
        for one in judges
    ]


def verdict_of(found: Sequence[GatedJudge]) -> GateStatus:
    """The worst of several."""
    order: tuple[GateStatus, ...] = ("FAIL", "INCONCLUSIVE", "PASS")
    return next((status for status in order if any(one.verdict == status for one in found)), "INFO")


def _check(demand: Demand, report: Mapping[str, Any], *, strict: bool) -> MetricCheck:
    section = report["summary"] if demand.key == "pass_rate" else report["metrics"]
    value = section.get(demand.key)
    ends = section.get(f"{demand.key}_ci")
    interval = (float(ends[0]), float(ends[1])) if ends else None
    return MetricCheck(demand, value, interval, _status(demand, value, interval, strict=strict), strict)


def _status(
    demand: Demand, value: float | None, interval: tuple[float, float] | None, *, strict: bool
) -> GateStatus:
    if demand.threshold is None:
        return "INFO"
    decisive = (interval[0] if interval else None) if strict else value
    if decisive is None:
        return "INCONCLUSIVE"
    # As precise as people write thresholds: 0.7 is reached by 0.3 + 0.4.
    return "PASS" if round(decisive, 9) >= demand.threshold else "FAIL"


def collect_demands(
    form: GateForm | None,
    suite: Suite | None,
    *,
    context: str | None = None,
    given: Mapping[str, float] | None = None,
) -> list[Demand]:
    """Every metric that is demanded or shown. What is given by hand goes over all, a context named by hand
    over what files say.

    InputError when nothing is demanded at all: a gate without a threshold would let everything pass.
    """
    shared = suite.thresholds if suite else Thresholds()
    sources = [
        shared.metrics,
        context_thresholds(form.context, shared) if form and form.context else {},
        form.thresholds if form else {},
        context_thresholds(context, shared) if context else {},
        given or {},
    ]
    found: dict[Metric, float] = {}
    for source in sources:
        found |= demands(source, k=shared.k)
    if not found:
        remedy = "give --context production, or --set pass_at_1=0.9, or write thresholds"
        raise InputError(Problem("nothing is demanded", remedy, suite.file if suite else ""))
    wanted: dict[Metric, float | None] = dict(sorted(found.items(), key=lambda item: item[0].place))
    for name in form.shown_metrics if form else ():
        wanted.setdefault(read_metric(name, k=shared.k), None)
    return [Demand(metric.key, metric.label, threshold) for metric, threshold in wanted.items()]


def samples_for(wanted: Sequence[Demand], k: int = 1) -> int:
    """How many answers per eval it takes to know every metric."""
    metrics = [read_metric(one.key) for one in wanted]
    return max((k, *(metric.samples for metric in metrics)))


def parse_thresholds(pairs: Sequence[str]) -> dict[str, float]:
    """`metric=share` pairs of the command line."""
    found = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            key, share = spelled(name.strip()), float(text)
        except ValueError:
            raise InputError(
                Problem(f"--set {pair!r} is no threshold", "write for instance --set pass_at_1=0.9")
            ) from None
        if not 0 <= share <= 1:
            raise InputError(Problem(f"--set {pair!r} is no share", "write a number from 0 to 1"))
        found[key] = share
    return found


def run_of_bakeoff(db: Database, bakeoff_id: int, ks: Sequence[int]) -> SuiteRun:
    """A bake-off that is already there as the run of a suite."""
    row = bakeoffs.get(db, bakeoff_id)
    created: datetime = row.created_at
    return SuiteRun(
        row.task_name,
        f"eval-{created:%Y%m%d-%H%M%S}",
        f"{created:%Y-%m-%dT%H:%M:%S}Z",
        max(0.0, (row.read_at - created).total_seconds()),
        outcomes_of_bakeoff(db, bakeoff_id),
        samples=row.samples,
        bakeoffs=(bakeoff_id,),
        spent_usd=str(plain(row.spent_usd)),
        ks=tuple(ks),
    )


_LONGEST = 200


def render_phase(found: Sequence[GatedJudge], *, title: str = "") -> str:
    """The report; one section for each judge where there are several."""
    parts = [f"## Phase Completion Report{f': {inline(title)}' if title else ''}", "### Eval Results"]
    for one in found:
        if len(found) > 1:
            parts.append(f"#### Judge {inline(one.judge)}: {one.verdict}")
        parts += [_table(one.checks), *_lists(one.report)]
    advice = list(dict.fromkeys(text for one in found for text in one.report["recommendations"]))
    if advice:
        parts.append("### Recommendations")
        parts.append("\n".join(f"{number}. {inline(text)}" for number, text in enumerate(advice, 1)))
    return "\n\n".join(parts) + "\n"


def _table(checks: Sequence[MetricCheck]) -> str:
    rows = [
        f"| {check.demand.label} | {share(check.value, check.interval)} | "
        f"{share(check.demand.threshold)} | {_said(check)} |"
        for check in checks
    ]
    return "\n".join(
        ("| Metric | Value | Threshold | Status |", "|--------|-------|-----------|--------|", *rows)
    )


def _said(check: MetricCheck) -> str:
    return NOTHING if check.status == "INFO" else check.status


def _lists(report: Mapping[str, Any]) -> Iterator[str]:
    why = {one["eval_id"]: one for one in (*report["failures"], *report.get("errors", ()))}
    for name in EVAL_TYPES:
        evals = [one for one in report.get("evals", ()) if one.get("category") == name]
        if evals:
            passed = sum(one["status"] == "passed" for one in evals)
            head = f"#### {name.capitalize()} Evals ({passed}/{len(evals)} passed)"
            yield "\n".join([head, "", *(line for one in evals for line in _ticked(one, why))])


def _ticked(one: Mapping[str, Any], why: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    name = f"{inline(one['eval_id'])}: {inline(one.get('name', ''))}"
    if one["status"] == "passed":
        yield f"- [x] {name}"
        return
    yield f"- [ ] {name} ({'FAILED' if one['status'] == 'failed' else 'NO VERDICT'})"
    found = why.get(one["eval_id"], {})
    details = found.get("details", {})
    for key in ("expected", "actual"):
        if details.get(key):
            yield f"  - {key.capitalize()}: {inline(str(details[key]), _LONGEST)}"
    if found.get("reason"):
        yield f"  - Reason: {inline(found['reason'], _LONGEST)}"
