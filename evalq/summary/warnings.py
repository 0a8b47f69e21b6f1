"""The warnings of a result, notes on its grader models, and the commands to type next."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from evalq.records import BakeOffRow, CallTotals, RunRow
from evalq.results import GradingNote, RunResult, Share, plain
from evalq.stats.agreement import krippendorff_alpha
from evalq.summary.rates import share_of

_RETRIABLE = ("worker_lost", "internal")
"""Errors that are not the judge's fault; nor are failed calls, whose kinds begin with `call_`."""

_LOW_ALPHA = 0.667
"""Krippendorff's own limit: below it not even tentative conclusions."""

_LONGEST_FAULT = 200

Details = Mapping[str, Any]
"""The details of one grade, as stored."""


def warnings(
    bakeoff: BakeOffRow,
    runs: Sequence[RunRow],
    results: Sequence[RunResult],
    first_faults: Mapping[int, str] | None = None,
) -> Iterator[str]:
    """What a reader must know before acting on the numbers; `first_faults` are by run."""
    for result in results:
        yield from _run_warnings(result, (first_faults or {}).get(result.run_id, ""))
    if bakeoff.run_type == "limited":
        yield "a trial on the first cases only, by --limit: `last` does not mean it"
    yield from _stop_warnings(bakeoff)
    for run in runs:
        if run.grades_itself:
            yield f"{run.judge} grades its own answers: models favour what they wrote; name another grader"
    if bakeoff.grader_model == "sim-grader" and any(run.provider != "simulated" for run in runs):
        yield "graded by sim-grader, a simulation: its verdicts say nothing about real answers"
    if any(run.provider == "simulated" for run in runs):
        yield "simulated judges: the dollars are simulated too, nothing was billed"


def cost_warnings(runs: Sequence[RunRow], calls: Mapping[tuple[int, str], CallTotals]) -> Iterator[str]:
    """Which dollars are not what a provider stated, or are more than was set aside."""
    for run in runs:
        totals = [total for (run_id, _), total in calls.items() if run_id == run.id]
        assumed = sum(total.assumed for total in totals)
        above = sum(total.above for total in totals)
        if assumed:
            of_all = f"{assumed} of {sum(total.sent for total in totals)} calls"
            yield f"{run.judge}: {of_all} state no usage or cost; their worst case counts as their cost"
        if above:
            calls_cost = "1 call cost" if above == 1 else f"{above} calls cost"
            yield f"{run.judge}: {calls_cost} more than the worst case; check the judge's price and limits"


def _run_warnings(result: RunResult, first_fault: str) -> Iterator[str]:
    if result.excluded:
        is_told = first_fault in result.excluded
        reason = result.excluded if is_told else f"{result.excluded}: {_cut_short(first_fault)}"
        yield f"{result.judge}: {reason}; left out of ranking and agreement: broken, not bad"
    elif result.n_error:
        kinds = ", ".join(
            f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(result.errors.items())
        )
        share = f"{result.n_error} of {result.n_ended}"
        yield f"{result.judge}: {share} not graded ({kinds}); its rate is over the rest"
    if result.n_pending:
        share = f"{result.n_pending} of {result.n_ended} answers"
        yield f"{result.judge}: {share} wait for review by people; its rate is over the rest"


def _cut_short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _LONGEST_FAULT else f"{line[:_LONGEST_FAULT]}…"


def _stop_warnings(bakeoff: BakeOffRow) -> Iterator[str]:
    if bakeoff.state == "capped":
        yield f"stopped at {bakeoff.stop_reason or 'the cap'}; everything paid for is stored"
        if bakeoff.stop_reason and "bake-off" not in bakeoff.stop_reason:
            yield "that cap is under caps: in evalq.yaml; raise it there, or wait for tomorrow (UTC)"
    if bakeoff.state == "paused" and bakeoff.stop_reason:
        yield f"paused: {bakeoff.stop_reason}"


