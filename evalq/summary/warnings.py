"""What a result says in words: its warnings, and the commands to type next."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from evalq.records import BakeOffRow, RunRow
from evalq.results import GradingNote, RunResult, Share
from evalq.stats.agreement import krippendorff_alpha
from evalq.summary.rates import share_of

_MENDABLE = ("worker_lost", "internal")
"""Errors that say nothing of the judge; so do those of calls, whose kinds begin with `call_`."""


def warnings(bakeoff: BakeOffRow, runs: Sequence[RunRow], results: Sequence[RunResult]) -> Iterator[str]:
    """Everything a reader must know before acting on the numbers."""
    for result in results:
        if result.excluded:
            yield f"{result.judge}: {result.excluded}; left out of ranking and agreement: broken, not bad"
        elif result.n_error:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(result.errors.items()))
            share = f"{result.n_error} of {result.n_ended}"
            yield f"{result.judge}: {share} not graded ({kinds}); its rate is over the rest"
        if result.n_pending:
            share = f"{result.n_pending} of {result.n_ended} answers"
            yield f"{result.judge}: {share} wait for review by people; its rate is over the rest"
    yield from _stop(bakeoff)
    yield from _own_graders(runs)
    if bakeoff.grader_model == "sim-grader" and any(run.provider != "simulated" for run in runs):
        yield "graded by sim-grader, a simulation: its verdicts say nothing about real answers"
    if any(run.provider == "simulated" for run in runs):
        yield "simulated judges: the dollars are simulated too, nothing was billed"


def _own_graders(runs: Sequence[RunRow]) -> Iterator[str]:
    for run in runs:
        if run.grades_itself:
            yield f"{run.judge} grades its own answers: models favour what they wrote; name another grader"


def _stop(bakeoff: BakeOffRow) -> Iterator[str]:
    if bakeoff.state == "capped":
        yield f"stopped at {bakeoff.stop_reason or 'the cap'}; everything paid for is stored"
        if bakeoff.stop_reason and "bake-off" not in bakeoff.stop_reason:
            yield "that cap is under caps: in evalq.yaml; raise it there, or wait for tomorrow (UTC)"
    if bakeoff.state == "paused" and bakeoff.stop_reason:
        yield f"paused: {bakeoff.stop_reason}"


def next_commands(bakeoff: BakeOffRow, results: Sequence[RunResult]) -> Iterator[str]:
    """What to type next, most useful first."""
    if bakeoff.state in ("paused", "cancelled") or any(_is_paused(result) for result in results):
        yield f"evalq resume {bakeoff.id}"
    if bakeoff.state == "capped":
        is_own = "bake-off" in (bakeoff.stop_reason or "bake-off")
        raised = f" --max-cost-usd {bakeoff.cap_usd * 2:.2f}" if is_own else ""
        yield f"evalq resume {bakeoff.id}{raised}"
    if bakeoff.state == "running":
        yield f"evalq watch {bakeoff.id}"
    if any(_is_mendable(kind) for result in results for kind in result.errors):
        yield f"evalq retry {bakeoff.id} --errors"
    if any(result.n_pending for result in results):
        yield f"evalq review next {bakeoff.id}"
    if sum(not result.excluded for result in results) > 1:
        yield f"evalq inspect {bakeoff.id} --disagreements"
    yield f"evalq inspect {bakeoff.id} --show-failures"


def _is_paused(result: RunResult) -> bool:
    return bool(result.excluded and result.excluded.startswith("paused"))


def _is_mendable(kind: str) -> bool:
    return kind.startswith("call_") or kind in _MENDABLE


_LOW_ALPHA = 0.667
"""Krippendorff's own limit: below it not even tentative conclusions."""

Details = Mapping[str, Any]
"""The details of one grade, as stored."""


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
            yield GradingNote(grader, "panel", f"{grader}: {panel}", is_split, _numbers_of(panel))
        for bias in position_bias(details):
            yield GradingNote(grader, "position_bias", f"{grader}: {bias}", bias.is_biased, _numbers_of(bias))


def _numbers_of(note: PositionBias | PanelAgreement) -> dict[str, Any]:
    """The note as JSON; the stored results call the rate of a share `share`."""
    numbers = asdict(note)
    for name in numbers:
        value = getattr(note, name)
        if isinstance(value, Share):
            numbers[name] = {
                "k": value.k,
                "n": value.n,
                "share": value.rate,
                "ci_low": value.ci_low,
                "ci_high": value.ci_high,
            }
    return numbers


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
