"""Metrics of a suite run: their names in any spelling, and their values from the outcomes."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalq.formats.suite.outcomes import EvalOutcome
from evalq.stats.passk import Estimator, pass_at_k, pass_hat_k, pass_hat_k_unbiased, suite_mean
from evalq.stats.score_interval import wilson

PASS_RATE = "pass_rate"  # noqa: S105 - a metric, not a password
DEFAULT_K = 3
EVAL_TYPES = ("capability", "regression")
GRADER_TYPES = ("code", "model", "human")

CONTEXTS: Mapping[str, Mapping[str, float]] = {
    "development": {"pass_at_1": 0.70, "pass_at_k": 0.90, "pass_hat_k": 0.50},
    "staging": {"pass_at_1": 0.80, "pass_at_k": 0.95, "pass_hat_k": 0.65},
    "production": {"pass_at_1": 0.90, "pass_at_k": 0.99, "pass_hat_k": 0.80},
    "critical": {"pass_at_1": 0.95, "pass_at_k": 0.999, "pass_hat_k": 0.90},
}
"""The usual thresholds of each stage of a product's life."""

_SPELLING = re.compile(r"pass(?:@|_at_|\^|_hat_)(?P<k>[1-9]\d{0,2}|k)")
_EXAMPLES = "pass_at_1, pass_at_3, pass_hat_3, required_pass_rate"
_DIGITS = 4


@dataclass(frozen=True)
class Metric:
    """pass@k, pass^k, or the share of evals that passed, retries included. It needs k answers per eval."""

    kind: Literal["pass_at", "pass_hat", "pass_rate"]
    k: int = 1

    @property
    def key(self) -> str:
        """Its name in reports: pass_at_3."""
        return PASS_RATE if self.kind == "pass_rate" else f"{self.kind}_{self.k}"

    @property
    def label(self) -> str:
        """Its name in tables: pass@3, pass^3."""
        return PASS_RATE if self.kind == "pass_rate" else metric_label(self.key)

    @property
    def place(self) -> tuple[int, int]:
        """Its place in a table: pass@k, then pass^k, then the pass rate."""
        return ("pass_at", "pass_hat", "pass_rate").index(self.kind), self.k


def metric_label(key: str) -> str:
    """pass@3 for pass_at_3, pass^3 (unbiased) for pass_hat_3_unbiased."""
    word, _, rest = key.removeprefix("pass_").partition("_")
    k, _, note = rest.partition("_")
    label = f"pass@{k}" if word == "at" else f"pass^{k}"
    return f"{label} ({note})" if note else label


def read_metric(name: str, *, k: int = DEFAULT_K) -> Metric:
    """The metric of a name, `k` replacing the letter k; ValueError for an unknown name."""
    if name in (PASS_RATE, "required_pass_rate"):
        return Metric("pass_rate")
    found = _SPELLING.fullmatch(name)
    if not found:
        raise ValueError(f"there is no metric {name!r}; write one of {_EXAMPLES}")
    count = k if found["k"] == "k" else int(found["k"])
    return Metric("pass_at" if "@" in name or "_at_" in name else "pass_hat", count)


def canonical_name(name: str) -> str:
    """The name as reports spell it; a letter k stays a letter."""
    metric = read_metric(name)
    return f"{metric.kind}_k" if name.endswith(("@k", "^k", "_k")) else metric.key


def read_thresholds(value: Any) -> Any:
    """A mapping of metrics to shares with canonical names; any other value is left to the model."""
    if not isinstance(value, dict):
        return value
    found: dict[str, float] = {}
    for name, share in value.items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(f"{name} is not a share; write a number from 0 to 1")
        found[canonical_name(str(name))] = float(share)
    return found


def thresholds_by_metric(thresholds: Mapping[str, float], *, k: int = DEFAULT_K) -> dict[Metric, float]:
    """The thresholds by metric, in the order of a table."""
    found = {read_metric(name, k=k): share for name, share in thresholds.items()}
    return dict(sorted(found.items(), key=lambda item: item[0].place))


