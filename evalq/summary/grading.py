"""How far grader models are to be trusted: whether order moves them, and whether a panel agrees."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from evalq.results import GradingNote
from evalq.stats.intervals import wilson
from evalq.stats.raters import krippendorff_alpha

_LOW_ALPHA = 0.667
"""Krippendorff's own limit: below it not even tentative conclusions."""

Details = Mapping[str, Any]
"""The details of one grade, as stored."""


@dataclass(frozen=True)
class Share:
    """k of n with a 95 % Wilson interval; the numbers are None for n = 0."""

    k: int
    n: int
    share: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None

    def __str__(self) -> str:
        if self.share is None or self.ci_low is None or self.ci_high is None:
            return f"{self.k} of {self.n}"
        return f"{self.k} of {self.n} ({self.share:.0%}, 95 % CI {self.ci_low:.0%} to {self.ci_high:.0%})"


@dataclass(frozen=True)
class PositionBias:
    """How a grader model's choice between two answers depends on their order.

    `inconsistent`: pairs whose winner changed with the order. `first`: of the calls with a winner, those
    won by the answer shown first; without bias that is about half.
    """

    grader: str
    n: int
    inconsistent: Share
    first: Share
    prefers_first: int
    prefers_second: int

    @property
    def is_biased(self) -> bool:
        """Whether one place wins more often than chance explains."""
        low, high = self.first.ci_low, self.first.ci_high
        return low is not None and high is not None and not low <= 0.5 <= high

    def __str__(self) -> str:
        if not self.inconsistent.k:
            return f"grader {self.grader} prefers the same answer in either order in all of {self.n} pairs"
        return (
            f"grader {self.grader} changes its mind with the order in {self.inconsistent} pairs: it prefers "
            f"the first answer in {self.prefers_first} and the second in {self.prefers_second}; "
            f"the first won {self.first} of its decisions"
        )


@dataclass(frozen=True)
class PanelAgreement:
    """How far the grader models of a panel agree on passed or failed.

    `pairs` is the share of agreeing pairs of members; `alpha` is Krippendorff's, None where it is undefined.
    `errors` counts the opinions that could not be had, by model.
    """

    graders: tuple[str, ...]
    n: int
    unanimous: Share
    pairs: float
    alpha: float | None
    errors: Mapping[str, int]

    def __str__(self) -> str:
        alpha = "" if self.alpha is None else f", Krippendorff's alpha {self.alpha:.2f}"
        missing = "".join(f"; {name} had no opinion on {n}" for name, n in self.errors.items())
        return (
            f"panel {', '.join(self.graders)} is of one mind on {self.unanimous} answers; "
            f"{self.pairs:.0%} of pairs agree{alpha}{missing}"
        )


def position_bias(details: Iterable[Details]) -> tuple[PositionBias, ...]:
    """The bias of every grader model that compared answers, by the details of its grades."""
    replies: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for member in _members(details):
        if "replies" in member:
            straight, swapped = member["replies"]
            replies[member["model"]].append((straight, swapped))
    return tuple(_bias(grader, pairs) for grader, pairs in sorted(replies.items()))


def panel_agreement(details: Iterable[Details]) -> PanelAgreement | None:
    """The agreement of a panel by the details of its grades; None where no two opinions can be compared."""
    rows = [_opinions(one) for one in details if len(one.get("members", ())) > 1]
    compared = [row for row in rows if sum(passed is not None for passed in row.values()) > 1]
    if not compared:
        return None
    graders = tuple(dict.fromkeys(name for row in rows for name in row))
    said = [[passed for passed in row.values() if passed is not None] for row in compared]
    pairs = [a == b for votes in said for a, b in combinations(votes, 2)]
    alpha = krippendorff_alpha([[_number(row.get(name)) for row in compared] for name in graders])
    errors = {name: sum(name in row and row[name] is None for row in rows) for name in graders}
    return PanelAgreement(
        graders,
        len(compared),
        share_of(sum(len(set(votes)) == 1 for votes in said), len(compared)),
        sum(pairs) / len(pairs),
        None if math.isnan(alpha) else alpha,
        {name: n for name, n in errors.items() if n},
    )


def grading_notes(opinions: Mapping[str, Sequence[Details]]) -> Iterator[GradingNote]:
    """What a reader must know of the grader models behind a bake-off's verdicts, by grader."""
    for grader, details in opinions.items():
        panel = panel_agreement(details)
        if panel is not None:
            is_split = panel.alpha is not None and panel.alpha < _LOW_ALPHA
            yield GradingNote(grader, "panel", f"{grader}: {panel}", is_split, asdict(panel))
        for bias in position_bias(details):
            yield GradingNote(grader, "position_bias", f"{grader}: {bias}", bias.is_biased, asdict(bias))


def share_of(k: int, n: int) -> Share:
    """k of n with its interval."""
    if not n:
        return Share(k, n)
    low, high = wilson(k, n)
    return Share(k, n, k / n, low, high)


def _bias(grader: str, pairs: Sequence[tuple[str, str]]) -> PositionBias:
    # With one answer first and then the other, a grader that minds the answers says A and B, or TIE twice.
    moved = [pair for pair in pairs if pair not in (("A", "B"), ("B", "A"), ("TIE", "TIE"))]
    winners = [reply for pair in pairs for reply in pair if reply != "TIE"]
    prefers_first = sum("A" in pair for pair in moved)
    return PositionBias(
        grader,
        len(pairs),
        share_of(len(moved), len(pairs)),
        share_of(winners.count("A"), len(winners)),
        prefers_first,
        len(moved) - prefers_first,
    )


def _members(details: Iterable[Details]) -> Iterator[Details]:
    for one in details:
        yield from one.get("members", ())


def _opinions(details: Details) -> dict[str, bool | None]:
    return {member["model"]: member.get("passed") for member in details["members"]}


def _number(passed: bool | None) -> float | None:
    return None if passed is None else float(passed)
