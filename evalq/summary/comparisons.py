"""How two judges differ on the same cases: the difference, its interval, its p, and what would settle it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import cast

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
EXACT, BY_MEANS = "tango_mcnemar", "case_means_tango_t"

_tango_of_sums: Callable[..., PairedDifference] = tango  # its formulas hold for sums that are no counts

_NO_DIFFERENCE = 1e-9  # what rounding leaves of a mean that is zero

Shares = Mapping[str, Sequence[float | None]]
"""Of each judge the share of samples passed, case by case; None where a case has no verdict."""

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

    def mirrored(self) -> "Difference":
        """The same pair, the second judge first."""
        return replace(
            self, a_only=self.b_only, b_only=self.a_only, diff=-self.diff, low=-self.high, high=-self.low
        )

    def cases_needed(self, n_tests: int = 1) -> int | None:
        """About how many cases would separate the two if they differ as much as it looks; None if not at all.

        At 80 % power, p adjusted for `n_tests` as Holm's first step does. Never fewer than there are, nor
        than the exact test could decide on: it needs some cases that one of the two passes alone.
        """
        if abs(self.diff) < _NO_DIFFERENCE:
            return None
        alpha = ALPHA / n_tests
        return max(cases_needed(self.diff, self.var_d, alpha), self._fewest_cases(alpha), self.n + 1)

    def _fewest_cases(self, alpha: float) -> int:
        """How many it takes until the exact test can decide at all: k flips one way have p = 2 / 2^k."""
        if self.method != EXACT:
            return 0
        fewest_flips = math.floor(1 - math.log2(alpha)) + 1
        return math.ceil(fewest_flips * self.n / (self.a_only + self.b_only))


def differences(shares: Shares, *, is_sampled: bool = False) -> dict[Pair, Difference]:
    """Every two judges, in input order, that share a case with a verdict of both."""
    if is_sampled:
        return _of_means(shares)
    verdicts = cast("Mapping[str, Sequence[bool | None]]", shares)  # one sample: 0 and 1 are verdicts
    return {pair: of_counts(counts) for pair, counts in paired_counts(verdicts).items() if counts.n}


def of_counts(counts: PairCounts) -> Difference:
    """One verdict a case: Tango's interval and McNemar's exact test."""
    diff, low, high = tango(counts.a_only, counts.b_only, counts.n)
    flips = (counts.a_only + counts.b_only) / counts.n
    p = mcnemar_exact(counts.a_only, counts.b_only)
    return Difference(counts.n, counts.a_only, counts.b_only, diff, low, high, p, flips - diff**2, EXACT)


def of_case_means(gaps: npt.NDArray[np.float64]) -> Difference:
    """Several samples a case: the mean of the cases' differences, each case a cluster of its samples.

    The interval is Tango's with the sums of gains and of losses for his counts: his own where cases flip
    whole, and cautious between, for a gap varies no more than a whole flip as often as the gap is large. The
    p is Student's on the CR1 error with one case more that went fully each way (Bonett and Price 2012,
    doi.org/10.3102/1076998611411915). The interval of that test is not used: where little flips it is up to
    a quarter narrower than Tango's, and called a drop of the margin harmless twice as often as it may.
    """
    # Imported here because it takes 0.2 s, which a comparison of single verdicts need not wait for.
    from scipy.special import stdtr

    n, smoothed = len(gaps), np.append(gaps, [1.0, -1.0])
    error = float(smoothed.std(ddof=1)) / math.sqrt(n + 2)
    gained, lost = float(gaps[gaps > 0].sum()), float(-gaps[gaps < 0].sum())
    _, low, high = _tango_of_sums(gained, lost, n)
    return Difference(
        n,
        int((gaps > 0).sum()),
        int((gaps < 0).sum()),
        float(gaps.mean()),
        low,
        high,
        2 * float(stdtr(n + 1, -abs(float(smoothed.mean())) / error)),
        float((gaps if n > 1 else smoothed).var(ddof=1)),
        BY_MEANS,
    )


def _of_means(shares: Shares) -> dict[Pair, Difference]:
    vectors = {judge: np.array(own, dtype=np.float64) for judge, own in shares.items()}
    found = {}
    for a, b in combinations(vectors, 2):
        gaps = vectors[a] - vectors[b]
        gaps = gaps[~np.isnan(gaps)]  # a missing verdict made it NaN
        if len(gaps):
            found[a, b] = of_case_means(gaps)
    return found


__all__ = ["ALPHA", "CORRELATED_KAPPA", "agreements", "comparisons"]

CORRELATED_KAPPA = 0.6

Vectors = Mapping[str, Sequence[bool | None]]


def comparisons(found: Mapping[Pair, Difference], ranking: Sequence[str]) -> list[Comparison]:
    """Every pair in rank order, p adjusted over all pairs; the better one first."""
    pairs = {pair: found_pair for pair in combinations(ranking, 2) if (found_pair := _oriented(found, pair))}
    adjusted = holm([difference.p for difference in pairs.values()])
    return [
        _comparison(pair, difference, p_holm, len(pairs))
        for (pair, difference), p_holm in zip(pairs.items(), adjusted, strict=True)
    ]


def _oriented(found: Mapping[Pair, Difference], pair: Pair) -> Difference | None:
    if pair in found:
        return found[pair]
    turned = found.get((pair[1], pair[0]))
    return turned.mirrored() if turned else None


def _comparison(pair: Pair, found: Difference, p_holm: float, n_pairs: int) -> Comparison:
    is_separable = p_holm < ALPHA
    return Comparison(
        *pair,
        found.n,
        diff=round(found.diff, 4),
        ci_low=round(found.low, 4),
        ci_high=round(found.high, 4),
        p=_p(found.p),
        p_holm=_p(p_holm),
        separable=is_separable,
        a_only=found.a_only,
        b_only=found.b_only,
        cases_needed=None if is_separable else found.cases_needed(n_pairs),
        method=found.method,
    )


def agreements(vectors: Vectors, vendors: Mapping[str, str]) -> list[Agreement]:
    """κ of every pair; a constant rater has none, and same-provider pairs that err alike are flagged."""
    return [_agreement(a, b, kappa, vendors) for (a, b), kappa in kappa_matrix(vectors).items()]


def _agreement(a: str, b: str, found: Kappa, vendors: Mapping[str, str]) -> Agreement:
    kappa = None if found.degenerate else found.raw
    is_alike = kappa is not None and kappa > CORRELATED_KAPPA and vendors[a] == vendors[b]
    return Agreement(
        a,
        b,
        found.n,
        _rounded(kappa),
        _rounded(found.ac1),
        found.degenerate,
        "same_provider" if is_alike else None,
        _rounded(found.ci_low),
        _rounded(found.ci_high),
    )


def _rounded(value: float | None) -> float | None:
    """Four places; None for what is not defined."""
    return None if value is None or value != value else round(value, 4)


def _p(value: float) -> float:
    return float(f"{value:.4g}")


def ranked(results: Sequence[RunResult], found: Mapping[Pair, Difference]) -> list[RunResult]:
    """Best first by mean paired difference to the others; the cheaper first among equals, excluded last.

    Where every judge has a verdict on every case this is the order of their rates. Where some answers could
    not be graded it keeps a judge from gaining a place by failing to answer the hard cases.
    """
    standing = [run for run in results if run.excluded is None and run.accuracy is not None]
    return sorted(
        results,
        key=lambda run: (
            run.excluded is not None,
            run.accuracy is None,
            -round(_lead(run, standing, found), 9),
            -(run.accuracy or 0),
            run.total_cost_usd,
            run.judge,
        ),
    )


def _lead(run: RunResult, standing: Sequence[RunResult], found: Mapping[Pair, Difference]) -> float:
    """The mean over the others of its difference to each."""
    gaps = [_gap(run, other, found) for other in standing if other.judge != run.judge]
    return sum(gaps) / len(gaps) if gaps else 0.0


def _gap(run: RunResult, other: RunResult, found: Mapping[Pair, Difference]) -> float:
    """One judge minus the other on the cases both have; without any, the difference of their rates."""
    if (run.judge, other.judge) in found:
        return found[run.judge, other.judge].diff
    if (other.judge, run.judge) in found:
        return -found[other.judge, run.judge].diff
    return (run.accuracy or 0) - (other.accuracy or 0)
