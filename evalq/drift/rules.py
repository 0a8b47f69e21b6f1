"""The three drift rules: verdicts of earlier runs and of this run become a decision."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from statistics import median
from typing import Any, Literal

import numpy as np

from evalq.stats import (
    DriftEvidence,
    confirm_test,
    drift_exact_paired,
    drift_seed_rule,
    e_detector,
    mde_paired,
)

POWER = 0.8
SEED_DROP = 0.05
CONFIRM_P = 0.01
CONFIRM_RUNS = 4

_TOSS = 1.0  # an alpha of one adds nothing: the seed rule trips by a fixed number of points, at no level
_MEDIAN_OF_4 = 0.298  # variance of the median of four runs, in variances of one
_LOWEST = -12.0  # no check is that sure, and floats near one end there
_TIMES = 40


@dataclass(frozen=True)
class CaseHistory:
    """How often each case passed in how many answers; its variance is estimated from that.

    Half a pass in one extra answer keeps a case that always passed from counting as certain.
    """

    passes: Sequence[int]
    answers: int

    @cached_property
    def rate(self) -> float:
        """The chance of a pass, over all cases."""
        return math.fsum(chance * n for chance, n in self._chances) / len(self.passes)

    def variance(self, drop: float = 0.0) -> float:
        """Of one answer within its case, after a drop that takes the same share of every case's chance."""
        left = max(0.0, 1 - drop / self.rate)
        return math.fsum(n * p * left * (1 - p * left) for p, n in self._chances) / len(self.passes)

    @cached_property
    def _chances(self) -> list[tuple[float, int]]:
        """Each chance that occurs, and how many cases have it: few, however many cases there are."""
        return [((passed + 0.5) / (self.answers + 1), n) for passed, n in Counter(self.passes).items()]


def smallest_seed_drop(habit: CaseHistory, power: float = POWER) -> float | None:
    """Smallest drop the seed rule detects: five points, plus what the noise of one run may hide."""
    n, before = len(habit.passes), _MEDIAN_OF_4 * habit.variance()
    return _smallest(
        habit, lambda drop: SEED_DROP + mde_paired(n, habit.variance(drop) + before, _TOSS, power)
    )


def smallest_confirmed_drop(habit: CaseHistory) -> float | None:
    """Smallest drop the confirmed rule detects; either stage may miss it, so each needs a power of √0.8."""
    each = math.sqrt(POWER)
    tripped = smallest_seed_drop(habit, each)
    confirmed = _smallest(
        habit,
        lambda drop: mde_paired(
            len(habit.passes),
            (habit.variance(drop) + habit.variance()) / CONFIRM_RUNS,
            2 * CONFIRM_P,  # one-sided
            each,
        ),
    )
    return None if tripped is None or confirmed is None else max(tripped, confirmed)


def smallest_sequential_drop(habit: CaseHistory, evidence: DriftEvidence) -> float | None:
    """Smallest drop that takes the detector from its current level to an alert within this check."""
    alpha = min(1.0, 2 * _alerting_p(evidence.level))
    return _smallest(
        habit,
        lambda drop: mde_paired(
            len(habit.passes), habit.variance(drop) + habit.variance() / habit.answers, alpha, POWER
        ),
    )


def _smallest(habit: CaseHistory, needed: Callable[[float], float]) -> float | None:
    """The smallest drop that is at least the drop it needs; None if even a fall to zero is not enough.

    A drop adds variance, so the drop needed depends on the drop itself: found by bisection.
    """
    low, high = 0.0, habit.rate
    if needed(high) > high:
        return None
    for _ in range(_TIMES):
        middle = (low + high) / 2
        low, high = (low, middle) if needed(middle) <= middle else (middle, high)
    return high


@cache
def _alerting_p(level: float) -> float:
    """The largest p that takes the detector from this level to its alert, on a logarithmic scale."""
    low, high = _LOWEST, 0.0
    for _ in range(_TIMES):
        middle = (low + high) / 2
        is_alert = e_detector([10**middle], DriftEvidence(level)).alerted
        low, high = (middle, high) if is_alert else (low, middle)
    return float(10**low)


Rule = Literal["seed", "confirm", "sequential"]
CheckVerdict = Literal["ok", "watch", "alert", "inconclusive"]
Reason = Literal["baseline", "unaccepted", "broken", "errors", "stopped", "cap"]
"""Why a check decided nothing: earlier runs, no accepted run, the judge, its errors, a stop, the cap."""

Verdicts = Mapping[str, bool | None]
"""Whether each case of a run passed; None for a case that errored."""

BASELINE_RUNS = 4
_HIGHEST_LEVEL = 1e12  # JSON has no infinity


@dataclass(frozen=True)
class DriftDecision:
    """The verdict of a check, and the numbers behind it."""

    verdict: CheckVerdict
    numbers: dict[str, Any] = field(default_factory=dict)


def inconclusive(reason: Reason, detail: str, **numbers: Any) -> DriftDecision:
    """No verdict, with what was missing."""
    return DriftDecision("inconclusive", {**numbers, "reason": reason, "detail": detail})


