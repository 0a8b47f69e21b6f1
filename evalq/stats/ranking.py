"""Rankings: what ties are worth, and how far two of them agree."""

import math
from collections.abc import Collection, Sequence


def mid_ranks(groups: Sequence[Sequence[int]], n: int) -> tuple[float, ...]:
    """The rank of each of n things from groups of ties, best first; tied ones share their mean place."""
    ranks = [math.nan] * n
    place = 1
    for group in groups:
        for thing in group:
            ranks[thing] = place + (len(group) - 1) / 2
        place += len(group)
    return tuple(ranks)


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rho of two rankings given as ranks, ties at their mid-ranks.

    Spearman 1904, doi.org/10.2307/1412159. One that ties everything says nothing: 1 with itself, else 0.
    """
    centre = (len(a) + 1) / 2
    product = math.fsum((x - centre) * (y - centre) for x, y in zip(a, b, strict=True))
    spread = math.fsum((x - centre) ** 2 for x in a) * math.fsum((y - centre) ** 2 for y in b)
    if spread == 0:
        return 1.0 if tuple(a) == tuple(b) else 0.0
    return product / math.sqrt(spread)


def first_rank(ranked: Sequence[str], relevant: Collection[str]) -> int | None:
    """The place (from 1) of the first relevant id; None when there is none."""
    return next((place for place, item in enumerate(ranked, start=1) if item in relevant), None)


def hit_at_k(ranks: Sequence[int | None], k: int) -> float:
    """The share of queries whose first relevant id is among the first k.

    The success@k of TREC. One rank per query, from 1; None, where nothing relevant was found, is a miss.
    NaN without a query; ValueError for k or a rank below 1.
    """
    if k < 1:
        raise ValueError(f"k counts from 1, got {k}")
    return _mean([float(rank <= k) for rank in _places(ranks)])


def mrr(ranks: Sequence[int | None]) -> float:
    """Mean reciprocal rank: one over the place of the first relevant id, averaged over the queries.

    Voorhees 1999, The TREC-8 Question Answering Track Report. One rank per query, from 1; None, where nothing
    relevant was found, counts 0. NaN without a query; ValueError for a rank below 1.
    """
    return _mean([1 / rank for rank in _places(ranks)])


def _places(ranks: Sequence[int | None]) -> list[float]:
    """The ranks, with what was not found infinitely far down."""
    places = [math.inf if rank is None else rank for rank in ranks]
    if not all(place >= 1 for place in places):
        raise ValueError("a rank counts from 1")
    return places


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
