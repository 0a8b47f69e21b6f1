"""How sure a pass rate is: Wilson, Clopper-Pearson, Beta and bootstrap intervals."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import compress, repeat
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from evalq.stats.score_interval import UNKNOWN, Interval, is_observed

_DEFAULT_SEED = 20_260_521

_Kind = tuple[int, int]  # size of a cluster, passes in it
_Cells = Counter[_Kind]  # how many clusters are of each kind


def seeded(rng: np.random.Generator | int | None) -> np.random.Generator:
    """The generator itself, or one from the seed; None is a fixed seed, so that a report can be repeated."""
    return np.random.default_rng(_DEFAULT_SEED if rng is None else rng)


def clopper_pearson(k: int, n: int, alpha: float = 0.05) -> Interval:
    """The exact interval: Clopper and Pearson 1934, doi.org/10.2307/2331986.

    Its coverage is never below the nominal one. (NaN, NaN) for n = 0.
    """
    if not is_observed(k, n, alpha):
        return UNKNOWN
    low = 0.0 if k == 0 else _beta_quantile(alpha / 2, k, n - k + 1)
    high = 1.0 if k == n else _beta_quantile(1 - alpha / 2, k + 1, n - k)
    return Interval(low, high)


def beta_interval(k: int, n: int, alpha: float = 0.05) -> Interval:
    """The equal-tailed credible interval after a uniform prior, Beta(1 + k, 1 + n - k): arXiv 2503.01747.

    (NaN, NaN) for n = 0: the prior alone is no finding. At k = 0 or k = n it excludes the observed rate.
    """
    if not is_observed(k, n, alpha):
        return UNKNOWN
    low, high = (_beta_quantile(q, k + 1, n - k + 1) for q in (alpha / 2, 1 - alpha / 2))
    return Interval(low, high)


def bootstrap_ci(
    pass_vec: Sequence[bool | None],
    n_resamples: int = 1000,
    alpha: float = 0.05,
    *,
    rng: np.random.Generator | int | None = None,
    cluster: Sequence[Hashable] | None = None,
    strata: Sequence[Hashable] | None = None,
) -> Interval:
    """The percentile bootstrap (Efron 1979) of the pass rate, drawn from counts instead of resampled rows.

    A resampled rate depends only on how many clusters of each (size, passes) were drawn. Those counts are
    multinomial, without clusters binomial, so once counted the cost does not grow with n.
    With `cluster`, one label per verdict, whole clusters are resampled; with `strata`, verdicts within each
    stratum; with both, clusters within strata. A missing verdict is left out; (NaN, NaN) when none remains.
    `rng` is a generator or a seed; None is a fixed seed, so that a report can be repeated.
    All pass gives (1, 1) and all fail (0, 0): prefer `wilson` near the ends.
    """
    histograms = _histograms(pass_vec, cluster, strata)
    if not histograms:
        return UNKNOWN
    generator = seeded(rng)
    sizes, passes = np.sum([_resample(cells, n_resamples, generator) for cells in histograms], axis=0)
    low, high = np.quantile(passes / sizes, [alpha / 2, 1 - alpha / 2])
    return Interval(float(low), float(high))


def _beta_quantile(q: float, a: float, b: float) -> float:
    # Imported here because it takes 0.2 s, which a command showing Wilson intervals need not wait for.
    from scipy.special import betaincinv

    return float(betaincinv(a, b, q))


def _histograms(
    pass_vec: Sequence[bool | None], cluster: Sequence[Hashable] | None, strata: Sequence[Hashable] | None
) -> list[list[tuple[_Kind, int]]]:
    """The cells of each stratum, sorted so that the same verdicts in any order draw the same resamples."""
    if any(labels is not None and len(labels) != len(pass_vec) for labels in (cluster, strata)):
        raise ValueError("cluster and strata need one label per verdict")
    if cluster is not None:
        by_stratum = _clustered(pass_vec, cluster, repeat("") if strata is None else strata)
    elif strata is not None:
        by_stratum = _singles(Counter(zip(strata, pass_vec, strict=True)))
    else:
        by_stratum = _singles(_tally(pass_vec))
    return sorted(sorted(cells.items()) for cells in by_stratum)


def _tally(pass_vec: Sequence[bool | None]) -> Counter[tuple[Hashable, bool | None]]:
    """How often each verdict occurs, all in one stratum."""
    verdicts = np.asarray(pass_vec, dtype=np.float32)  # a missing verdict becomes NaN and equals neither
    return Counter({("", passed): int(np.count_nonzero(verdicts == passed)) for passed in (True, False)})


def _singles(counts: Counter[tuple[Hashable, bool | None]]) -> Iterable[_Cells]:
    """Every verdict is its own cluster of one."""
    by_stratum: defaultdict[Hashable, _Cells] = defaultdict(Counter)
    for (stratum, passed), count in counts.items():
        if passed is not None and count:
            by_stratum[stratum][1, int(passed)] += count
    return by_stratum.values()


def _clustered(
    pass_vec: Sequence[bool | None], cluster: Sequence[Hashable], strata: Iterable[Hashable]
) -> Iterable[_Cells]:
    """A cluster label is read within its stratum: the same label in two strata names two clusters."""
    keys = list(zip(strata, cluster, strict=False))  # not strict: without strata, theirs never ends
    sizes = Counter(compress(keys, (passed is not None for passed in pass_vec)))
    passes = Counter(compress(keys, pass_vec))
    by_stratum: defaultdict[Hashable, _Cells] = defaultdict(Counter)
    for key, size in sizes.items():
        by_stratum[key[0]][size, passes[key]] += 1
    return by_stratum.values()


def _resample(
    cells: list[tuple[_Kind, int]], n_resamples: int, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Two rows: the total size and the total passes of each resample of as many clusters as there are."""
    kinds = np.array([kind for kind, _ in cells])
    counts = np.array([count for _, count in cells])
    n_clusters = int(counts.sum())
    draws = generator.multinomial(n_clusters, counts / n_clusters, size=n_resamples)
    totals: npt.NDArray[np.int64] = kinds.T @ draws.T
    return totals


