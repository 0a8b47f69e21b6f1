"""Which answers to label next: where a label tells most about judges and grader."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from evalq.review.calibration_result import (
    Calibration,
    CorrectedJudge,
    Estimate,
    GraderCheck,
    GraderQuality,
    LabelCounts,
    ToLabel,
)
from evalq.review.labels import Answer

CONTESTED_SHARE = 2
"""Answers to cases on which judges disagree, for each one to another case."""

_Pile = tuple[str, bool, bool]  # judge, the grader's verdict, whether judges disagree on the case


def choose_next(
    answers: Sequence[Answer], contested: frozenset[str], *, count: int, seed: int
) -> list[ToLabel]:
    """The answers to label next, most telling first; the same for the same labels and seed.

    Judges and the grader's verdicts get the same number of labels, and within them the cases on which
    judges disagree come first, two for one other. Strata are labelled in proportion to their size, and a
    stratum's answers come in a random order: so every label can be weighted by the answers it represents.
    """
    queue = _LabelQueue(answers, contested, seed)
    chosen: list[ToLabel] = []
    while len(chosen) < count and (answer := queue.take()):
        is_contested = answer.case_id in contested
        reason = "judges disagree" if is_contested else "judges agree: is the grader right?"
        place = (answer.job_id, answer.judge, answer.case_id, answer.sample, answer.stratum)
        chosen.append(ToLabel(*place, reason))
    return chosen


class _LabelQueue:
    """The answers in piles, and how many of each are labelled or on their way to be."""

    def __init__(self, answers: Sequence[Answer], contested: frozenset[str], seed: int) -> None:
        self._seed = seed
        self._left: defaultdict[_Pile, defaultdict[str, list[Answer]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._labelled: Counter[_Pile] = Counter()
        self._in_stratum: Counter[tuple[_Pile, str]] = Counter()
        self._sizes: Counter[tuple[_Pile, str]] = Counter()
        for answer in sorted(answers, key=self._lot):
            pile = (answer.judge, answer.passed, answer.case_id in contested)
            self._sizes[pile, answer.stratum] += 1
            if answer.votes:
                self._note(pile, answer.stratum)
            else:
                self._left[pile][answer.stratum].append(answer)

    def take(self) -> Answer | None:
        """The next answer, counted as labelled; None when none is left."""
        open_piles = {pile for pile, strata in self._left.items() if any(strata.values())}
        pairs = sorted({(judge, passed) for judge, passed, _ in open_piles})
        if not pairs:
            return None
        judge, passed = min(pairs, key=lambda pair: (self._done(*pair), self._draw(*pair)))
        pile = (judge, passed, self._prefers_contested(judge, passed))
        if pile not in open_piles:
            pile = (judge, passed, not pile[2])
        strata = [stratum for stratum, left in self._left[pile].items() if left]
        stratum = min(strata, key=lambda name: (self._share(pile, name), self._draw(name)))
        self._note(pile, stratum)
        return self._left[pile][stratum].pop(0)

    def _note(self, pile: _Pile, stratum: str) -> None:
        self._labelled[pile] += 1
        self._in_stratum[pile, stratum] += 1

    def _done(self, judge: str, passed: bool) -> int:
        return self._labelled[judge, passed, True] + self._labelled[judge, passed, False]

    def _prefers_contested(self, judge: str, passed: bool) -> bool:
        others = self._labelled[judge, passed, False]
        return self._labelled[judge, passed, True] < CONTESTED_SHARE * (others + 1)

    def _share(self, pile: _Pile, stratum: str) -> float:
        """How much of a stratum would be labelled with one more: the least goes first."""
        return (self._in_stratum[pile, stratum] + 1) / self._sizes[pile, stratum]

    def _lot(self, answer: Answer) -> str:
        return self._draw(answer.judge, answer.case_id, answer.sample)

    def _draw(self, *words: object) -> str:
        """A lot that depends on nothing but the seed and what it is for."""
        return hashlib.sha256("\x00".join(map(str, (self._seed, *words))).encode()).hexdigest()


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
