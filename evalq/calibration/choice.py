"""Which answers to label next: where a label tells most about judges and grader."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence

from evalq.calibration.answers import Answer
from evalq.calibration.result import ToLabel

CONTESTED_SHARE = 2
"""Answers to cases on which judges disagree, for each one to another case."""

_Pile = tuple[str, bool, bool]  # judge, the grader's verdict, whether judges disagree on the case


def choose_next(
    answers: Sequence[Answer], contested: frozenset[str], *, count: int, seed: int
) -> list[ToLabel]:
    """The answers to label next, most telling first; the same for the same labels and seed.

    Judges and the grader's verdicts get the same number of labels, and within them the cases on which
    judges disagree come first, two for one other. Strata are labelled in proportion to their size, and a
    stratum's answers come in a random order: so every label can be weighed by how many it stands for.
    """
    desk = _Desk(answers, contested, seed)
    chosen: list[ToLabel] = []
    while len(chosen) < count and (answer := desk.take()):
        is_contested = answer.case_id in contested
        reason = "judges disagree" if is_contested else "judges agree: is the grader right?"
        place = (answer.job_id, answer.judge, answer.case_id, answer.sample, answer.stratum)
        chosen.append(ToLabel(*place, reason))
    return chosen


class _Desk:
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
