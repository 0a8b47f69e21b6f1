"""Evidence that holds however often one looks: an e-value for a pair, a confidence sequence for a rate."""

import math

import numpy as np

from evalq.stats.intervals import UNKNOWN, Interval, is_observed


def sign_evalue(wins: int, losses: int) -> float:
    """The evidence that one judge beats another, from cases only one of them passed; 1 is none at all.

    The mixture of likelihood ratios against a fair coin over all win rates above one half (Robbins 1970,
    doi.org/10.1214/aoms/1177696786): at any time, its chance of ever exceeding x is 1 / x at most.
    1.0 when no case separates the two; infinite beyond 1.8e308. ValueError for negative counts.
    """
    if not (wins >= 0 and losses >= 0):
        raise ValueError(f"need counts of at least 0, got {wins} and {losses}")
    # 2^(w+l+1) B(w+1, l+1) (1 - I½(w+1, l+1)) as a sum of positive terms, none of which underflows to 0 / 0.
    steps = np.arange(wins)
    with np.errstate(over="ignore"):
        rest = float(np.cumprod((wins - steps) / (losses + 2 + steps)).sum())
    return (1 + rest) / (losses + 1)


def bernoulli_cs(k: int, n: int, alpha: float = 0.05) -> Interval:
    """An interval of the pass rate that holds at every n at once: look, and stop, whenever you like.

    The rates not refuted by the uniform mixture of likelihood ratios (Robbins 1970,
    doi.org/10.1214/aoms/1177696786), the beta-binomial boundary of Howard 2021, arXiv 1810.08240.
    (NaN, NaN) for n = 0; exactly 0 at k = 0 and exactly 1 at k = n. ValueError for counts that cannot be.
    """
    if not is_observed(k, n, alpha):
        return UNKNOWN
    log_mixture = math.lgamma(k + 1) + math.lgamma(n - k + 1) - math.lgamma(n + 2)
    least = log_mixture + math.log(alpha)
    # Counting fails instead of passes mirrors the interval, so one solver finds both ends.
    return Interval(_low_end(k, n, least), 1 - _low_end(n - k, n, least))


def _low_end(k: int, n: int, least: float) -> float:
    """The rate below k / n at which the log-likelihood, rising until there, reaches `least`."""
    if k == 0:
        return 0.0
    outside, inside = 0.0, k / n
    while inside - outside > 1e-12:
        middle = (outside + inside) / 2
        if k * math.log(middle) + (n - k) * math.log1p(-middle) < least:
            outside = middle
        else:
            inside = middle
    return outside
