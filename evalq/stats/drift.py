"""Whether a judge got worse: the seed's rule as a watch, exact paired tests, evidence gathered over weeks."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evalq.stats.score_interval import UNKNOWN, Interval, is_observed

_Floats = npt.NDArray[np.float64]

_FRESH_RUNS = 4
_CALIBRATORS = (0.15, 0.3, 0.5, 0.7, 0.9)
_ALERT_LEVEL = 200.0  # while nothing changes, the mean wait for it is at least as many weeks


class DriftEvidence(NamedTuple):
    """How far weeks of p-values speak for a lasting drop; alerted once the level has reached 200."""

    level: float = 0.0
    weeks: int = 0
    alerted: bool = False


def drift_seed_rule(last4: Sequence[int], current: int, n: int) -> bool | None:
    """Whether the rate lies five points or more below the median of the last four runs: a WATCH, no ALERT.

    All are counts of passes over the same n cases, compared as whole numbers: in floats more than half of
    the drops of exactly five points are missed. Alone it cries wolf in a quarter of all weeks at n = 30.
    None without a case, or while there are fewer than four runs. ValueError for counts that cannot be.
    """
    if len(last4) > 4 or not all(0 <= passes <= n for passes in (*last4, current)):
        raise ValueError(f"need four counts and one more, all between 0 and n={n}, got {last4}, {current}")
    if len(last4) < 4 or n == 0:
        return None
    _, lower, upper, _ = sorted(last4)
    return bool(10 * (lower + upper - 2 * current) >= n)


def drift_exact_paired(
    baseline_passes: Sequence[int | None],
    current: Sequence[bool | None],
    runs: int = 4,
    *,
    rng: np.random.Generator | None = None,
) -> float:
    """One-sided exact p that this week's passes are as few by chance, each case against its own past.

    Given how often a case passed in its `runs` and now together, each run is as likely to hold a pass: the
    exact form of Mantel and Haenszel 1959, doi.org/10.1093/jnci/22.4.719, every case a stratum of its own.
    With `rng` p is randomised: uniform when nothing changed and, against all runs since the baseline,
    independent from week to week, as `e_detector` wants it. A case missing on either side is left out; NaN
    when none is left. ValueError for counts that cannot be.
    """
    return _lower_tail(baseline_passes, current, runs=(runs, 1), rng=rng)


def confirm_test(baseline: Sequence[int | None], fresh: Sequence[int | None]) -> float:
    """One-sided exact p that four fresh runs pass as seldom by chance as the four before them.

    Per case both are passes out of four; given their sum the fresh ones are hypergeometric, and the cases add
    up: the exact form of Mantel and Haenszel 1959, doi.org/10.1093/jnci/22.4.719. An ALERT is p <= 0.01: a
    false one comes once in 100 weeks at most, whatever set it off. A case missing on either side is left out;
    NaN when none is left. ValueError for counts that cannot be.
    """
    return _lower_tail(baseline, fresh, runs=(_FRESH_RUNS, _FRESH_RUNS))


def e_detector(p_values: Sequence[float], state: DriftEvidence | None = None) -> DriftEvidence:
    """Add weeks of p-values to the evidence of a slow drop; a false alert takes 200 weeks on average or more.

    Shiryaev-Roberts over e-values (Shin, Ramdas and Rinaldo 2024, arXiv 2203.03532), each the mean of
    k·p^(k - 1) (Vovk and Wang 2021, arXiv 1912.06116). `state` is what an earlier call returned; start anew
    when a baseline is accepted. A NaN is a week without a test: it leaves the evidence as it was.
    The level is infinite after p = 0. ValueError outside [0, 1].
    """
    return reduce(_with_week, (p for p in p_values if not math.isnan(p)), state or DriftEvidence())


def _with_week(evidence: DriftEvidence, p: float) -> DriftEvidence:
    if not 0 <= p <= 1:
        raise ValueError(f"a p-value lies between 0 and 1, got {p}")
    e_value = math.fsum(k * p ** (k - 1) for k in _CALIBRATORS) / len(_CALIBRATORS) if p else math.inf
    level = (evidence.level + 1) * e_value
    return DriftEvidence(level, evidence.weeks + 1, evidence.alerted or level >= _ALERT_LEVEL)


def _lower_tail(
    before: Sequence[int | None],
    now: Sequence[int | None],
    *,
    runs: tuple[int, int],
    rng: np.random.Generator | None = None,
) -> float:
    """The chance of so few passes now, if each case's passes fell on its runs (before, now) at random."""
    pairs = [(b, x) for b, x in zip(before, now, strict=True) if b is not None and x is not None]
    if not all(0 <= b <= runs[0] and 0 <= x <= runs[1] for b, x in pairs):
        raise ValueError(f"a case passes between 0 and {runs[0]} times before and {runs[1]} times now")
    if not pairs:
        return math.nan
    totals = Counter(int(b) + int(x) for b, x in pairs)
    chances = reduce(np.convolve, (_repeated(_now(total, runs), m) for total, m in totals.items()))
    observed = sum(int(x) for _, x in pairs)
    last = float(chances[observed]) * (1.0 if rng is None else rng.random())
    return min(1.0, float(chances[:observed].sum()) + last)


def _now(total: int, runs: tuple[int, int]) -> _Floats:
    """The chance of 0, 1, … of a case's passes falling on the runs of now: hypergeometric."""
    before, now = runs
    ways = [math.comb(now, x) * math.comb(before, total - x) if x <= total else 0 for x in range(now + 1)]
    return np.array([way / math.comb(before + now, total) for way in ways])


def _repeated(chances: _Floats, times: int) -> _Floats:
    """The distribution of the sum of `times` independent draws; sums of positives, so tails stay exact."""
    if times == 1:
        return chances
    half = _repeated(chances, times // 2)
    whole = np.convolve(half, half)
    return np.convolve(whole, chances) if times % 2 else whole


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
