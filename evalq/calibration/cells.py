"""Cells of answers: whether people labelled all kinds evenly, and what to do when they did not."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from evalq.calibration.answers import Answer
from evalq.stats.intervals import wilson

Kind = Callable[[Answer], Hashable]

_EVEN_P = 0.2
_Z2 = NormalDist().inv_cdf(0.975) ** 2


@dataclass(frozen=True)
class Cell:
    """Answers of one kind: how many there are, how many are labelled, how many of those people passed.

    A kind holds only answers that the grader passed, or only such as it failed.
    """

    size: int
    labelled: int
    passed: int
    is_pass: bool


class Share(NamedTuple):
    """A share with its interval, as sure as if n answers drawn evenly were behind it."""

    n: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class Kinds:
    """How answers are told apart, finest first: judge, the grader's verdict, whether judges disagree."""

    contested: frozenset[str]

    def of_one_judge(self) -> tuple[Kind, ...]:
        """For the answers of a single judge."""
        return (
            lambda answer: (answer.passed, answer.case_id in self.contested),
            lambda answer: answer.passed,
        )

    def of_all(self) -> tuple[Kind, ...]:
        """For the answers of several judges."""
        return (
            lambda answer: (answer.judge, answer.passed, answer.case_id in self.contested),
            lambda answer: (answer.judge, answer.passed),
            *self.of_one_judge(),
        )


def cells_by(kind: Kind, answers: Sequence[Answer]) -> dict[Hashable, Cell]:
    """The answers counted by kind."""
    sizes = Counter(kind(one) for one in answers)
    labelled = Counter(kind(one) for one in answers if one.human is not None)
    passed = Counter(kind(one) for one in answers if one.human)
    verdicts = {kind(one): one.passed for one in answers}
    return {name: Cell(sizes[name], labelled[name], passed[name], verdicts[name]) for name in sizes}


def is_even(cells: Sequence[Cell]) -> bool:
    """Whether every kind was labelled about as often as if answers had been drawn at random.

    Pearson's chi-square with a lenient level: what is taken for uneven without being so only loses a little
    precision, what is taken for even without being so would bias every number.
    """
    from scipy.special import chdtrc

    share = sum(cell.labelled for cell in cells) / sum(cell.size for cell in cells)
    if len(cells) < 2 or share in (0.0, 1.0):
        return True
    spread = share * (1 - share)
    statistic = sum((cell.labelled - cell.size * share) ** 2 / (cell.size * spread) for cell in cells)
    return bool(chdtrc(len(cells) - 1, statistic) >= _EVEN_P)


def covering(kinds: Sequence[Kind], answers: Sequence[Answer]) -> Kind | None:
    """The finest kinds of which every one has a label; None when none of them has."""
    for kind in kinds:
        if all(cell.labelled for cell in cells_by(kind, answers).values()):
            return kind
    return None


def weighed_quality(cells: Sequence[Cell]) -> tuple[Share | None, Share | None]:
    """The grader's sensitivity and specificity, each kind of answer counted by its size.

    None for a rate about answers of which people saw none.
    """
    good = [_Part(cell.size, cell.passed / cell.labelled, *_ends(cell), cell.is_pass) for cell in cells]
    bad = [_Part(part.size, 1 - part.share, 1 - part.high, 1 - part.low, not part.is_right) for part in good]
    return _quality(good), _quality(bad)


class _Part(NamedTuple):
    """A kind's size, the share of it that is asked about, and whether the grader marked that rightly."""

    size: int
    share: float
    low: float
    high: float
    is_right: bool


def _quality(parts: Sequence[_Part]) -> Share | None:
    """The share of right marks with its 95 % interval: of a ratio, so Fieller's way, with Wilson's intervals.

    A value r is in the interval when (1 - r) · right - r · wrong may be 0, by Zou and Donner 2008.
    """
    right, wrong = (sum(p.size * p.share for p in parts if p.is_right is side) for side in (True, False))
    if not right + wrong:
        return None
    rate = right / (right + wrong)
    if len({part.is_right for part in parts}) == 1:  # the grader said one thing only: that much is certain
        n = max(1, round(right + wrong))
        return Share(n, rate, *wilson(rate * n, n))
    low = _outermost(lambda r: _margin(parts, r, is_low=True) >= (1 - r) * right - r * wrong, rate, 0.0)
    high = _outermost(lambda r: _margin(parts, r, is_low=False) >= r * wrong - (1 - r) * right, rate, 1.0)
    half, middle = (high - low) / 2, (high + low) / 2
    return Share(max(1, round(_Z2 * middle * (1 - middle) / half**2)), rate, low, high)


def _margin(parts: Sequence[_Part], rate: float, *, is_low: bool) -> float:
    """How far right and wrong marks may balance otherwise than they do, in one direction."""
    total = 0.0
    for part in parts:
        is_down = part.is_right is is_low
        reach = part.share - part.low if is_down else part.high - part.share
        weight = 1 - rate if part.is_right else rate
        # What people would say of this kind is uncertain, and so is how much of it there would be next time.
        total += weight**2 * ((part.size * reach) ** 2 + _Z2 * part.size * part.share**2)
    return math.sqrt(total)


def _outermost(may_be: Callable[[float], bool], inside: float, outside: float) -> float:
    """The value farthest from `inside` towards `outside` that may be, by halving."""
    if may_be(outside):
        return outside
    for _ in range(40):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if may_be(middle) else (inside, middle)
    return inside


def stratified_rate(cells: Sequence[Cell]) -> tuple[float, float, float]:
    """The share people would pass, each kind counted by its size, with a 95 % interval.

    Right however the labels were shared out among the kinds. The interval joins those of Wilson as in Zou
    and Donner 2008, doi.org/10.1002/sim.3095, and adds that the mix of kinds is itself a draw. With the
    verdict as kind, the estimate is that of prediction-powered inference at its saturating weight.
    """
    total = sum(cell.size for cell in cells)
    parts = [(cell.size / total, cell.passed / cell.labelled, *_ends(cell)) for cell in cells]
    rate = sum(weight * share for weight, share, _, _ in parts)
    mix = _Z2 * max(0.0, sum(weight * share**2 for weight, share, _, _ in parts) - rate**2) / total
    below = sum((weight * (share - low)) ** 2 for weight, share, low, _ in parts)
    above = sum((weight * (high - share)) ** 2 for weight, share, _, high in parts)
    return rate, max(0.0, rate - math.sqrt(below + mix)), min(1.0, rate + math.sqrt(above + mix))


def _ends(cell: Cell) -> tuple[float, float]:
    return wilson(cell.passed, cell.labelled)