_Floats = npt.NDArray[np.float64]

_CELLS_AT_ONCE = 1_000_000  # bounds the memory of the draws at 8 MB, however many values differ


def mean_ci(
    values: Sequence[float], n_resamples: int = 1000, alpha: float = 0.05, *, seed: int = 0
) -> Interval:
    """Percentile bootstrap of the mean (Efron 1979), drawn from the histogram of the values.

    (NaN, NaN) when there are none or one is NaN; without width when all are equal.
    """
    data = np.asarray(values, dtype=np.float64)
    if len(data) == 0 or np.isnan(data).any():
        return UNKNOWN
    totals = _resampled_totals(data, n_resamples, np.random.default_rng(seed))
    low, high = np.quantile(totals / len(data), [alpha / 2, 1 - alpha / 2])
    return Interval(float(low), float(high))


def bca_ci(
    values: Sequence[float],
    n_resamples: int = 10_000,
    alpha: float = 0.05,
    *,
    rng: np.random.Generator | int | None = None,
) -> Interval:
    """Bootstrap of a mean, corrected for bias and skew: the BCa interval.

    Efron 1987, doi.org/10.1080/01621459.1987.10478410. Drawn from the histogram of the values, so that scores
    of 1 to 5 cost the same at any n. `rng` is a generator or a seed; None is a fixed seed.
    (NaN, NaN) when there are no values, one is NaN, or all are equal: values that never differed cannot say
    how far others might. So too if all resamples lie on one side of the mean, or alpha is beyond their reach.
    """
    data = np.asarray(values, dtype=np.float64)
    if not 0 < alpha < 1 or n_resamples < 1:
        raise ValueError(f"need 0 < alpha < 1 and n_resamples >= 1, got {alpha} and {n_resamples}")
    if len(data) == 0 or np.isnan(data).any() or np.ptp(data) == 0:
        return UNKNOWN
    totals = _resampled_totals(data, n_resamples, seeded(rng))
    levels = _bca_levels(data, totals, alpha)
    if levels is None:
        return UNKNOWN
    low, high = np.quantile(totals / len(data), levels)
    return Interval(float(low), float(high))


