"""Heatmaps with a number in every cell: agreement of judges, and pass rates by stratum."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evalq.reports.charts.svg import (
    cut,
    draw_box,
    draw_hatched,
    draw_name,
    draw_text,
    empty_chart,
    frame,
    hatching,
    listing,
    make_id,
    name_column_px,
    text_px,
)
from evalq.reports.notes import flag_text, kappa_text
from evalq.results import FEW_CASES, Agreement, Rate, RunResult

CELL_HEIGHT = 30
NARROWEST_CELL = 56
DEEPEST = 0.5
"""The opacity of a full cell: the number in it stays readable, in the dark theme too."""

LONGEST_HEADING = 22


@dataclass(frozen=True)
class _Cell:
    """A cell's words, and how deep which colour is; hatched when too few cases are behind it."""

    words: str
    shade: float = 0.0
    kind: str = "ch-good"
    is_hatched: bool = False


@dataclass(frozen=True)
class _Grid:
    """The rows and columns of a heatmap, the cell where they meet, and the lines below it."""

    rows: Sequence[str]
    columns: Sequence[str]
    cell: Callable[[int, int], _Cell]
    legend: Sequence[str]


def kappa_heatmap(pairs: Sequence[Agreement], *, title: str = "Agreement of the judges' verdicts") -> str:
    """κ of every two judges: deeper blue agrees more, orange is below chance, ! is flagged."""
    judges: dict[str, None] = {}
    for pair in pairs:
        judges |= {pair.a: None, pair.b: None}
    if not judges:
        return empty_chart(title, "no agreement: it takes two judges with verdicts")
    names = list(judges)
    known = {frozenset((pair.a, pair.b)): pair for pair in pairs}
    legend = ["κ: 1 agrees always, 0 as by chance · n/a: a judge gave one verdict only"]
    flags = dict.fromkeys(flag_text(pair.flag) for pair in pairs if pair.flag)
    legend += [f"! {flag}" for flag in flags]
    grid = _Grid(
        names,
        [str(number + 1) for number in range(len(names))],
        lambda row, column: _kappa_cell(known, names[row], names[column]),
        legend,
    )
    told = listing([f"{pair.a} and {pair.b}: {_kappa_words(pair)}, n={pair.n}" for pair in pairs])
    return _draw_grid(title, told, grid, is_numbered=True)


def strata_heatmap(runs: Sequence[RunResult], *, title: str = "Pass rate by stratum") -> str:
    """Pass % and n of every judge in every stratum; cells with fewer than ten cases are hatched."""
    shown = [run for run in runs if run.per_stratum and run.excluded is None]
    strata: dict[str, None] = {}
    for run in shown:
        strata |= dict.fromkeys(run.per_stratum)
    if not strata:
        return empty_chart(title, "no strata: the evalset's cases have none")
    columns = list(strata)
    grid = _Grid(
        [run.judge for run in shown],
        columns,
        lambda row, column: _rate_cell(shown[row].per_stratum.get(columns[column])),
        [f"pass % / cases · hatched, !: fewer than {FEW_CASES} cases, do not read"],
    )
    told = []
    for run in shown:
        cells = ", ".join(f"{name} {_rate_words(rate)}" for name, rate in run.per_stratum.items())
        told.append(f"{run.judge}: {cells}")
    return _draw_grid(title, listing(told), grid)


def _kappa_words(pair: Agreement) -> str:
    return kappa_text(pair.kappa) + ("!" if pair.flag else "")


def _kappa_cell(known: dict[frozenset[str], Agreement], row: str, column: str) -> _Cell:
    pair = known.get(frozenset((row, column)))
    if row == column or pair is None:
        return _Cell("–" if row == column else "")
    if pair.kappa is None:
        return _Cell("n/a")
    kind = "ch-good" if pair.kappa >= 0 else "ch-bad"
    return _Cell(_kappa_words(pair), min(abs(pair.kappa), 1.0), kind)


def _rate_words(rate: Rate) -> str:
    if rate.accuracy is None:
        return "n/a"
    return f"{rate.accuracy * 100:.0f} / {rate.n:,}" + ("!" if rate.few else "")


def _rate_cell(rate: Rate | None) -> _Cell:
    if rate is None or rate.accuracy is None:
        return _Cell("n/a")
    return _Cell(_rate_words(rate), rate.accuracy, is_hatched=rate.few)


def _draw_grid(title: str, description: str, grid: _Grid, *, is_numbered: bool = False) -> str:
    """Names on the left, headings above (slanted if they are long), cells, legend."""
    rows = [f"{place + 1}. {name}" for place, name in enumerate(grid.rows)] if is_numbered else grid.rows
    left = name_column_px(rows)
    headings = [cut(name, LONGEST_HEADING) for name in grid.columns]
    widest = max(text_px(heading) for heading in headings)
    cell_width, top, tail = float(NARROWEST_CELL), 26.0, 0.0
    is_slanted = widest > 110
    if is_slanted:
        cell_width, top, tail = 76.0, 20 + widest * 0.55, widest * 0.75
    else:
        cell_width = max(cell_width, widest + 14, 76.0 if not is_numbered else 0.0)
    chart_id = make_id(title, description)
    parts = [
        hatching(chart_id),
        *_draw_headings(grid.columns, (left, top, cell_width), is_slanted=is_slanted),
    ]
    for row, name in enumerate(rows):
        y = top + CELL_HEIGHT * row
        parts.append(draw_name(left - 10, y + CELL_HEIGHT / 2, name, anchor="end"))
        for column in range(len(headings)):
            parts += _draw_cell(grid.cell(row, column), (left + cell_width * column, y), cell_width, chart_id)
    bottom = top + CELL_HEIGHT * len(rows)
    for number, line in enumerate(grid.legend):
        parts.append(draw_text(4, bottom + 16 + 16 * number, line, "ch-small"))
    legend = max(text_px(line) * 0.86 for line in grid.legend) + 8
    width = max(left + cell_width * len(headings) + tail + 4, legend)
    return frame(title, description, size=(width, bottom + 12 + 16 * len(grid.legend)), parts=parts)


def _draw_headings(
    names: Sequence[str], place: tuple[float, float, float], *, is_slanted: bool
) -> Iterator[str]:
    left, top, cell_width = place
    for number, name in enumerate(names):
        x = left + cell_width * (number + 0.5)
        if is_slanted:
            heading = draw_name(0, 0, name, longest=LONGEST_HEADING)
            yield f'<g transform="translate({x - 8:.1f} {top - 8:.1f}) rotate(-35)">{heading}</g>'
        else:
            yield draw_name(x, top - 12, name, anchor="middle", longest=LONGEST_HEADING)


def _draw_cell(cell: _Cell, corner: tuple[float, float], width: float, chart_id: str) -> Iterator[str]:
    size = (width, float(CELL_HEIGHT))
    if cell.shade:
        yield draw_box(corner, size, cell.kind, opacity=cell.shade * DEEPEST)
    if cell.is_hatched:
        yield draw_hatched(corner, size, chart_id)
    yield draw_box(corner, size, "ch-cell")
    yield draw_text(corner[0] + width / 2, corner[1] + CELL_HEIGHT / 2, cell.words, anchor="middle")
