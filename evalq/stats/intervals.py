"""How sure a pass rate is: Wilson, Clopper-Pearson, Beta and bootstrap intervals."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, repeat
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_DEFAULT_SEED = 20_260_521

_Kind = tuple[int, int]  # size of a cluster, passes in it
_Cells = Counter[_Kind]  # how many clusters are of each kind


class Interval(NamedTuple):
    """The two ends of a confidence (or credible) interval; both NaN when nothing was observed."""

    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)


def is_observed(k: float, n: float, alpha: float) -> bool:
    """False for n = 0; counts or a level that cannot be raise ValueError."""
    if not 0 <= k <= n or not 0 < alpha < 1:
        raise ValueError(f"need 0 <= k <= n and 0 < alpha < 1, got k={k}, n={n}, alpha={alpha}")
    return n > 0


def seeded(rng: np.random.Generator | int | None) -> np.random.Generator:
    """The generator itself, or one from the seed; None is a fixed seed, so that a report can be repeated."""
    return np.random.default_rng(_DEFAULT_SEED if rng is None else rng)


def wilson(k: float, n: float, alpha: float = 0.05) -> Interval:
    """The score interval of k passes in n: Wilson 1927, doi.org/10.1080/01621459.1927.10502953.

    (NaN, NaN) for n = 0; exactly 0 at k = 0 and exactly 1 at k = n.
    """
    if not is_observed(k, n, alpha):
        return UNKNOWN
    z2 = NormalDist().inv_cdf(1 - alpha / 2) ** 2
    centre = (k + z2 / 2) / (n + z2)
    margin = math.sqrt(z2 * (k * (n - k) / n + z2 / 4)) / (n + z2)
    # In exact arithmetic these ends are 0 and 1; in floats they miss by an ulp, on either side.
    return Interval(0.0 if k == 0 else centre - margin, 1.0 if k == n else centre + margin)


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