def _resampled_totals(data: _Floats, n_resamples: int, generator: np.random.Generator) -> _Floats:
    """The sum of each resample: it depends only on how often each distinct value was drawn."""
    distinct, counts = np.unique(data, return_counts=True)
    rows = max(1, _CELLS_AT_ONCE // len(distinct))
    sizes = [min(rows, n_resamples - start) for start in range(0, n_resamples, rows)]
    chances = counts / len(data)
    return np.concatenate([generator.multinomial(len(data), chances, size=size) @ distinct for size in sizes])


def _bca_levels(data: _Floats, totals: _Floats, alpha: float) -> tuple[float, float] | None:
    """Which quantiles of the resamples to read; None when they are too one-sided or alpha is too small."""
    # Half of the ties count as below; sums of the same values in another order differ in the last digits.
    gaps, tie = totals - data.sum(), 1e-12 * np.abs(data).sum()
    n_below, n_above = np.count_nonzero(gaps < -tie), np.count_nonzero(gaps > tie)
    if n_below == 0 or n_above == 0:
        return None
    below = (1 + (n_below - n_above) / len(gaps)) / 2
    deviations = data - data.mean()
    skew = float((deviations**3).sum()) / (6 * float((deviations**2).sum()) ** 1.5)
    normal = NormalDist()
    bias, z = normal.inv_cdf(below), normal.inv_cdf(1 - alpha / 2)
    if abs(skew) * (abs(bias) + z) >= 1:
        return None
    low, high = (bias + (bias + end) / (1 - skew * (bias + end)) for end in (-z, z))
    return normal.cdf(low), normal.cdf(high)


def latency_quantile(values_ms: Sequence[int], q: float) -> int | None:
    """The nearest-rank quantile: the smallest value with at least a share q of all values at or below it.

    No interpolation (definition 1 of Hyndman and Fan 1996, doi.org/10.2307/2684934); q = 0 is the minimum.
    None when there is no value.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile lies between 0 and 1, got {q}")
    if not values_ms:
        return None
    # The decimal as written, because 0.07 * 100 as floats is above 7 and would take the eighth value.
    rank = math.ceil(Fraction(str(q)) * len(values_ms))
    return sorted(values_ms)[max(rank, 1) - 1]


ErrorKind = Literal["CR0", "CR1", "miller"]


def clustered_se(y: Sequence[float | None], cluster: Sequence[Hashable], kind: ErrorKind = "CR1") -> float:
    """Standard error of the mean of y whose values within a cluster are not independent.

    CR0 is the sandwich of Liang and Zeger 1986, doi.org/10.1093/biomet/73.1.13; CR1 widens it by G / (G - 1)
    for G clusters; `miller` is the form of Miller 2024, arXiv 2411.00640. Below 30 clusters, multiply by a
    quantile of t with G - 1 degrees of freedom, not of the normal.
    A missing value (None or NaN) is left out. NaN with fewer than two clusters, where residuals add to 0.
    """
    values, groups = _present(y, cluster)
    n_clusters = len(set(groups))
    if n_clusters < 2:
        return math.nan
    residuals = values - values.mean()
    sums = np.bincount(groups, weights=residuals)
    sandwich = float((sums**2).sum()) / len(values) ** 2
    return math.sqrt(_variance(sandwich, residuals, n_clusters, kind))


def _present(
    y: Sequence[float | None], cluster: Sequence[Hashable]
) -> tuple[npt.NDArray[np.float64], list[int]]:
    """The values that are there, and the number of each one's cluster."""
    if len(y) != len(cluster):
        raise ValueError(f"need one cluster label per value, got {len(cluster)} for {len(y)}")
    values = np.array(y, dtype=np.float64)
    is_present = ~np.isnan(values)
    numbers: dict[Hashable, int] = {}
    labels = (label for label, present in zip(cluster, is_present, strict=True) if present)
    return values[is_present], [numbers.setdefault(label, len(numbers)) for label in labels]


def _variance(sandwich: float, residuals: npt.NDArray[np.float64], n_clusters: int, kind: ErrorKind) -> float:
    n = len(residuals)
    match kind:
        case "CR0":
            return sandwich
        case "CR1":
            return sandwich * n_clusters / (n_clusters - 1)
        case "miller":
            # The usual variance divides by n - 1; the products across a cluster are the sandwich's own.
            return sandwich + float((residuals**2).sum()) / (n**2 * (n - 1))
        case _:
            raise ValueError(f"unknown kind {kind!r}; write CR0, CR1 or miller")
