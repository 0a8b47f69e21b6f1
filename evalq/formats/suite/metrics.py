"""The metrics a gate can demand, by any of their spellings: pass@1, pass_at_1, pass^3, required_pass_rate."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalq.formats.suite.outcomes import EvalOutcome
from evalq.stats.intervals import wilson
from evalq.stats.passk import Estimator, pass_at_k, pass_hat_k, pass_hat_k_unbiased, suite_mean

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


EVAL_TYPES = ("capability", "regression")
GRADER_TYPES = ("code", "model", "human")
K = 3
PLACES = 4


def summary_of(evals: Sequence[EvalOutcome]) -> dict[str, Any]:
    """The counts. `pass_rate` is over the evals with a verdict; the skipped are counted apart."""
    whys = Counter(one.why_skipped for one in evals if one.why_skipped)
    return {
        **_counts(evals, total="total_evals"),
        "pass_rate_ci": _rate_ci(evals),
        "skipped_because": dict(sorted(whys.items())),
        "retried": sum(bool(one.retries) for one in evals),
        "weighted_score": _weighted(evals),
        "by_category": {
            name: _counts(found)
            for name in EVAL_TYPES
            if (found := [one for one in evals if one.eval_type == name])
        },
        "by_grader": {
            name: _counts([one for one in evals if name in one.grader_types]) for name in GRADER_TYPES
        },
        "by_topic": _by(evals, lambda one: one.category),
        "by_criticality": _by(evals, lambda one: one.criticality or ""),
    }


def metrics_of(evals: Sequence[EvalOutcome], samples: int, further: Sequence[int] = ()) -> dict[str, Any]:
    """pass@k and pass^k over first attempts; null where there are fewer than k samples a case."""
    ks = sorted({1, K, *further, *((samples,) if samples > 1 else ())})
    found: dict[str, Any] = {}
    for k in ks:
        found |= pass_metrics(evals, k)
    if samples < K:
        found["note"] = f"pass_at_{K} and pass_hat_{K} take {K} answers per eval; run with --samples {K}"
    return found


def pass_metrics(evals: Sequence[EvalOutcome], k: int) -> dict[str, Any]:
    """pass@k, pass^k as (c/n)^k, and pass^k without bias, each with its interval."""
    named = {f"pass_at_{k}": pass_at_k}
    if k > 1:
        named |= {f"pass_hat_{k}": pass_hat_k, f"pass_hat_{k}_unbiased": pass_hat_k_unbiased}
    found: dict[str, Any] = {}
    for name, estimator in named.items():
        found[name], found[f"{name}_ci"] = _mean(evals, k, estimator)
    return found


def _mean(evals: Sequence[EvalOutcome], k: int, estimator: Estimator) -> tuple[float | None, Any]:
    """The mean over evals that have so many graded samples, with Wilson's interval at their number."""
    enough = [one.tally for one in evals if one.tally[0] >= k]
    found = suite_mean(enough, k, estimator)
    if not found.n_cases:
        return None, None
    mean = min(1.0, found.mean)
    return round(mean, PLACES), [round(end, PLACES) for end in wilson(mean * found.n_cases, found.n_cases)]


def _counts(evals: Sequence[EvalOutcome], *, total: str = "total") -> dict[str, Any]:
    by_status = Counter(one.status for one in evals)
    decided = by_status["passed"] + by_status["failed"]
    return {
        total: len(evals),
        "passed": by_status["passed"],
        "failed": by_status["failed"],
        "skipped": by_status["skipped"],
        "pass_rate": round(by_status["passed"] / decided, PLACES) if decided else None,
    }


def _by(evals: Sequence[EvalOutcome], key: Callable[[EvalOutcome], str]) -> dict[str, Any]:
    names = sorted({key(one) for one in evals} - {""})
    return {name: _counts([one for one in evals if key(one) == name]) for name in names}


def _rate_ci(evals: Sequence[EvalOutcome]) -> list[float] | None:
    statuses = [one.status for one in evals if one.status != "skipped"]
    if not statuses:
        return None
    return [round(end, PLACES) for end in wilson(statuses.count("passed"), len(statuses))]


def _weighted(evals: Sequence[EvalOutcome]) -> float | None:
    decided = [one for one in evals if one.status != "skipped"]
    weight = math.fsum(one.weight for one in decided)
    if weight <= 0:
        return None
    return round(math.fsum(one.weight for one in decided if one.status == "passed") / weight, PLACES)
