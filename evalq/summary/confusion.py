"""Which label a judge takes for which: confusion matrix, precision, recall and F1 of each label."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evalq.definitions.fences import unfence

OTHER = "(other)"
"""The column of answers that are none of the labels."""

_MOST_LABELS = 30
_LONGEST_LABEL = 60
_LONGEST_ANSWER = 2_000
_CASES_PER_LABEL = 2


@dataclass(frozen=True)
class LabelScore:
    """One label: of the answers that name it the share that is right, and of its cases the share found.

    None where it is undefined: no answer names the label, or no case expects it.
    """

    label: str
    precision: float | None
    recall: float | None
    f1: float | None
    support: int


@dataclass(frozen=True)
class Confusion:
    """One judge's answers by expected label (rows) and answered label (columns, `(other)` last if any)."""

    judge: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    scores: tuple[LabelScore, ...]
    macro_f1: float | None
    n: int
    n_not_graded: int = 0
    n_wrong_form: int = 0
    """Answers that name the right label and failed all the same: in another form than the grader wants."""

    def to_dict(self) -> dict[str, Any]:
        """The matrix as JSON: each row by its expected label."""
        return {
            "judge": self.judge,
            "n": self.n,
            "n_not_graded": self.n_not_graded,
            "n_wrong_form": self.n_wrong_form,
            "columns": list(self.columns),
            "matrix": {label: list(row) for label, row in zip(self.labels, self.counts, strict=True)},
            "labels": [vars(score) for score in self.scores],
            "macro_f1": self.macro_f1,
        }


def find_labels(expected: Iterable[str | None]) -> tuple[str, ...]:
    """The labels, most frequent first, if the expected answers are labels: few, short, and repeated."""
    texts = list(expected)
    if None in texts:
        return ()
    counts = Counter(text.strip() for text in texts if text is not None)
    is_short = all(0 < len(label) <= _LONGEST_LABEL and "\n" not in label for label in counts)
    is_few = 2 <= len(counts) <= _MOST_LABELS and len(texts) >= _CASES_PER_LABEL * len(counts)
    if not is_short or not is_few:
        return ()
    return tuple(label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def read_label(answer: str, labels: Sequence[str]) -> str:
    """The label that an answer names: as a whole, or as the only one among its words; else `(other)`."""
    by_key = {_key(label): label for label in labels}
    key = _key(answer[:_LONGEST_ANSWER])
    if key in by_key:
        return by_key[key]
    padded = f" {key} "
    named = [label for known, label in by_key.items() if known and f" {known} " in padded]
    return named[0] if len(named) == 1 else OTHER


def _key(text: str) -> str:
    """A text's words in one case, without punctuation and code fence."""
    letters = [sign if sign.isalnum() else " " for sign in unfence(text)]
    return " ".join("".join(letters).split()).casefold()


def build_confusion(judge: str, pairs: Sequence[tuple[str, str]], labels: Sequence[str]) -> Confusion:
    """The matrix over pairs of expected and answered label."""
    # Imported here because it takes a second, which commands without a matrix do not need.
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    known = list(labels)
    expected, answered = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    columns = [*known, OTHER] if OTHER in answered and OTHER not in known else known
    if not pairs:
        empty = tuple(LabelScore(label, None, None, None, 0) for label in known)
        rows = tuple((0,) * len(columns) for _ in known)
        return Confusion(judge, tuple(known), tuple(columns), rows, empty, None, 0)
    matrix = confusion_matrix(expected, answered, labels=columns)
    found = precision_recall_fscore_support(expected, answered, labels=known, zero_division=math.nan)
    scores = tuple(_score(label, *numbers) for label, *numbers in zip(known, *found, strict=True))
    defined = [float(f1) for f1, support in zip(found[2], found[3], strict=True) if support]
    return Confusion(
        judge,
        tuple(known),
        tuple(columns),
        tuple(tuple(int(count) for count in row) for row in matrix[: len(known)]),
        scores,
        round(sum(defined) / len(defined), 4) if defined else None,
        len(pairs),
    )


def _score(label: str, precision: float, recall: float, f1: float, support: int) -> LabelScore:
    return LabelScore(label, _known(precision), _known(recall), _known(f1), int(support))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 4)
