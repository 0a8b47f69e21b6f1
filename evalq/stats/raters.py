"""How far any number of raters agree: Fleiss' kappa, and Krippendorff's alpha where ratings are missing."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Level = Literal["nominal", "ordinal", "interval"]

_Floats = npt.NDArray[np.float64]
_REDRAWS = 1000


def fleiss_kappa(ratings: Sequence[Sequence[int | None]]) -> float:
    """Agreement of many judges beyond chance: Fleiss 1971, doi.org/10.1037/h0031619.

    Rows are cases, columns judges, entries labels. A case that some judge has not rated is left out: prefer
    `krippendorff_alpha` then. NaN with fewer than two judges, without a case, or when only one label occurs.
    """
    table = _table(ratings)
    n_judges: int = table.shape[1]
    _, counts = _label_counts(table[~np.isnan(table).any(axis=1)])
    if n_judges < 2 or len(counts) == 0 or counts.shape[1] == 1:
        return math.nan
    agreed = float((counts * (counts - 1)).sum()) / (len(counts) * n_judges * (n_judges - 1))
    by_chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    return (agreed - by_chance) / (1 - by_chance)


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]], level: Level = "nominal") -> float:
    """Agreement beyond chance of raters who need not have rated every case.

    Krippendorff 2011, repository.upenn.edu/asc_papers/43. Rows are raters, columns cases, None is a missing
    rating. `level` says what tells two labels apart: that they differ, the ranks between them, or their gap.
    A case with fewer than two ratings is left out; NaN when none is left, or when only one label occurs:
    nothing could have been disagreed about.
    """
    labels, counts = _label_counts(_table(ratings).T)
    counts = counts[counts.sum(axis=1) >= 2]
    return _alpha(labels, counts, counts / (counts.sum(axis=1, keepdims=True) - 1), level)


def alpha_interval(
    ratings: Sequence[Sequence[float | None]], level: Level = "nominal", *, seed: int = 0
) -> tuple[float, float]:
    """The 95 % ends of `krippendorff_alpha`: percentiles over 1000 redraws of the cases, by weight.

    NaN where alpha is, and with fewer than two cases of two ratings: nothing can be redrawn.
    """
    labels, counts = _label_counts(_table(ratings).T)
    counts = counts[counts.sum(axis=1) >= 2]
    n_cases: int = len(counts)
    if n_cases < 2 or math.isnan(krippendorff_alpha(ratings, level)):
        return math.nan, math.nan
    share = counts / (counts.sum(axis=1, keepdims=True) - 1)
    redraws = np.random.default_rng(seed).multinomial(n_cases, [1 / n_cases] * n_cases, size=_REDRAWS)
    alphas = [_alpha(labels, counts * weight[:, np.newaxis], share, level) for weight in redraws]
    low, high = np.nanpercentile(alphas, [2.5, 97.5])
    return float(low), float(high)


def _alpha(labels: _Floats, counts: _Floats, share: _Floats, level: Level) -> float:
    """Alpha of cases by how often each has each label; NaN when only one label occurs."""
    coincidences = counts.T @ share  # right off the diagonal, where alone labels are apart
    totals = counts.sum(axis=0)
    distance = _distance(labels, totals, level)
    expected = float(totals @ distance @ totals)
    if expected == 0:
        return math.nan
    return 1 - (float(totals.sum()) - 1) * float((coincidences * distance).sum()) / expected


def _table(ratings: Sequence[Sequence[float | None]]) -> _Floats:
    """The ratings as numbers, NaN where missing; numpy refuses rows of different lengths with ValueError."""
    return np.atleast_2d(np.array(ratings, dtype=np.float64))


def _label_counts(table: _Floats) -> tuple[_Floats, _Floats]:
    """The labels in use, ascending, and how often each row of the table holds each of them."""
    is_rated = ~np.isnan(table)
    labels, codes = np.unique(table[is_rated], return_inverse=True)
    cells = np.nonzero(is_rated)[0] * len(labels) + codes
    counts = np.bincount(cells, minlength=len(table) * len(labels))
    return labels, counts.reshape(len(table), len(labels)).astype(np.float64)


def _distance(labels: _Floats, totals: _Floats, level: Level) -> _Floats:
    """Squared distance of every two labels; between ranks it is the gap of their mid-ranks."""
    if level == "nominal":
        return 1 - np.eye(len(labels))
    if level not in ("ordinal", "interval"):
        raise ValueError(f"unknown level {level!r}; write nominal, ordinal or interval")
    places = labels if level == "interval" else np.cumsum(totals) - totals / 2
    gaps: _Floats = places[:, np.newaxis] - places
    return gaps**2
