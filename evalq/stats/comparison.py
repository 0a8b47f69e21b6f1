"""Whether one judge beats another on the same cases: paired counts, tests, intervals, power."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class PairCounts(NamedTuple):
    """Two judges on the n cases where both have a verdict; the rest of n failed twice."""

    n: int
    both: int
    a_only: int
    b_only: int


class PairedDifference(NamedTuple):
    """Pass rate of a minus that of b, with its interval; all NaN when no case is shared."""

    diff: float
    low: float
    high: float


def paired_counts(pass_vectors: Mapping[str, Sequence[bool | None]]) -> dict[tuple[str, str], PairCounts]:
    """The paired table of every two judges, in input order, on the cases where neither verdict is missing.

    Vectors list the same cases in the same order, None where a verdict is missing. Empty for fewer than two.
    """
    vectors = list(pass_vectors.values())
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("pass vectors must cover the same cases: their lengths differ")
    if len(vectors) < 2:
        return {}
    counts = _shared_counts(vectors)
    return {(a, b): _pair(counts, i, j) for (i, a), (j, b) in combinations(enumerate(pass_vectors), 2)}


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact p that b cases passed by one judge only and c by the other only differ by chance.

    McNemar 1947, doi.org/10.1007/BF02295996, with the binomial instead of chi-squared.
    1.0 when no case separates the two. ValueError for negative counts.
    """
    if not (b >= 0 and c >= 0):
        raise ValueError(f"need counts of at least 0, got {b} and {c}")
    if b == c:
        return 1.0
    # Imported here because it takes 0.2 s, which a command that compares nothing need not wait for.
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(b, c), b + c, 0.5)))


def tango(b: int, c: int, n: int, alpha: float = 0.05) -> PairedDifference:
    """Score interval of the paired difference (b - c) / n: Tango 1998, Statistics in Medicine 17:891-908.

    b cases passed by the first judge only, c by the second only, n in all. It holds at the edges where the
    Wald interval collapses: b = c = 0 gives ±z²/(n + z²). All NaN for n = 0; ValueError if b + c > n.
    """
    if not (b >= 0 and c >= 0 and b + c <= n):
        raise ValueError(f"need 0 <= b, 0 <= c and b + c <= n, got b={b}, c={c}, n={n}")
    if n == 0:
        return PairedDifference(math.nan, math.nan, math.nan)
    z = NormalDist().inv_cdf(1 - alpha / 2)
    # Swapping the judges mirrors the interval, so one solver finds both ends.
    return PairedDifference((b - c) / n, _tango_low(b, c, n, z=z), -_tango_low(c, b, n, z=z))


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p for claims: bounds the chance of any false one. Holm 1979, jstor.org/stable/4615733.

    Order kept; a NaN stays NaN and is not counted as a test. ValueError outside [0, 1].
    """
    return _adjusted(p, _holm_of_sorted)


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Adjusted p for screening: bounds the share of false finds.

    Benjamini and Hochberg 1995, jstor.org/stable/2346101.
    Order kept; a NaN stays NaN and is not counted as a test. ValueError outside [0, 1].
    """
    return _adjusted(p, _bh_of_sorted)


def mde_paired(n: int, var_d: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest true difference that n paired cases find with this power: Miller 2024, arXiv 2411.00640.

    `var_d` is the variance of the per-case difference. NaN for n = 0; ValueError for a negative one.
    """
    return _z_sum(alpha, power) * math.sqrt(var_d / n) if n else math.nan


def cases_needed(delta: float, var_d: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Fewest paired cases that find a true difference `delta` with this power: Miller 2024, arXiv 2411.00640.

    At least one. No number of cases finds a difference of zero: ValueError.
    """
    if delta == 0:
        raise ValueError("no number of cases can show a difference of zero")
    exact = _z_sum(alpha, power) ** 2 * var_d / delta**2
    return max(1, math.ceil(exact * (1 - 1e-12)))  # an ulp above a whole number is not one more case


def _shared_counts(vectors: Sequence[Sequence[bool | None]]) -> npt.NDArray[np.int64]:
    """The upper triangle of Z·Zᵀ, where the rows of Z say who passed and, below, who has a verdict.

    One bit per case and a popcount instead of a float product: exact at any length, as fast on one core, and
    free of the BLAS threads that wait on each other for seconds when workers keep the cores busy.
    """
    rows = np.stack([_bits(vector) for vector in vectors], axis=1).reshape(2 * len(vectors), -1)
    counts = np.zeros((len(rows), len(rows)), dtype=np.int64)
    for i, row in enumerate(rows):
        counts[i, i:] = np.bitwise_count(rows[i:] & row).sum(axis=1, dtype=np.int64)
    return counts


def _bits(vector: Sequence[bool | None]) -> npt.NDArray[np.uint64]:
    """Two rows of 64-bit words: passed, and has a verdict."""
    verdicts = np.asarray(vector, dtype=np.float32)  # a missing verdict becomes NaN
    packed = np.packbits(np.stack([verdicts == 1, ~np.isnan(verdicts)]), axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


def _pair(counts: npt.NDArray[np.int64], i: int, j: int) -> PairCounts:
    present = len(counts) // 2
    both = int(counts[i, j])
    i_passed, j_passed = int(counts[i, present + j]), int(counts[j, present + i])
    return PairCounts(int(counts[present + i, present + j]), both, i_passed - both, j_passed - both)


def _tango_low(b: int, c: int, n: int, *, z: float) -> float:
    """The difference below (b - c) / n where the score statistic, which falls as it grows, equals z.

    Bisection, because it cannot leave [-1, 1] and needs no derivative where the variance vanishes.
    """
    outside, inside = -1.0, (b - c) / n
    while inside - outside > 1e-12:
        middle = (outside + inside) / 2
        if b - c - n * middle > z * _tango_deviation(b, c, n, middle):
            outside = middle
        else:
            inside = middle
    return outside


def _tango_deviation(b: int, c: int, n: int, delta: float) -> float:
    """Standard deviation of b - c if the true difference were `delta`: Tango 1998, equations 24 to 26."""
    spread = delta * (1 - delta)
    linear = (2 * n - b + c) * delta - b - c
    # Rounding alone can push either radicand below zero, at the ends of the range.
    root = math.sqrt(max(0.0, linear * linear + 8 * n * c * spread))
    p_second_only = (root - linear) / (4 * n)
    return math.sqrt(max(0.0, n * (2 * p_second_only + spread)))


def _adjusted(
    p: Sequence[float], adjust_sorted: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
) -> list[float]:
    """Adjust the values that are numbers, in ascending order, and put them back in their places."""
    values = np.array(p, dtype=np.float64)
    if ((values < 0) | (values > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    ascending = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # argsort puts NaN last
    values[ascending] = np.minimum(adjust_sorted(values[ascending]), 1.0)
    return [float(value) for value in values]


def _holm_of_sorted(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.maximum.accumulate(p * np.arange(len(p), 0, -1))


def _bh_of_sorted(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    scaled = p * (len(p) / np.arange(1, len(p) + 1))  # the factor first: then none falls below its own p
    return np.minimum.accumulate(scaled[::-1])[::-1]


def _z_sum(alpha: float, power: float) -> float:
    return NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
