"""Measures beside the pass rate on the terminal: graders' scores, pass@k and pass^k, judge under judge."""

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from evalq.reports.canvas import Canvas, Column, first_fitting, lay_out
from evalq.reports.text import NOTHING
from evalq.results import BakeOffResult, PassK, RunResult

GAP = 2

Row = tuple[str, str, str, str, str]
"""Measure, judge, value, interval, n: how they are shown."""


def render_measures(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    """One table, each measure with interval and n; nothing when there is none."""
    rows = measure_rows(result)
    if rows:
        titles = ("metric", "judge", "value", "95% CI", "n")
        columns = [_column(title, (row[place] for row in rows), canvas) for place, title in enumerate(titles)]
        yield Text()
        yield lay_out(first_fitting([columns], canvas, gap=GAP), canvas, gap=GAP)


def measure_rows(result: BakeOffResult) -> list[Row]:
    """Judge under judge, so that they compare."""
    by_judge = [list(_of_run(run)) for run in result.runs]
    names = dict.fromkeys(row[0] for rows in by_judge for row in rows)
    return [row for name in names for rows in by_judge for row in rows if row[0] == name]


def _of_run(run: RunResult) -> Iterator[Row]:
    """Shares as they are, not in percent: a mean reciprocal rank is no percentage."""
    for name, rate in run.metrics.items():
        ends = None if rate.ci_low is None or rate.ci_high is None else (rate.ci_low, rate.ci_high)
        yield name, run.judge, _value(rate.accuracy), _span(ends), str(rate.n)
    # One sample's pass@1 is the rate itself, and k between say little more: the full list is in the JSON.
    for entry in run.pass_k[-1:]:
        yield from _of_samples(run, entry)


def _of_samples(run: RunResult, entry: PassK) -> Iterator[Row]:
    n = f"{entry.n_cases}" + (f" ({entry.skipped} skipped)" if entry.skipped else "")
    at, every = f"pass@{entry.k}", f"pass^{entry.k}"
    yield at, run.judge, _value(entry.pass_at_k), _span(entry.pass_at_k_ci), n
    yield every, run.judge, _value(entry.pass_hat_k_unbiased), _span(entry.pass_hat_k_unbiased_ci), n
    yield f"{every} plain", run.judge, _value(entry.pass_hat_k), _span(entry.pass_hat_k_ci), n


def _value(number: float | None) -> str:
    return "n/a" if number is None else f"{number:.2f}"


def _span(ends: tuple[float, float] | None) -> str:
    return NOTHING if ends is None else f"{ends[0]:.2f}–{ends[1]:.2f}"


def _column(title: str, cells: Iterable[str], canvas: Canvas) -> Column:
    is_number = title in ("value", "n")
    texts = tuple(canvas.cell(cell) for cell in cells)
    return Column(canvas.text(title), texts, right=is_number, flexible=title == "judge")
