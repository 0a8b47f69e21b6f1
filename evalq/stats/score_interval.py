"""Wilson's interval of a pass rate, without numpy: a live display draws it within its first second."""

import math
from statistics import NormalDist
from typing import NamedTuple


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
