"""Agreement on the terminal: the matrix of κ and AC1, and every pair with n, interval and flag."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from evalq.reports.notes import flag_text, interval_text, kappa_text
from evalq.reports.plain import EMPTY, tab_separated
from evalq.reports.text import NOTHING, PROBLEM, QUIET, Canvas, Column, first_fitting, lay_out
from evalq.results import Agreement

GAP = 2
PLAIN_COLUMNS = ("a", "b", "kappa", "ci_low", "ci_high", "ac1", "n", "flag")


def render_kappa(pairs: Sequence[Agreement], *, width: int, ascii_only: bool = False) -> RenderableType:
    """The matrix, κ above its diagonal and AC1 below, then the pairs; a constant judge has no κ."""
    canvas = Canvas(width, ascii_only)
    judges: dict[str, None] = {}
    for pair in pairs:
        judges |= {pair.a: None, pair.b: None}
    if not judges:
        return canvas.text("no agreement: it takes two judges with verdicts", QUIET)
    matrix = lay_out(first_fitting([_matrix(pairs, list(judges), canvas)], canvas, gap=GAP), canvas, gap=GAP)
    table = lay_out(first_fitting([_pair_columns(pairs, canvas)], canvas, gap=GAP), canvas, gap=GAP)
    legend = "above the diagonal κ, below it AC1   n/a: a judge gave one verdict only   ! flagged"
    return Group(matrix, Text(), canvas.text(legend, QUIET), Text(), table)


def render_plain_kappa(pairs: Sequence[Agreement]) -> str:
    """One tab-separated row per pair."""
    return "\n".join(map(tab_separated, [PLAIN_COLUMNS, *(_plain_row(pair) for pair in pairs)]))


def _matrix(pairs: Sequence[Agreement], judges: Sequence[str], canvas: Canvas) -> list[Column]:
    """A row and a numbered column per judge: names would make it too wide."""
    known = {(pair.a, pair.b): pair for pair in pairs}
    numbers = Column(canvas.text("#"), tuple(canvas.text(str(place + 1)) for place in range(len(judges))))
    names = Column(canvas.text("judge"), tuple(canvas.cell(judge) for judge in judges), flexible=True)
    columns = [numbers, names]
    for number, column in enumerate(judges, start=1):
        cells = tuple(_matrix_cell(known, row, column, canvas) for row in judges)
        columns.append(Column(canvas.text(str(number)), cells, right=True))
    return columns


def _matrix_cell(known: dict[tuple[str, str], Agreement], row: str, column: str, canvas: Canvas) -> Text:
    if row == column:
        return canvas.text(NOTHING, QUIET)
    if (row, column) in known:
        pair = known[row, column]
        if pair.flag:
            return canvas.text(f"{kappa_text(pair.kappa)}!", PROBLEM)
        return canvas.text(kappa_text(pair.kappa))
    return canvas.text(kappa_text(known[column, row].ac1), QUIET)


def _pair_columns(pairs: Sequence[Agreement], canvas: Canvas) -> list[Column]:
    """Highest κ first, undefined ones last."""
    ordered = sorted(pairs, key=lambda pair: (pair.kappa is None, -(pair.kappa or 0.0)))
    cells = {
        "pair": [f"{pair.a} ↔ {pair.b}" for pair in ordered],
        "κ": [kappa_text(pair.kappa) for pair in ordered],
        "95% CI": [interval_text(pair) or NOTHING for pair in ordered],
        "AC1": [kappa_text(pair.ac1) for pair in ordered],
        "n": [str(pair.n) for pair in ordered],
        "": [flag_text(pair.flag) if pair.flag else "" for pair in ordered],
    }
    columns = []
    for title, texts in cells.items():
        style = PROBLEM if title == "" else ""
        drawn = tuple(canvas.cell(text, style) for text in texts)
        is_number, is_flexible = title in ("κ", "AC1", "n"), title in ("pair", "")
        columns.append(Column(canvas.text(title), drawn, right=is_number, flexible=is_flexible))
    return columns


def _plain_row(pair: Agreement) -> list[str]:
    numbers = [pair.kappa, pair.ci_low, pair.ci_high, pair.ac1]
    shown = [EMPTY if number is None else f"{number:.4f}" for number in numbers]
    return [pair.a, pair.b, *shown, str(pair.n), pair.flag or EMPTY]