def next_commands(bakeoff: BakeOffRow, results: Sequence[RunResult]) -> Iterator[str]:
    """The commands to type next, most useful first."""
    if bakeoff.state in ("paused", "cancelled") or any(_is_paused(result) for result in results):
        yield f"evalq resume {bakeoff.id}"
    if bakeoff.state == "capped":
        is_own = "bake-off" in (bakeoff.stop_reason or "bake-off")
        raised = f" --max-cost-usd {plain(bakeoff.cap_usd * 2)}" if is_own else ""
        yield f"evalq resume {bakeoff.id}{raised}"
    if bakeoff.state == "running":
        yield f"evalq watch {bakeoff.id}"
    if any(_has_retriable_error(result) for result in results):
        yield f"evalq retry {bakeoff.id} --errors"
    if any(result.n_pending for result in results):
        yield f"evalq review next {bakeoff.id}"
    if sum(not result.excluded for result in results) > 1:
        yield f"evalq inspect {bakeoff.id} --disagreements"
    yield f"evalq inspect {bakeoff.id} --show-failures"
    yield f"evalq report {bakeoff.id}"
    yield "evalq web"


def _is_paused(result: RunResult) -> bool:
    return bool(result.excluded and result.excluded.startswith("paused"))


def _has_retriable_error(result: RunResult) -> bool:
    return any(kind.startswith("call_") or kind in _RETRIABLE for kind in result.errors)


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
        """Whether one position wins more often than chance explains."""
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
    `errors` counts the missing opinions by model.
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


def grading_notes(opinions: Mapping[str, Sequence[Details]]) -> Iterator[GradingNote]:
    """What a reader must know about the grader models behind the verdicts, by grader."""
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


def position_bias(details: Iterable[Details]) -> tuple[PositionBias, ...]:
    """The bias of every grader model that compared answers, from the details of its grades."""
    replies: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for one in details:
        for member in one.get("members", ()):
            if "replies" in member:
                straight, swapped = member["replies"]
                replies[member["model"]].append((straight, swapped))
    return tuple(_bias_of(grader, pairs) for grader, pairs in sorted(replies.items()))


def _bias_of(grader: str, pairs: Sequence[tuple[str, str]]) -> PositionBias:
    # The second reply is about the swapped order: a consistent grader replies A and B, B and A, or TIE twice.
    moved = [pair for pair in pairs if pair not in (("A", "B"), ("B", "A"), ("TIE", "TIE"))]
    prefers_first = sum("A" in pair for pair in moved)
    wins = Counter[str]()
    for pair in pairs:
        wins.update(pair)
    return PositionBias(
        grader,
        len(pairs),
        share_of(len(moved), len(pairs)),
        share_of(wins["A"], wins["A"] + wins["B"]),
        prefers_first,
        len(moved) - prefers_first,
    )


def panel_agreement(details: Iterable[Details]) -> PanelAgreement | None:
    """The agreement of a panel, from the details of its grades; None without two opinions to compare."""
    panels: list[dict[str, bool | None]] = []
    for one in details:
        members = one.get("members", ())
        if len(members) > 1:
            panels.append({member["model"]: member.get("passed") for member in members})
    compared = [panel for panel in panels if len(_known_votes(panel)) > 1]
    if not compared:
        return None
    n_unanimous = n_pairs = n_agreeing = 0
    for panel in compared:
        votes = _known_votes(panel)
        n_unanimous += len(set(votes)) == 1
        for a, b in combinations(votes, 2):
            n_pairs += 1
            n_agreeing += a == b
    errors = Counter[str]()
    for panel in panels:
        errors.update({model: int(passed is None) for model, passed in panel.items()})
    return PanelAgreement(
        tuple(errors),
        len(compared),
        share_of(n_unanimous, len(compared)),
        n_agreeing / n_pairs,
        _alpha_of(compared, tuple(errors)),
        {model: n for model, n in errors.items() if n},
    )


def _known_votes(panel: Mapping[str, bool | None]) -> list[bool]:
    return [passed for passed in panel.values() if passed is not None]


def _alpha_of(panels: Sequence[Mapping[str, bool | None]], models: Sequence[str]) -> float | None:
    """Krippendorff's alpha of the models' votes; None where it is undefined."""
    ratings: list[list[float | None]] = []
    for model in models:
        votes = [panel.get(model) for panel in panels]
        ratings.append([None if passed is None else float(passed) for passed in votes])
    alpha = krippendorff_alpha(ratings)
    return None if math.isnan(alpha) else alpha
