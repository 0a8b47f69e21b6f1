"""What several samples of one case come to: pass@k, pass^k, and their means over a suite."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Estimator = Callable[[int, int, int], float]


class SuiteMean(NamedTuple):
    """A mean over the `n_cases` that had samples enough; `n_skipped` had not. NaN when all were skipped."""

    mean: float
    n_cases: int
    n_skipped: int


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that at least one of k samples passes: the unbiased estimator of Chen 2021, arXiv 2107.03374.

    n samples, c of them passing; NaN when n < k: undefined is not one. ValueError unless 0 <= c <= n, k >= 1.
    """
    if not _is_enough(n, c, k):
        return math.nan
    # Whole numbers until the last step: one rounding, and no difference of two nearly equal floats.
    return (math.comb(n, k) - math.comb(n - c, k)) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that all of k samples pass, as the c / n of the samples seen to the power k (the plain form).

    It is biased upwards, and defined for any k >= 1, also k > n; NaN for n = 0: no sample is not a failure.
    ValueError unless 0 <= c <= n and k >= 1.
    """
    _is_enough(n, c, k)
    return (c / n) ** k if n else math.nan


def pass_hat_k_unbiased(n: int, c: int, k: int) -> float:
    """Chance that all of k samples pass, without bias: C(c, k) / C(n, k), Yao 2024, arXiv 2406.12045.

    NaN when n < k. ValueError unless 0 <= c <= n and k >= 1.
    """
    return math.comb(c, k) / math.comb(n, k) if _is_enough(n, c, k) else math.nan


def suite_pass_at_k(samples: Sequence[tuple[int, int]], k: int) -> float:
    """pass@k of a suite: the mean over its cases, never of pooled samples. Chen 2021, arXiv 2107.03374.

    `samples` holds (n, c) of each case. A case with n < k is left out (`suite_mean` counts those); NaN when
    none is left.
    """
    return suite_mean(samples, k, pass_at_k).mean


def suite_mean(samples: Sequence[tuple[int, int]], k: int, estimator: Estimator) -> SuiteMean:
    """The mean over cases of pass@k or either pass^k, and how many cases had too few samples to count."""
    values = [estimator(n, c, k) for n, c in samples]
    known = [value for value in values if not math.isnan(value)]
    mean = math.fsum(known) / len(known) if known else math.nan
    return SuiteMean(mean, len(known), len(values) - len(known))


def _is_enough(n: int, c: int, k: int) -> bool:
    """False when n < k; counts that cannot be raise ValueError."""
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"need 0 <= c <= n and k >= 1, got n={n}, c={c}, k={k}")
    return n >= k
