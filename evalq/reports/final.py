"""The end of a bake-off on the terminal: the ranking, what it means, what it cost, what to do next."""

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalq.reports.notes import (
    Note,
    NoteKind,
    cost_note,
    grading_notes,
    holdout_notes,
    interim_notes,
    kappa_notes,
    next_notes,
    problem_notes,
    tie_notes,
)
from evalq.reports.plain import render_plain, render_plain_strata
from evalq.reports.ranking import Ranking, render_strata
from evalq.reports.text import GOOD, NOTHING, PROBLEM, QUIET, Canvas, Column, first_fitting, lay_out
from evalq.results import BakeOffResult, PassK, RunResult

MEASURE_GAP = 2

Row = tuple[str, str, str, str, str]
"""Measure, judge, value, interval, n: how they are shown."""


def render_measures(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    """One table, each measure with interval and n; nothing when there is none."""
    rows = measure_rows(result)
    if rows:
        titles = ("metric", "judge", "value", "95% CI", "n")
        columns = [_column(title, (row[place] for row in rows), canvas) for place, title in enumerate(titles)]
        yield Text()
        yield lay_out(first_fitting([columns], canvas, gap=MEASURE_GAP), canvas, gap=MEASURE_GAP)


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


__all__ = ["render_final", "render_plain", "render_plain_strata", "render_strata"]

GAP = 2
_MARKS: dict[NoteKind, tuple[str, str]] = {
    "tie": ("=", ""),
    "kappa": ("κ", ""),
    "cost": ("$", ""),
    "excluded": ("!", PROBLEM),
    "not_graded": ("!", PROBLEM),
    "warning": ("!", PROBLEM),
    "grading": ("g", QUIET),
    "holdout": ("#", QUIET),
    "next": ("next", GOOD),
}


def render_final(result: BakeOffResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """The whole answer: heading, ranking, further measures, and the lines that qualify them."""
    canvas = Canvas(width, ascii_only)
    ranking = Ranking(result, canvas)
    notes = [
        *tie_notes(result),
        *kappa_notes(result),
        cost_note(result),
        *problem_notes(result, reason_room=ranking.reason_room),
        *grading_notes(result),
        *holdout_notes(result),
    ]
    return Group(
        *_heading(result, canvas),
        ranking.draw(),
        *render_measures(result, canvas),
        Text(),
        _lines(notes, result, canvas),
    )


def _heading(result: BakeOffResult, canvas: Canvas) -> Iterator[RenderableType]:
    scorer = result.scorer + (f" ({result.grader})" if result.grader else "")
    samples = [f"{result.samples} samples"] if result.samples > 1 else []
    methods = [f"95% CI {method}" for method in dict.fromkeys(run.ci_method for run in result.runs)]
    about = " · ".join([result.task, result.eval_set, scorer, *samples, *methods])
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
