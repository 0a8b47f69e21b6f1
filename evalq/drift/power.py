"""What a drift check could have seen: the smallest true drop that it finds four times out of five."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from evalq.stats import DriftEvidence, e_detector, mde_paired

POWER = 0.8
SEED_DROP = 0.05
CONFIRM_P = 0.01
CONFIRM_RUNS = 4

_TOSS = 1.0  # an alpha of one adds nothing: the seed rule trips by a fixed number of points, at no level
_MEDIAN_OF_4 = 0.298  # variance of the median of four runs, in variances of one
_LOWEST = -12.0  # no check is that sure, and floats near one end there
_TIMES = 40


@dataclass(frozen=True)
class Habit:
    """How often each case passed, out of how many answers: what its own variance is guessed from.

    One imaginary answer, half passed, keeps a case that always passed from counting as certain.
    """

    passes: Sequence[int]
    answers: int

    @cached_property
    def rate(self) -> float:
        """The chance of a pass, over all cases."""
        return math.fsum(chance * n for chance, n in self._chances) / len(self.passes)

    def variance(self, drop: float = 0.0) -> float:
        """Of one answer within its case, after a drop that takes the same share of every case's chance."""
        left = max(0.0, 1 - drop / self.rate)
        return math.fsum(n * p * left * (1 - p * left) for p, n in self._chances) / len(self.passes)

    @cached_property
    def _chances(self) -> list[tuple[float, int]]:
        """Each chance that occurs, and how many cases have it: few, however many cases there are."""
        return [((passed + 0.5) / (self.answers + 1), n) for passed, n in Counter(self.passes).items()]


def smallest_seed_drop(habit: Habit, power: float = POWER) -> float | None:
    """For the seed rule: five points, and as much more as one run's luck may hide."""
    n, before = len(habit.passes), _MEDIAN_OF_4 * habit.variance()
    return _smallest(
        habit, lambda drop: SEED_DROP + mde_paired(n, habit.variance(drop) + before, _TOSS, power)
    )


def smallest_confirmed_drop(habit: Habit) -> float | None:
    """For the seed rule followed by fresh repeats: either stage may miss it, so each is asked for √0.8."""
    each = math.sqrt(POWER)
    tripped = smallest_seed_drop(habit, each)
    confirmed = _smallest(
        habit,
        lambda drop: mde_paired(
            len(habit.passes),
            (habit.variance(drop) + habit.variance()) / CONFIRM_RUNS,
            2 * CONFIRM_P,  # one-sided
            each,
        ),
    )
    return None if tripped is None or confirmed is None else max(tripped, confirmed)


def smallest_sequential_drop(habit: Habit, evidence: DriftEvidence) -> float | None:
    """For the detector: the drop that takes it from where it stood to its alert within this one check."""
    alpha = min(1.0, 2 * _alerting_p(evidence.level))
    return _smallest(
        habit,
        lambda drop: mde_paired(
            len(habit.passes), habit.variance(drop) + habit.variance() / habit.answers, alpha, POWER
        ),
    )


def _smallest(habit: Habit, needed: Callable[[float], float]) -> float | None:
    """The drop that needs no more than itself; None when even a fall to nothing would need more.

    A drop adds variance of its own, so what is needed depends on it: found by halving.
    """
    low, high = 0.0, habit.rate
    if needed(high) > high:
        return None
    for _ in range(_TIMES):
        middle = (low + high) / 2
        low, high = (low, middle) if needed(middle) <= middle else (middle, high)
    return high


@cache
def _alerting_p(level: float) -> float:
    """The largest p that takes the detector from this level to its alert, on a logarithmic scale."""
    low, high = _LOWEST, 0.0
    for _ in range(_TIMES):
        middle = (low + high) / 2
        is_alert = e_detector([10**middle], DriftEvidence(level)).alerted
        low, high = (middle, high) if is_alert else (low, middle)
    return float(10**low)
