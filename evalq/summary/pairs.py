"""Judges two by two: who beats whom on the same cases, and who errs alike."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from evalq.results import Agreement, Comparison
from evalq.stats.agreement import Kappa, kappa_matrix
from evalq.stats.comparison import holm
from evalq.summary.differences import ALPHA, Difference, Pair

__all__ = ["ALPHA", "CORRELATED_KAPPA", "agreements", "comparisons"]

CORRELATED_KAPPA = 0.6

Vectors = Mapping[str, Sequence[bool | None]]


def comparisons(found: Mapping[Pair, Difference], ranking: Sequence[str]) -> list[Comparison]:
    """Every pair in rank order, p adjusted over all pairs; the better one first."""
    pairs = {pair: found_pair for pair in combinations(ranking, 2) if (found_pair := _oriented(found, pair))}
    adjusted = holm([difference.p for difference in pairs.values()])
    return [
        _comparison(pair, difference, p_holm, len(pairs))
        for (pair, difference), p_holm in zip(pairs.items(), adjusted, strict=True)
    ]


def _oriented(found: Mapping[Pair, Difference], pair: Pair) -> Difference | None:
    if pair in found:
        return found[pair]
    turned = found.get((pair[1], pair[0]))
    return turned.mirrored() if turned else None


def _comparison(pair: Pair, found: Difference, p_holm: float, n_pairs: int) -> Comparison:
    is_separable = p_holm < ALPHA
    return Comparison(
        *pair,
        found.n,
        diff=round(found.diff, 4),
        ci_low=round(found.low, 4),
        ci_high=round(found.high, 4),
        p=_p(found.p),
        p_holm=_p(p_holm),
        separable=is_separable,
        a_only=found.a_only,
        b_only=found.b_only,
        cases_needed=None if is_separable else found.cases_needed(n_pairs),
        method=found.method,
    )


def agreements(vectors: Vectors, vendors: Mapping[str, str]) -> list[Agreement]:
    """κ of every pair; a constant rater has none, and same-provider pairs that err alike are flagged."""
    return [_agreement(a, b, kappa, vendors) for (a, b), kappa in kappa_matrix(vectors).items()]


def _agreement(a: str, b: str, found: Kappa, vendors: Mapping[str, str]) -> Agreement:
    kappa = None if found.degenerate else found.raw
    is_alike = kappa is not None and kappa > CORRELATED_KAPPA and vendors[a] == vendors[b]
    return Agreement(
        a,
        b,
        found.n,
        _rounded(kappa),
        _rounded(found.ac1),
        found.degenerate,
        "same_provider" if is_alike else None,
        _rounded(found.ci_low),
        _rounded(found.ci_high),
    )


def _rounded(value: float | None) -> float | None:
    """Four places; None for what is not defined."""
    return None if value is None or value != value else round(value, 4)


def _p(value: float) -> float:
    return float(f"{value:.4g}")
