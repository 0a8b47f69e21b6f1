"""Compares judges on the same cases: differences with intervals and p, agreement, and the ranking."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from evalq.results import Agreement, Comparison, RunResult
from evalq.stats.agreement import Kappa, kappa_matrix
from evalq.stats.comparison import (
    PairCounts,
    PairedDifference,
    cases_needed,
    holm,
    mcnemar_exact,
    paired_counts,
    tango,
)

ALPHA = 0.05
CORRELATED_KAPPA = 0.6
EXACT, BY_MEANS = "tango_mcnemar", "case_means_tango_t"

_tango_of_sums: Callable[..., PairedDifference] = tango  # its formulas also hold for sums that are not counts

_NO_DIFFERENCE = 1e-9  # a mean of zero may be off by this much after rounding

Shares = Mapping[str, Sequence[float | None]]
"""For each judge the share of samples passed, case by case; None where a case has no verdict."""

Vectors = Mapping[str, Sequence[bool | None]]
"""For each judge its verdicts, case by case; None where a case has none."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """The first judge minus the second on n shared cases; `var_d` is the variance of a case's difference."""

    n: int
    a_only: int
    b_only: int
    diff: float
    low: float
    high: float
    p: float
    var_d: float
    method: str

    @property
    def excludes_zero(self) -> bool:
        """Whether no difference at all lies outside the interval."""
        return self.low > 0 or self.high < 0

    def mirrored(self) -> "Difference":
        """The same pair, the second judge first."""
        return replace(
            self, a_only=self.b_only, b_only=self.a_only, diff=-self.diff, low=-self.high, high=-self.low
        )

    def cases_needed(self, n_tests: int = 1) -> int | None:
        """About how many cases would separate the two if this is their true difference; None if it is zero.

        At 80 % power, with p adjusted for `n_tests` as in Holm's first step. Always more than there are, and
        enough for the exact test, which needs some cases that only one of the two passes.
        """
        if abs(self.diff) < _NO_DIFFERENCE:
            return None
        alpha = ALPHA / n_tests
        return max(cases_needed(self.diff, self.var_d, alpha), self._fewest_cases(alpha), self.n + 1)

    def _fewest_cases(self, alpha: float) -> int:
        """How many cases the exact test needs to reject at all: k flips one way have p = 2 / 2^k."""
        if self.method != EXACT:
            return 0
        fewest_flips = math.floor(1 - math.log2(alpha)) + 1
        return math.ceil(fewest_flips * self.n / (self.a_only + self.b_only))


def differences(shares: Shares, *, is_sampled: bool = False) -> dict[Pair, Difference]:
    """The difference of every two judges, in input order, that share a case with a verdict."""
    if is_sampled:
        return _differences_of_means(shares)
    verdicts = cast("Vectors", shares)  # with one sample a share is 0 or 1
    return {pair: of_counts(counts) for pair, counts in paired_counts(verdicts).items() if counts.n}


def of_counts(counts: PairCounts) -> Difference:
    """The difference with one verdict per case: Tango's interval and McNemar's exact test."""
    diff, low, high = tango(counts.a_only, counts.b_only, counts.n)
    flips = (counts.a_only + counts.b_only) / counts.n
    p = mcnemar_exact(counts.a_only, counts.b_only)
    return Difference(counts.n, counts.a_only, counts.b_only, diff, low, high, p, flips - diff**2, EXACT)


def of_case_means(gaps: npt.NDArray[np.float64]) -> Difference:
    """The difference with several samples per case: the mean over cases, each a cluster of its samples.

    A difference is rejected only if two tests reject it, so p is the larger of theirs and the interval covers
    both intervals: it excludes zero exactly when p is below 0.05. The first test is Tango's score test with
    the sums of gains and of losses as its counts, which is conservative where cases flip in part. The second
    is Student's t on the CR1 error with one more case that flips fully each way (Bonett and Price 2012,
    doi.org/10.3102/1076998611411915). Alone the first rejects too easily after four flips, and the second
    has an interval up to a quarter too narrow.
    """
    # Imported here because it takes 0.2 s, which comparisons of single verdicts do not need.
    from scipy.special import ndtr, stdtr, stdtrit

    n, smoothed = len(gaps), np.append(gaps, [1.0, -1.0])
    error, centre = float(smoothed.std(ddof=1)) / math.sqrt(n + 2), float(smoothed.mean())
    reach = float(stdtrit(n + 1, 1 - ALPHA / 2)) * error
    gained, lost = float(gaps[gaps > 0].sum()), float(-gaps[gaps < 0].sum())
    _, low, high = _tango_of_sums(gained, lost, n)
    # Without any flip the score test has nothing to reject.
    score = abs(gained - lost) / math.sqrt(gained + lost) if gained + lost else 0.0
    return Difference(
        n,
        int((gaps > 0).sum()),
        int((gaps < 0).sum()),
        float(gaps.mean()),
        max(-1.0, min(low, centre - reach)),
        min(1.0, max(high, centre + reach)),
        2 * max(float(ndtr(-score)), float(stdtr(n + 1, -abs(centre) / error))),
        float((gaps if n > 1 else smoothed).var(ddof=1)),
        BY_MEANS,
    )


