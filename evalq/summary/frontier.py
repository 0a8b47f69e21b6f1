"""Dollars against quality: which judges nobody beats at their price, on each task and over all."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from statistics import NormalDist

from evalq.results import BakeOffResult, Comparison, Frontier, LeftOut, Offer, OverallComparison, RunResult
from evalq.stats.comparison import holm
from evalq.summary.comparisons import ALPHA

OVERALL_METHOD = "mover_of_tasks"
"""The interval of a mean over tasks: see `mean_interval`."""

_USD = Decimal("0.00000001")

Estimate = tuple[float, float, float]  # a number and the two ends of its interval
_CanSeparate = Callable[[str, str], bool]


def frontier(results: Sequence[BakeOffResult], *, unpriced: Collection[str] = ()) -> Frontier:
    """The frontier of every task and of all; judges without a price, or a rate, have no place on one."""
    per_task = {result.task: _task_offers(result, unpriced) for result in results}
    pairs = _overall_comparisons(results, per_task)
    separable = {frozenset((pair.a, pair.b)) for pair in pairs if pair.separable}
    overall = _placed(_overall_offers(per_task), can_separate=lambda a, b: frozenset((a, b)) in separable)
    excluded = [
        LeftOut(result.task, run.judge, reason)
        for result in results
        for run in result.runs
        if (reason := _why_left_out(run, unpriced))
    ]
    return Frontier(per_task, overall, tuple(pairs), tuple(excluded))


def mean_interval(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of independent estimates, each weighing the same, with an interval made of theirs.

    Zou and Donner 2008, doi.org/10.1002/sim.3095: the variance at each end is recovered from each estimate's
    own limit on that side, so it stays skewed near 0 and 1, where the normal one collapses.
    """
    number = len(estimates)
    mean = math.fsum(value for value, _, _ in estimates) / number
    below = math.hypot(*(value - low for value, low, _ in estimates)) / number
    above = math.hypot(*(high - value for value, _, high in estimates)) / number
    return mean, mean - below, mean + above


def p_of_interval(estimate: Estimate) -> float:
    """Two-sided p of no difference, from a 95 % interval: Altman and Bland 2011, doi.org/10.1136/bmj.d2304.

    The half of the interval that points to zero is the one that counts.
    """
    value, low, high = estimate
    half = value - low if value > 0 else high - value
    if value == 0 or half == 0:
        return 1.0 if value == 0 else 0.0
    standard = NormalDist()
    return 2 * (1 - standard.cdf(abs(value) / half * standard.inv_cdf(1 - ALPHA / 2)))


@dataclass(frozen=True)
class _Shared:
    """Two judges on every task: their differences there, and the cases behind them."""

    a: str
    b: str
    estimates: tuple[Estimate, ...]
    n: int


def _task_offers(result: BakeOffResult, unpriced: Collection[str]) -> tuple[Offer, ...]:
    separable = {frozenset((pair.a, pair.b)) for pair in result.comparisons if pair.separable}
    offers = [_offer(run, result.samples) for run in result.runs if not _why_left_out(run, unpriced)]
    return _placed(offers, can_separate=lambda a, b: frozenset((a, b)) in separable)


def _why_left_out(run: RunResult, unpriced: Collection[str]) -> str | None:
    if run.excluded:
        return run.excluded
    if run.accuracy is None:
        return "no verdict yet"
    return "no price" if run.judge in unpriced else None


def _offer(run: RunResult, samples: int) -> Offer:
    """Dollars over the cases that ended, errored ones included: they were paid for too."""
    assert run.accuracy is not None
    assert run.ci_low is not None
    assert run.ci_high is not None
    n_cases = max(1, round(run.n_ended / samples))
    return Offer(
        run.judge,
        run.n_graded,
        n_cases,
        run.accuracy,
        run.ci_low,
        run.ci_high,
        run.ci_method,
        (run.total_cost_usd / n_cases).quantize(_USD),
        run.total_cost_usd,
        on_frontier=True,
        dominated_by=None,
        not_separable_from=(),
    )


