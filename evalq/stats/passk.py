"""What several samples of one case come to: pass@k, pass^k, and their means over a suite."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from evalq.results import FEW_CASES
from evalq.stats.score_interval import wilson

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


class StratumRate(NamedTuple):
    """k passes over n cases of one stratum with the Wilson interval; the three rates are NaN for n = 0."""

    n: int
    k: int
    rate: float
    low: float
    high: float
    is_small: bool


def pass_rate(verdicts: Sequence[bool | None], cases: Sequence[Hashable] | None = None) -> StratumRate:
    """The rate of some verdicts. Verdicts of one case are not independent: n counts cases, if they are named.

    A missing verdict (None) is not counted. Taking a case's samples for one is the cautious end: it is exact
    when they always agree, and too wide otherwise.
    """
    names = range(len(verdicts)) if cases is None else cases
    graded = [(verdict, case) for verdict, case in zip(verdicts, names, strict=True) if verdict is not None]
    k, n = sum(verdict for verdict, _ in graded), len({case for _, case in graded})
    rate = k / len(graded) if graded else math.nan
    interval = wilson(k if n == len(graded) else rate * n, n)
    return StratumRate(n, k, rate, *interval, is_small=n < FEW_CASES)


def per_stratum(
    strata: Sequence[str], verdicts: Sequence[bool | None], cases: Sequence[Hashable] | None = None
) -> dict[str, StratumRate]:
    """The rate of each stratum, in the order first seen; one with no verdict is kept, with n = 0."""
    names = range(len(verdicts)) if cases is None else cases
    rows: defaultdict[str, list[tuple[bool | None, Hashable]]] = defaultdict(list)
    for stratum, verdict, case in zip(strata, verdicts, names, strict=True):
        rows[stratum].append((verdict, case))
    return {name: pass_rate(*zip(*found, strict=True)) for name, found in rows.items()}


def macro_rate(rates: Mapping[str, StratumRate]) -> float:
    """The mean of the strata's rates, each weighing the same; empty strata are left out, NaN when all are."""
    known = [stratum.rate for stratum in rates.values() if stratum.n]
    return math.fsum(known) / len(known) if known else math.nan
