"""The end of a bake-off on the terminal: the ranking, what it means, what it cost, what to do next."""

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalq.reports.canvas import GOOD, PROBLEM, QUIET, Canvas, Column, first_fitting, lay_out, total_width
from evalq.reports.notes import (
    Note,
    NoteKind,
    cost_note,
    interim_notes,
    kappa_notes,
    next_notes,
    problem_notes,
    tie_notes,
)
from evalq.reports.plain import render_plain, render_plain_strata
from evalq.reports.ranking import Ranking
from evalq.reports.text import span
from evalq.results import BakeOffResult, Rate, RunResult

__all__ = ["render_final", "render_plain", "render_plain_strata", "render_strata"]

TOO_FEW = 10
GAP = 2
_MARKS: dict[NoteKind, tuple[str, str]] = {
    "tie": ("=", ""),
    "kappa": ("κ", ""),
    "cost": ("$", ""),
    "excluded": ("!", PROBLEM),
    "not_graded": ("!", PROBLEM),
    "warning": ("!", PROBLEM),
    "next": ("next", GOOD),
}


def render_final(result: BakeOffResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """The whole answer: heading, ranking, metrics of retrieval, and the lines that qualify them."""
    canvas = Canvas(width, ascii_only)
    ranking = Ranking(result, canvas)
    notes = [
        *tie_notes(result),
        *kappa_notes(result),
        cost_note(result),
        *problem_notes(result, reason_room=ranking.reason_room),
    ]
    return Group(
        *_heading(result, canvas),
        ranking.draw(),
        *_metrics(result, canvas),
        Text(),
        _lines(notes, result, canvas),
    )


def render_strata(result: BakeOffResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """Judges by strata, pass % / n in each cell; as many blocks as the width makes necessary."""
    canvas = Canvas(width, ascii_only)
    runs = [run for run in result.runs if run.per_stratum and run.excluded is None]
    strata = list(dict.fromkeys(stratum for run in runs for stratum in run.per_stratum))
    if not strata:
        return canvas.text("no strata: the evalset's cases have none", QUIET)
    judge = _judges(runs, canvas)
    columns = [_stratum(stratum, runs, canvas) for stratum in strata]
    blocks = [lay_out([judge, *block], canvas, gap=GAP) for block in _blocks(judge, columns, canvas)]
    legend = canvas.text(f"pass % / n   ! n under {TOO_FEW}: do not read", QUIET)
    return Group(*(part for block in blocks for part in (block, Text())), legend)


def _heading(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    scorer = result.scorer + (f" ({result.grader})" if result.grader else "")
    samples = [f"{result.samples} samples"] if result.samples > 1 else []
    about = " · ".join([result.task, result.eval_set, scorer, *samples])
    yield canvas.text(f"bake-off {result.id}  {about}", "bold")
    yield from (canvas.text(note.text, PROBLEM) for note in interim_notes(result))
    yield Text()


def _lines(notes: list[Note], result: BakeOffResult, canvas: Canvas) -> Table:
    """The notes with their marks in front; wrapped lines stay clear of the marks."""
    grid = Table.grid(padding=(0, 2))
    for note in notes:
        mark, style = _MARKS[note.kind]
        grid.add_row(canvas.text(mark, style), canvas.text(note.text, style))
    commands = [note.text for note in next_notes(result)]
    if commands:
        mark, style = _MARKS["next"]
        grid.add_row(canvas.text(mark, style), canvas.text(_commands(commands, canvas), style))
    return grid


def _commands(commands: list[str], canvas: Canvas) -> str:
    """On one line if they fit, else one on each, so that a command can be copied whole."""
    line = "   ".join(commands)
    return line if len(line) + len("next") + GAP <= canvas.width else "\n".join(commands)


def _metrics(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    """Measures beside the pass rate, judge under judge so that they compare."""
    names = dict.fromkeys(name for run in result.runs for name in run.metrics)
    rows = [
        (name, run.judge, run.metrics[name]) for name in names for run in result.runs if name in run.metrics
    ]
    if rows:
        columns = [
            _column("metric", (name for name, _, _ in rows), canvas),
            _column("judge", (judge for _, judge, _ in rows), canvas, flexible=True),
            _column("value", (_value(rate) for _, _, rate in rows), canvas, right=True),
            _column("95% CI", (_value_span(rate) for _, _, rate in rows), canvas),
            _column("n", (str(rate.n) for _, _, rate in rows), canvas, right=True),
        ]
        yield Text()
        yield lay_out(first_fitting([columns], canvas, gap=GAP), canvas, gap=GAP)


def _value(rate: Rate) -> str:
    return "n/a" if rate.accuracy is None else f"{rate.accuracy:.2f}"


def _value_span(rate: Rate) -> str:
    """Shares as they are, not in percent: a mean reciprocal rank is no percentage."""
    if rate.ci_low is None or rate.ci_high is None:
        return span(None, None, rate.n)
    return f"{rate.ci_low:.2f}–{rate.ci_high:.2f}"


def _column(
    title: str, cells: Iterable[str], canvas: Canvas, *, right: bool = False, flexible: bool = False
) -> Column:
    return Column(
        canvas.text(title), tuple(canvas.cell(cell) for cell in cells), right=right, flexible=flexible
    )


def _judges(runs: list[RunResult], canvas: Canvas) -> Column:
    return _column("judge", (run.judge for run in runs), canvas)


def _stratum(stratum: str, runs: list[RunResult], canvas: Canvas) -> Column:
    rates = [run.per_stratum.get(stratum) for run in runs]
    cells = tuple(canvas.cell(_share(rate), PROBLEM if _is_too_few(rate) else "") for rate in rates)
    return Column(canvas.cell(stratum), cells, right=True)


def _is_too_few(rate: Rate | None) -> bool:
    return rate is not None and rate.n < TOO_FEW


def _share(rate: Rate | None) -> str:
    """94/18; a mark, not only a colour, where n is too small to read anything into."""
    if rate is None or rate.accuracy is None:
        return "n/a"
    return f"{rate.accuracy * 100:.0f}/{rate.n}" + ("!" if _is_too_few(rate) else "")


def _blocks(judge: Column, columns: list[Column], canvas: Canvas) -> Iterator[list[Column]]:
    """The columns in runs that fit beside the judges' names, each at least one column wide."""
    block: list[Column] = []
    for column in columns:
        if block and total_width([judge, *block, column], GAP) > canvas.width:
            yield block
            block = []
        block.append(column)
    yield block
