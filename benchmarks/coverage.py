"""What the statistics promise, measured: coverage of intervals, false alarms of drift rules, false claims.

`python -m benchmarks.coverage` ends with exit code 1 when a promise is broken.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from evalq.stats import (
    DriftEvidence,
    Interval,
    beta_interval,
    bootstrap_ci,
    clopper_pearson,
    confirm_test,
    drift_exact_paired,
    drift_seed_rule,
    e_detector,
    holm,
    mcnemar_exact,
    paired_counts,
    tango,
    wilson,
)
from evalq.summary.frontier import mean_interval, p_of_interval

SEED = 20_260_521
Z = 1.959964
SIZES, RATES = (30, 93, 300), (0.5, 0.7, 0.9, 0.95, 0.99)
DRIFT_SIZES, DROPS = (30, 99), (0.05, 0.1, 0.2)
YEARS, SHIFTS, WEEKS_TO_NOTICE, QUARTER = 150, 250, 8, 13
DATASETS, N_JUDGES = 2000, 7

Chances = npt.NDArray[np.float64]
Passes = npt.NDArray[np.int64]


def main() -> int:
    """Print all three tables, then the promises; 1 when one is broken."""
    started = time.perf_counter()
    covered = print_coverage()
    alarms = print_drift()
    claims = print_claims()
    print_overall()
    print(f"\n{time.perf_counter() - started:.0f} s")
    promises = [
        ("Wilson covers 92 % or more everywhere above", min(covered["wilson"]) >= 0.92),
        ("the confirm rule alarms falsely in 1 % of weeks at most", max(alarms["confirm"]) <= 0.01),
        ("false claims of McNemar, and of any pair with Holm, are 5 % at most", max(claims) <= 0.05),
    ]
    for promise, holds in promises:
        print(f"{'holds ' if holds else 'BROKEN'}  {promise}")
    return 0 if all(holds for _, holds in promises) else 1


def print_coverage() -> dict[str, list[float]]:
    """Coverage of every interval, exact: the chance of each count, summed where its interval holds p."""
    print("coverage of 95 % intervals, exact by summation over all counts (bootstrap: its seeded draws)")
    print(f"{'n':>4} {'p':>5}  " + "".join(f"{name:>16}" for name in METHODS))
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for n in SIZES:
        for p in RATES:
            for name, method in METHODS.items():
                found[name].append(coverage(method, n, p))
            print(f"{n:>4} {p:>5.2f}  " + "".join(f"{rates[-1]:>16.3f}" for rates in found.values()))
    return found


def coverage(method: Callable[[int, int], Interval], n: int, p: float) -> float:
    """The chance that the interval of a count drawn with rate p holds p."""
    chances = binom.pmf(np.arange(n + 1), n, p)
    return float(sum(chance for k, chance in enumerate(chances) if holds(method(k, n), p)))


def holds(interval: Interval, p: float) -> bool:
    """Whether p lies in the interval; an ulp outside is in."""
    return interval.low - 1e-12 <= p <= interval.high + 1e-12


def wald(k: int, n: int) -> Interval:
    """The textbook interval, for reference."""
    rate = k / n
    margin = Z * math.sqrt(rate * (1 - rate) / n)
    return Interval(rate - margin, rate + margin)


def bootstrap(k: int, n: int) -> Interval:
    """The seed's method: a thousand resamples."""
    return bootstrap_ci([True] * k + [False] * (n - k))


METHODS: dict[str, Callable[[int, int], Interval]] = {
    name: cache(method)
    for name, method in {
        "wald": wald,
        "wilson": wilson,
        "clopper_pearson": clopper_pearson,
        "beta": beta_interval,
        "bootstrap": bootstrap,
    }.items()
}


