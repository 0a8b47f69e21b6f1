"""The lines under a ranking: ties, agreement, money, what went wrong, and what to type next."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from evalq.reports.ranking import RankedRun, standings
from evalq.reports.text import money
from evalq.results import Agreement, BakeOffResult, RunResult

NoteKind = Literal[
    "interim", "tie", "kappa", "cost", "excluded", "not_graded", "warning", "grading", "holdout", "next"
]

LISTED_PAIRS = 3
LISTED_TIES = 6
FLAGS = {
    "same_provider": "same provider, do not count as two votes",
    "same_judge": "one judge twice: how consistent it is",
}


@dataclass(frozen=True)
class Note:
    """One line: what it is about, and its words (not yet cleaned)."""

    kind: NoteKind
    text: str


def interim_notes(result: BakeOffResult) -> Iterator[Note]:
    """Says that the numbers are not the last ones."""
    if result.state != "concluded":
        yield Note("interim", f"INTERIM  {result.n_done} of {result.n_jobs} jobs done, {result.state}")


def tie_notes(result: BakeOffResult) -> Iterator[Note]:
    """Names the judges that the paired test cannot tell from the first, and what would settle it."""
    placed = standings(result)
    by_end: dict[str, list[str]] = {}
    for standing in sorted((each for each in placed if each.is_tied), key=_pair_n, reverse=True):
        by_end.setdefault(_tie_end(standing), []).append(standing.run.judge)
    for end, others in list(by_end.items())[:LISTED_TIES]:
        yield Note("tie", f"cannot separate {placed[0].run.judge} from {', '.join(others)} {end}")
    rest = [judge for others in list(by_end.values())[LISTED_TIES:] for judge in others]
    if rest:
        yield Note("tie", f"nor from {', '.join(rest)}")


def _tie_end(standing: RankedRun) -> str:
    """At which n, and how many cases it would take."""
    lead = standing.lead
    assert lead is not None
    if lead.cases_needed is not None:
        return f"at n={lead.n}, needs about {lead.cases_needed} cases for this difference"
    if lead.n and lead.diff == 0:
        return f"at n={lead.n}, no number of cases would separate them at this difference"
    return f"at n={lead.n}"


def kappa_notes(result: BakeOffResult) -> Iterator[Note]:
    """The closest pair, other pairs with a flag, and the judges whose verdicts never vary."""
    defined = sorted(
        ((pair.kappa, pair) for pair in result.kappa if pair.kappa is not None),
        key=lambda known: known[0],
        reverse=True,
    )
    flagged = [_pair_text(kappa, pair) for kappa, pair in defined[1:] if pair.flag]
    for kappa, pair in defined[:1]:
        yield Note("kappa", f"highest {_pair_text(kappa, pair)}")
    yield from (Note("kappa", line) for line in flagged[:LISTED_PAIRS])
    if len(flagged) > LISTED_PAIRS:
        yield Note("kappa", f"and {len(flagged) - LISTED_PAIRS} more pairs with a flag")
    yield from _constant_notes(result)


def cost_note(result: BakeOffResult) -> Note:
    """Spent and cap, split by what the money bought, with the date of the price table."""
    judging = sum((run.judging_cost_usd for run in result.runs), Decimal(0))
    grading = sum((run.grading_cost_usd for run in result.runs), Decimal(0))
    parts = [f"judging {money(judging)}", f"scoring {money(grading)}"]
    unsettled = result.spent_usd - judging - grading
    if unsettled > 0:
        parts.append(f"unsettled {money(unsettled)}")
    parts.append(f"cache saved {money(result.saved_usd)}")
    dated = f"   prices {result.prices_as_of}" if result.prices_as_of else ""
    return Note(
        "cost", f"{money(result.spent_usd)} of {money(result.cap_usd)} cap: {', '.join(parts)}{dated}"
    )


def problem_notes(result: BakeOffResult, *, reason_room: int = 0) -> Iterator[Note]:
    """Exclusions not readable in a row of `reason_room`, answers without a verdict, warnings."""
    for run in result.runs:
        if run.excluded is None and run.n_error and not _warned(run, result, "not graded"):
            yield Note("not_graded", f"{run.judge}: {not_graded(run)}")
        elif (
            run.excluded is not None
            and len(run.excluded) > reason_room
            and not _warned(run, result, run.excluded)
        ):
            yield Note("excluded", f"{run.judge} excluded: {run.excluded}")
    yield from (Note("warning", warning) for warning in result.warnings)


def grading_notes(result: BakeOffResult) -> Iterator[Note]:
    """How far the grader models agree, and whether the order of answers moves them."""
    for note in result.grading:
        yield Note("warning" if note.is_warning else "grading", note.text)


def holdout_notes(result: BakeOffResult) -> Iterator[Note]:
    """Where the holdout log of the task stood: written down here, its end cannot be cut off unseen."""
    if result.holdout_head:
        yield Note("holdout", f"holdout log of {result.task} at {result.holdout_head}")


def next_notes(result: BakeOffResult) -> Iterator[Note]:
    """The commands a reader would type now."""
    return (Note("next", command) for command in result.next)


def not_graded(run: RunResult) -> str:
    """Answers that got no verdict, by kind, commonest first: 4 not graded: 2 refused, 2 malformed."""
    kinds = sorted(run.errors.items(), key=lambda kind: (-kind[1], kind[0]))
    split = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds)
    return f"{run.n_error} not graded" + (f": {split}" if split else "")


def flag_text(flag: str) -> str:
    """What a flag of a pair means, in words."""
    return FLAGS.get(flag, flag.replace("_", " "))


def kappa_text(value: float | None) -> str:
    """κ, AC1 or an end of κ's interval, with a real minus sign; n/a where it is not defined."""
    return "n/a" if value is None else f"{value:.2f}".replace("-", "−")


def interval_text(pair: Agreement) -> str:
    """[0.49, 0.83]; nothing when κ has no interval."""
    if pair.ci_low is None or pair.ci_high is None:
        return ""
    return f"[{kappa_text(pair.ci_low)}, {kappa_text(pair.ci_high)}]"


def _pair_n(standing: RankedRun) -> int:
    return standing.lead.n if standing.lead else 0


def _pair_text(kappa: float, pair: Agreement) -> str:
    ac1 = "" if pair.ac1 is None else f", AC1 {kappa_text(pair.ac1)}"
    flag = f" ({flag_text(pair.flag)})" if pair.flag else ""
    ends = f" {interval_text(pair)}" if interval_text(pair) else ""
    return f"{pair.a} ↔ {pair.b} {kappa_text(kappa)}{ends}{ac1}, n={pair.n}{flag}"


def _constant_notes(result: BakeOffResult) -> Iterator[Note]:
    """A judge that gave one verdict only is named once; a pair constant only where it overlaps, as a pair."""
    undefined = [pair for pair in result.kappa if pair.kappa is None]
    named = {judge for pair in undefined for judge in (pair.a, pair.b)}
    constant = [run.judge for run in result.runs if run.judge in named and 0 in (run.n_pass, run.n_fail)]
    pairs = [f"{pair.a} ↔ {pair.b}" for pair in undefined if not {pair.a, pair.b} & set(constant)]
    if constant or pairs:
        yield Note("kappa", f"n/a (constant) for {', '.join(constant + pairs)}")


def _warned(run: RunResult, result: BakeOffResult, what: str) -> bool:
    return any(run.judge in warning and what in warning for warning in result.warnings)