def _placed(offers: Sequence[Offer], *, can_separate: _CanSeparate) -> tuple[Offer, ...]:
    """Cheapest first, each told apart from, or beaten by, the others."""
    ordered = sorted(offers, key=lambda offer: (offer.usd_per_case, -offer.accuracy, offer.judge))
    return tuple(_compared(offer, ordered, can_separate) for offer in ordered)


def _compared(offer: Offer, others: Sequence[Offer], can_separate: _CanSeparate) -> Offer:
    beaten_by = next((other.judge for other in others if _dominates(other, offer)), None)
    same = tuple(
        other.judge
        for other in others
        if other.usd_per_case < offer.usd_per_case and not can_separate(other.judge, offer.judge)
    )
    return replace(offer, on_frontier=beaten_by is None, dominated_by=beaten_by, not_separable_from=same)


def _dominates(other: Offer, offer: Offer) -> bool:
    """No dearer and no worse, and not the same in both: judges alike in both stand side by side."""
    is_no_dearer, is_no_worse = other.usd_per_case <= offer.usd_per_case, other.accuracy >= offer.accuracy
    is_alike = (other.usd_per_case, other.accuracy) == (offer.usd_per_case, offer.accuracy)
    return is_no_dearer and is_no_worse and not is_alike


def _overall_offers(per_task: Mapping[str, Sequence[Offer]]) -> list[Offer]:
    """One offer for each judge that has one on every task: a mean over other tasks would compare nothing."""
    by_judge = {
        offer.judge: [each for offers in per_task.values() for each in offers if each.judge == offer.judge]
        for offers in per_task.values()
        for offer in offers
    }
    return [_overall(offers) for offers in by_judge.values() if len(offers) == len(per_task)]


def _overall(offers: Sequence[Offer]) -> Offer:
    rate, low, high = mean_interval([(each.accuracy, each.ci_low, each.ci_high) for each in offers])
    total = sum((each.total_cost_usd for each in offers), Decimal(0))
    n_cases = sum(each.n_cases for each in offers)
    return replace(
        offers[0],
        n=sum(each.n for each in offers),
        n_cases=n_cases,
        accuracy=round(rate, 4),
        ci_low=round(low, 4),
        ci_high=round(high, 4),
        ci_method=OVERALL_METHOD,
        usd_per_case=(total / n_cases).quantize(_USD),
        total_cost_usd=total,
    )


def _overall_comparisons(
    results: Sequence[BakeOffResult], per_task: Mapping[str, Sequence[Offer]]
) -> list[OverallComparison]:
    """Every two judges with an offer on every task and shared cases on each; p adjusted over all pairs."""
    judges = [offer.judge for offer in _overall_offers(per_task)]
    tables = [{frozenset((pair.a, pair.b)): pair for pair in result.comparisons} for result in results]
    found = [_shared(a, b, tables) for a, b in combinations(judges, 2)]
    shared = [pair for pair in found if pair is not None]
    means = [mean_interval(pair.estimates) for pair in shared]
    ps = [p_of_interval(mean) for mean in means]
    return [
        _comparison(pair, mean, p, adjusted)
        for pair, mean, p, adjusted in zip(shared, means, ps, holm(ps), strict=True)
    ]


def _shared(a: str, b: str, tables: Sequence[Mapping[frozenset[str], Comparison]]) -> _Shared | None:
    pairs = [table.get(frozenset((a, b))) for table in tables]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return None
    return _Shared(a, b, tuple(_seen_from(a, pair) for pair in known), sum(pair.n for pair in known))


def _seen_from(a: str, pair: Comparison) -> Estimate:
    """The difference as a minus the other, whichever way round it was stored."""
    if pair.a == a:
        return pair.diff, pair.ci_low, pair.ci_high
    return -pair.diff, -pair.ci_high, -pair.ci_low


def _comparison(pair: _Shared, mean: Estimate, p: float, adjusted: float) -> OverallComparison:
    diff, low, high = (round(value, 4) for value in mean)
    return OverallComparison(
        pair.a,
        pair.b,
        pair.n,
        diff,
        ci_low=low,
        ci_high=high,
        p=float(f"{p:.4g}"),
        p_holm=float(f"{adjusted:.4g}"),
        separable=adjusted < ALPHA,
    )
