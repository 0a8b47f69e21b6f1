"""Pass rates by kind of case, each with its interval."""

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from evalq.stats.intervals import wilson

_SMALL_N = 10  # below it a 95 % Wilson interval is at least 29 points wide: too little to act on


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
    return StratumRate(n, k, rate, *interval, is_small=n < _SMALL_N)


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
