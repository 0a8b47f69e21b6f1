"""The power of a bake-off before it is paid for: cases needed, and the smallest detectable difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from statistics import variance

from evalq.stats.comparison import cases_needed, mde_paired
from evalq.summary.rates import Tally

WITHOUT_PAST = 0.5
"""Variance of a case's difference between two independent judges that are right half the time."""


@dataclass(frozen=True)
class PastRun:
    """One judge in a past bake-off: how many samples of each case were graded and passed."""

    bakeoff_id: int
    judge: str
    tallies: Mapping[str, Tally]


@dataclass(frozen=True)
class Spread:
    """How much the difference of two judges varies from case to case, without and by chance.

    `within` is the variance that more samples per case average out; unknown (None) with one sample.
    """

    bakeoff_id: int
    n: int
    between: float
    within: float | None

    def var_d(self, samples: int) -> float:
        """The variance of a case's difference with this number of samples: Miller 2024, arXiv 2411.00640."""
        return self.between + (self.within or 0.0) / samples


@dataclass(frozen=True)
class Aim:
    """The difference to detect, and how surely."""

    delta: float
    alpha: float = 0.05
    power: float = 0.8
    samples: int = 1
    n_judges: int = 2

    @property
    def n_pairs(self) -> int:
        """The number of comparisons among the judges, for which p is adjusted."""
        return max(1, self.n_judges * (self.n_judges - 1) // 2)


@dataclass(frozen=True)
class PowerPlan:
    """How many cases the aim needs. The `_all_pairs` numbers adjust p for every pair of the judges.

    `samples_help` is False when no past run shows how much samples of a case differ: then they count as
    repetitions of each other.
    """

    aim: Aim
    var_d: float
    past_pairs: int
    past_bakeoffs: int
    past_cases: int
    cases_needed: int
    cases_needed_all_pairs: int
    n_cases: int
    mde: float
    mde_all_pairs: float
    samples_help: bool

    @property
    def is_enough(self) -> bool:
        """True when the evalset can show the difference asked for."""
        return self.n_cases >= self.cases_needed


def spreads(runs: Sequence[PastRun], judges: Sequence[str] = ()) -> list[Spread]:
    """The spread of every two judges of a past bake-off; only of the named judges, if two of them met."""
    found = {}
    for _, group in groupby(runs, key=lambda run: run.bakeoff_id):
        for a, b in combinations(group, 2):
            spread = _spread_between(a, b)
            if spread is not None:
                found[a.bakeoff_id, a.judge, b.judge] = spread
    named = [spread for (_, a, b), spread in found.items() if a in judges and b in judges]
    return named or list(found.values())


def plan_power(aim: Aim, n_cases: int, past: Sequence[Spread]) -> PowerPlan:
    """Cases needed to detect the difference, and the smallest that the evalset's cases can detect."""
    weight = sum(spread.n for spread in past)
    var_d = WITHOUT_PAST
    if weight:
        var_d = sum(spread.var_d(aim.samples) * spread.n for spread in past) / weight
    return PowerPlan(
        aim,
        var_d,
        past_pairs=len(past),
        past_bakeoffs=len({spread.bakeoff_id for spread in past}),
        past_cases=weight,
        cases_needed=_cases_needed(aim, var_d, aim.alpha),
        cases_needed_all_pairs=_cases_needed(aim, var_d, aim.alpha / aim.n_pairs),
        n_cases=n_cases,
        mde=_mde(aim, var_d, n_cases, aim.alpha),
        mde_all_pairs=_mde(aim, var_d, n_cases, aim.alpha / aim.n_pairs),
        samples_help=any(spread.within is not None for spread in past),
    )


def _spread_between(a: PastRun, b: PastRun) -> Spread | None:
    shared = [case for case in a.tallies if case in b.tallies]
    if len(shared) < 2:
        return None
    gaps, within, averaged = [], 0.0, 0.0
    is_sampled = True
    for case in shared:
        (graded_a, passed_a), (graded_b, passed_b) = a.tallies[case], b.tallies[case]
        gaps.append(passed_a / graded_a - passed_b / graded_b)
        if graded_a < 2 or graded_b < 2:
            is_sampled = False
            continue
        chance_a, chance_b = _sample_variance(graded_a, passed_a), _sample_variance(graded_b, passed_b)
        within += chance_a + chance_b
        averaged += chance_a / graded_a + chance_b / graded_b
    n, total = len(shared), variance(gaps)
    if not is_sampled:
        return Spread(a.bakeoff_id, n, total, None)
    return Spread(a.bakeoff_id, n, max(0.0, total - averaged / n), within / n)


def _sample_variance(graded: int, passed: int) -> float:
    """The unbiased variance of one sample of a case."""
    return passed * (graded - passed) / (graded * (graded - 1))


def _cases_needed(aim: Aim, var_d: float, alpha: float) -> int:
    # Verdicts that differ by delta on average flip on at least that share of cases, regardless of past runs.
    least = aim.delta - aim.delta**2 if aim.samples == 1 else 0.0
    return cases_needed(aim.delta, max(var_d, least), alpha, aim.power)


def _mde(aim: Aim, var_d: float, n_cases: int, alpha: float) -> float:
    """The smallest detectable difference; for single verdicts the bound of `_cases_needed` solved for it."""
    squared = mde_paired(1, 1.0, alpha, aim.power) ** 2
    least = squared / (n_cases + squared) if aim.samples == 1 else 0.0
    return min(1.0, max(mde_paired(n_cases, var_d, alpha, aim.power), least))
