"""Intervals of a mean score that is not a share."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from evalq.stats.intervals import UNKNOWN, Interval, seeded

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