@dataclass
class Watch:
    """Every drift rule over the weeks of one judge; each call is a week and says who alarms."""

    rng: np.random.Generator
    runs: list[Passes] = field(default_factory=list)
    since: Passes | None = None
    n_since: int = 0
    evidence: DriftEvidence = field(default_factory=DriftEvidence)

    def week(self, chances: Chances) -> dict[str, bool]:
        """One run of every case, judged by each rule against the last four, by the sequential against all."""
        now = draw(self.rng, chances)
        before = self.runs[-4:]
        base = np.sum(before, axis=0)
        trips = bool(drift_seed_rule([int(run.sum()) for run in before], int(now.sum()), len(now)))
        alarms = {
            "seed": trips,
            "exact paired": drift_exact_paired(base.tolist(), now.tolist()) <= 0.01,
            "confirm": trips and self._is_confirmed(base, chances),
            "sequential": self._is_gathered(now),
        }
        self.runs.append(now)
        return alarms

    def quiet_week(self, chances: Chances) -> None:
        """A week before the drop: only what the sequential rule has gathered is worth keeping."""
        now = draw(self.rng, chances)
        self._is_gathered(now)
        self.runs.append(now)

    def _is_confirmed(self, base: Passes, chances: Chances) -> bool:
        fresh = np.sum([draw(self.rng, chances) for _ in range(4)], axis=0)
        return confirm_test(base.tolist(), fresh.tolist()) <= 0.01

    def _is_gathered(self, now: Passes) -> bool:
        """An alarm starts the evidence anew, as accepting a baseline would."""
        if self.since is None:
            self.since, self.n_since = np.sum(self.runs, axis=0), len(self.runs)
        p = drift_exact_paired(self.since.tolist(), now.tolist(), self.n_since, rng=self.rng)
        self.evidence = e_detector([p], self.evidence)
        self.since, self.n_since = self.since + now, self.n_since + 1
        if self.evidence.alerted:
            self.evidence = DriftEvidence()
            return True
        return False


def print_drift() -> dict[str, list[float]]:
    """False alarms per week over simulated years, and how often a drop is noticed, by simulation."""
    false_alarms: dict[str, list[float]] = {}
    print(
        f"\ndrift rules by simulation: {YEARS} quiet years, {SHIFTS} drops of each size after a quiet quarter"
    )
    print("cases of mean 0.9: 'alike' all 0.9, 'mixed' drawn from Beta(2.7, 0.3)")
    head = "".join(f"{f'{drop:.0%}: 1 / {WEEKS_TO_NOTICE} weeks':>20}" for drop in DROPS)
    print(f"{'n':>4} {'cases':<6} {'rule':<13} {'false/week':>11} {'in a year':>10} {head}")
    for n in DRIFT_SIZES:
        for kind in ("alike", "mixed"):
            quiet = false_alarm_rates(n, kind)
            noticed = [detection_rates(n, kind, drop) for drop in DROPS] if kind == "mixed" else []
            for rule, (per_week, in_a_year) in quiet.items():
                false_alarms.setdefault(rule, []).append(per_week)
                cells = "".join(f"{'{:.3f} / {:.3f}'.format(*rates[rule]):>20}" for rates in noticed)
                print(f"{n:>4} {kind:<6} {rule:<13} {per_week:>11.4f} {in_a_year:>10.3f} {cells}")
    return false_alarms


def false_alarm_rates(n: int, kind: str) -> dict[str, tuple[float, float]]:
    """Of each rule while nothing changes: alarms per week, and the share of years with at least one."""
    years = [list(weeks(n, kind, drop=0, count=52, seed=year)) for year in range(YEARS)]
    return {
        rule: (
            float(np.mean([week[rule] for year in years for week in year])),
            float(np.mean([any(week[rule] for week in year) for year in years])),
        )
        for rule in years[0][0]
    }


def detection_rates(n: int, kind: str, drop: float) -> dict[str, tuple[float, float]]:
    """Of each rule after a lasting drop: noticed in the first week, and within several."""
    shifts = [list(weeks(n, kind, drop=drop, count=WEEKS_TO_NOTICE, seed=at)) for at in range(SHIFTS)]
    return {
        rule: (
            float(np.mean([shift[0][rule] for shift in shifts])),
            float(np.mean([any(week[rule] for week in shift) for shift in shifts])),
        )
        for rule in shifts[0][0]
    }


def weeks(n: int, kind: str, *, drop: float, count: int, seed: int) -> Iterator[dict[str, bool]]:
    """Who alarms in each week; a drop, every case passing less often in proportion, comes after a quarter."""
    rng = np.random.default_rng([SEED, n, seed, round(drop * 100), kind == "mixed"])
    before = rng.beta(2.7, 0.3, n) if kind == "mixed" else np.full(n, 0.9)
    watch = Watch(rng, [draw(rng, before) for _ in range(4)])
    for _ in range(QUARTER if drop else 0):
        watch.quiet_week(before)
    return (watch.week(before * (1 - drop / 0.9)) for _ in range(count))


def draw(rng: np.random.Generator, chances: Chances) -> Passes:
    """One run: every case passes with its own chance."""
    return (rng.random(len(chances)) < chances).astype(np.int64)


