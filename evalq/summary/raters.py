"""How far the people who rated the same items agree beyond chance."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evalq.definitions.graders.human import BinaryScale, RatingScale
from evalq.grading.ratings import Values
from evalq.stats.agreement import cohen_kappa
from evalq.stats.raters import Level, alpha_interval, krippendorff_alpha

Rated = Mapping[int, Mapping[str, Values]]
"""By item what each reviewer said."""

_Column = list[float | None]
_UNDEFINED = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class RaterAgreement:
    """Cohen's kappa of two raters, Krippendorff's alpha of more; `value` is None where it is undefined.

    n: how many ratings were given at least twice: items, or items times criteria or answers.
    """

    method: Literal["kappa", "alpha"]
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    raters: int


def rater_agreement(scale: RatingScale, rated: Rated) -> RaterAgreement:
    """Agreement on all items together; a likert step or a rank counts by how far it is off."""
    raters = sorted({reviewer for said in rated.values() for reviewer in said})
    table = [_column(rated, reviewer) for reviewer in raters]
    n = sum(sum(value is not None for value in unit) >= 2 for unit in zip(*table, strict=True))
    is_sides = isinstance(scale, BinaryScale)
    if len(raters) == 2:
        ends = _kappa(table[0], table[1], is_sides=is_sides)
    else:
        level: Level = "nominal" if is_sides else "ordinal"
        ends = (krippendorff_alpha(table, level), *alpha_interval(table, level)) if n else _UNDEFINED
    value, low, high = (None if math.isnan(end) else round(end, 4) for end in ends)
    return RaterAgreement("kappa" if len(raters) == 2 else "alpha", value, low, high, n, len(raters))


def _kappa(first: _Column, second: _Column, *, is_sides: bool) -> tuple[float, float, float]:
    """Kappa with its ends; undefined when one of the two always said the same."""
    # Ranks may be halves; twice as far apart for all, they weigh the same.
    a, b = ([None if value is None else round(2 * value) for value in column] for column in (first, second))
    found = cohen_kappa(a, b, None if is_sides else "quadratic")
    return _UNDEFINED if found.degenerate or found.raw is None else (found.raw, found.ci_low, found.ci_high)


def _column(rated: Rated, reviewer: str) -> _Column:
    """A reviewer's numbers over all items in order; None for what they have not rated."""
    column: _Column = []
    for said in rated.values():
        width = len(next(iter(said.values())))
        column += said.get(reviewer, (None,) * width)
    return column
