"""The numbers of a suite run: counts by status, type and grader, pass@k and pass^k, each with its doubt."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from evalq.reports.suite_outcomes import EvalOutcome
from evalq.stats.intervals import wilson
from evalq.stats.passk import Estimator, pass_at_k, pass_hat_k, pass_hat_k_unbiased, suite_mean

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
