"""Intervals of a mean score that is not a share."""

from collections.abc import Sequence

import numpy as np

from evalq.stats.intervals import Interval


def mean_ci(
    values: Sequence[float], n_resamples: int = 1000, alpha: float = 0.05, *, seed: int = 0
) -> Interval:
    """Percentile bootstrap of the mean, drawn from the histogram of the values; NaN when there are none."""
    if not values:
        return Interval(float("nan"), float("nan"))
    distinct, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(values), counts / len(values), size=n_resamples)
    low, high = np.quantile(draws @ distinct / len(values), [alpha / 2, 1 - alpha / 2])
    return Interval(float(low), float(high))
