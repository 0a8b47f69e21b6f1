"""What a bake-off could see before it is paid for: cases needed, and the smallest difference in reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from statistics import variance

from evalq.stats.comparison import cases_needed, mde_paired
from evalq.summary.rates import Tally

WITHOUT_PAST = 0.5
"""Variance of a case's difference between two judges that err independently, each right half the time."""


@dataclass(frozen=True)
class PastRun:
    """One judge in a past bake-off: samples graded and passed of each case."""

    bakeoff_id: int
    judge: str
    tallies: Mapping[str, Tally]


@dataclass(frozen=True)
class Spread:
    """How far two judges differed from case to case: the variance of that, and the part that is chance.

    `within` is the variance that more samples of a case average away; None where one sample cannot tell.
    """

    bakeoff_id: int
    n: int
    between: float
    within: float | None

    def var_d(self, samples: int) -> float:
        """The variance of a case's difference at so many samples: Miller 2024, arXiv 2411.00640."""
        return self.between + (self.within or 0.0) / samples


@dataclass(frozen=True)
class Aim:
    """What is to be seen, and how surely."""

    delta: float
    alpha: float = 0.05
    power: float = 0.8
    samples: int = 1
    n_judges: int = 2

    @property
    def n_pairs(self) -> int:
        """Comparisons among the judges; each costs the others some of their certainty."""
        return max(1, self.n_judges * (self.n_judges - 1) // 2)


@dataclass(frozen=True)
class PowerPlan:
    """The answer. The `_all_pairs` numbers hold when p is adjusted for every pair of the judges.

    `samples_help` is False when no past run tells how much samples of a case differ: then they are taken to
    repeat each other.
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
    """The spread of every two judges of a past bake-off; of the judges named only, if two of them met."""
    found = {}
    for _, group in groupby(runs, key=lambda run: run.bakeoff_id):
        for a, b in combinations(group, 2):
            if spread := _spread(a, b):
                found[a.bakeoff_id, a.judge, b.judge] = spread
    named = [spread for (_, a, b), spread in found.items() if a in judges and b in judges]
    return named or list(found.values())


def plan_power(aim: Aim, n_cases: int, past: Sequence[Spread]) -> PowerPlan:
    """Cases needed for the difference asked for, and the smallest one that the evalset's cases can show."""
    weight = sum(spread.n for spread in past)
    var_d = sum(s.var_d(aim.samples) * s.n for s in past) / weight if weight else WITHOUT_PAST
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


def _spread(a: PastRun, b: PastRun) -> Spread | None:
    pairs = [(a.tallies[case], b.tallies[case]) for case in a.tallies if case in b.tallies]
    if len(pairs) < 2:
        return None
    total = variance(_share(first) - _share(second) for first, second in pairs)
    if any(graded < 2 for pair in pairs for graded, _ in pair):
        return Spread(a.bakeoff_id, len(pairs), total, None)
    within = sum(_chance(tally) for pair in pairs for tally in pair) / len(pairs)
    averaged = sum(_chance(tally) / tally[0] for pair in pairs for tally in pair) / len(pairs)
    return Spread(a.bakeoff_id, len(pairs), max(0.0, total - averaged), within)


def _share(tally: Tally) -> float:
    return tally[1] / tally[0]


def _chance(tally: Tally) -> float:
    """The variance of one sample of a case, without bias."""
    graded, passed = tally
    return passed * (graded - passed) / (graded * (graded - 1))


def _cases_needed(aim: Aim, var_d: float, alpha: float) -> int:
    # Verdicts that differ by delta on average flip on at least that share of cases, whatever past runs did.
    least = aim.delta - aim.delta**2 if aim.samples == 1 else 0.0
    return cases_needed(aim.delta, max(var_d, least), alpha, aim.power)


def _mde(aim: Aim, var_d: float, n_cases: int, alpha: float) -> float:
    """The smallest difference in reach; of single verdicts the same bound, solved for the difference."""
    squared = mde_paired(1, 1.0, alpha, aim.power) ** 2
    least = squared / (n_cases + squared) if aim.samples == 1 else 0.0
    return min(1.0, max(mde_paired(n_cases, var_d, alpha, aim.power), least))
