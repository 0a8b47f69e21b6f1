"""A calibration in words and rows, for the terminal and for pipes."""

from collections.abc import Iterator, Sequence

from evalq.calibration.result import (
    Calibration,
    CorrectedJudge,
    Estimate,
    GraderCheck,
    GraderQuality,
    LabelCounts,
)

EMPTY = "-"
HEAD = ("judge", "n", "labelled", "raw_pct", "raw_95", "corrected_pct", "corrected_95", "method", "rank")
NEXT_HEAD = ("judge", "case_id", "sample", "stratum", "why")


def judge_rows(calibration: Calibration) -> list[Sequence[str]]:
    """One row per judge: as graded, and as people would have it."""
    return [_row(judge, calibration.ranks.get(judge.judge)) for judge in calibration.judges]


def next_rows(calibration: Calibration) -> list[Sequence[str]]:
    """One row per answer to label next."""
    return [
        (one.judge, one.case_id, str(one.sample), one.stratum or EMPTY, one.reason)
        for one in calibration.label_next
    ]


def findings(calibration: Calibration) -> Iterator[str]:
    """What the labels say of the grader and of the ranking, a sentence each."""
    yield _labels(calibration.labels)
    if calibration.quality is not None:
        yield from _quality(calibration.grader, calibration.quality)
        yield from _ranking(calibration)


def check_lines(check: GraderCheck) -> Iterator[str]:
    """What the grader made of known-bad answers."""
    for kind in dict.fromkeys(answer.kind for answer in check.answers):
        ends = [f"{one.case_id} {one.error_kind or one.verdict}" for one in check.answers if one.kind == kind]
        is_fine = not any(one.kind == kind for one in (*check.passed, *check.undecided))
        yield f"{'✓' if is_fine else '✗'} {check.grader} on {kind}: {', '.join(ends)}"
    yield from (f"– left out: {skipped}" for skipped in check.skipped)


def _row(judge: CorrectedJudge, rank: int | None) -> Sequence[str]:
    corrected = judge.corrected
    return (
        judge.judge,
        str(judge.n),
        str(judge.n_labelled),
        _percent(judge.raw),
        _span(judge.raw),
        _percent(corrected) if corrected else EMPTY,
        _span(corrected) if corrected else EMPTY,
        corrected.method if corrected else f"undefined: {judge.undefined}",
        EMPTY if rank is None else str(rank),
    )


def _labels(counts: LabelCounts) -> str:
    if not counts.votes:
        return "no labels yet"
    ties = f", {counts.ties} tied and left out" if counts.ties else ""
    people = "person" if counts.labellers == 1 else "people"
    return f"{counts.answers} answers labelled by {counts.labellers} {people}{ties}"


def _quality(grader: str, quality: GraderQuality) -> Iterator[str]:
    for name, rate in (("sensitivity", quality.sensitivity), ("specificity", quality.specificity)):
        number = f"{_percent(rate)} % [{_span(rate)}], n={rate.n}, {rate.method}" if rate else "unknown"
        yield f"{grader}: {name} {number}"
    yield (
        f"{grader} passed {quality.both_passed} that people pass and {quality.only_grader_passed} they fail, "
        f"failed {quality.only_people_passed} that people pass and {quality.both_failed} they fail"
    )
    agreement = quality.agreement
    kappa = "n/a, one never varies" if agreement.kappa is None else f"{agreement.kappa:.2f}"
    yield f"{grader} and people agree on {agreement.share:.0%}: κ {kappa}, AC1 {agreement.ac1:.2f}"


def _ranking(calibration: Calibration) -> Iterator[str]:
    for flip in calibration.flips:
        doubt = "" if flip.certain else " (their intervals overlap)"
        yield (
            f"the ranking changes: {flip.b} over {flip.a}, {_points(flip.raw_diff)} pp as graded, "
            f"{_points(flip.corrected_diff)} pp as corrected{doubt}"
        )
    if not calibration.flips and len(calibration.ranks) > 1:
        yield "the ranking does not change"


def _percent(rate: Estimate) -> str:
    return f"{rate.rate * 100:.1f}"


def _span(rate: Estimate) -> str:
    return f"{rate.ci_low * 100:.0f}–{rate.ci_high * 100:.0f}"


def _points(difference: float) -> str:
    return f"{difference * 100:+.1f}"