def print_claims() -> list[float]:
    """How often two equal judges, or any two of seven, are told apart: never more than 5 %."""
    print("\nfalse claims between equal judges at 5 %, McNemar exact by summation,")
    print(f"any of the pairs of {N_JUDGES} judges by simulation, {DATASETS} datasets each")
    print(f"{'n':>4} {'p':>5}  {'McNemar, exact':>16} {'Holm, any of 21':>16} {'unadjusted, any':>16}")
    found: list[float] = []
    for n in SIZES:
        for p in (0.7, 0.9, 0.99):
            alone = mcnemar_error(n, discordant=p * (1 - p))
            adjusted, naive = family_errors(n, p)
            found += [alone, adjusted]
            print(f"{n:>4} {p:>5.2f}  {alone:>16.4f} {adjusted:>16.4f} {naive:>16.4f}")
    return found


def mcnemar_error(n: int, *, discordant: float) -> float:
    """The chance of p <= 0.05 for equal judges, exact: over the discordant cases, then how they fall."""
    chances = binom.pmf(np.arange(n + 1), n, discordant)
    return math.fsum(float(chance) * rejected(d) for d, chance in enumerate(chances) if chance > 1e-12)


@cache
def rejected(discordant: int) -> float:
    """The chance of p <= 0.05 when so many cases went to one of two equal judges alone."""
    falls = binom.pmf(np.arange(discordant + 1), discordant, 0.5)
    return math.fsum(float(fall) for b, fall in enumerate(falls) if mcnemar_exact(b, discordant - b) <= 0.05)


def family_errors(n: int, p: float) -> tuple[float, float]:
    """The share of datasets in which any pair of equal judges is told apart: with Holm, and without.

    Cases differ in difficulty, so that judges agree more than by chance and many pairs tie.
    """
    rng = np.random.default_rng([SEED, n, round(p * 100)])
    smallest = [pair_ps(equal_judges(rng, n, p)) for _ in range(DATASETS)]
    adjusted = float(np.mean([min(holm(ps)) <= 0.05 for ps in smallest]))
    return adjusted, float(np.mean([min(ps) <= 0.05 for ps in smallest]))


def equal_judges(rng: np.random.Generator, n: int, p: float) -> dict[str, Sequence[bool]]:
    """Verdicts of seven judges of the same skill on cases of unequal difficulty."""
    chances = rng.beta(p, 1 - p, n)
    return {f"judge-{at}": (rng.random(n) < chances).tolist() for at in range(N_JUDGES)}


def pair_ps(verdicts: dict[str, Sequence[bool]]) -> list[float]:
    """Exact p of every pair."""
    return [mcnemar_exact(pair.a_only, pair.b_only) for pair in paired_counts(verdicts).values()]


def print_overall() -> None:
    """The mean over three tasks: coverage, and false claims between two equal judges."""
    print(f"\nmean over tasks of n = {SIZES}, by simulation, {DATASETS} datasets each")
    print(f"{'p of the tasks':<20} {'coverage':>10} {'false claims':>14}")
    for rates in ((0.5, 0.7, 0.9), (0.9, 0.9, 0.9), (0.99, 0.95, 0.9)):
        rng = np.random.default_rng([SEED, *(round(p * 100) for p in rates)])
        covered = np.mean([covers_mean(rng, rates) for _ in range(DATASETS)])
        claimed = np.mean([is_claimed(rng, rates) for _ in range(DATASETS)])
        print(f"{rates!s:<20} {covered:>10.3f} {claimed:>14.4f}")


def covers_mean(rng: np.random.Generator, rates: Sequence[float]) -> bool:
    """Whether the interval made of the tasks' Wilson intervals holds the mean of their rates."""
    counts = [(int(rng.binomial(n, p)), n) for n, p in zip(SIZES, rates, strict=True)]
    _, low, high = mean_interval([(k / n, *METHODS["wilson"](k, n)) for k, n in counts])
    return holds(Interval(low, high), math.fsum(rates) / len(rates))


def is_claimed(rng: np.random.Generator, rates: Sequence[float]) -> bool:
    """Whether two equal judges are told apart by the mean of their paired differences."""
    tables = [
        (*(int(d) for d in rng.multinomial(n, [p * (1 - p) / 2, p * (1 - p) / 2, 1 - p * (1 - p)])[:2]), n)
        for n, p in zip(SIZES, rates, strict=True)
    ]
    return p_of_interval(mean_interval([tuple(tango(*table)) for table in tables])) <= 0.05


if __name__ == "__main__":
    sys.exit(main())
