"""Pass rates by kind of case, each with its interval."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalq.stats.intervals import wilson

_SMALL_N = 10  # below it a 95 % Wilson interval is at least 29 points wide: too little to act on


class StratumRate(NamedTuple):
    """k passes in n verdicts of one stratum with the Wilson interval; the three rates are NaN for n = 0."""

    n: int
    k: int
    rate: float
    low: float
    high: float
    is_small: bool


def per_stratum(strata: Sequence[str], verdicts: Sequence[bool | None]) -> dict[str, StratumRate]:
    """The rate of each stratum, in the order first seen; one stratum and one verdict per case.

    A missing verdict (None) is not counted; a stratum with nothing else is kept, with n = 0.
    """
    counts = Counter(zip(strata, verdicts, strict=True))
    names = dict.fromkeys(name for name, _ in counts)
    return {name: _rate(counts[name, True], counts[name, False]) for name in names}


def macro_rate(rates: Mapping[str, StratumRate]) -> float:
    """The mean of the strata's rates, each weighing the same; empty strata are left out, NaN when all are."""
    known = [stratum.rate for stratum in rates.values() if stratum.n]
    return math.fsum(known) / len(known) if known else math.nan


def _rate(n_pass: int, n_fail: int) -> StratumRate:
    n = n_pass + n_fail
    interval = wilson(n_pass, n)
    return StratumRate(n, n_pass, n_pass / n if n else math.nan, *interval, is_small=n < _SMALL_N)
