"""Latency quantiles that some call really took."""

import math
from collections.abc import Sequence
from fractions import Fraction


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
