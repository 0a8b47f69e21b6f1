"""Figures of a review for its lead: quotas met, and how far graders agree with people."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from evalq.stats.agreement import cohen_kappa
from evalq.store.reviewers import LabelBesideGrade
from evalq.store.reviews import ListedItem


@dataclass(frozen=True)
class GraderBesidePeople:
    """A grader against the majority of people, on the n answers both have marked.

    kappa is None where one of the two never varies; `share` is how often they say the same.
    """

    grader: str
    n: int
    share: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None


def count_by_reviews(items: Sequence[ListedItem]) -> dict[int, int]:
    """How many items have 0, 1, … of the reviews they need; more than needed count as the last."""
    if not items:
        return {}
    most = max(item.min_required for item in items)
    found = Counter(min(item.rated, most) for item in items)
    return {reviews: found[reviews] for reviews in range(most + 1)}


def graders_beside_people(rows: Sequence[LabelBesideGrade]) -> tuple[GraderBesidePeople, ...]:
    """Each grader's agreement with the majority of people; answers on which people are split are left out."""
    pairs: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for row in rows:
        if 2 * row.ayes != row.votes:
            pairs[row.grader].append((row.passed, 2 * row.ayes > row.votes))
    return tuple(_compare(grader, found) for grader, found in sorted(pairs.items()))


def _compare(grader: str, pairs: Sequence[tuple[bool, bool]]) -> GraderBesidePeople:
    marked, said = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = cohen_kappa(marked, said)
    n = len(pairs)
    same = sum(a == b for a, b in pairs)
    ends = (found.raw, found.ci_low, found.ci_high)
    if found.degenerate or found.raw is None or any(math.isnan(end or 0.0) for end in ends):
        return GraderBesidePeople(grader, n, same / n, None, None, None)
    return GraderBesidePeople(
        grader, n, same / n, round(found.raw, 4), round(found.ci_low, 4), round(found.ci_high, 4)
    )
