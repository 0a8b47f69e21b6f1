"""Who stands where: each judge's rank and its paired difference to the first."""

from dataclasses import dataclass

from evalq.results import BakeOffResult, Comparison, RunResult


@dataclass(frozen=True)
class Lead:
    """A judge minus the first judge, on the cases both have a verdict for."""

    diff: float
    low: float
    high: float
    n: int
    separable: bool
    p_holm: float = 1.0
    cases_needed: int | None = None


@dataclass(frozen=True)
class Standing:
    """One judge's place: no rank without a verdict, no lead for the first itself or an unmatched pair."""

    rank: int | None
    run: RunResult
    lead: Lead | None

    @property
    def is_tied(self) -> bool:
        """True when the paired test cannot tell it from the first."""
        return self.lead is not None and not self.lead.separable


def standings(result: BakeOffResult) -> tuple[Standing, ...]:
    """Every run in the order it came: ranked ones first, excluded ones last."""
    ranked = [run for run in result.runs if run.excluded is None and run.accuracy is not None]
    ranks = {run.judge: place for place, run in enumerate(ranked, start=1)}
    leads = _leads(result.comparisons, ranked[0].judge) if ranked else {}
    return tuple(
        Standing(
            rank=ranks.get(run.judge), run=run, lead=leads.get(run.judge) if run.judge in ranks else None
        )
        for run in result.runs
    )


def _leads(comparisons: tuple[Comparison, ...], first: str) -> dict[str, Lead]:
    return {
        (pair.b if pair.a == first else pair.a): _seen_from(pair, first)
        for pair in comparisons
        if first in (pair.a, pair.b)
    }


def _seen_from(pair: Comparison, first: str) -> Lead:
    """The pair as other minus first, whichever way round it was stored."""
    tested = (pair.n, pair.separable, pair.p_holm, pair.cases_needed)
    if pair.b == first:
        return Lead(pair.diff, pair.ci_low, pair.ci_high, *tested)
    return Lead(-pair.diff, -pair.ci_high, -pair.ci_low, *tested)
