"""Confusion matrices on the terminal and for pipes, with precision, recall and F1 of each label."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from evalq.reports.plain import EMPTY, tab_separated
from evalq.reports.text import PROBLEM, QUIET, Canvas, Column, lay_out, total_width

if TYPE_CHECKING:
    from evalq.summary.confusion import Confusion

GAP = 2
WIDEST_LABEL = 24


def render_confusions(
    found: "Sequence[Confusion]", *, width: int, ascii_only: bool = False
) -> RenderableType:
    """For each judge the scores of its labels, then what it answered for each expected label."""
    canvas = Canvas(width, ascii_only)
    parts: list[RenderableType] = []
    for one in found:
        parts += [*_heading(one, canvas), _scores(one, canvas), Text(), *_matrix(one, canvas), Text()]
    return Group(*parts)


def render_plain_confusions(found: "Sequence[Confusion]") -> str:
    """One row per judge and label with its scores, then one per cell of the matrix that is not zero."""
    rows = [tab_separated(("judge", "label", "precision", "recall", "f1", "support"))]
    for one in found:
        for score in one.scores:
            numbers = [_plain_share(value) for value in (score.precision, score.recall, score.f1)]
            rows.append(tab_separated([one.judge, score.label, *numbers, str(score.support)]))
    rows.append(tab_separated(("judge", "expected", "answered", "n")))
    for one in found:
        for label, counts in zip(one.labels, one.counts, strict=True):
            for column, count in zip(one.columns, counts, strict=True):
                if count:
                    rows.append(tab_separated([one.judge, label, column, str(count)]))
    return "\n".join(rows)


def _heading(one: "Confusion", canvas: Canvas) -> Iterator[RenderableType]:
    macro = "n/a" if one.macro_f1 is None else f"{one.macro_f1:.2f}"
    facts = f"   macro F1 {macro}, n={one.n}"
    name = canvas.cell(one.judge, "bold", width=max(canvas.width - len(facts), 12))
    yield name.append(canvas.text(facts, f"not bold {QUIET}"))
    if one.n_not_graded:
        yield canvas.text(f"{one.n_not_graded} not graded and left out", QUIET)
    if one.n_wrong_form:
        yield canvas.text(f"! {one.n_wrong_form} name the right label and failed for their form", PROBLEM)


def _scores(one: "Confusion", canvas: Canvas) -> RenderableType:
    numbers = {
        "precision": [score.precision for score in one.scores],
        "recall": [score.recall for score in one.scores],
        "F1": [score.f1 for score in one.scores],
    }
    columns = [_labels("label", one.labels, canvas)]
    for title, values in numbers.items():
        columns.append(_numbers(title, [_share(value) for value in values], canvas))
    columns.append(_numbers("n", [str(score.support) for score in one.scores], canvas))
    return lay_out(columns, canvas, gap=GAP)


def _matrix(one: "Confusion", canvas: Canvas) -> Iterator[RenderableType]:
    """Expected labels as rows, answered ones as columns; numbered where the names have no room."""
    rows = _labels("expected", one.labels, canvas)
    named = [rows, *_count_columns(one, one.columns, canvas)]
    if total_width(named, GAP) <= canvas.width:
        yield canvas.text("answered →", QUIET)
        yield lay_out(named, canvas, gap=GAP)
        return
    numbers = [str(place) for place in range(1, len(one.columns) + 1)]
    titled = [f"{number} {label}" for number, label in zip(numbers, one.labels, strict=False)]
    numbered = [_labels("expected", titled, canvas), *_count_columns(one, numbers, canvas)]
    yield canvas.text(f"answered → ({len(numbers)} {one.columns[-1]})", QUIET)
    yield lay_out(numbered, canvas, gap=1)


def _count_columns(one: "Confusion", titles: Sequence[str], canvas: Canvas) -> list[Column]:
    columns = []
    for title, counts in zip(titles, zip(*one.counts, strict=True), strict=True):
        columns.append(_numbers(title, [str(count) if count else "·" for count in counts], canvas))
    return columns


def _labels(title: str, labels: Sequence[str], canvas: Canvas) -> Column:
    cells = tuple(canvas.cell(label, width=WIDEST_LABEL) for label in labels)
    return Column(canvas.text(title), cells)


def _numbers(title: str, cells: Sequence[str], canvas: Canvas) -> Column:
    texts = tuple(canvas.cell(cell) for cell in cells)
    return Column(canvas.cell(title, width=WIDEST_LABEL), texts, right=True)


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"


def _plain_share(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.4f}"