def _differences_of_means(shares: Shares) -> dict[Pair, Difference]:
    vectors = {judge: np.array(own, dtype=np.float64) for judge, own in shares.items()}
    found = {}
    for a, b in combinations(vectors, 2):
        gaps = vectors[a] - vectors[b]
        gaps = gaps[~np.isnan(gaps)]  # a missing verdict is NaN
        if len(gaps):
            found[a, b] = of_case_means(gaps)
    return found


def comparisons(found: Mapping[Pair, Difference], ranking: Sequence[str]) -> list[Comparison]:
    """Every pair in rank order, the better judge first, with p adjusted over all pairs."""
    pairs: dict[Pair, Difference] = {}
    for a, b in combinations(ranking, 2):
        if (a, b) in found:
            pairs[a, b] = found[a, b]
        elif (b, a) in found:
            pairs[a, b] = found[b, a].mirrored()
    adjusted = holm([difference.p for difference in pairs.values()])
    return [
        _comparison(pair, pairs[pair], p_holm, len(pairs))
        for pair, p_holm in zip(pairs, adjusted, strict=True)
    ]


def _comparison(pair: Pair, found: Difference, p_holm: float, n_pairs: int) -> Comparison:
    is_separable = p_holm < ALPHA and found.excludes_zero
    return Comparison(
        *pair,
        found.n,
        diff=round(found.diff, 4),
        ci_low=round(found.low, 4),
        ci_high=round(found.high, 4),
        p=round_p(found.p),
        p_holm=round_p(p_holm),
        separable=is_separable,
        a_only=found.a_only,
        b_only=found.b_only,
        cases_needed=None if is_separable else found.cases_needed(n_pairs),
        method=found.method,
    )


def agreements(vectors: Vectors, vendors: Mapping[str, str]) -> list[Agreement]:
    """κ of every pair; undefined for a constant judge, flagged for judges of one vendor that err alike."""
    return [_agreement(a, b, kappa, vendors) for (a, b), kappa in kappa_matrix(vectors).items()]


def _agreement(a: str, b: str, found: Kappa, vendors: Mapping[str, str]) -> Agreement:
    kappa = None if found.degenerate else found.raw
    is_alike = kappa is not None and kappa > CORRELATED_KAPPA and vendors[a] == vendors[b]
    return Agreement(
        a,
        b,
        found.n,
        _round_known(kappa),
        _round_known(found.ac1),
        found.degenerate,
        "same_provider" if is_alike else None,
        _round_known(found.ci_low),
        _round_known(found.ci_high),
    )


def _round_known(value: float | None) -> float | None:
    """Four decimals; None for an undefined value."""
    if value is None or math.isnan(value):
        return None
    return round(value, 4)


def round_p(p: float) -> float:
    """Four significant digits."""
    return float(f"{p:.4g}")


def ranked(results: Sequence[RunResult], found: Mapping[Pair, Difference]) -> list[RunResult]:
    """Best first by mean paired difference to the others; the cheaper first among equals, excluded last.

    With a verdict of every judge on every case this is the order of their rates. Where answers could not be
    graded, it keeps a judge from moving up by failing to answer the hard cases.
    """
    rated = [run for run in results if run.excluded is None and run.accuracy is not None]

    def rank_key(run: RunResult) -> tuple[Any, ...]:
        lead = round(_mean_lead(run, rated, found), 9)
        is_excluded, is_unrated = run.excluded is not None, run.accuracy is None
        return is_excluded, is_unrated, -lead, -(run.accuracy or 0), run.total_cost_usd, run.judge

    return sorted(results, key=rank_key)


def _mean_lead(run: RunResult, rated: Sequence[RunResult], found: Mapping[Pair, Difference]) -> float:
    """The mean difference of a judge to each of the others."""
    leads = [_lead(run, other, found) for other in rated if other.judge != run.judge]
    return sum(leads) / len(leads) if leads else 0.0


def _lead(run: RunResult, other: RunResult, found: Mapping[Pair, Difference]) -> float:
    """One judge minus the other on their shared cases; without any, the difference of their rates."""
    if (run.judge, other.judge) in found:
        return found[run.judge, other.judge].diff
    if (other.judge, run.judge) in found:
        return -found[other.judge, run.judge].diff
    return (run.accuracy or 0) - (other.accuracy or 0)
