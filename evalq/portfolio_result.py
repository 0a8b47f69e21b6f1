"""What several bake-offs of the same judges come to: dollars against quality, as plain values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from evalq.results import BakeOffResult, plain

SCHEMA = "evalq.portfolio/1"


@dataclass(frozen=True)
class Offer:
    """What a judge gives for its price, on one task or over all of them.

    `n` answers have a verdict; the dollars, grading included, are over the `n_cases` that ended, errored too.
    `dominated_by` is the cheapest judge that is no dearer, no worse, and not alike in both; None on the
    frontier. `not_separable_from` are the cheaper judges that the paired test cannot tell it from.
    """

    judge: str
    n: int
    n_cases: int
    accuracy: float
    ci_low: float
    ci_high: float
    ci_method: str
    usd_per_case: Decimal
    total_cost_usd: Decimal
    on_frontier: bool
    dominated_by: str | None
    not_separable_from: tuple[str, ...]


@dataclass(frozen=True)
class OverallComparison:
    """Two judges over all tasks: the mean of the tasks' paired differences, a minus b, on `n` cases."""

    a: str
    b: str
    n: int
    diff: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float
    separable: bool


@dataclass(frozen=True)
class LeftOut:
    """A judge without a place on a task's frontier, nor on the one over all tasks."""

    task: str
    judge: str
    reason: str


@dataclass(frozen=True)
class Frontier:
    """The offers of each task and of all, cheapest first."""

    per_task: Mapping[str, tuple[Offer, ...]]
    overall: tuple[Offer, ...]
    comparisons: tuple[OverallComparison, ...]
    excluded: tuple[LeftOut, ...]


@dataclass(frozen=True)
class PortfolioResult:
    """Bake-offs of the same judges, one per task; tasks not started are named.

    `cap_usd` is the one cap they were run under; None when they were not run together.
    """

    bakeoffs: tuple[BakeOffResult, ...]
    not_started: tuple[str, ...]
    frontier: Frontier
    cap_usd: Decimal | None
    warnings: tuple[str, ...]
    next: tuple[str, ...]

    @property
    def spent_usd(self) -> Decimal:
        """Dollars of all bake-offs together."""
        return sum((result.spent_usd for result in self.bakeoffs), Decimal(0))

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.portfolio/1` document, each task's `evalq.bakeoff/1` in it."""
        return {
            "schema": SCHEMA,
            "tasks": [result.to_dict() for result in self.bakeoffs],
            "not_started": list(self.not_started),
            "frontier": plain(asdict(self.frontier)),
            "spent_usd": plain(self.spent_usd),
            "cap_usd": plain(self.cap_usd),
            "warnings": list(self.warnings),
            "next": list(self.next),
        }
