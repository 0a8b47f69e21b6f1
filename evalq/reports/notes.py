"""The lines under a ranking: ties, agreement, money, what went wrong, and what to type next."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Literal

from evalq.reports.standing import Standing, standings
from evalq.reports.text import money
from evalq.results import Agreement, BakeOffResult, RunResult

NoteKind = Literal["interim", "tie", "kappa", "cost", "excluded", "not_graded", "warning", "next"]

LISTED_PAIRS = 3
FLAGS = {"same_provider": "same provider, do not count as two votes"}


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
    """Names the judges that the paired test cannot tell from the first, one line for each n."""
    placed = standings(result)
    tied = sorted((standing for standing in placed if standing.is_tied), key=_pair_n, reverse=True)
    for n, group in groupby(tied, key=_pair_n):
        others = ", ".join(standing.run.judge for standing in group)
        yield Note("tie", f"cannot separate {placed[0].run.judge} from {others} at n={n}")


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


def next_notes(result: BakeOffResult) -> Iterator[Note]:
    """The commands a reader would type now."""
    return (Note("next", command) for command in result.next)


def not_graded(run: RunResult) -> str:
    """Answers that got no verdict, by kind, commonest first: 4 not graded: 2 refused, 2 malformed."""
    kinds = sorted(run.errors.items(), key=lambda kind: (-kind[1], kind[0]))
    split = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds)
    return f"{run.n_error} not graded" + (f": {split}" if split else "")


def _pair_n(standing: Standing) -> int:
    return standing.lead.n if standing.lead else 0


def _pair_text(kappa: float, pair: Agreement) -> str:
    ac1 = "" if pair.ac1 is None else f", AC1 {pair.ac1:.2f}"
    flag = f" ({FLAGS.get(pair.flag, pair.flag.replace('_', ' '))})" if pair.flag else ""
    return f"{pair.a} ↔ {pair.b} {kappa:.2f}{ac1}, n={pair.n}{flag}"


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
