"""Judges two by two: who beats whom on the same cases, and who errs alike."""

from collections.abc import Mapping, Sequence

from evalq.results import Agreement, Comparison
from evalq.stats.agreement import kappa_matrix
from evalq.stats.comparison import PairCounts, holm, mcnemar_exact, paired_counts, tango

ALPHA = 0.05
CORRELATED_KAPPA = 0.6

Vectors = Mapping[str, Sequence[bool | None]]


def comparisons(vectors: Vectors) -> list[Comparison]:
    """Every pair in rank order, on the cases both have a verdict for, p adjusted over all pairs."""
    counts = {pair: c for pair, c in paired_counts(vectors).items() if c.n}
    ps = [mcnemar_exact(c.a_only, c.b_only) for c in counts.values()]
    return [
        _comparison(pair, count, p, adjusted)
        for (pair, count), p, adjusted in zip(counts.items(), ps, holm(ps), strict=True)
    ]


def _comparison(pair: tuple[str, str], count: PairCounts, p: float, adjusted: float) -> Comparison:
    diff, low, high = (round(value, 4) for value in tango(count.a_only, count.b_only, count.n))
    return Comparison(*pair, count.n, diff, low, high, _p(p), _p(adjusted), separable=adjusted < ALPHA)


def agreements(vectors: Vectors, vendors: Mapping[str, str]) -> list[Agreement]:
    """κ of every pair; a constant rater has none, and same-provider pairs that err alike are flagged."""
    return [
        Agreement(
            a,
            b,
            k.n,
            None if k.degenerate or k.raw is None else round(k.raw, 4),
            None if k.ac1 is None or k.ac1 != k.ac1 else round(k.ac1, 4),
            k.degenerate,
            "same_provider" if _errs_alike(k.raw, k.degenerate) and vendors[a] == vendors[b] else None,
        )
        for (a, b), k in kappa_matrix(vectors).items()
    ]


def _errs_alike(raw: float | None, degenerate: bool) -> bool:
    return raw is not None and not degenerate and raw > CORRELATED_KAPPA


def _p(value: float) -> float:
    return float(f"{value:.4g}")
