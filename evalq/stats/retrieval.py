"""How well rankings do: the place of the first relevant id, hits within k, mean reciprocal rank."""

import math
from collections.abc import Collection, Sequence


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
