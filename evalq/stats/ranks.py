"""Rankings: what ties are worth, and how far two of them agree."""

import math
from collections.abc import Sequence


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
