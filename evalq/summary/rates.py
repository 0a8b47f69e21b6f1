"""Pass rates with intervals: of a run, of each of its strata, and the mean over strata."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from evalq.records import OutcomeRow
from evalq.results import CiMethod, Rate, Share
from evalq.stats.intervals import beta_interval, bootstrap_ci, clopper_pearson
from evalq.stats.score_interval import Interval, wilson

Tally = tuple[int, int]
"""For one case: samples graded, samples passed."""

_MANY_CASES = 30
"""From this number of clusters on, the normal quantile replaces Student's."""

_OF_COUNTS: dict[CiMethod, Callable[..., Interval]] = {
    "wilson": wilson,
    "clopper_pearson": clopper_pearson,
    "beta": beta_interval,
}


def share_of(k: int, n: int) -> Share:
    """The share k of n with its interval."""
    if not n:
        return Share(k, n)
    return Share(k, n, k / n, *wilson(k, n))


@dataclass(frozen=True)
class Measure:
    """How a run's rates get their intervals; only the bootstrap uses the seed."""

    method: CiMethod = "wilson"
    samples: int = 1
    seed: int = 0

    @property
    def name(self) -> str:
        """The method's name in reports; `_clustered` where the samples of a case count as one cluster."""
        return self.method if self.samples == 1 else f"{self.method}_clustered"

    def rate(self, rows: Sequence[OutcomeRow]) -> Rate:
        """The pass rate of some outcomes; n counts cases, and an error is not a verdict."""
        return self._round(self._measure(rows))

    def per_stratum(self, rows: Sequence[OutcomeRow]) -> dict[str, Rate]:
        """The rate of each stratum by name; a stratum with only errors is kept, with n = 0."""
        return {name: self._round(found) for name, found in self._strata(rows).items()}

    def macro(self, rows: Sequence[OutcomeRow]) -> Rate | None:
        """The mean of the strata's rates with equal weights; None without strata.

        Its interval is a count interval too, for the n at which a plain rate varies as much: see
        `stratified_n`. Instead of the bootstrap it is Wilson's: small strata often do not vary at all.
        """
        known = [stratum for stratum in self._strata(rows).values() if stratum.n]
        if not known:
            return None
        method: CiMethod = "wilson" if self.method == "bootstrap" else self.method
        mean = math.fsum(stratum.rate for stratum in known) / len(known)
        worth = stratified_n([(stratum.worth, stratum.rate) for stratum in known])
        low, high = _OF_COUNTS[method](mean * worth, worth)
        n_cases = sum(stratum.n for stratum in known)
        return Rate(n_cases, round(mean, 4), round(low, 4), round(high, 4), f"{method}_stratified")

    def _strata(self, rows: Sequence[OutcomeRow]) -> dict[str, "_ExactRate"]:
        by_name: defaultdict[str, list[OutcomeRow]] = defaultdict(list)
        for row in rows:
            if row.stratum:
                by_name[row.stratum].append(row)
        return {name: self._measure(by_name[name]) for name in sorted(by_name)}

    def _measure(self, rows: Sequence[OutcomeRow]) -> "_ExactRate":
        cases = list(tallies(rows).values())
        n = sum(graded for graded, _ in cases)
        k = sum(passed for _, passed in cases)
        if not n:
            return _ExactRate(0, math.nan, math.nan, math.nan, 0.0)
        if self.samples == 1:
            low, high = self._interval(rows, k, n)
            return _ExactRate(len(cases), k / n, low, high, n)
        worth = effective_n(cases)
        low, high = self._interval(rows, k / n * worth, worth)
        return _ExactRate(len(cases), k / n, low, high, worth)

    def _interval(self, rows: Sequence[OutcomeRow], k: float, n: float) -> Interval:
        if self.method != "bootstrap":
            return _OF_COUNTS[self.method](k, n)
        verdicts = [row.verdict == "passed" if row.is_graded else None for row in rows]
        clusters = [row.case_id for row in rows] if self.samples > 1 else None
        return bootstrap_ci(verdicts, rng=self.seed, cluster=clusters)

    def _round(self, found: "_ExactRate") -> Rate:
        if not found.n:
            return Rate(0, None, None, None, self.name)
        return Rate(found.n, round(found.rate, 4), round(found.low, 4), round(found.high, 4), self.name)