def summary_of(evals: Sequence[EvalOutcome]) -> dict[str, Any]:
    """Counts and rates of a judge. `pass_rate` leaves out skipped evals; they are counted apart."""
    reasons = Counter(one.why_skipped for one in evals if one.why_skipped)
    statuses = [one.status for one in evals if one.status != "skipped"]
    by_type = {name: [one for one in evals if one.eval_type == name] for name in EVAL_TYPES}
    by_grader = {name: [one for one in evals if name in one.grader_types] for name in GRADER_TYPES}
    return {
        **_count_statuses(evals, total="total_evals"),
        "pass_rate_ci": _wilson_interval(statuses.count("passed"), len(statuses)),
        "skipped_because": dict(sorted(reasons.items())),
        "retried": sum(bool(one.retries) for one in evals),
        "weighted_score": _score_by_weight(evals),
        "by_category": {name: _count_statuses(group) for name, group in by_type.items() if group},
        "by_grader": {name: _count_statuses(group) for name, group in by_grader.items()},
        "by_topic": _count_by(evals, lambda one: one.category),
        "by_criticality": _count_by(evals, lambda one: one.criticality or ""),
    }


def metrics_of(evals: Sequence[EvalOutcome], samples: int, further: Sequence[int] = ()) -> dict[str, Any]:
    """pass@k and pass^k over first attempts; null for more samples per eval than there are."""
    found: dict[str, Any] = {}
    for k in sorted({1, DEFAULT_K, samples, *further}):
        found |= pass_metrics(evals, k)
    if samples < DEFAULT_K:
        found["note"] = (
            f"pass_at_{DEFAULT_K} and pass_hat_{DEFAULT_K} need {DEFAULT_K} answers per eval; "
            f"run with --samples {DEFAULT_K}"
        )
    return found


def pass_metrics(evals: Sequence[EvalOutcome], k: int) -> dict[str, Any]:
    """pass@k, pass^k as (c/n)^k, and the unbiased pass^k, each with its interval."""
    estimators: dict[str, Estimator] = {f"pass_at_{k}": pass_at_k}
    if k > 1:
        estimators |= {f"pass_hat_{k}": pass_hat_k, f"pass_hat_{k}_unbiased": pass_hat_k_unbiased}
    tallies = [one.tally for one in evals if one.tally[0] >= k]
    found: dict[str, Any] = {}
    for name, estimator in estimators.items():
        mean = suite_mean(tallies, k, estimator)
        share = min(1.0, mean.mean) if mean.n_cases else None
        found[name] = None if share is None else round(share, _DIGITS)
        found[f"{name}_ci"] = None if share is None else _wilson_interval(share * mean.n_cases, mean.n_cases)
    return found


def _count_statuses(evals: Sequence[EvalOutcome], *, total: str = "total") -> dict[str, Any]:
    by_status = Counter(one.status for one in evals)
    decided = by_status["passed"] + by_status["failed"]
    return {
        total: len(evals),
        "passed": by_status["passed"],
        "failed": by_status["failed"],
        "skipped": by_status["skipped"],
        "pass_rate": round(by_status["passed"] / decided, _DIGITS) if decided else None,
    }


def _count_by(evals: Sequence[EvalOutcome], key: Callable[[EvalOutcome], str]) -> dict[str, Any]:
    names = sorted({key(one) for one in evals} - {""})
    return {name: _count_statuses([one for one in evals if key(one) == name]) for name in names}


def _wilson_interval(passed: float, n: int) -> list[float] | None:
    """Wilson's interval; None without cases."""
    if not n:
        return None
    return [round(end, _DIGITS) for end in wilson(passed, n)]


def _score_by_weight(evals: Sequence[EvalOutcome]) -> float | None:
    decided = [one for one in evals if one.status != "skipped"]
    weight = math.fsum(one.weight for one in decided)
    if weight <= 0:
        return None
    return round(math.fsum(one.weight for one in decided if one.status == "passed") / weight, _DIGITS)
