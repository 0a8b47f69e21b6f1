"""The lines under a ranking: ties, agreement, money, problems, and what to type next."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from evalq.definitions.money import money
from evalq.reports.ranking import RankedRun, ranked_runs
from evalq.results import Agreement, BakeOffResult, RunResult

NoteKind = Literal[
    "interim",
    "tie",
    "kappa",
    "cost",
    "excluded",
    "not_graded",
    "warning",
    "grading",
    "holdout",
    "next",
    "decision",
    "caveat",
    "runs",
]

LISTED_PAIRS = 3
LISTED_TIES = 6
FLAGS = {
    "same_provider": "same provider, do not count as two votes",
    "same_judge": "one judge twice: how consistent it is",
}


@dataclass(frozen=True)
class Note:
    """One line: what it is about, and its text (not yet cleaned)."""

    kind: NoteKind
    text: str


def interim_notes(result: BakeOffResult) -> Iterator[Note]:
    """A warning while the numbers are not final."""
    if result.state != "concluded":
        yield Note("interim", f"INTERIM  {result.n_done} of {result.n_jobs} jobs done, {result.state}")


def tie_notes(result: BakeOffResult) -> Iterator[Note]:
    """The judges that the paired test cannot separate from the first, and what would settle it."""
    ranked = ranked_runs(result)
    tied = [each for each in ranked if each.is_tied]
    by_end: dict[str, list[str]] = {}
    for each in sorted(tied, key=_pair_n, reverse=True):
        by_end.setdefault(_tie_end(each), []).append(each.run.judge)
    rest = []
    for place, (end, others) in enumerate(by_end.items()):
        if place < LISTED_TIES:
            yield Note("tie", f"cannot separate {ranked[0].run.judge} from {', '.join(others)} {end}")
        else:
            rest += others
    if rest:
        yield Note("tie", f"nor from {', '.join(rest)}")


def _tie_end(tied: RankedRun) -> str:
    """The n of the comparison, and how many cases would separate the two."""
    lead = tied.lead
    assert lead is not None
    if lead.cases_needed is not None:
        return f"at n={lead.n}, needs about {lead.cases_needed} cases for this difference"
    if lead.n and lead.diff == 0:
        return f"at n={lead.n}, no number of cases would separate them at this difference"
    return f"at n={lead.n}"


def kappa_notes(result: BakeOffResult) -> Iterator[Note]:
    """The closest pair, other pairs with a flag, and the judges whose verdicts never vary."""
    defined = [pair for pair in result.kappa if pair.kappa is not None]
    defined.sort(key=lambda pair: pair.kappa or 0.0, reverse=True)
    if defined:
        yield Note("kappa", f"highest {_pair_text(defined[0])}")
    flagged = [pair for pair in defined[1:] if pair.flag]
    for pair in flagged[:LISTED_PAIRS]:
        yield Note("kappa", _pair_text(pair))
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
    """Exclusions too long for a row of `reason_room`, answers without a verdict, warnings."""
    for run in result.runs:
        if run.excluded is None:
            if run.n_error and not _is_warned(run, result, "not graded"):
                yield Note("not_graded", f"{run.judge}: {not_graded(run)}")
        elif len(run.excluded) > reason_room and not _is_warned(run, result, run.excluded):
            yield Note("excluded", f"{run.judge} excluded: {run.excluded}")
    for warning in result.warnings:
        yield Note("warning", warning)


def grading_notes(result: BakeOffResult) -> Iterator[Note]:
    """How far the grader models agree, and whether the order of answers sways them."""
    for note in result.grading:
        yield Note("warning" if note.is_warning else "grading", note.text)


def holdout_notes(result: BakeOffResult) -> Iterator[Note]:
    """The head of the task's holdout log: with it on record, truncating the log is noticed."""
    if result.holdout_head:
        yield Note("holdout", f"holdout log of {result.task} at {result.holdout_head}")


def next_notes(result: BakeOffResult) -> Iterator[Note]:
    """The commands to type next."""
    return (Note("next", command) for command in result.next)


def run_notes(result: BakeOffResult) -> Iterator[Note]:
    """Each run's name and number, as commands take them."""
    if result.runs:
        named = [f"{result.id}/{run.judge} = {run.run_id}" for run in result.runs]
        yield Note("runs", f"runs {', '.join(named)}")


def decision_notes(result: BakeOffResult) -> Iterator[Note]:
    """What the numbers decide, and what qualifies that."""
    if result.decision is not None:
        yield Note("decision", result.decision.sentence)
        if result.decision.caveats:
            yield Note("caveat", f"Mind: {'; '.join(result.decision.caveats)}.")


def not_graded(run: RunResult) -> str:
    """Answers without a verdict by kind, most frequent first: 4 not graded: 2 refused, 2 malformed."""
    kinds = sorted(run.errors.items(), key=lambda kind: (-kind[1], kind[0]))
    split = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds)
    return f"{run.n_error} not graded" + (f": {split}" if split else "")


def flag_text(flag: str) -> str:
    """What a pair's flag means."""
    return FLAGS.get(flag, flag.replace("_", " "))


def kappa_text(value: float | None) -> str:
    """κ, AC1 or an end of κ's interval, with a real minus sign; n/a where it is not defined."""
    return "n/a" if value is None else f"{value:.2f}".replace("-", "−")


def interval_text(pair: Agreement) -> str:
    """[0.49, 0.83]; nothing when κ has no interval."""
    if pair.ci_low is None or pair.ci_high is None:
        return ""
    return f"[{kappa_text(pair.ci_low)}, {kappa_text(pair.ci_high)}]"


def _pair_n(tied: RankedRun) -> int:
    return tied.lead.n if tied.lead else 0


def _pair_text(pair: Agreement) -> str:
    text = f"{pair.a} ↔ {pair.b} {kappa_text(pair.kappa)}"
    if interval_text(pair):
        text += f" {interval_text(pair)}"
    if pair.ac1 is not None:
        text += f", AC1 {kappa_text(pair.ac1)}"
    text += f", n={pair.n}"
    if pair.flag:
        text += f" ({flag_text(pair.flag)})"
    return text


def _constant_notes(result: BakeOffResult) -> Iterator[Note]:
    """Each judge with only one kind of verdict, and pairs that are constant only on their shared cases."""
    undefined = [pair for pair in result.kappa if pair.kappa is None]
    named = {pair.a for pair in undefined} | {pair.b for pair in undefined}
    constant = [run.judge for run in result.runs if run.judge in named and 0 in (run.n_pass, run.n_fail)]
    pairs = [
        f"{pair.a} ↔ {pair.b}" for pair in undefined if pair.a not in constant and pair.b not in constant
    ]
    if constant or pairs:
        yield Note("kappa", f"n/a (constant) for {', '.join(constant + pairs)}")


def _is_warned(run: RunResult, result: BakeOffResult, what: str) -> bool:
    return any(run.judge in warning and what in warning for warning in result.warnings)