@dataclass(frozen=True)
class _ExactRate:
    """A rate over n cases before rounding, and the number of independent verdicts it is worth."""

    n: int
    rate: float
    low: float
    high: float
    worth: float


def tallies(rows: Sequence[OutcomeRow]) -> Mapping[str, Tally]:
    """How many samples of each case were graded and passed; without cases that only have errors."""
    graded = Counter(row.case_id for row in rows if row.is_graded)
    passed = Counter(row.case_id for row in rows if row.verdict == "passed")
    return {case: (n, passed[case]) for case, n in graded.items()}


def effective_n(cases: Sequence[Tally]) -> float:
    """How many independent verdicts the samples of these cases are worth: n over its design effect.

    A count interval at this n is the clustered one (Korn and Graubard 1998; Wilson: Franco 2019,
    doi.org/10.1093/jssam/smy019). Unlike rate ± clustered error or the clustered bootstrap, it keeps a
    width when everything passes. The clustered variance is `stats.clustered_se`'s CR1, with Student's t
    below 30 cases, computed with two more cases, one that always passes and one that always fails: without
    them a single failed sample would count as proof that samples are independent. Simulated for 12 to 93
    cases of 3 to 10 samples, coverage fell to 0.87 without them and to 0.92 with them (except 12 cases at a
    rate of 0.99, where Wilson's own is 0.89). At least the n of samples that only repeat each other, and at
    most all samples.
    """
    sizes = [graded for graded, _ in cases]
    n, largest = sum(sizes), max(sizes)
    estimated = n * _small_sample(len(cases)) / _design_effect([*cases, (largest, largest), (largest, 0)])
    as_repeats = n**2 / sum(size**2 for size in sizes)
    return min(max(estimated, as_repeats), n)


def stratified_n(strata: Sequence[tuple[float, float]]) -> float:
    """The n at which a plain rate varies as much as the mean over these strata, each of (n, rate).

    Each stratum's variance is taken at (k + 1) / (n + 2), so that it is positive where all passed. Simulated
    for 2 to 15 strata of 1 to 500 cases, the interval at this n covered at least 0.939; the strata's own
    Wilson intervals combined (MOVER) covered 0.85 where strata are small, since each is pulled inwards.
    """
    smoothed = [((n * rate + 1) / (n + 2), n) for n, rate in strata]
    mean = math.fsum(rate for rate, _ in smoothed) / len(strata)
    variance = math.fsum(rate * (1 - rate) / n for rate, n in smoothed) / len(strata) ** 2
    return mean * (1 - mean) / variance


def _design_effect(cases: Sequence[Tally]) -> float:
    """The clustered variance of the rate over that of independent verdicts, counted by kind of case."""
    kinds = Counter(cases)
    n = sum(graded * count for (graded, _), count in kinds.items())
    share = sum(passed * count for (_, passed), count in kinds.items()) / n
    squares = sum((passed - graded * share) ** 2 * count for (graded, passed), count in kinds.items())
    return squares * len(cases) / (len(cases) - 1) / (n * share * (1 - share))


def _small_sample(n_cases: int) -> float:
    """The penalty for estimating the variance: the squared ratio of the normal to Student's quantile."""
    if n_cases >= _MANY_CASES:
        return 1.0
    if n_cases == 1:
        return 0.0
    # Imported here because it takes 0.2 s, which a report of single samples does not need.
    from scipy.special import stdtrit

    return (NormalDist().inv_cdf(0.975) / float(stdtrit(n_cases - 1, 0.975))) ** 2
