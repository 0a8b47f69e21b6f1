"""Dollars against quality: the judges that no other judge beats at their price, per task and overall."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from statistics import NormalDist

from evalq.results import BakeOffResult, Comparison, Frontier, LeftOut, Offer, OverallComparison, RunResult
from evalq.stats.comparison import holm
from evalq.summary.comparisons import ALPHA, round_p

OVERALL_METHOD = "mover_of_tasks"
"""The interval of a mean over tasks: see `mean_interval`."""

_USD = Decimal("0.00000001")

Estimate = tuple[float, float, float]
"""A number and the two ends of its interval."""


def frontier(results: Sequence[BakeOffResult], *, unpriced: Collection[str] = ()) -> Frontier:
    """The frontier of every task and of all; without judges that lack a price or a rate."""
    per_task: dict[str, tuple[Offer, ...]] = {}
    excluded = []
    for result in results:
        offers = []
        for run in result.runs:
            reason = _why_left_out(run, unpriced)
            if reason:
                excluded.append(LeftOut(result.task, run.judge, reason))
            else:
                offers.append(_offer_of(run, result.samples))
        per_task[result.task] = _place(offers, _separable_pairs(result.comparisons))
    overall = _overall_offers(per_task)
    pairs = _compare_overall(results, [offer.judge for offer in overall])
    return Frontier(per_task, _place(overall, _separable_pairs(pairs)), tuple(pairs), tuple(excluded))


def _separable_pairs(pairs: Sequence[Comparison | OverallComparison]) -> set[frozenset[str]]:
    return {frozenset((pair.a, pair.b)) for pair in pairs if pair.separable}


def mean_interval(estimates: Sequence[Estimate]) -> Estimate:
    """The equally weighted mean of independent estimates, with an interval derived from theirs.

    Zou and Donner 2008, doi.org/10.1002/sim.3095: the variance on each side comes from each estimate's own
    limit on that side, so the interval stays skewed near 0 and 1, where the normal one collapses.
    """
    number = len(estimates)
    mean = math.fsum(value for value, _, _ in estimates) / number
    below = math.hypot(*(value - low for value, low, _ in estimates)) / number
    above = math.hypot(*(high - value for value, _, high in estimates)) / number
    return mean, mean - below, mean + above


def p_of_interval(estimate: Estimate) -> float:
    """Two-sided p of no difference, from a 95 % interval: Altman and Bland 2011, doi.org/10.1136/bmj.d2304.

    Only the half of the interval on the side of zero counts.
    """
    value, low, high = estimate
    if value == 0:
        return 1.0
    half = value - low if value > 0 else high - value
    if half == 0:
        return 0.0
    standard = NormalDist()
    return 2 * (1 - standard.cdf(abs(value) / half * standard.inv_cdf(1 - ALPHA / 2)))


def _why_left_out(run: RunResult, unpriced: Collection[str]) -> str | None:
    if run.excluded:
        return run.excluded
    if run.accuracy is None:
        return "no verdict yet"
    if run.judge in unpriced:
        return "no price"
    return None


def _offer_of(run: RunResult, samples: int) -> Offer:
    """A judge's rate and dollars per case; errored cases were paid for too, so they count."""
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


def _place(offers: Sequence[Offer], separable: Collection[frozenset[str]]) -> tuple[Offer, ...]:
    """Cheapest first, each with the judge that beats it and the cheaper ones it does not differ from."""
    ordered = sorted(offers, key=lambda offer: (offer.usd_per_case, -offer.accuracy, offer.judge))
    placed = []
    for offer in ordered:
        beaten_by = next((other.judge for other in ordered if _dominates(other, offer)), None)
        cheaper = [other.judge for other in ordered if other.usd_per_case < offer.usd_per_case]
        same = tuple(judge for judge in cheaper if frozenset((judge, offer.judge)) not in separable)
        placed.append(
            replace(offer, on_frontier=beaten_by is None, dominated_by=beaten_by, not_separable_from=same)
        )
    return tuple(placed)


def _dominates(other: Offer, offer: Offer) -> bool:
    """At most as expensive and at least as good, and not equal in both."""
    if other.usd_per_case > offer.usd_per_case or other.accuracy < offer.accuracy:
        return False
    return (other.usd_per_case, other.accuracy) != (offer.usd_per_case, offer.accuracy)


def _overall_offers(per_task: Mapping[str, Sequence[Offer]]) -> list[Offer]:
    """One offer for each judge that has one on every task: means over different tasks do not compare."""
    by_judge: dict[str, list[Offer]] = {}
    for offers in per_task.values():
        for offer in offers:
            by_judge.setdefault(offer.judge, []).append(offer)
    return [_combine(offers) for offers in by_judge.values() if len(offers) == len(per_task)]


def _combine(offers: Sequence[Offer]) -> Offer:
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


def _compare_overall(results: Sequence[BakeOffResult], judges: Sequence[str]) -> list[OverallComparison]:
    """Every two judges that share cases on every task, with p adjusted over all pairs."""
    tables = [{frozenset((pair.a, pair.b)): pair for pair in result.comparisons} for result in results]
    compared: list[tuple[str, str, int, Estimate]] = []
    for a, b in combinations(judges, 2):
        pairs = [table[frozenset((a, b))] for table in tables if frozenset((a, b)) in table]
        if len(pairs) == len(tables):
            mean = mean_interval([_difference_from(a, pair) for pair in pairs])
            compared.append((a, b, sum(pair.n for pair in pairs), mean))
    ps = [p_of_interval(mean) for _, _, _, mean in compared]
    comparisons = []
    for (a, b, n, (diff, low, high)), p, p_holm in zip(compared, ps, holm(ps), strict=True):
        comparisons.append(
            OverallComparison(
                a,
                b,
                n,
                round(diff, 4),
                ci_low=round(low, 4),
                ci_high=round(high, 4),
                p=round_p(p),
                p_holm=round_p(p_holm),
                separable=p_holm < ALPHA,
            )
        )
    return comparisons


def _difference_from(a: str, pair: Comparison) -> Estimate:
    """The difference as a minus the other, whichever order is stored."""
    if pair.a == a:
        return pair.diff, pair.ci_low, pair.ci_high
    return -pair.diff, -pair.ci_high, -pair.ci_low