def decide_seed(rule: Rule, past: Sequence[Verdicts], current: Verdicts) -> DriftDecision:
    """Apply the seed's rule to the cases with a verdict in all five runs: ok or WATCH."""
    if len(past) < BASELINE_RUNS:
        missing = BASELINE_RUNS - len(past)
        text = (
            f"{len(past)} of {BASELINE_RUNS} earlier runs; {missing} more check{'s' * (missing > 1)} needed"
        )
        return inconclusive("baseline", text, needs_runs=missing, n_cases=len(current))
    shared = [case for case in current if all(run.get(case) is not None for run in (*past, current))]
    if too_few := _too_few(len(shared), len(current)):
        return too_few
    counts = [sum(bool(run[case]) for case in shared) for run in past]
    now, n = sum(bool(current[case]) for case in shared), len(shared)
    before = [sum(bool(run[case]) for run in past) for case in shared]
    _, lower, upper, _ = sorted(counts)
    numbers = _drop((lower + upper) / (2 * n), now / n) | {
        "n": n,
        "n_cases": len(current),
        "baseline_passes": counts,
        "passes": now,
        "p": drift_exact_paired(before, [current[case] for case in shared], BASELINE_RUNS),
        "smallest_drop_pp": _points(_smallest_by(rule, before)),
    }
    return DriftDecision("watch" if drift_seed_rule(counts, now, n) else "ok", numbers)


def decide_confirmed(past: Sequence[Verdicts], fresh: Mapping[str, int | None]) -> DriftDecision:
    """Compare four fresh answers per case with the four before: ALERT if the drop is not chance."""
    shared = [
        case
        for case, passes in fresh.items()
        if passes is not None and all(run.get(case) is not None for run in past)
    ]
    if too_few := _too_few(len(shared), len(fresh)):
        return too_few
    before = [sum(bool(run[case]) for run in past) for case in shared]
    now = [fresh[case] or 0 for case in shared]
    p, answers = confirm_test(before, now), CONFIRM_RUNS * len(shared)
    habit = CaseHistory([b + x for b, x in zip(before, now, strict=True)], 2 * CONFIRM_RUNS)
    numbers = _drop(sum(before) / answers, sum(now) / answers) | {
        "n": len(shared),
        "n_cases": len(fresh),
        "fresh_passes": sum(now),
        "fresh_answers": answers,
        "p": p,
        "smallest_drop_pp": _points(smallest_confirmed_drop(habit)),
    }
    return DriftDecision("alert" if p <= CONFIRM_P else "ok", numbers)


def decide_sequential(
    past: Sequence[Verdicts], current: Verdicts, *, evidence: DriftEvidence, rng: np.random.Generator
) -> DriftDecision:
    """Add this run's evidence against the accepted run and all since: ALERT at a level of 200."""
    passes, runs = _as_many_as_possible(past, current)
    if too_few := _too_few(len(passes), len(current)):
        return too_few
    now = [bool(current[case]) for case in passes]
    p = drift_exact_paired(list(passes.values()), now, runs, rng=rng)
    after = e_detector([p], evidence)
    habit = CaseHistory([b + x for b, x in zip(passes.values(), now, strict=True)], runs + 1)
    n = len(passes)
    numbers = _drop(sum(passes.values()) / (n * runs), sum(now) / n) | {
        "n": n,
        "n_cases": len(current),
        "runs": runs,
        "baseline_passes": [sum(passes.values())],
        "passes": sum(now),
        "p": p,
        "level": min(after.level, _HIGHEST_LEVEL),
        "weeks": after.weeks,
        "alerted": after.alerted,
        "smallest_drop_pp": _points(smallest_sequential_drop(habit, evidence)),
    }
    return DriftDecision("alert" if after.alerted else "ok", numbers)


def _as_many_as_possible(past: Sequence[Verdicts], current: Verdicts) -> tuple[dict[str, int], int]:
    """Passes per case over the same number of runs, chosen so that most verdicts count; and that number.

    Every case errors now and then, so requiring a verdict in every run would leave no case after a year.
    Each case counts its newest verdicts instead; which ones are missing tells nothing about the judge.
    """
    known = {
        case: [bool(run[case]) for run in past if run.get(case) is not None]
        for case, passed in current.items()
        if passed is not None
    }
    sizes = Counter(len(verdicts) for verdicts in known.values())
    weights = {size: size * sum(n for other, n in sizes.items() if other >= size) for size in sizes if size}
    if not weights:
        return {}, 0
    runs = max(weights, key=lambda size: (weights[size], size))
    return {case: sum(all_[-runs:]) for case, all_ in known.items() if len(all_) >= runs}, runs


def _too_few(n: int, n_cases: int) -> DriftDecision | None:
    """No verdict if fewer than half of the cases have a verdict on both sides."""
    if n * 2 >= n_cases and n:
        return None
    return inconclusive(
        "errors", f"only {n} of {n_cases} cases have a verdict in every run", n=n, n_cases=n_cases
    )


def _smallest_by(rule: Rule, before: Sequence[int]) -> float | None:
    habit = CaseHistory(before, BASELINE_RUNS)
    return smallest_confirmed_drop(habit) if rule == "confirm" else smallest_seed_drop(habit)


def _drop(before: float, now: float) -> dict[str, float]:
    return {
        "rate_from": round(before, 6),
        "rate_to": round(now, 6),
        "drop_pp": round(100 * (before - now), 4),
    }


def _points(share: float | None) -> float | None:
    return None if share is None or math.isnan(share) else round(100 * share, 2)


_NOTABLE = 1.25
"""Changes below this factor are ordinary, such as the time of day."""


@dataclass(frozen=True)
class ProviderFacts:
    """What the provider reported in one run: model names, median latency, dollars per case."""

    models: tuple[str, ...]
    p50_latency_ms: float | None
    cost_per_case_usd: float | None


def compare_provider_facts(before: Sequence[ProviderFacts], now: ProviderFacts | None) -> dict[str, Any]:
    """Both sides as numbers, with a note on what changed notably; empty without both sides."""
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
